//! What every drafted experiment file must be, whatever it was made from: an experiment that asks what was drafted, and
//! holds no secret of a header.

use weighbridge_draft::Draft;
use weighbridge_model::experiment::{Experiment, Extract, HttpSpec, Template, WorkloadSpec};
use weighbridge_model::secret::{is_secret, printable};

/// Panics unless the draft's file says what the draft does.
pub fn assert_sound(draft: &Draft) {
    let text = draft.to_file();
    let experiment = Experiment::parse("drafted", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(experiment.title, printable(&draft.title), "{text}");
    let WorkloadSpec::Http(HttpSpec { requests, scenario, .. }) = &experiment.points[0].workload else {
        panic!("{text}")
    };
    assert_eq!(requests.len(), draft.requests.len(), "{text}");
    for (read, drafted) in requests.iter().zip(&draft.requests) {
        assert_eq!(read.name, printable(&drafted.name));
        assert_eq!((&read.method, &read.path), (&drafted.method, &drafted.path));
        assert_eq!(read.headers, drafted.headers);
        assert_eq!(read.body, drafted.body.clone().unwrap_or_default().into_bytes());
        assert_eq!((read.weight, read.check.status), (drafted.weight as f64, drafted.status));
        let by_name = |mut all: Vec<Extract>| {
            all.sort_by(|one, other| one.name.cmp(&other.name));
            all
        };
        assert_eq!(by_name(read.extract.clone()), by_name(drafted.extract.clone()));
        for (name, value) in &read.headers {
            let is_hidden =
                value.starts_with("env:") || Template::parse(value).is_ok_and(|value| has_places(&value));
            assert!(!is_secret(name) || is_hidden, "`{name}` stands in clear: {text}");
        }
    }
    let drafted = draft.session.iter().map(|order| {
        order.iter().map(|place| printable(&draft.requests[*place].name).into_owned()).collect::<Vec<_>>()
    });
    let read = scenario.sessions.iter().map(|session| session.requests.clone());
    assert_eq!(read.collect::<Vec<_>>(), drafted.collect::<Vec<_>>(), "{text}");
}

/// Whether a text is put together only when it is sent.
fn has_places(template: &Template) -> bool {
    template.values().next().is_some() || template.variables().next().is_some()
}
