//! The `weigh` command: parse, call, print the error, set the exit code.

mod args;
mod exit;
#[cfg(test)]
mod golden;
mod live;
mod other_tools;
mod printer;
mod progress;
mod signals;
mod sources;
mod terminal;
mod verb;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{Arguments, Color, Verb};
use crate::exit::Exit;
use crate::printer::Printer;

fn main() -> ExitCode {
    if verb::completions::answered() {
        return ExitCode::SUCCESS;
    }
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) => return misunderstood(error),
    };
    live::screen::tidy_up_on_panic();
    weighbridge_conductor::offer_services(|| sources::unpack().map_err(|error| format!("{error:#}")));
    let printer = Printer::new(arguments.color, arguments.quiet);
    let outcome = run(arguments.verb, &printer);
    let exit = outcome.unwrap_or_else(|error| {
        printer.error(&error);
        Exit::CouldNot
    });
    ExitCode::from(exit as u8)
}

/// What a newcomer sees of all verbs: at most a screen. `--help` has the whole list.
const OVERVIEW: &str = include_str!("overview.txt");

fn parse() -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command();
    if !std::env::args().any(|word| word == "--help") {
        command = command.override_help(OVERVIEW);
    }
    let mut matches = command.clone().try_get_matches()?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Help and version, or what was wrong with the command line.
fn misunderstood(mut error: clap::Error) -> ExitCode {
    let puts_load = std::env::args().nth(1).is_some_and(|verb| verb == "load" || verb == "capacity");
    match other_tools::explain(&error).filter(|_| puts_load) {
        Some(words) => {
            Printer::new(Color::Auto, false).error(&anyhow::Error::msg(words));
            ExitCode::from(Exit::CouldNot as u8)
        }
        None => {
            other_tools::forget_far_proposals(&mut error);
            error.exit()
        }
    }
}

fn run(verb: Verb, printer: &Printer) -> anyhow::Result<Exit> {
    match verb {
        Verb::Load(arguments) => verb::load::run(&arguments, printer),
        Verb::Capacity(arguments) => verb::capacity::run(&arguments, printer),
        Verb::Run(arguments) => verb::run::run(&arguments, printer),
        Verb::Plan(arguments) => verb::plan::run(&arguments, printer),
        Verb::Verify(arguments) => verb::verify::run(&arguments, printer),
        Verb::Init(arguments) => verb::init::run(&arguments, printer),
        Verb::Suites(arguments) => verb::suites::run(&arguments, printer),
        Verb::Compare(arguments) => verb::compare::run(&arguments, printer),
        Verb::Report(arguments) => verb::report::run(&arguments, printer),
        Verb::Plot(arguments) => verb::plot::run(&arguments, printer),
        Verb::Export(arguments) => verb::export::run(&arguments, printer),
        Verb::Schema(arguments) => verb::schema::run(&arguments, printer),
        Verb::Import(arguments) => verb::import::run(&arguments, printer),
        Verb::Summary(arguments) => verb::summary::run(&arguments, printer),
        Verb::Judge(arguments) => verb::judge::run(&arguments, printer),
        Verb::Cite(arguments) => verb::cite::run(&arguments, printer),
        Verb::History(arguments) => verb::history::run(&arguments, printer),
        Verb::Serve(arguments) => verb::serve::run(&arguments, printer),
        Verb::Calibrate(arguments) => verb::calibrate::run(&arguments, printer),
        Verb::Doctor(arguments) => verb::doctor::run(&arguments, printer),
        Verb::Services(arguments) => verb::services::run(&arguments, printer),
        Verb::Trade(arguments) => verb::trade::run(&arguments, printer),
        Verb::Probe(arguments) => verb::probe::run(&arguments, printer),
        Verb::Hostile(arguments) => verb::hostile::run(&arguments, printer),
        Verb::Completions(arguments) => verb::completions::run(&arguments, printer),
        Verb::Man(arguments) => verb::man::run(&arguments, printer),
        Verb::Guardian => verb::guardian::run(),
        Verb::Frames(arguments) => verb::frames::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_names_every_verb_within_a_screen() {
        let command = Arguments::command();
        let words: Vec<&str> = OVERVIEW.split(|c: char| !c.is_ascii_lowercase()).collect();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(words.contains(&verb.get_name()), "{}", verb.get_name());
        }
        assert!(OVERVIEW.lines().count() <= 24 && OVERVIEW.lines().all(|line| line.len() <= 80));
    }
}
