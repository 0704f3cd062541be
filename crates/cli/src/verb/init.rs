//! `weigh init`: writes a commented experiment file to start from.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use weighbridge_draft::cache_tools::{CacheDraft, CacheTool};
use weighbridge_draft::jmh::JmhOptions;
use weighbridge_draft::{Draft, curl, har, openapi};
use weighbridge_model::experiment::{Experiment, Protocol, Url};

use crate::args::{ForeignLine, Init, TakenAs};
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Init, printer: &Printer) -> anyhow::Result<Exit> {
    let is_person = arguments.source.as_deref() == Some("person");
    if arguments.jmh.is_some() && !is_person {
        bail!("`--jmh` belongs to `weigh init person`");
    }
    if is_person && arguments.command.is_some() {
        bail!("`weigh init person` is about our services and takes no `--command`; leave one of them out");
    }
    let cache = cache_draft(arguments)?;
    let draft = if is_person || cache.is_some() { None } else { draft(arguments)? };
    let text = match &draft {
        Some(draft) => draft.to_file(),
        None if cache.is_some() => cache.iter().map(CacheDraft::to_file).collect(),
        None if is_person => JmhOptions::parse(arguments.jmh.as_deref().unwrap_or_default())?.to_file(),
        None => SERVICES.to_owned(),
    };
    let name = arguments.output.display();
    Experiment::parse(&name.to_string(), &text)
        .context("what would be written cannot be run; change what it is made from")?;
    if arguments.output == Path::new("-") {
        printer.data(&text)?;
    } else {
        write(arguments, &text)?;
        printer.note(format_args!("wrote `{name}`; edit it, then `weigh run {name}`"));
    }
    let notes = draft.iter().flat_map(|draft| &draft.notes);
    for note in notes.chain(cache.iter().flat_map(|draft| &draft.notes)) {
        // Names in a foreign file may contain control characters for a terminal.
        let plain: String = note.chars().filter(|c| !c.is_control()).collect();
        printer.note(format_args!("note: {plain}"));
    }
    Ok(Exit::Fine)
}

fn write(arguments: &Init, text: &str) -> anyhow::Result<()> {
    let path = arguments.output.display();
    let mut options = OpenOptions::new();
    options.write(true);
    if arguments.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let mut file = options.open(&arguments.output).with_context(|| match arguments.output.exists() {
        true => format!("could not write `{path}`; `--force` writes over it, `--output` names another file"),
        false => format!("could not write `{path}`; name another file with `--output`"),
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("could not write `{path}`"))
}

/// The draft from a command line of a tool for caches, if there is one.
fn cache_draft(arguments: &Init) -> anyhow::Result<Option<CacheDraft>> {
    let (tool, words) = match (&arguments.line, &arguments.source) {
        (Some(ForeignLine::Mutilate(line)), _) => (CacheTool::Mutilate, line.words.clone()),
        (Some(ForeignLine::Memtier(line)), _) => (CacheTool::Memtier, line.words.clone()),
        (None, Some(text)) => match CacheTool::of_line(text) {
            Some(tool) => (tool, vec![text.clone()]),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    if arguments.command.is_some() || (arguments.line.is_some() && arguments.source.is_some()) {
        bail!("a command line of another program stands alone; leave the source or `--command` out");
    }
    Ok(Some(tool.parse(&words)?))
}

/// The requested draft; `None` for the reference services.
fn draft(arguments: &Init) -> anyhow::Result<Option<Draft>> {
    let chosen = draft_of_files(arguments)?;
    if let Some(draft) = chosen {
        return Ok(Some(draft));
    }
    if let Some(ForeignLine::Curl(line)) = &arguments.line {
        if arguments.source.is_some() || arguments.command.is_some() {
            bail!(
                "a command line of curl cannot be combined with a source or `--command`; leave one of them out"
            );
        }
        let words: Vec<String> =
            std::iter::once("curl".to_owned()).chain(line.words.iter().cloned()).collect();
        return Ok(Some(curl::parse(&words, &mut read_bytes)?));
    }
    if let Some(command) = &arguments.command {
        let path = arguments.source.as_deref().unwrap_or("/");
        return draft_of_commands(std::slice::from_ref(command), path).map(Some);
    }
    if let (Some(first), Some(second)) = (&arguments.source, &arguments.second) {
        return draft_of_two(first, second).map(Some);
    }
    let Some(source) = arguments.source.as_deref() else { return Ok(None) };
    let draft = match source {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("could not read stdin")?;
            draft_of_text("stdin", &text, arguments)?
        }
        line if curl::is_curl(line) => curl::parse_line(line, &mut read_bytes)?,
        path if is_file(path) => draft_of_text(path, &read(Path::new(path))?, arguments)?,
        url => draft_of_url(url)?,
    };
    Ok(Some(draft))
}

/// The draft from files that options name.
fn draft_of_files(arguments: &Init) -> anyhow::Result<Option<Draft>> {
    if let Some(path) = &arguments.har {
        return Ok(Some(draft_of_har(&path.display().to_string(), &read(path)?, arguments)?));
    }
    if let Some(path) = &arguments.openapi {
        return Ok(Some(draft_of_openapi(&path.display().to_string(), &read(path)?, arguments)?));
    }
    Ok(None)
}

/// Whether a word names a file instead of an address: the file exists, or has one of the accepted extensions.
fn is_file(word: &str) -> bool {
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let known = ["har", "json", "yaml", "yml"].contains(&ending.to_ascii_lowercase().as_str());
    !word.contains("://") && (known || Path::new(word).is_file())
}

fn read_bytes(path: &str) -> std::io::Result<Vec<u8>> {
    if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    std::fs::read(path)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("could not read `{name}`"))?;
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("`{name}` is no text in UTF-8"))
}

