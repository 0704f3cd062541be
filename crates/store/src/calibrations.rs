//! Calibrations of hosts, stored outside of run folders: `<base>/<host
//! key>/<YYYYMMDD-HHMMSS>-<experiment>.json`.
//!
//! Each is written in one step and never changed. The caller determines the host's key, and how far to trust
//! an old calibration. Unreadable files are skipped: they must not prevent a run.

use std::path::{Path, PathBuf};

use weighbridge_model::reliability::{HostCalibration, RELIABILITY_VERSION};

use crate::durable::{Durable, entries, read_file};
use crate::error::{NextStep, ReadError, WriteError};
use crate::folder::slug;
use crate::schema::{check_readable, parse_versioned, pretty};
use crate::utc::UtcTime;

const ENDING: &str = ".json";

/// The folder with the calibrations of all hosts.
#[derive(Debug, Clone)]
pub struct Calibrations {
    base: PathBuf,
}

impl Calibrations {
    /// `base` need not exist.
    pub fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// Where they lie.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Stores a calibration and returns its file. One of the same second and experiment is replaced.
    ///
    /// Errors: the folder or the file cannot be written; nothing incomplete remains.
    pub fn keep(&self, calibration: &HostCalibration) -> Result<PathBuf, WriteError> {
        let durable = Durable::new(NextStep::Repeat);
        let key = &calibration.host.key;
        if !is_key(key) {
            return Err(WriteError::NotStorable {
                what: "the calibration".to_owned(),
                problem: format!("`{key}` is no key of a host"),
            });
        }
        let folder = self.base.join(key);
        durable.make_folder(&folder)?;
        let began = UtcTime::from_unix_ns(calibration.started_unix_s.saturating_mul(1_000_000_000));
        let path = folder.join(format!("{}-{}{ENDING}", began.stamp(), slug(&calibration.experiment)));
        let bytes = pretty("the calibration", calibration)?;
        check_readable::<HostCalibration>("the calibration", &bytes)?;
        durable.write_file(&path, &bytes)?;
        Ok(path)
    }

    /// Calibrations of the host with this key, newest first; empty if there is no folder. Files of other
    /// formats and versions are skipped.
    pub fn for_host(&self, key: &str) -> Result<Vec<HostCalibration>, ReadError> {
        if !is_key(key) {
            return Ok(Vec::new());
        }
        let read = |(name, path): (String, PathBuf)| {
            let ours = name.ends_with(ENDING) && !name.starts_with('.');
            ours.then(|| parse_versioned(&path, &read_file(&path).ok()?, RELIABILITY_VERSION).ok()).flatten()
        };
        let mut found: Vec<HostCalibration> =
            entries(&self.base.join(key))?.into_iter().filter_map(read).collect();
        found.sort_by_key(|calibration| std::cmp::Reverse(calibration.started_unix_s));
        Ok(found)
    }

    /// The calibration that a run of `experiment` quotes: the newest of this experiment, else the newest of
    /// the host.
    pub fn for_run(&self, key: &str, experiment: &str) -> Result<Option<HostCalibration>, ReadError> {
        let mut all = self.for_host(key)?;
        let own = all.iter().position(|calibration| calibration.experiment == experiment);
        Ok(match own {
            Some(at) => Some(all.swap_remove(at)),
            None => all.into_iter().next(),
        })
    }

    /// Keys of all hosts with a calibration, sorted.
    pub fn hosts(&self) -> Result<Vec<String>, ReadError> {
        let keys = entries(&self.base)?.into_iter().filter(|(name, path)| is_key(name) && path.is_dir());
        Ok(keys.map(|(name, _)| name).collect())
    }
}

/// Keys are names of folders, so only hexadecimal digits are allowed.
fn is_key(key: &str) -> bool {
    !key.is_empty() && key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit())
}
