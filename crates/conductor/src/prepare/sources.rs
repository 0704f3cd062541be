//! Where the user's programs come from: revisions that are checked out, builds, folders.
//!
//! Revisions are looked up before anything is made, so that a wrong name costs nothing. Worktrees last as
//! long as the `ProgramSources`. The user's own working tree changes only by builds that the experiment asks
//! for.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use tempfile::TempDir;
use weighbridge_lab::cleanup::guardian::Guardian;
use weighbridge_lab::cleanup::registry;
use weighbridge_lab::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use weighbridge_lab::process::command::{self, CommandOutcome};
use weighbridge_lab::process::logs::{LINES_QUOTED, excerpt, last_lines};
use weighbridge_lab::service::checkout::{self, CheckoutError, Checkouts, Commit, Repository};
use weighbridge_model::environment::BuiltRevision;
use weighbridge_model::event::Event;
use weighbridge_model::experiment::{Experiment, Program, Target, WORKING_TREE};
use weighbridge_store::scrub::Secrets;

use crate::options::Options;
use crate::prepare::registry::own_registry;
use crate::with_variant::{WithVariant, with_variant};

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Checkout(#[from] WithVariant<CheckoutError>),
    #[error("variant `{variant}` should run in `{}`, which is no folder{}; correct `folder`", folder.display(), at_revision(.revision))]
    NoFolder {
        variant: String,
        folder: PathBuf,
        /// The revision that lacks it.
        revision: Option<String>,
    },
    #[error("variant `{variant}`: its build (`{command}`) ended with {status}{}; the whole log: `{}`", excerpt(.output), log.display())]
    Build { variant: String, command: String, status: ExitStatus, output: Vec<String>, log: PathBuf },
    #[error("variant `{variant}`: its build (`{command}`) could not be run in `{}`: {source}", folder.display())]
    NotRun { variant: String, command: String, folder: PathBuf, source: io::Error },
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
    #[error("interrupted")]
    Interrupted,
}

fn at_revision(revision: &Option<String>) -> String {
    let told = |revision: &String| format!(" at `{revision}`: it does not have what stands there now");
    revision.as_ref().map(told).unwrap_or_default()
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramSource {
    /// Where it is built and runs; `None` for the current folder.
    pub folder: Option<PathBuf>,
    pub revision: Option<Revision>,
}

/// A revision as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    commit: Commit,
    /// Files with uncommitted changes; `None` for a worktree of ours, which has none.
    changes: Option<usize>,
}

impl Revision {
    pub fn built(&self) -> BuiltRevision {
        BuiltRevision { commit: self.commit.hash().to_owned(), uncommitted_files: self.changes }
    }
}

/// By variant, each with its repository.
pub(crate) type Revisions = HashMap<String, (Repository, Revision)>;

#[derive(Debug, Default)]
pub(crate) struct ProgramSources {
    /// By the variant's name.
    by_variant: HashMap<String, ProgramSource>,
    /// Removes the worktrees when dropped.
    _checkouts: Option<Checkouts>,
    /// Output of builds, each file named after the variant's number.
    logs: Option<TempDir>,
}

impl ProgramSources {
    /// Checks out and builds what the experiment's programs ask for, and replaces their revisions by full
    /// hashes. After an error only the log of a failed build is left.
    pub fn prepare(
        experiment: &mut Experiment,
        revisions: &Revisions,
        options: &Options,
        say: &mut dyn FnMut(Event),
    ) -> Result<Self, SourceError> {
        let is_wanted = |program: &Program| {
            program.revision.is_some() || program.build.is_some() || program.folder.is_some()
        };
        if !programs(experiment).any(|(_, program)| is_wanted(program)) {
            return Ok(Self::default());
        }
        let mut preparer =
            SourcePreparer { options, say, tracker: None, checkouts: None, built: Vec::new(), logs: None };
        let mut by_variant = HashMap::new();
        for (number, variant) in experiment.variants.iter_mut().enumerate() {
            let Target::Command(program) = &mut variant.target else { continue };
            let revision = revisions.get(&variant.name);
            let program_source = preparer.source(number, &variant.name, program, revision)?;
            if let Some(Revision { commit, changes: None }) = &program_source.revision {
                program.revision = Some(commit.hash().to_owned());
            }
            by_variant.insert(variant.name.clone(), program_source);
        }
        Ok(Self { by_variant, _checkouts: preparer.checkouts, logs: preparer.logs })
    }

