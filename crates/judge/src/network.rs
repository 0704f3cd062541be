//! Layers: whether the packets of a trial went where its variant says.
//!
//! The lab reads the counters and says what it did not see there; here that becomes a finding.

use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::Validity;

use crate::diagnose::Alarm;

/// The name of the finding.
pub const ANOTHER_WAY: &str = "another way";

/// Layers at which packets are lost as they should be: because they are told to, or because the link is too slow for what
/// is sent.
const LOSING: [&str; 2] = ["loss", "rate"];

/// Invalid: the links of a trial do not show that its packets passed the variant's layers.
pub(crate) fn another_way<'t>(trials: impl Iterator<Item = &'t TrialRecord>) -> Option<Alarm> {
    let networks = trials.filter_map(|trial| trial.service.network.as_ref());
    let unproved: Vec<&str> = networks.filter_map(|network| network.unproved.as_deref()).collect();
    let first = unproved.first()?;
    Some(Alarm {
        validity: Validity::Invalid,
        name: ANOTHER_WAY,
        evidence: match unproved.len() {
            1 => format!("in one trial {first}"),
            several => format!("in {several} trials; in the first {first}"),
        },
        remedy: "see whether the service listens on `HOST` alone, and look at the links in `trial.json`",
    })
}

/// Whether layers of these trials lose packets, so that segments sent again are no defect of the host.
pub(crate) fn loses<'t>(mut trials: impl Iterator<Item = &'t TrialRecord>) -> bool {
    trials.any(|trial| {
        let layers = trial.service.network.iter().flat_map(|network| &network.layers);
        layers.into_iter().any(|facts| LOSING.contains(&facts.layer.as_str()))
    })
}
