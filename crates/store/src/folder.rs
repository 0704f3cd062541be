//! A run folder as readers see it: which runs there are, what one holds. Reading takes no lock and changes
//! nothing; only derived files may be written here, since they are no part of the record.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weighbridge_model::environment::Environment;
use weighbridge_model::event::TimedEvent;
use weighbridge_model::plan::PlanFile;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{self, Detail, Summary};

use crate::digests::Digests;
use crate::durable::{Durable, entries, is_there, read_file, read_regular, refuse_link};
use crate::error::{NextStep, Problem, ReadError, WriteError};
use crate::schema::{parse, parse_named, parse_versioned};
use crate::utc::UtcTime;
use crate::{
    BLOCKS, DETAIL, DIGESTS, ENVIRONMENT, EVENTS, EXPERIMENT, IMPORTED, LOCK, PLAN, RECORD_SCHEMA_VERSION,
    RUN, SUMMARY, TRIALS,
};
use crate::{events, trial};

/// Longest part of a folder's name that the caller gives, in bytes.
const SLUG_BYTES: usize = 40;

/// A run folder, open for reading. What is read is compared with its digest, and a changed file is an error (but see
/// [`RunFolder::unverified`]).
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    name: String,
    started: UtcTime,
    has_digests: bool,
    /// Whether each file of the record must have a digest: not of a run of before there were any that was gone on with.
    all_have_digests: bool,
    is_verified: bool,
}

/// A run of a folder of runs.
#[derive(Debug)]
pub struct ListedRun {
    pub path: PathBuf,
    /// An error if [`RunFolder::open`] refuses it.
    pub run: Result<RunFolder, ReadError>,
}

/// `run.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireRun {
    pub(crate) schema: u32,
    pub(crate) name: String,
    pub(crate) started: String,
    pub(crate) started_unix_ns: u64,
    /// Whether there is a `digests.json`; there was none in earlier versions.
    #[serde(default)]
    pub(crate) digests: bool,
}

/// `blocks/NNN.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireBlock {
    pub(crate) schema: u32,
    pub(crate) block: u32,
    pub(crate) trials: Vec<WireBlockTrial>,
}

/// A block's reference to one of its trials.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireBlockTrial {
    pub(crate) folder: String,
    /// Absent in records from before there were batches.
    #[serde(default)]
    pub(crate) batch: u32,
    pub(crate) variant: u16,
    pub(crate) variant_name: String,
    pub(crate) sha256: String,
}

