//! The content of `weigh serve`: the runs of one folder, and nothing outside it.
//!
//! It uses the readers and renderers of other verbs. Links are not followed, neither to a run nor within one,
//! so that no name leads out of the folder.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use weighbridge_conductor::compare::across::compare_runs;
use weighbridge_conductor::compare::compare_variants;
use weighbridge_model::summary::Summary;
use weighbridge_report::browse::{self, Live, RunRow, RunState};
use weighbridge_report::{
    ExportFormat, Format, JmhClass, TableName, TextOptions, headline_sentences, render,
};
use weighbridge_store::{ReadError, RunFolder};
use weighbridge_view::{Answer, Download, Policy, RequestTarget, Site};

use super::feed::RunFeed;
use crate::verb::export::{Wanted, exported};
use crate::verb::support::{Stored, calibrations};

/// The file that makes a folder a run.
const MANIFEST: &str = "run.json";
/// Depth of folders within a run: `trials/000/`.
const DEPTH: u32 = 3;

/// The runs of one folder.
pub struct Runs {
    root: PathBuf,
    /// The folder, as the user named it.
    place: String,
    /// Rows of runs that have ended, by folder, with the marks of the files from which they were made.
    rows: Mutex<HashMap<String, (Vec<FileMark>, RunRow)>>,
}

/// Changes whenever a file does.
#[derive(Debug, PartialEq, Eq)]
struct FileMark {
    path: PathBuf,
    length: u64,
    /// Seconds and nanoseconds at which the file was last changed in any way.
    changed: [i64; 2],
}

