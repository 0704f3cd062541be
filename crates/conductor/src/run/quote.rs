//! Quotes the host's calibration in a run's summary. An unreadable one counts as none: no run fails for it.

use std::path::Path;

use weighbridge_judge::reliability::{changed, measured_time, quote};
use weighbridge_lab::host::facts;
use weighbridge_lab::host::identity::identity;
use weighbridge_model::environment::Environment;
use weighbridge_model::estimate::Quantity;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::{CalibrationQuote, HostIdentity};
use weighbridge_store::Calibrations;

use crate::clock::utc_now;
use crate::prepare::environment::{IDLE_CORES, identity_of};

pub(crate) fn quoted(
    folder: Option<&Path>,
    title: &str,
    headline: Quantity,
    trials: &[TrialRecord],
    facts: &Environment,
) -> Option<CalibrationQuote> {
    let host = identity_of(facts)?;
    let calibration = Calibrations::at(folder?).for_run(&host.key, title).ok()??;
    let now = utc_now().unix_ns() / 1_000_000_000;
    Some(quote(&calibration, headline, measured_time(trials), &host, now))
}

#[derive(Debug, Clone, PartialEq)]
pub enum StoredCalibration {
    Nothing,
    Newest {
        experiment: String,
        /// RFC 3339 in UTC.
        started: String,
        /// What has changed since, in words.
        changed: Vec<String>,
    },
    /// There is none of the host as it is, but one of a host with the same name that differs.
    Before {
        started: String,
        /// What differs, in words: the kernel, the processor …
        changed: Vec<String>,
    },
}

pub fn kept(folder: Option<&Path>) -> StoredCalibration {
    let Some(store) = folder.map(Calibrations::at) else { return StoredCalibration::Nothing };
    let host = identity(&facts::read(), None);
    let calibrations = |key: &str| store.for_host(key).unwrap_or_default();
    if let Some(mut newest) = calibrations(&host.key).into_iter().next() {
        // The build of this program that made it is irrelevant here.
        newest.host.passing.remove("weigh");
        newest.host.passing.remove(IDLE_CORES);
        let changed = changed(&newest.host, &host);
        return StoredCalibration::Newest { experiment: newest.experiment, started: newest.started, changed };
    }
    let name = host.passing.get("name");
    let others = store.hosts().unwrap_or_default();
    let same_name = others
        .iter()
        .flat_map(|key| calibrations(key))
        .filter(|found| name.is_some() && found.host.passing.get("name") == name);
    match same_name.max_by_key(|found| found.started_unix_s) {
        Some(found) => StoredCalibration::Before {
            changed: changed(&HostIdentity { passing: host.passing.clone(), ..found.host }, &host),
            started: found.started,
        },
        None => StoredCalibration::Nothing,
    }
}