/// The draft from a recording, a description, a command line or a URL, recognised by its content.
fn draft_of_text(name: &str, text: &str, arguments: &Init) -> anyhow::Result<Draft> {
    if curl::is_curl(text) {
        return Ok(curl::parse_line(text, &mut read_bytes)?);
    }
    let ends = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    if ends(".har") || har::is_har(text) {
        return draft_of_har(name, text, arguments);
    }
    if ends(".yaml") || ends(".yml") || openapi::is_openapi(text) {
        return draft_of_openapi(name, text, arguments);
    }
    if name == "stdin" && text.trim().lines().count() == 1 {
        return draft_of_url(text.trim());
    }
    bail!(
        "`{name}` is neither a recording (HAR) nor a description of an API (OpenAPI 3.0, 3.1) nor a command line of curl"
    )
}

fn draft_of_har(name: &str, text: &str, arguments: &Init) -> anyhow::Result<Draft> {
    let assets = if arguments.skip_assets { har::Assets::Skipped } else { har::Assets::Kept };
    let taken_as = match arguments.taken_as {
        None | Some(TakenAs::Session) => har::TakenAs::Session,
        Some(TakenAs::Requests) => har::TakenAs::Requests,
    };
    let draft =
        har::parse(name, text, &har::Selection { origin: arguments.origin.clone(), assets, taken_as })?;
    refuse(
        &[("--url", arguments.url.is_some()), ("--methods", !arguments.methods.is_empty())],
        "a description of an API",
    )?;
    Ok(draft)
}

fn draft_of_openapi(name: &str, text: &str, arguments: &Init) -> anyhow::Result<Draft> {
    let wanted = openapi::Selection { url: arguments.url.clone(), methods: arguments.methods.clone() };
    let draft = openapi::parse(name, text, &wanted)?;
    refuse(
        &[
            ("--origin", arguments.origin.is_some()),
            ("--skip-assets", arguments.skip_assets),
            ("--as", arguments.taken_as.is_some()),
        ],
        "a recording",
    )?;
    Ok(draft)
}

/// Refuses options that have no meaning here.
fn refuse(given: &[(&str, bool)], belongs_to: &str) -> anyhow::Result<()> {
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!("`{option}` belongs to {belongs_to}; leave it out"),
        None => Ok(()),
    }
}

fn draft_of_url(text: &str) -> anyhow::Result<Draft> {
    let url = Url::parse(text).map_err(anyhow::Error::msg)?;
    if !url.scheme.carries(Protocol::HTTP1_JSON) {
        bail!("no template for `{url}` yet; docs/EXPERIMENT.md shows the workload `commands`");
    }
    Ok(Draft::of_url(&url))
}

fn draft_of_two(first: &str, second: &str) -> anyhow::Result<Draft> {
    let [first, second] = [first, second].map(|text| Url::parse(text).map_err(anyhow::Error::msg));
    let (first, second) = (first?, second?);
    if first.path != second.path {
        bail!(
            "`{first}` and `{second}` name two paths, and one request is sent to both; write the same path"
        );
    }
    Ok(Draft::of_two(&first, &second))
}

/// The draft for programs of the user and the path to request.
pub(super) fn draft_of_commands(commands: &[String], path: &str) -> anyhow::Result<Draft> {
    if !path.starts_with('/') {
        bail!("`{path}` is no path; with `--command` say what is fetched from the program, such as `/items`");
    }
    Ok(Draft::of_commands(commands, path))
}

/// Two reference services.
const SERVICES: &str = r#"# An experiment: the alternatives, the same load on each, and how much to measure.
# `weigh plan` shows what will happen, `weigh run` does it.
title = "pong in Rust against Go"

[workload]
name = "pingpong"         # GET /pong/{n}: fetch n bytes
size = "64 B"

[load]
model       = "closed"    # or "open", with  rate = "1000/s"  and  arrivals = "poisson"
connections = 1
warmup      = "200 ms"

[plan]
headline = "response p50" # decides when to stop
blocks   = { min = 6, max = 30 }
until    = "1 %"          # stop when the headline's interval is this narrow
budget   = "2 min"
margin   = "2 %"          # differences within this are not relevant
# pairing = "auto"        # or "windows", "duet", "requests", "sequential": how variants are put side by side

# The first variant is the baseline; `weigh services list` names what can stand here.
[[variant]]
service = "rust"

[[variant]]
service = "go"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_services_is_an_experiment() {
        assert_eq!(Experiment::parse("services", SERVICES).expect("it is one").variants.len(), 2);
    }

    #[test]
    fn files_are_distinguished_from_addresses() {
        for (word, is) in
            [("a.har", true), ("api/openapi.YAML", true), ("http://h/a.json", false), ("h:80", false)]
        {
            assert_eq!(is_file(word), is, "{word}");
        }
    }
}