/// Why something cannot be shown.
enum Wrong {
    /// It does not exist.
    Missing,
    /// It exists and cannot be shown.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Wrong {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Runs {
    /// The runs in a folder.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let place = folder.display().to_string();
        let root = folder.canonicalize().with_context(|| {
            format!("could not open the folder `{place}`; name one that holds runs with `--out`, or make a run first")
        })?;
        if root.join(MANIFEST).exists() {
            bail!("`{place}` is a run; name the folder that it lies in with `--out`");
        }
        if !root.is_dir() {
            bail!("`{place}` is not a folder; name one that holds runs with `--out`");
        }
        Ok(Self { root, place, rows: Mutex::default() })
    }

    fn found(&self, target: &RequestTarget) -> Result<Answer, Wrong> {
        let segments: Vec<&str> = target.segments.iter().map(String::as_str).collect();
        match segments[..] {
            [""] => Ok(page(browse::list(&self.place, &self.rows()?))),
            ["compare"] => self.comparison(target),
            ["run", name] => self.open(name).map(|_| Answer::Redirect(browse::address(name, ""))),
            ["run", name, ""] => self.overview(&self.open(name)?, name),
            ["run", name, "report"] => {
                let stored = Stored::read(&self.open(name)?)?;
                let html = render(Format::Html, &stored.report(), &TextOptions::default());
                Ok(Answer::Page { policy: Policy::stated_in(&html), html })
            }
            ["run", name, "events"] => Ok(Answer::Follow(Box::new(RunFeed::new(self.open(name)?)))),
            ["run", name, "export", format] => self.export(name, format, None),
            ["run", name, "export", format, table] => self.export(name, format, Some(table)),
            _ => Err(Wrong::Missing),
        }
    }

    fn open(&self, name: &str) -> Result<RunFolder, Wrong> {
        let path = self.root.join(name);
        // The name is a single plain segment; it must also be a folder and not a link to one.
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if name.is_empty() || name.starts_with('.') || !is_folder || path.parent() != Some(&*self.root) {
            return Err(Wrong::Missing);
        }
        without_links(&path, DEPTH, &mut Vec::new())?;
        match RunFolder::open(&path) {
            Err(ReadError::NotARun { .. }) => Err(Wrong::Missing),
            opened => Ok(opened?),
        }
    }

    /// All runs, newest first; unreadable ones last.
    fn rows(&self) -> anyhow::Result<Vec<RunRow>> {
        let listed = RunFolder::list_all(&self.root)
            .with_context(|| format!("could not list `{}`; make it readable", self.place))?;
        let names = listed.iter().filter_map(|listed| listed.path.file_name()?.to_str());
        let mut rows: Vec<RunRow> = names.map(|name| self.row(name)).collect();
        rows.sort_by(|a, b| (&b.started, &b.folder).cmp(&(&a.started, &a.folder)));
        Ok(rows)
    }

    fn row(&self, name: &str) -> RunRow {
        let row = |title: String, started: String, state: RunState| RunRow {
            folder: name.to_owned(),
            title,
            started,
            state,
            headlines: Vec::new(),
        };
        let damaged = |error: &anyhow::Error| {
            row(name.to_owned(), String::new(), RunState::Damaged(format!("{error:#}")))
        };
        let folder = match self.open(name) {
            Ok(folder) => folder,
            Err(Wrong::Missing) => return damaged(&anyhow::anyhow!("it is not a run folder")),
            Err(Wrong::Failed(error)) => return damaged(&error),
        };
        match self.ended(name, &folder) {
            Ok(Some(row)) => row,
            Ok(None) => {
                let title = match RunFeed::new(folder.clone()).now().title.as_str() {
                    "" => folder.name().to_owned(),
                    title => title.to_owned(),
                };
                row(title, folder.started().rfc3339(), unended(&folder))
            }
            Err(error) => damaged(&error),
        }
    }

    /// The row of a run that has ended; read again only if any file of it has changed.
    fn ended(&self, name: &str, folder: &RunFolder) -> anyhow::Result<Option<RunRow>> {
        if !folder.has_ended() {
            return Ok(None);
        }
        let mut marks = Vec::new();
        without_links(folder.path(), DEPTH, &mut marks)?;
        let rows = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, row)) = rows().get(name)
            && *known == marks
        {
            return Ok(Some(row.clone()));
        }
        let summary = folder.summary()?;
        let row = RunRow {
            folder: name.to_owned(),
            title: summary.title.clone(),
            started: folder.started().rfc3339(),
            state: RunState::Ended(summary.validity),
            headlines: headline_sentences(&summary),
        };
        rows().insert(name.to_owned(), (marks, row.clone()));
        Ok(Some(row))
    }

    fn overview(&self, folder: &RunFolder, name: &str) -> Result<Answer, Wrong> {
        match folder.summary() {
            Ok(summary) => {
                let rows = self.rows()?;
                let is_other = |row: &&RunRow| row.folder != name && matches!(row.state, RunState::Ended(_));
                let others: Vec<&str> = rows.iter().filter(is_other).map(|row| row.folder.as_str()).collect();
                // A picture that cannot be made leaves a page that says the same in words.
                let picture = folder.detail().ok().and_then(|detail| browse::forest(&summary, &detail).ok());
                let html = browse::overview(name, &summary, &picture.unwrap_or_default(), &others);
                Ok(page(html))
            }
            Err(ReadError::Missing { .. }) => {
                let mut feed = RunFeed::new(folder.clone());
                let live: &Live = feed.now();
                let html = browse::following(name, &unended(folder), live);
                Ok(Answer::Page { html, policy: Policy::allowing(&[&browse::style()], &[browse::SCRIPT]) })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn export(&self, name: &str, format: &str, table: Option<&str>) -> Result<Answer, Wrong> {
        let format: ExportFormat = format.parse().map_err(|_| Wrong::Missing)?;
        let table: Option<TableName> = table.map(str::parse).transpose().map_err(|_| Wrong::Missing)?;
        if table.is_some() != format.has_tables() {
            return Err(Wrong::Missing);
        }
        let folder = self.open(name)?;
        let stored = Stored::read(&folder)?;
        let table_name = table.unwrap_or_default();
        let wanted = Wanted { format, table: table_name, jmh_class: JmhClass::default() };
        let (bytes, _) = exported(&folder, &stored, wanted, &TextOptions::default())?;
        let what = table.map_or(format.name(), TableName::name);
        let name = format!("{name}.{what}.{}", format.ending());
        Ok(Answer::Download(Download { name, media_type: format.media_type(), bytes }))
    }

    /// The comparison that `weigh compare` makes of two variants of a run, or of a variant in two runs.
    fn comparison(&self, target: &RequestTarget) -> Result<Answer, Wrong> {
        let run = self.open(target.value("run").ok_or(Wrong::Missing)?)?;
        let variant = target.value("variant").ok_or(Wrong::Missing)?;
        let summary: Summary = match (target.value("against"), target.value("baseline")) {
            (Some(against), _) => {
                let against = self.open(against)?;
                compare_runs(&against, &run, &[variant.to_owned()], calibrations().as_deref())?
            }
            (None, Some(baseline)) => compare_variants(&run, baseline, variant)?,
            (None, None) => return Err(Wrong::Missing),
        };
        Ok(page(browse::comparison(&summary)))
    }
}

impl Site for Runs {
    fn answer(&self, target: &RequestTarget) -> Answer {
        let policy = || Policy::allowing(&[&browse::style()], &[]);
        match self.found(target) {
            Ok(answer) => answer,
            Err(Wrong::Missing) => {
                let html =
                    browse::problem("Not here", "There is no such page; the list of runs has them all.");
                Answer::Missing { html, policy: policy() }
            }
            Err(Wrong::Failed(error)) => {
                let html = browse::problem("This cannot be shown", &format!("{error:#}"));
                Answer::Failed { html, policy: policy() }
            }
        }
    }
}

fn page(html: String) -> Answer {
    Answer::Page { html, policy: Policy::allowing(&[&browse::style()], &[browse::MOMENTS]) }
}

/// The state of a run without a summary.
fn unended(folder: &RunFolder) -> RunState {
    if folder.writer().is_some() { RunState::Running } else { RunState::Stopped }
}

/// Refuses a run that contains a link, since its target may be anywhere; collects the marks of its files.
fn without_links(folder: &Path, depth: u32, marks: &mut Vec<FileMark>) -> anyhow::Result<()> {
    let unreadable = || format!("`{}` cannot be listed; make it readable and try again", folder.display());
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let mut entries = entries.with_context(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().with_context(unreadable)?;
        if kind.is_symlink() {
            bail!(
                "`{}` is a link, which this view does not follow; copy what it points to",
                entry.path().display()
            );
        }
        if kind.is_dir() && depth > 1 {
            without_links(&entry.path(), depth - 1, marks)?;
        } else if let Ok(facts) = entry.metadata() {
            // A file of a run that goes on may be gone by now.
            let changed = [facts.ctime(), facts.ctime_nsec()];
            marks.push(FileMark { path: entry.path(), length: facts.len(), changed });
        }
    }
    Ok(())
}