    pub fn get(&self, variant: &str) -> ProgramSource {
        self.by_variant.get(variant).cloned().unwrap_or_default()
    }

    /// Copies the output of builds into the run's folder of logs, without secrets.
    pub fn keep_logs(&self, folder: &Path, secrets: &Secrets) -> io::Result<()> {
        let Some(logs) = &self.logs else { return Ok(()) };
        fs::create_dir_all(folder)?;
        for entry in fs::read_dir(logs.path())? {
            let entry = entry?;
            let kept = folder.join(entry.file_name());
            if secrets.is_empty() {
                fs::copy(entry.path(), kept)?;
            } else {
                secrets.append_hidden(File::open(entry.path())?, File::create(kept)?)?;
            }
        }
        Ok(())
    }
}

fn programs(experiment: &Experiment) -> impl Iterator<Item = (&str, &Program)> {
    experiment.variants.iter().filter_map(|variant| match &variant.target {
        Target::Command(program) => Some((&*variant.name, program)),
        _ => None,
    })
}

/// Looks up the revisions that programs ask for in the current folder's repository. Changes nothing.
pub(crate) fn revisions(experiment: &Experiment) -> Result<Revisions, SourceError> {
    let mut found = HashMap::new();
    let mut repository: Option<Repository> = None;
    for (name, program) in programs(experiment) {
        let Some(text) = &program.revision else { continue };
        let failed = with_variant(name);
        let repository = match &repository {
            Some(known) => known.clone(),
            None => repository.insert(Repository::around(Path::new(".")).map_err(failed)?).clone(),
        };
        let revision = revision(&repository, text).map_err(failed)?;
        found.insert(name.to_owned(), (repository, revision));
    }
    Ok(found)
}

fn revision(repository: &Repository, name: &str) -> Result<Revision, CheckoutError> {
    if WORKING_TREE.contains(&name) {
        return Ok(Revision { commit: repository.commit("HEAD")?, changes: Some(repository.changes()?) });
    }
    Ok(Revision { commit: repository.commit(name)?, changes: None })
}

/// A revision under the name of its variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRevision {
    /// As the user wrote it.
    pub asked: String,
    /// With the beginning of its hash: `main@1a2b3c4`.
    pub name: String,
    pub hash: String,
    /// Files with uncommitted changes; `None` where it is not the working tree.
    pub uncommitted_files: Option<usize>,
}

pub fn look_up(revisions: &[String]) -> Result<Vec<NamedRevision>, CheckoutError> {
    let repository = Repository::around(Path::new("."))?;
    let look = |asked: &String| {
        let Revision { commit, changes } = revision(&repository, asked)?;
        let is_hash = commit.hash().starts_with(&asked.to_lowercase());
        let with = if changes.is_some_and(|count| count > 0) { "+changes" } else { "" };
        let name = match (is_hash, changes) {
            (_, Some(_)) => format!("{}@{}{with}", WORKING_TREE[0], commit.short()),
            (true, None) => commit.short().to_owned(),
            (false, None) => format!("{asked}@{}", commit.short()),
        };
        let hash = commit.hash().to_owned();
        Ok(NamedRevision { asked: asked.clone(), name, hash, uncommitted_files: changes })
    };
    revisions.iter().map(look).collect()
}

/// The tracker of worktrees and builds, made when it is first needed.
fn tracker(
    known: &mut Option<Arc<CleanupTracker>>,
    options: &Options,
) -> Result<Arc<CleanupTracker>, CleanupTrackerError> {
    if let Some(tracker) = known {
        return Ok(Arc::clone(tracker));
    }
    let (program, verb) = &options.guardian;
    let guardian = Guardian::start(program, verb)?;
    let name = format!("revisions-{}", std::process::id());
    let registry = registry::default_base().map(|base| own_registry(&base, &name, None)).transpose()?;
    Ok(Arc::clone(known.insert(Arc::new(CleanupTracker::new(Some(guardian), registry)))))
}