impl RunFolder {
    /// Errors: `path` is not a run, or has another format version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let path = path.into();
        let manifest = path.join(RUN);
        let bytes = read_file(&manifest).map_err(|error| match error {
            ReadError::Missing { .. } => ReadError::NotARun { path: path.clone() },
            ReadError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotADirectory => {
                ReadError::NotARun { path: path.clone() }
            }
            other => other,
        })?;
        let wire: WireRun = parse_versioned(&manifest, &bytes, RECORD_SCHEMA_VERSION)?;
        // Either alone may have been changed.
        let has_digests = wire.digests || is_there(&path.join(DIGESTS));
        refuse_link(&path.join(BLOCKS))?;
        refuse_link(&path.join(TRIALS))?;
        Ok(Self {
            path,
            name: wire.name,
            started: UtcTime::from_unix_ns(wire.started_unix_ns),
            has_digests,
            all_have_digests: wire.digests,
            is_verified: true,
        })
    }

    /// The same folder, whose results are read as they stand, whatever their digests. Trials are compared with theirs all
    /// the same: nothing is computed from changed ones.
    pub fn unverified(self) -> Self {
        Self { is_verified: false, ..self }
    }

    /// The runs in `out_dir`, newest first; empty if the folder does not exist. Runs that [`RunFolder::open`] refuses are
    /// left out.
    pub fn list(out_dir: impl AsRef<Path>) -> Result<Vec<Self>, ReadError> {
        Ok(Self::list_all(out_dir)?.into_iter().filter_map(|listed| listed.run.ok()).collect())
    }

    /// The runs in `out_dir`, also those that cannot be opened, newest first; empty if the folder does not exist. Links are
    /// not followed, and folders without files of a run are none.
    pub fn list_all(out_dir: impl AsRef<Path>) -> Result<Vec<ListedRun>, ReadError> {
        let is_run = |path: &Path| {
            path.symlink_metadata().is_ok_and(|facts| facts.is_dir())
                && [RUN, DIGESTS].iter().any(|name| is_there(&path.join(name)))
        };
        let found = entries(out_dir.as_ref())?.into_iter();
        let found = found.filter(|(name, path)| !name.starts_with('.') && is_run(path));
        let mut runs: Vec<_> = found.map(|(_, path)| ListedRun { run: Self::open(&path), path }).collect();
        runs.sort_by_cached_key(|listed| std::cmp::Reverse(listed.age()));
        Ok(runs)
    }

    /// The newest run in `out_dir`.
    ///
    /// Errors: also if the newest is one that [`RunFolder::open`] refuses.
    pub fn latest(out_dir: impl AsRef<Path>) -> Result<Option<Self>, ReadError> {
        Self::list_all(out_dir)?.into_iter().next().map(|listed| listed.run).transpose()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name, as in the folder's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn started(&self) -> UtcTime {
        self.started
    }

    /// `experiment.toml`: the experiment with every default filled in.
    pub fn experiment(&self) -> Result<String, ReadError> {
        self.text(EXPERIMENT)
    }

    /// `environment.json`: the host and the services.
    pub fn environment(&self) -> Result<Environment, ReadError> {
        let path = self.path.join(ENVIRONMENT);
        parse_named(&path, &self.read(ENVIRONMENT)?, |bytes| serde_json::from_slice(bytes))
    }

    /// `plan.json`: seeds and rules.
    pub fn plan(&self) -> Result<PlanFile, ReadError> {
        let path = self.path.join(PLAN);
        parse_named(&path, &self.read(PLAN)?, PlanFile::from_json)
    }

    /// `events.jsonl`, whole lines only.
    pub fn events(&self) -> Result<Vec<TimedEvent>, ReadError> {
        events::read_events(&self.path.join(EVENTS))
    }

    /// Follows `events.jsonl` while it is written.
    pub fn follow(&self) -> events::EventFollower {
        events::EventFollower::new(self.path.join(EVENTS))
    }

    /// The id of the process that writes the run, if that still lives. For a moment after the end of a run it
    /// may still be reported.
    pub fn writer(&self) -> Option<u32> {
        let noted = String::from_utf8(read_regular(&self.path.join(LOCK)).ok()?).ok()?;
        let process: u32 = noted.trim().parse().ok()?;
        Path::new(&format!("/proc/{process}")).exists().then_some(process)
    }

    /// Numbers of the complete blocks, ascending.
    pub fn blocks(&self) -> Result<Vec<u32>, ReadError> {
        Ok(self.markers()?.into_iter().map(|(_, marker)| marker.block).collect())
    }

    /// The rows of an imported run; `None` of one that was measured.
    pub fn imported_rows(&self) -> Result<Option<String>, ReadError> {
        if self.environment()?.imported.is_none() {
            return Ok(None);
        }
        Ok(Some(self.text(IMPORTED)?))
    }

    /// The trials of all complete blocks, by ascending block, in the order in which they were written. Trials
    /// of an incomplete block are ignored.
    pub fn load_blocks(&self) -> Result<Vec<Vec<TrialRecord>>, ReadError> {
        self.check_listed()?;
        let markers = self.markers()?;
        self.check_all_noted(&markers)?;
        markers.iter().map(|(path, marker)| self.load_block(path, marker)).collect()
    }

    /// Whether the run has ended: it has a summary, right or wrong.
    pub fn has_ended(&self) -> bool {
        is_there(&self.path.join(SUMMARY))
    }

    /// `summary.json`, after all files on which it rests were compared with their digests; an error if the run has not
    /// ended. Time: that of reading the folder.
    pub fn summary(&self) -> Result<Summary, ReadError> {
        let path = self.path.join(SUMMARY);
        let unproven = |error| ReadError::Evidence(Box::new(error));
        let bytes = self.read(SUMMARY).map_err(|error| match error {
            ReadError::Altered { .. } => unproven(error),
            _ => error,
        })?;
        let summary = parse_versioned(&path, &bytes, summary::SCHEMA_VERSION)?;
        if self.is_verified {
            self.check_evidence().map_err(unproven)?;
        }
        Ok(summary)
    }

    /// `detail.json`; an error if the run has not ended.
    pub fn detail(&self) -> Result<Detail, ReadError> {
        self.json(DETAIL)
    }

    /// Writes a derived file such as `report.html` or `charts/forest.svg` in one step.
    ///
    /// Errors: `name` is not a plain file name, if need be in a plain folder, or belongs to the record.
    pub fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, WriteError> {
        const RECORD: [&str; 11] =
            [RUN, EXPERIMENT, ENVIRONMENT, PLAN, EVENTS, TRIALS, BLOCKS, SUMMARY, DETAIL, DIGESTS, LOCK];
        let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\0']);
        let folder = name.split_once('/').map(|(folder, _)| folder);
        let file = name.split_once('/').map_or(name, |(_, file)| file);
        if !is_plain(file) || !folder.is_none_or(is_plain) || RECORD.contains(&folder.unwrap_or(file)) {
            return Err(WriteError::DerivedName { name: name.to_owned() });
        }
        let (path, durable) = (self.path.join(name), Durable::new(NextStep::Repeat));
        if let Some(folder) = folder.map(|folder| self.path.join(folder)) {
            refuse_link(&folder)?;
            durable.make_folder(&folder)?;
        }
        durable.write_file(&path, bytes)?;
        Ok(path)
    }

    /// Every block marker with its path, by ascending block.
    pub(crate) fn markers(&self) -> Result<Vec<(PathBuf, WireBlock)>, ReadError> {
        let mut markers = Vec::new();
        for (name, path) in entries(&self.path.join(BLOCKS))? {
            if name.strip_suffix(".json").is_some_and(is_number) {
                let marker: WireBlock = parse_versioned(&path, &read_file(&path)?, RECORD_SCHEMA_VERSION)?;
                check_marker(&name, &marker).map_err(|problem| problem.at(&path))?;
                markers.push((path, marker));
            }
        }
        markers.sort_by_key(|(_, marker)| marker.block);
        Ok(markers)
    }

    /// Numbered folders in `trials/`, with their paths.
    pub(crate) fn trial_folders(&self) -> Result<Vec<(String, PathBuf)>, ReadError> {
        let mut folders = entries(&self.path.join(TRIALS))?;
        folders.retain(|(name, path)| {
            is_number(name) && path.symlink_metadata().is_ok_and(|facts| facts.is_dir())
        });
        Ok(folders)
    }

    fn load_block(&self, path: &Path, marker: &WireBlock) -> Result<Vec<TrialRecord>, ReadError> {
        let load = |listed: &WireBlockTrial| {
            let record = trial::read(&self.path.join(TRIALS).join(&listed.folder), &listed.sha256)?;
            if (record.block, record.batch, record.variant.0) == (marker.block, listed.batch, listed.variant)
            {
                return Ok(record);
            }
            let what = format!("trial `{}` is of another block, batch or variant", listed.folder);
            Err(Problem::somewhere(what).at(path))
        };
        marker.trials.iter().map(load).collect()
    }

    fn text(&self, name: &str) -> Result<String, ReadError> {
        let path = self.path.join(name);
        String::from_utf8(self.read(name)?).map_err(|error| {
            let whole = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + whole.iter().filter(|byte| **byte == b'\n').count() as u64;
            Problem::on_line(line, "bytes that are not UTF-8").at(&path)
        })
    }

    fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, ReadError> {
        parse(&self.path.join(name), &self.read(name)?)
    }

    pub(crate) fn has_digests(&self) -> bool {
        self.has_digests
    }

    /// Reads a file and compares it with its digest.
    fn read(&self, name: &str) -> Result<Vec<u8>, ReadError> {
        let path = self.path.join(name);
        if !self.is_verified || !self.has_digests {
            return read_file(&path);
        }
        // The writer may have replaced both in between.
        for _ in 0..2 {
            let bytes = read_file(&path)?;
            let digests = Digests::read(&self.path)?;
            if self.all_have_digests && !digests.has(name) {
                let what = format!("it has no digest of `{name}`");
                return Err(Problem::somewhere(what).at(self.path.join(DIGESTS)));
            }
            if digests.fits(name, &bytes) {
                return Ok(bytes);
            }
        }
        Err(ReadError::Altered { path })
    }

    fn check_evidence(&self) -> Result<(), ReadError> {
        self.check_listed()?;
        let markers = self.markers()?;
        self.check_all_noted(&markers)?;
        for (_, marker) in markers {
            for listed in &marker.trials {
                trial::verify(&self.path.join(TRIALS).join(&listed.folder), &listed.sha256)?;
            }
        }
        Ok(())
    }

    /// Compares all files that have a digest with it.
    fn check_listed(&self) -> Result<(), ReadError> {
        if !self.is_verified || !self.has_digests {
            return Ok(());
        }
        let digests = Digests::read(&self.path)?;
        // The digests are written first: a kill in between leaves none of what is written last.
        let is_due = |name: &&str| {
            self.has_ended() || ![SUMMARY, DETAIL].contains(name) || is_there(&self.path.join(name))
        };
        digests.names().filter(is_due).try_for_each(|name| self.read(name).map(drop))
    }

    /// Refuses a block that was added to a run that had ended, and a gap between the blocks of one that had not.
    fn check_all_noted(&self, markers: &[(PathBuf, WireBlock)]) -> Result<(), ReadError> {
        if !self.is_verified || !self.has_digests {
            return Ok(());
        }
        let digests = Digests::read(&self.path)?;
        let has_ended = self.has_ended();
        for ((path, marker), place) in markers.iter().zip(0..) {
            if has_ended && !digests.has(&marker_name(marker.block)) {
                return Err(Problem::somewhere("it was added after the run").at(path));
            }
            if !has_ended && marker.block != place {
                return Err(ReadError::Missing { path: self.path.join(marker_name(place)) });
            }
        }
        Ok(())
    }
}

