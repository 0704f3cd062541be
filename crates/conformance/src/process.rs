//! Rows C1 to C15: arguments, configuration, the `ready` line and the port.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use super::client::{ClientError, Connection};
use super::harness::{Harness, Service};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::running::{Ended, Patience};
use super::{Needs, Protocol, Test, TlsOffer, row};

pub(super) const ROWS: &[Test] = &[
    row(
        "C1",
        "`--version` prints one line of names with their versions, the language first, and exits with 0",
    )
    .tried(Needs::Program, |harness| version_line(harness, &[]).map(drop)),
    row("C2", "`--version` prints the same line whatever the environment says")
        .tried(Needs::Program, version_ignores_the_environment),
    row("C3", "an unknown argument is refused in one line that names it and `--version`, exit code 2")
        .tried(Needs::Program, |harness| {
            refuses(harness, &["--frobnicate"], &[], &["--frobnicate", "--version"])
        }),
    row("C4", "an argument behind `--version` is refused in one line, exit code 2")
        .tried(Needs::Program, |harness| refuses(harness, &["--version", "extra"], &[], &[])),
    row("C5", "a `PORT` that is no number from 0 to 65535 in digits is refused in one line, exit code 2")
        .tried(Needs::Program, wrong_ports_are_refused),
    row(
        "C6",
        "an unknown `WORKLOAD` is refused in one line that names `pingpong` where it is offered, exit code 2",
    )
    .tried(Needs::Program, unknown_workloads_are_refused),
    row("C7", "an unknown `PROTOCOL` is refused in one line that names `http1-json`, exit code 2")
        .tried(Needs::Program, |harness| refuses_value(harness, "PROTOCOL", "frobnicate", &["http1-json"])),
    row("C8", "a `HOST` that is no address is refused in one line, exit code 2")
        .tried(Needs::Program, |harness| refuses_value(harness, "HOST", "frobnicate", &[])),
    row("C9", "a `HOST` that is not this host's is refused in one line, exit code 2")
        .tried(Needs::Program, |harness| refuses_value(harness, "HOST", "192.0.2.1", &[])),
    row("C10", "`TLS_CERT`, `TLS_KEY` and `DIRECT` are refused in one line where not supported, exit code 2")
        .tried(Needs::Program, unsupported_variables_are_refused),
    row("C11", "variables set to the empty text count as unset")
        .tried(Needs::Service, empty_variables_count_as_unset),
    row("C12", "stdout is exactly `ready <port>`, and the port answers at once")
        .tried(Needs::Service, ready_is_true_and_alone),
    row("C13", "a given `PORT` is the port")
        .tried(Needs::Service, |harness| on_a_free_port(harness).map(drop)),
    row("C14", "a port in use is refused in one line, exit code 3, and its owner goes on")
        .tried(Needs::Service, port_in_use_is_refused),
    row("C15", "`HOST=::1` listens there and there only").tried(Needs::Service, listens_on_the_host_only),
];

/// Runs `--version` and returns what it printed, without the line feed.
pub(super) fn version_line(harness: &Harness, environment: &[(&str, &str)]) -> Result<String, Shortfall> {
    let language = &harness.subject.language;
    let expected = format!(
        "exit code 0, one line of four or more words, an even number, with `{language}` first, nothing on stderr"
    );
    let wrong = |came: String| differs("`--version`", &expected, came);
    let ended = harness.run(&["--version"], environment, Patience::UntilDeadline)?.map_err(wrong)?;
    match line_of(&ended.stdout) {
        Some(line) if ended.code() == Some(0) && ended.stderr.is_empty() && is_version(line, language) => {
            Ok(line.to_owned())
        }
        _ => Err(wrong(ended.to_string())),
    }
}

/// Whether `line` has words with one space between them: the language, its version, then one or more
/// libraries, each with its version.
fn is_version(line: &str, language: &str) -> bool {
    let words: Vec<_> = line.split(' ').collect();
    let word = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
    words.len() >= 4 && words.len().is_multiple_of(2) && words.iter().all(word) && words[0] == language
}

/// The text of a single line that ends with a line feed.
fn line_of(bytes: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    (!line.is_empty() && !line.contains('\n')).then_some(line)
}

fn version_ignores_the_environment(harness: &mut Harness) -> Verdict {
    let plain = version_line(harness, &[])?;
    let disturbed = version_line(harness, &[("PORT", "abc")])?;
    if plain == disturbed {
        return Ok(());
    }
    let came = quoted(disturbed.as_bytes());
    Err(differs("`--version` with `PORT=abc`", format_args!("`{plain}`"), came))
}

/// Checks that a start is refused with exit code 2 and one line that contains `words`.
pub(super) fn refuses(
    harness: &Harness,
    arguments: &[&str],
    environment: &[(&str, &str)],
    words: &[&str],
) -> Verdict {
    let settings = environment.iter().map(|(name, value)| format!("{name}={value}"));
    let what: Vec<_> = settings.chain(arguments.iter().map(|argument| (*argument).to_owned())).collect();
    let ended = harness.run(arguments, environment, Patience::UntilItSpeaks)?;
    check_refusal(ended, &what.join(" "), 2, words)
}