struct SourcePreparer<'a> {
    options: &'a Options,
    say: &'a mut dyn FnMut(Event),
    tracker: Option<Arc<CleanupTracker>>,
    checkouts: Option<Checkouts>,
    /// Folder and command of each finished build.
    built: Vec<(PathBuf, String)>,
    logs: Option<TempDir>,
}

impl SourcePreparer<'_> {
    fn source(
        &mut self,
        number: usize,
        variant: &str,
        program: &Program,
        revision: Option<&(Repository, Revision)>,
    ) -> Result<ProgramSource, SourceError> {
        let base = match revision {
            Some((repository, Revision { commit, changes: None })) => {
                Some(self.check_out(variant, repository, commit)?)
            }
            _ => None,
        };
        let folder = match (base, &program.folder) {
            (Some(base), Some(folder)) => Some(base.join(folder)),
            (base, folder) => base.or_else(|| folder.clone()),
        };
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            let revision = program.revision.clone().filter(|_| !program.is_working_tree());
            return Err(SourceError::NoFolder {
                variant: variant.to_owned(),
                folder: folder.clone(),
                revision,
            });
        }
        if let Some(command) = &program.build {
            self.build(number, variant, command, folder.as_deref().unwrap_or(Path::new(".")))?;
        }
        Ok(ProgramSource { folder, revision: revision.map(|(_, revision)| revision.clone()) })
    }

    fn check_out(
        &mut self,
        variant: &str,
        repository: &Repository,
        commit: &Commit,
    ) -> Result<PathBuf, SourceError> {
        let failed = with_variant(variant);
        let checkouts = match &mut self.checkouts {
            Some(checkouts) => checkouts,
            None => {
                let cache = checkout::cache_folder().ok_or(CheckoutError::NoCache).map_err(failed)?;
                let tracker = tracker(&mut self.tracker, self.options)?;
                self.checkouts.insert(Checkouts::new(repository.clone(), &cache, tracker))
            }
        };
        let control = &self.options.control;
        checkouts.folder(commit, &|| control.is_interrupted()).map_err(|source| match source {
            CheckoutError::Cancelled(_) => SourceError::Interrupted,
            source => failed(source).into(),
        })
    }

    fn build(
        &mut self,
        number: usize,
        variant: &str,
        command: &str,
        folder: &Path,
    ) -> Result<(), SourceError> {
        let done = (folder.to_owned(), command.to_owned());
        if self.built.contains(&done) {
            return Ok(());
        }
        (self.say)(Event::Building { service: variant.to_owned() });
        let not_run = |source| {
            let (variant, command, folder) = (variant.to_owned(), command.to_owned(), folder.to_owned());
            SourceError::NotRun { variant, command, folder, source }
        };
        let logs = match &self.logs {
            Some(logs) => logs,
            None => {
                let made = tempfile::Builder::new().prefix("weigh-build-").tempdir().map_err(not_run)?;
                self.logs.insert(made)
            }
        };
        let log = logs.path().join(format!("build-{number}.log"));
        let output = File::create(&log).map_err(not_run)?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(folder).stdin(Stdio::null());
        shell.stdout(output.try_clone().map_err(not_run)?).stderr(output);
        checkout::without_git_environment(&mut shell);
        let tracker = tracker(&mut self.tracker, self.options)?;
        let control = &self.options.control;
        match command::run_tracked(&tracker, shell, &|| control.is_interrupted()).map_err(not_run)? {
            CommandOutcome::Cancelled => Err(SourceError::Interrupted),
            CommandOutcome::Ended(status) if status.success() => {
                self.built.push(done);
                Ok(())
            }
            CommandOutcome::Ended(status) => {
                let output = last_lines(&log, LINES_QUOTED);
                // There is no run folder yet: leave the log where the error says it is.
                let _ = self.logs.take().map(TempDir::keep);
                let (variant, command) = (variant.to_owned(), command.to_owned());
                Err(SourceError::Build { variant, command, status, output, log })
            }
        }
    }
}
