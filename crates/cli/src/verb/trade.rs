//! `weigh trade`: scripts of the workload `trade`, passages of one variant, and the heap that they need.

mod heap;
mod latency;
mod passages;
mod play;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use weighbridge_report::Format;
use weighbridge_workload::trade::dacapo::{self, STOCKS, USERS, WORKLOAD};
use weighbridge_workload::trade::{
    About, ActionCounts, LawError, ScriptLaw, ScriptMaker, ScriptParts, ScriptSize,
};

use crate::args::{Trade, TradeAction};
use crate::exit::Exit;
use crate::printer::Printer;

pub use heap::shown;
pub use passages::say;

/// The file beside a script that says what it follows from.
const ABOUT: &str = "about.json";

pub fn run(arguments: &Trade, printer: &Printer) -> anyhow::Result<Exit> {
    match &arguments.action {
        TradeAction::Script { size, sessions, seed, stocks, skew, out } => {
            let sessions = match sessions {
                Some(sessions) => *sessions,
                None => {
                    ScriptSize::named(size).ok_or_else(|| LawError::Size(size.clone()))?.sessions().into()
                }
            };
            let law = ScriptLaw::default().with_seed(*seed).with_stocks(*stocks)?;
            script(law.with_skew(*skew)?.with_sessions(sessions)?, out, printer)
        }
        TradeAction::Count { files, sessions, format } => count(files, *sessions, *format, printer),
        TradeAction::Play { experiment, only, passages, converge, latency } => {
            let warm_ups = play::warm_ups((!converge).then_some(*passages));
            play::run(experiment, only.as_deref(), warm_ups, latency.as_deref(), printer)
        }
        TradeAction::Heap { experiment, only, format } => {
            heap::run(experiment, only.as_deref(), *format, printer)
        }
    }
}

/// Writes a script part by part, so that a large one takes no more memory than a small one.
fn script(law: ScriptLaw, folder: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("could not make `{shown}`"))?;
    let names = [STOCKS, USERS, WORKLOAD, ABOUT];
    if let Some(there) = names.into_iter().find(|name| folder.join(name).exists()) {
        bail!("`{}` is there already; remove it, or name another folder", folder.join(there).display());
    }
    let mut parts = ScriptParts::new(ScriptMaker::new(law));
    while let Some(name) = parts.next_file() {
        let path = folder.join(name);
        let written = fs::File::create_new(&path).and_then(|file| {
            let mut file = BufWriter::new(file);
            while let Some(line) = parts.next_line() {
                file.write_all(line.as_bytes())?;
            }
            file.flush()
        });
        written.with_context(|| format!("could not write `{}`", path.display()))?;
    }
    let about: About = parts.about();
    let path = folder.join(ABOUT);
    let text = serde_json::to_string_pretty(&about)? + "\n";
    fs::write(&path, text).with_context(|| format!("could not write `{}`", path.display()))?;
    printer.data(&format!(
        "wrote {} sessions of {} users, {} actions, into `{shown}`",
        law.sessions(),
        ScriptLaw::users_of(law.sessions()),
        about.actions
    ))?;
    Ok(Exit::Fine)
}

/// The counts of a file.
#[derive(Serialize)]
struct Counted {
    file: String,
    #[serde(flatten)]
    counts: ActionCounts,
}

fn count(
    files: &[PathBuf],
    sessions: Option<u32>,
    format: Format,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let counted = |file: &PathBuf| {
        let path = if file.is_dir() { file.join(WORKLOAD) } else { file.clone() };
        let shown = path.display().to_string();
        let bytes = fs::read(&path).with_context(|| format!("could not read `{shown}`"))?;
        let counts = dacapo::count(&bytes, &shown, sessions)?;
        if counts.sessions() == 0 {
            bail!(
                "`{shown}` has no session; give a workload.txt, whose lines are a user, a password and steps"
            );
        }
        anyhow::Ok(Counted { file: shown, counts })
    };
    let all = files.iter().map(counted).collect::<Result<Vec<_>, _>>()?;
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&all)?,
        Format::Text if all.len() == 1 => all[0].counts.to_string(),
        Format::Text => {
            let tables = all.iter().map(|one| format!("{}:\n{}", one.file, one.counts));
            tables.collect::<Vec<_>>().join("\n")
        }
        other => bail!("`{other}` is not available for counts of actions; use `text` or `json`"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}