fn check_refusal(ended: Result<Ended, String>, what: &str, code: i32, words: &[&str]) -> Verdict {
    let holding = if words.is_empty() { "" } else { " holding " };
    let list: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    let expected =
        format!("exit code {code}, nothing on stdout, one line on stderr{holding}{}", list.join(" and "));
    let wrong = |came: String| Err(differs(format_args!("start with `{what}`"), &expected, came));
    match ended {
        Err(came) => wrong(came),
        Ok(ended) => {
            let named =
                line_of(&ended.stderr).is_some_and(|line| words.iter().all(|word| line.contains(word)));
            let right = ended.code() == Some(code) && ended.stdout.is_empty() && named;
            if right { Ok(()) } else { wrong(ended.to_string()) }
        }
    }
}

/// Checks that a variable's value is refused with a line that contains its name, the value and `words`.
pub(super) fn refuses_value(harness: &Harness, name: &str, value: &str, words: &[&str]) -> Verdict {
    let words: Vec<_> = [name, value].into_iter().chain(words.iter().copied()).collect();
    refuses(harness, &[], &[(name, value)], &words)
}

fn wrong_ports_are_refused(harness: &mut Harness) -> Verdict {
    let wrong = ["abc", "-1", "+80", "65536", "80a", "8 0", "99999999999999999999"];
    wrong.into_iter().try_for_each(|port| refuses_value(harness, "PORT", port, &[]))
}

fn unknown_workloads_are_refused(harness: &mut Harness) -> Verdict {
    let offered = harness.subject.workloads.contains_key("pingpong");
    let words = if offered { &["pingpong"][..] } else { &[] };
    refuses_value(harness, "WORKLOAD", "frobnicate", words)
}

fn unsupported_variables_are_refused(harness: &mut Harness) -> Verdict {
    let direct =
        harness.subject.workloads.values().flatten().any(|protocol| protocol == Protocol::DIRECT.name());
    let tls = harness.subject.tls == TlsOffer::Offered;
    [("TLS_CERT", "/dev/null"), ("TLS_KEY", "/dev/null"), ("DIRECT", "1")]
        .into_iter()
        .filter(|(name, _)| if *name == "DIRECT" { !direct } else { !tls })
        .try_for_each(|(name, value)| refuses_value(harness, name, value, &[]))
}

fn empty_variables_count_as_unset(harness: &mut Harness) -> Verdict {
    let empty = ["WORKLOAD", "PROTOCOL", "HOST", "TLS_CERT", "TLS_KEY", "DIRECT"].map(|name| (name, ""));
    harness.start_with(&empty).map(drop)
}

fn ready_is_true_and_alone(harness: &mut Harness) -> Verdict {
    let service = harness.start()?;
    service.answers()?;
    let more = service.kill();
    if more.is_empty() {
        return Ok(());
    }
    Err(differs("start", "nothing on stdout behind `ready <port>`", quoted(&more)))
}

/// How often a row is retried if another process may have taken a port that was just free.
const ATTEMPTS: usize = 3;

/// Starts the service on a port that was just free.
fn on_a_free_port(harness: &Harness) -> Result<Service, Shortfall> {
    let mut outcome = Err(Shortfall::Skipped("no port was tried".to_owned()));
    for _ in 0..ATTEMPTS {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let free =
            free.map_err(|error| Shortfall::Skipped(format!("this host has no free port: {error}")))?;
        let port = free.port().to_string();
        outcome = harness.start_with(&[("PORT", &port)]).and_then(|service| {
            let came = service.address().port();
            if came == free.port() {
                return Ok(service);
            }
            Err(differs(format_args!("start with `PORT={port}`"), format_args!("`ready {port}`"), came))
        });
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn port_in_use_is_refused(harness: &mut Harness) -> Verdict {
    let first = on_a_free_port(harness)?;
    let port = first.address().port().to_string();
    let second = harness.run(&[], &[("PORT", &port)], Patience::UntilItSpeaks)?;
    check_refusal(second, &format!("PORT={port}"), 3, &["PORT", &port])?;
    first.answers()
}

fn listens_on_the_host_only(harness: &mut Harness) -> Verdict {
    if let Err(error) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        return Err(Shortfall::Skipped(format!("this host has no `::1`: {error}")));
    }
    let mut came = String::new();
    // Another process may listen on 127.0.0.1 at the same port, but hardly three times.
    for _ in 0..ATTEMPTS {
        let service = harness.start_with(&[("HOST", "::1")])?;
        service.answers()?;
        let other = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), service.address().port());
        match Connection::open(other, harness.limits()) {
            Err(ClientError::Refused) => return Ok(()),
            Err(error) => came = error.to_string(),
            Ok(_) => came = "an accepted one".to_owned(),
        }
    }
    Err(differs("connecting to 127.0.0.1 with `HOST=::1`", "a refused connection", came))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_line_is_pairs_of_words_separated_by_one_space() {
        assert!(is_version("Go 1.26.8 net/http 1.26.8", "Go"));
        assert!(is_version("Go 1.26.8 net/http 1.26.8 grpc 1.85.0", "Go"));
        for line in
            ["go 1 a 1", "Go  1 a 1", "Go 1", "Go 1 a", "Go 1 a 1 x", "Go 1 a 1 ", " Go 1 a 1", "Go 1 a 1\r"]
        {
            assert!(!is_version(line, "Go"), "{line:?}");
        }
    }

    #[test]
    fn one_line_ends_with_its_line_feed() {
        assert_eq!(line_of(b"a b\n"), Some("a b"));
        for text in ["", "\n", "a", "a\nb\n", "a\n\n"] {
            assert_eq!(line_of(text.as_bytes()), None, "{text:?}");
        }
    }
}
