//! Writes the experiment file, with the comments that a newcomer needs to change it.

use std::fmt::Write;

use toml::Value;
use weighbridge_model::experiment::{Extract, ExtractFrom, TlsSpec, TlsVersion, Url};
use weighbridge_model::secret::printable;

use crate::{Address, Draft, Request, Server};

/// The whole file.
pub(crate) fn file(draft: &Draft) -> String {
    let mut text = String::from(
        "# An experiment: the alternatives (`[[variant]]`), the same load on each, and how much to measure.\n\
         # `weigh plan` shows what will happen, `weigh run` does it.\n",
    );
    line(&mut text, format_args!("title = {}\n", quoted(&printable(&draft.title))));
    notes(&mut text, &draft.notes);
    workload(&mut text, draft);
    load(&mut text, draft);
    text.push_str(PLAN);
    match &draft.server {
        Server::Address(address) => address_and_room(&mut text, address),
        Server::Two(first, second) => {
            text.push_str("# The first variant is the baseline.\n");
            for (name, url) in [("before", first), ("after", second)] {
                variant(&mut text, name, &Address::plain(url.clone()));
            }
        }
        Server::Commands(commands) => programs(&mut text, commands),
    }
    text
}

/// Writing to a string cannot fail.
fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{what}");
}

/// Text as a TOML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A comment has one line, and no control characters.
fn comment(text: &mut String, words: &str) {
    let plain: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut row = String::from("#");
    for word in plain.split(' ') {
        if row.chars().count() + word.chars().count() > 116 && row.len() > 2 {
            line(text, format_args!("{row}"));
            row = String::from("#");
        }
        row.push(' ');
        row.push_str(word);
    }
    line(text, format_args!("{row}"));
}

fn notes(text: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    comment(text, "To know:");
    for note in notes {
        comment(text, &format!("- {note}."));
    }
    text.push('\n');
}

fn workload(text: &mut String, draft: &Draft) {
    text.push_str(
        "[workload]\nname = \"http\"\n\
         # What must agree between variants before anything is timed: \"status\", \"length\", \"json\" or \"bytes\".\n\
         equal = \"status\"\n\n",
    );
    text.push_str(match draft.session {
        None => "# One table for each kind of request; `weight` is its share of the mix.\n",
        Some(_) => {
            "# One table for each request of the session, whose order stands below them. `extract` takes a value from the\n\
             # reply, and `${name}` puts it into a later request.\n"
        }
    });
    for (number, request) in draft.requests.iter().enumerate() {
        self::request(text, request, draft, number);
        text.push('\n');
    }
    if let Some(order) = &draft.session {
        session(text, &draft.requests, order);
    }
}

fn session(text: &mut String, requests: &[Request], order: &[usize]) {
    text.push_str(
        "# What one client sends, one after the other; then it begins again. More of these tables make a mix of sessions, by\n\
         # their `weight`.\n[[workload.session]]\nname = \"recording\"\nrequests = [\n",
    );
    for request in order.iter().filter_map(|place| requests.get(*place)) {
        line(text, format_args!("    {},", quoted(&printable(&request.name))));
    }
    text.push_str("]\n\n");
}

/// A value taken from a reply.
fn extract(text: &mut String, extract: &Extract) {
    let source = match &extract.from {
        ExtractFrom::Body => None,
        ExtractFrom::Json(pointer) => Some(format!("json = {}", quoted(pointer))),
        ExtractFrom::Header(name) => Some(format!("header = {}", quoted(name))),
    };
    let regex = extract.regex.as_ref().map(|regex| format!("regex = {}", quoted(regex)));
    let parts: Vec<String> = source.into_iter().chain(regex).collect();
    line(text, format_args!("extract.{} = {{ {} }}", key(&extract.name), parts.join(", ")));
}

/// One request; the comments of the first show further options.
fn request(text: &mut String, request: &Request, draft: &Draft, number: usize) {
    let first = number == 0;
    text.push_str("[[workload.request]]\n");
    line(text, format_args!("name = {}", quoted(&printable(&request.name))));
    line(text, format_args!("method = {}", quoted(&request.method)));
    line(text, format_args!("path = {}", quoted(&request.path)));
    if first && request.headers.is_empty() {
        text.push_str("# headers = { Accept = \"application/json\", Authorization = \"env:TOKEN\" }\n");
    }
    if first && request.body.is_none() {
        text.push_str("# body = \"…\"\n");
    }
    if let Some(body) = &request.body {
        line(text, format_args!("body = {}", quoted(body)));
    }
    if request.weight != 1 {
        line(text, format_args!("weight = {}", request.weight));
    } else if first && draft.session.is_none() {
        text.push_str("# weight = 1\n");
    }
    if first {
        text.push_str("# What a good reply looks like; without `status` any 2xx is good.\n");
    }
    match request.status {
        Some(status) => line(text, format_args!("check = {{ status = {status} }}")),
        None if first => text.push_str("# check = { status = 200 }\n"),
        None => {}
    }
    for one in &request.extract {
        extract(text, one);
    }
    if !request.headers.is_empty() {
        text.push_str("[workload.request.headers]\n");
        for (name, value) in &request.headers {
            line(text, format_args!("{} = {}", key(name), quoted(value)));
        }
    }
}