impl ListedRun {
    /// What orders runs by age. Of one that cannot be opened the folder's name tells when it was started, to the second.
    fn age(&self) -> (String, u64, usize, PathBuf) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (stamp, started) = match &self.run {
            Ok(run) => (run.started.stamp(), run.started.unix_ns()),
            Err(_) => (name.chars().take("20261121-212204".len()).collect(), 0),
        };
        // Of runs with the same start, the one with a suffix is later, since the plain name was taken.
        (stamp, started, self.path.as_os_str().len(), self.path.clone())
    }
}

/// Turns text into a part of a folder's name: lower-case letters, digits and single hyphens, at most 60
/// bytes; `run` if nothing is left.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(SLUG_BYTES);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "run".to_owned() } else { slug.to_owned() }
}

/// The name of a trial's folder or, with `.json`, of a block's marker.
pub(crate) fn numbered(number: u32) -> String {
    format!("{number:03}")
}

/// The path of a block's marker in the run folder.
pub(crate) fn marker_name(block: u32) -> String {
    format!("{BLOCKS}/{}.json", numbered(block))
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Refuses a marker whose name is not that of its block, or that refers to something outside `trials/`.
fn check_marker(name: &str, marker: &WireBlock) -> Result<(), Problem> {
    if name != format!("{}.json", numbered(marker.block)) {
        return Err(Problem::somewhere(format!("it is of block {}, which its name is not", marker.block)));
    }
    match marker.trials.iter().find(|listed| !is_number(&listed.folder)) {
        Some(listed) => Err(Problem::somewhere(format!("`{}` is not the number of a trial", listed.folder))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_slugs() {
        for (text, expected) in [
            ("JSON over HTTP against gRPC", "json-over-http-against-grpc"),
            ("  --Size: 64 KiB?! ", "size-64-kib"),
            ("../../etc/passwd", "etc-passwd"),
            ("größe", "gr-e"),
            ("…", "run"),
            ("", "run"),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
        assert_eq!(slug(&"a".repeat(200)).len(), SLUG_BYTES);
        let most = "a".repeat(SLUG_BYTES - 1);
        assert_eq!(slug(&format!("{most}-b")), most);
    }
}
