//! `weigh init`: a commented experiment file to start from.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use weighbridge_model::experiment::{Experiment, Protocol, Url};

use crate::args::Init;
use crate::exit::Exit;
use crate::printer::Printer;

/// Writes the file.
pub fn run(arguments: &Init, printer: &Printer) -> anyhow::Result<Exit> {
    let url = arguments.url.as_deref().map(Url::parse).transpose().map_err(anyhow::Error::msg)?;
    if let Some(url) = url.as_ref().filter(|url| !url.scheme.carries(Protocol::Http1Json)) {
        bail!("no template for `{url}` yet; docs/EXPERIMENT.md shows the workload `commands`");
    }
    let text = url.as_ref().map_or_else(|| SERVICES.to_owned(), of_url);
    debug_assert!(Experiment::parse("template", &text).is_ok());
    if arguments.output == Path::new("-") {
        printer.data(&text)?;
        return Ok(Exit::Fine);
    }
    let path = arguments.output.display();
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(&arguments.output).with_context(|| {
            format!("could not write `{path}`; remove it first or name another file with `--output`")
        })?;
    file.write_all(text.as_bytes()).with_context(|| format!("could not write `{path}`"))?;
    printer.note(format_args!("wrote `{path}`; edit it, then `weigh run {path}`"));
    Ok(Exit::Fine)
}

fn of_url(url: &Url) -> String {
    let at = |path: &str| Url { path: path.to_owned(), ..url.clone() }.to_string();
    URLS.replace("PATH", &url.path).replace("URL", &at("/"))
}

/// Two addresses of the user's own.
const URLS: &str = r#"# An experiment: the alternatives (`[[variant]]`), the same load on each, and how much to measure.
# `weigh plan` shows what will happen, `weigh run` does it.
title = "my service against itself"

[workload]
name = "http"
# What must agree between variants before anything is timed: "status", "length", "json" or "bytes".
equal = "status"

# One table for each kind of request; `weight` is its share of the mix.
[[workload.request]]
name   = "get"
method = "GET"
path   = "PATH"
# headers = { Accept = "application/json", Authorization = "env:TOKEN" }
# body    = "…"
# weight  = 1
# What a good reply looks like; without `status` any 2xx is good.
check = { status = 200 }

[load]
model       = "closed"    # or "open", with  rate = "1000/s"  and  arrivals = "poisson"
connections = 4
timeout     = "10 s"

[plan]
headline = "response p50" # decides when to stop
blocks   = { min = 6, max = 30 }
until    = "1 %"          # stop when the headline's interval is this narrow
budget   = "2 min"
margin   = "2 %"          # differences within this are not relevant
# pairing = "auto"        # or "windows", "duet", "requests", "sequential": how variants are put side by side

# The first variant is the baseline. A server given by `url` is not started by `weigh`; with
#   command = "./my-server --port {port}"
# it is started afresh in every block, pinned, and frozen while the other has its turn.
[[variant]]
name = "before"
url  = "URL"

[[variant]]
name = "after"
url  = "URL"              # put the other address here
# An `https://` address may say what to trust and how:  tls = { ca = "ca.pem", min = "1.3" }
"#;

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
    fn both_templates_are_experiments() {
        Experiment::parse("services", SERVICES).unwrap();
        let url = Url::parse("http://127.0.0.1:8080/a?b=1").unwrap();
        let experiment = Experiment::parse("url", &of_url(&url)).unwrap();
        assert_eq!(experiment.variants.len(), 2);
    }
}
