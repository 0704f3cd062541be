//! What every drafted experiment file must be, whatever it was made from: an experiment that asks what was drafted, and
//! holds no secret of a header.

use weighbridge_draft::Draft;
use weighbridge_model::experiment::{Experiment, WorkloadSpec};
use weighbridge_model::secret::{is_secret, printable};

/// Panics unless the draft's file says what the draft does.
pub fn assert_sound(draft: &Draft) {
    let text = draft.to_file();
    let experiment = Experiment::parse("drafted", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(experiment.title, printable(&draft.title), "{text}");
    let WorkloadSpec::Http { requests, .. } = &experiment.points[0].workload else { panic!("{text}") };
    assert_eq!(requests.len(), draft.requests.len(), "{text}");
    for (read, drafted) in requests.iter().zip(&draft.requests) {
        assert_eq!(read.name, printable(&drafted.name));
        assert_eq!((&read.method, &read.path), (&drafted.method, &drafted.path));
        assert_eq!(read.headers, drafted.headers);
        assert_eq!(read.body, drafted.body.clone().unwrap_or_default().into_bytes());
        assert_eq!((read.weight, read.check.status), (drafted.weight as f64, drafted.status));
        for (name, value) in &read.headers {
            assert!(!is_secret(name) || value.starts_with("env:"), "`{name}` stands in clear: {text}");
        }
    }
}
