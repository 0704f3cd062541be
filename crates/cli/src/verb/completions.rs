//! `weigh completions`: a completion script for a shell, and the answers to its requests.
//!
//! The script asks this program for completions at the cursor, so that runs, services and variants are up to
//! date.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use weighbridge_conductor::find_catalog;
use weighbridge_store::RunFolder;

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::printer::Printer;

/// The variable by which a script asks; its value is the shell.
const ASKED_BY: &str = "WEIGH_COMPLETE";

/// Prints the script.
pub fn run(arguments: &Completions, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    if arguments.alone {
        clap_complete::generate(arguments.shell, &mut Arguments::command(), "weigh", &mut script);
    } else {
        let shells = Shells::builtins();
        let shell = arguments.shell.to_string();
        let shell = shells.completer(&shell).context("this shell has no script; add `--static`")?;
        shell.write_registration(ASKED_BY, "weigh", "weigh", "weigh", &mut script)?;
    }
    printer.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// Answers a script's request, if this is one; returns whether it was.
pub fn answered() -> bool {
    if std::env::var_os(ASKED_BY).is_none() {
        return false;
    }
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(ASKED_BY);
    // An invalid request gets no message, which would appear in the user's command line.
    asked.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// The command with completers for its values.
fn command() -> Command {
    let candidates = |values: fn() -> Vec<String>| {
        ArgValueCandidates::new(move || values().into_iter().map(CompletionCandidate::new).collect())
    };
    let run = || ArgValueCompleter::new(Runs);
    let toml = || {
        let wanted = |path: &Path| path.is_dir() || path.extension().is_some_and(|end| end == "toml");
        ArgValueCompleter::new(PathCompleter::any().filter(wanted))
    };
    let run_of = |name: &'static str| move |verb: Command| verb.mut_arg(name, |arg: Arg| arg.add(run()));
    Arguments::command()
        .mut_subcommand("run", |verb| {
            verb.mut_arg("experiment", |arg| arg.add(toml())).mut_arg("resume", |arg| arg.add(run()))
        })
        .mut_subcommand("plan", |verb| verb.mut_arg("experiment", |arg| arg.add(toml())))
        .mut_subcommand("calibrate", |verb| verb.mut_arg("experiment", |arg| arg.add(toml())))
        .mut_subcommand("compare", run_of("subjects"))
        .mut_subcommand("report", run_of("run"))
        .mut_subcommand("export", run_of("run"))
        .mut_subcommand("verify", |verb| verb.mut_arg("subjects", |arg| arg.add(candidates(services))))
        .mut_subcommand("services", |verb| {
            verb.mut_subcommand("build", |action| {
                action.mut_arg("names", |arg| arg.add(candidates(services)))
            })
            .mut_subcommand("start", |action| action.mut_arg("name", |arg| arg.add(candidates(services))))
        })
        .mut_subcommand("hostile", |verb| verb.mut_arg("misbehaviour", |arg| arg.add(candidates(cases))))
        .mut_subcommand("man", |verb| verb.mut_arg("verb", |arg| arg.add(candidates(verbs))))
}

/// Completes run folders, the newest first, if nothing is typed yet; else paths.
struct Runs;

impl ValueCompleter for Runs {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let begun = current.to_string_lossy();
        let runs = runs(Path::new("runs"));
        let known = runs.iter().filter(|run| run.to_string_lossy().starts_with(&*begun));
        let known: Vec<_> = (0..)
            .zip(known)
            .map(|(order, run)| CompletionCandidate::new(run.as_os_str()).display_order(Some(order)))
            .collect();
        if known.is_empty() { PathCompleter::dir().complete(current) } else { known }
    }
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let found = RunFolder::list(folder).unwrap_or_default();
    found.iter().map(|run| run.path().to_owned()).collect()
}

fn services() -> Vec<String> {
    find_catalog(None).map(|catalog| catalog.names().map(str::to_owned).collect()).unwrap_or_default()
}

fn cases() -> Vec<String> {
    weighbridge_probe::hostile::cases().map(|case| case.name.to_owned()).collect()
}

fn verbs() -> Vec<String> {
    let shown = |verb: &&Command| !verb.is_hide_set();
    Arguments::command().get_subcommands().filter(shown).map(|verb| verb.get_name().to_owned()).collect()
}