/// A key of a table, bare if TOML allows it.
fn key(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

fn load(text: &mut String, draft: &Draft) {
    let timeout = draft.timeout.map_or_else(|| "10 s".to_owned(), |time| format!("{} ns", time.as_nanos()));
    line(
        text,
        format_args!(
            "[load]\n\
             model       = \"closed\"    # or \"open\", with  rate = \"1000/s\"  and  arrivals = \"poisson\"\n\
             connections = 4\n\
             timeout     = {}\n",
            quoted(&timeout)
        ),
    );
}

const PLAN: &str = r#"[plan]
headline = "response p50" # decides when to stop
blocks   = { min = 6, max = 30 }
until    = "1 %"          # stop when the headline's interval is this narrow
budget   = "2 min"
margin   = "2 %"          # differences within this are not relevant
# pairing = "auto"        # or "windows", "duet", "requests", "sequential": how variants are put side by side

[gates]                   # conditions that decide the exit code, for CI
fail_if = "errors > 0"    # or a list: ["errors > 0", "p50 > +5 %"]

"#;

fn address_and_room(text: &mut String, address: &Address) {
    text.push_str(
        "# A server given by `url` is not started by `weigh`; with\n\
         #   command = \"./my-server --port {port}\"\n\
         # it is started afresh in every block, pinned, and frozen while another has its turn.\n",
    );
    variant(text, "before", address);
    let mut after = String::new();
    variant(&mut after, "after", address);
    text.push_str("\n# The alternative: put its address here. The first variant is the baseline.\n");
    after.lines().for_each(|row| line(text, format_args!("# {row}")));
    if !address.url.scheme.is_secured() {
        text.push_str(
            "# An `https://` address may say what to trust and how:  tls = { ca = \"ca.pem\", min = \"1.3\" }\n",
        );
    }
}

fn variant(text: &mut String, name: &str, address: &Address) {
    line(text, format_args!("[[variant]]\nname = {}", quoted(name)));
    line(text, format_args!("url = {}", quoted(&with_slash(&address.url))));
    if let Some(protocol) = address.protocol {
        line(text, format_args!("protocol = {}", quoted(protocol.name())));
    }
    if let Some(socket) = &address.unix {
        line(text, format_args!("unix = {}", quoted(socket)));
    }
    if let Some(spec) = &address.tls {
        line(text, format_args!("tls = {}", tls(spec)));
    }
}

fn with_slash(url: &Url) -> String {
    url.to_string()
}

/// What differs from the default, as an inline table.
fn tls(spec: &TlsSpec) -> String {
    let texts =
        [("ca", &spec.ca), ("cert", &spec.cert), ("key", &spec.key), ("server_name", &spec.server_name)];
    let mut parts: Vec<String> = texts
        .iter()
        .filter_map(|(name, value)| Some(format!("{name} = {}", quoted(value.as_deref()?))))
        .collect();
    if spec.insecure {
        parts.insert(0, "insecure = true".to_owned());
    }
    if !spec.resumption {
        parts.push("resumption = false".to_owned());
    }
    for (name, version, default) in [("min", spec.min, TlsVersion::V12), ("max", spec.max, TlsVersion::V13)] {
        if version != default {
            parts.push(format!("{name} = {}", quoted(version.name())));
        }
    }
    format!("{{ {} }}", parts.join(", "))
}

fn programs(text: &mut String, commands: &[String]) {
    text.push_str(match commands {
        [_] => {
            "# A program that is started afresh in every block, in the current folder. `weigh run FILE --revisions main,HEAD`\n\
             # weighs two revisions of it: each is checked out, built by `--build COMMAND`, and started from its own tree.\n\
             # To weigh two commands instead, add a second `[[variant]]`; the first is the baseline.\n"
        }
        _ => {
            "# Programs that are started afresh in every block, in the current folder; the first is the baseline.\n"
        }
    });
    for (name, command) in names(commands).into_iter().zip(commands) {
        line(text, format_args!("[[variant]]\nname = {}\ncommand = {}", quoted(&name), quoted(command)));
        if !command.contains("{port}") {
            text.push_str("# It takes its port from the variable `PORT`; in the command `{port}` would stand for it.\nready = \"port\"\n");
        }
    }
    text.push_str(
        "# It is ready when it accepts connections on its port. Otherwise:\n\
         # ready = \"/health\"                     # a path that answers 2xx\n\
         # ready = { log = \"listening on port\" }  # a line of its output, as a regular expression\n\
         # ready_timeout = \"30 s\"\n\
         # env = { LOG_LEVEL = \"warn\", API_KEY = \"env:MY_KEY\" }\n",
    );
}

/// The programs' names where these differ, else the commands; equal commands, which tell how small a difference is
/// found, are numbered.
fn names(commands: &[String]) -> Vec<String> {
    let program = |command: &String| {
        let first = command.split_whitespace().next().unwrap_or_default();
        first.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let programs: Vec<String> = commands.iter().map(program).collect();
    let is_repeated = |at: usize| programs[..at].contains(&programs[at]);
    match commands {
        [_] => vec!["mine".to_owned()],
        _ if (0..programs.len()).any(is_repeated) => {
            (0..commands.len()).map(|at| numbered(commands, at)).collect()
        }
        _ => programs,
    }
}

fn numbered(commands: &[String], at: usize) -> String {
    let name = printable(&commands[at]);
    match commands[..at].iter().filter(|before| **before == commands[at]).count() {
        0 => name.into_owned(),
        before => format!("{name} ({})", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::experiment::Experiment;

    fn read(draft: &Draft) -> Experiment {
        let text = draft.to_file();
        Experiment::parse("draft", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn hostile_text_stays_within_its_value() {
        let mut draft = Draft::of_url(&Url::parse("http://127.0.0.1:8080/a").expect("a URL"));
        let nasty = "a\"'''\"\"\"\n[gates]\n# \u{7f}\u{0}\u{202e}";
        draft.title = nasty.to_owned();
        draft.notes.push(nasty.to_owned());
        draft.requests[0].name = nasty.to_owned();
        draft.requests[0].body = Some(nasty.to_owned());
        draft.requests[0].headers.push(("X-a.b\"".to_owned(), nasty.to_owned()));
        let experiment = read(&draft);
        // A name with control characters would be refused.
        assert_eq!(experiment.title, printable(nasty));
        let weighbridge_model::experiment::WorkloadSpec::Http(weighbridge_model::experiment::HttpSpec {
            requests,
            ..
        }) = &experiment.points[0].workload
        else {
            panic!("it is http")
        };
        assert_eq!(requests[0].name, printable(nasty));
        assert_eq!(requests[0].body, nasty.as_bytes());
        assert_eq!(requests[0].headers, [("X-a.b\"".to_owned(), nasty.to_owned())]);
    }

    #[test]
    fn every_kind_of_draft_is_an_experiment() {
        let url = Url::parse("https://127.0.0.1:8443/a?b=1").expect("a URL");
        let mut draft = Draft::of_url(&url);
        let Server::Address(address) = &mut draft.server else { panic!("an address") };
        address.tls = Some(TlsSpec { insecure: true, min: TlsVersion::V13, ..TlsSpec::default() });
        address.unix = Some("/run/a b.sock".to_owned());
        let experiment = read(&draft);
        assert_eq!(experiment.variants.len(), 1, "none is weighed against itself");
        assert!(experiment.variants[0].tls.as_ref().expect("TLS").insecure);
        let dollar = Url::parse("http://127.0.0.1:8081/${a}").expect("a URL");
        assert!(
            Draft::of_url(&dollar).to_file().contains("path = \"/${$}{a}\""),
            "it is no value to fill in"
        );
        let other = Url::parse("http://127.0.0.1:8081/a?b=1").expect("a URL");
        assert_eq!(read(&Draft::of_two(&url, &other)).variants.len(), 2);
        let named = |commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(|one| (*one).to_owned()).collect();
            let experiment = read(&Draft::of_commands(&commands, "/items/1"));
            experiment.variants.into_iter().map(|variant| variant.name).collect::<Vec<_>>()
        };
        assert_eq!(named(&["./serve --port {port}"]), ["mine"]);
        assert_eq!(named(&["./old {port}", "bin/new {port}"]), ["old", "new"]);
        assert_eq!(named(&["./s -O1 {port}", "./s -O2 {port}"]), ["./s -O1 {port}", "./s -O2 {port}"]);
        assert_eq!(named(&["./s {port}", "./s {port}"]), ["./s {port}", "./s {port} (2)"]);
    }
}
