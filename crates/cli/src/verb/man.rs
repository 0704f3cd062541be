//! `weigh man`: the manual, one page for each verb and an overview, from the texts of `--help`.

use std::io;
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;
use roff::{Roff, bold, roman};

use crate::args::{Arguments, Man};
use crate::exit::Exit;
use crate::printer::Printer;

/// The line before the examples in a verb's help.
const EXAMPLES: &str = "Examples:\n";

/// Prints one page, or writes all.
pub fn run(arguments: &Man, printer: &Printer) -> anyhow::Result<Exit> {
    let whole = whole();
    if let Some(folder) = &arguments.out {
        return write_all(&whole, folder, printer);
    }
    let page = match &arguments.verb {
        None => overview(&whole)?,
        Some(name) => match verbs(&whole).find(|verb| verb.get_name() == name) {
            Some(verb) => verb_page(verb)?,
            None => {
                let names: Vec<_> = verbs(&whole).map(|verb| format!("`{}`", verb.get_name())).collect();
                bail!("`{name}` is no verb; allowed: {}", names.join(", "));
            }
        },
    };
    printer.data(&page)?;
    Ok(Exit::Fine)
}

fn write_all(whole: &Command, folder: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("could not make `{shown}`"))?;
    let mut pages = vec![("weigh.1".to_owned(), overview(whole)?)];
    for verb in verbs(whole) {
        pages.push((format!("weigh-{}.1", verb.get_name()), verb_page(verb)?));
    }
    for (name, page) in &pages {
        let path = folder.join(name);
        std::fs::write(&path, page).with_context(|| format!("could not write `{}`", path.display()))?;
    }
    printer.progress(format_args!("wrote {} pages into `{shown}`", pages.len()));
    Ok(Exit::Fine)
}

/// The command, with the global flags at every verb.
fn whole() -> Command {
    let mut whole = Arguments::command().disable_help_subcommand(true);
    whole.build();
    whole
}

fn verbs(whole: &Command) -> impl Iterator<Item = &Command> {
    whole.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// The page of `weigh` itself.
fn overview(whole: &Command) -> io::Result<String> {
    let page = Page::new(whole.clone());
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    let mut roff = Roff::new();
    roff.control("SH", ["VERBS"]);
    for verb in verbs(whole) {
        roff.control("TP", []);
        roff.text([bold(format!("weigh-{}(1)", verb.get_name()))]);
        roff.text([roman(verb.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
    roff.to_writer(&mut out)?;
    page.render_options_section(&mut out)?;
    let example = "  weigh run suites/quickstart.toml\n  weigh load http://127.0.0.1:8080/";
    closing(Some(example), "weigh", &mut out)?;
    text(out)
}

/// The page of one verb, including its subcommands.
fn verb_page(verb: &Command) -> io::Result<String> {
    let name = verb.get_name();
    let page = Page::new(named(verb, format!("weigh-{name}")));
    let mut out = Vec::new();
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    for action in verb.get_subcommands() {
        let title = format!("weigh {name} {}", action.get_name());
        let mut roff = Roff::new();
        roff.control("SH", [&*title]);
        roff.text([roman(action.get_about().map(ToString::to_string).unwrap_or_default())]);
        roff.to_writer(&mut out)?;
        let mut options = Vec::new();
        // The global flags are listed above already.
        let own = named(action, title).disable_help_flag(true);
        let own = own.mut_args(|flag| if flag.is_global_set() { flag.hide(true) } else { flag });
        Page::new(own).render_options_section(&mut options)?;
        out.extend_from_slice(text(options)?.replace(".SH OPTIONS\n", "").as_bytes());
    }
    let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
    closing(examples.split_once(EXAMPLES).map(|(_, lines)| lines), name, &mut out)?;
    text(out)
}

/// The command under the name of its page. The name is leaked, since a program makes the manual only once.
fn named(command: &Command, name: String) -> Command {
    let name: &'static str = name.leak();
    command.clone().name(name).display_name(name).after_help("")
}

/// Examples, exit codes, environment and references.
fn closing(examples: Option<&str>, verb: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let mut roff = Roff::new();
    if let Some(examples) = examples {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        for line in examples.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in Exit::meanings(verb) {
        roff.control("TP", []);
        roff.text([bold(code.to_string())]);
        roff.text([roman(meaning)]);
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in ENVIRONMENT {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(meaning)]);
    }
    if verb != "weigh" {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("weigh(1)")]);
    }
    roff.to_writer(out)
}

/// Variables that every verb uses.
const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "WEIGH_SERVICES",
        "A folder of services, where none is found upward of the experiment and of the current folder.",
    ),
    ("XDG_STATE_HOME", "Registries and calibrations lie in weighbridge/ below it; default ~/.local/state."),
    ("NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "Whether there is colour, where --color says nothing."),
    ("NO_COLOR, TERM=dumb, CI", "Progress is printed in plain lines."),
];

fn text(page: Vec<u8>) -> io::Result<String> {
    String::from_utf8(page).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    /// Every flag of a command and of its subcommands, as typed.
    fn flags(command: &Command) -> Vec<String> {
        let own = command.get_arguments().filter(|flag| !flag.is_hide_set());
        let own = own.filter_map(|flag| Some(format!("--{}", flag.get_long()?)));
        own.chain(command.get_subcommands().flat_map(flags)).collect()
    }

    #[test]
    fn each_verb_has_a_page_with_every_flag_examples_and_exit_codes() {
        let whole = whole();
        for verb in verbs(&whole) {
            let (name, page) = (verb.get_name(), verb_page(verb).expect("a page"));
            // In pages hyphens are escaped.
            let plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
            let missing: Vec<_> = flags(verb).into_iter().filter(|flag| !plain.contains(flag)).collect();
            assert!(missing.is_empty(), "`weigh-{name}` says nothing of {missing:?}:\n{plain}");
            for section in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS", ".SH EXAMPLES"] {
                assert!(plain.contains(section), "`weigh-{name}` has no {section}:\n{plain}");
            }
            assert!(plain.contains(".SH \"EXIT STATUS\""), "{plain}");
            assert!(plain.contains(&format!("weigh {name}")), "the synopsis of `{name}`:\n{plain}");
        }
        let overview = overview(&whole).expect("a page").replace("\\-", "-");
        verbs(&whole).for_each(|verb| assert!(overview.contains(&format!("weigh-{}(1)", verb.get_name()))));
    }

    #[test]
    fn every_example_is_understood() {
        let whole = whole();
        for verb in verbs(&whole) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<_> = help.lines().filter(|line| line.starts_with("  weigh ")).collect();
            assert!(!lines.is_empty(), "`{}` has no example", verb.get_name());
            for line in lines {
                let words = shell_words::split(line).expect("words of a shell");
                let ours = words.into_iter().take_while(|word| !["|", ">", ">>", "#"].contains(&&**word));
                if let Err(error) = Arguments::try_parse_from(ours) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
