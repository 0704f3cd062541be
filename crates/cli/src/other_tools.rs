//! Flags of other load generators that `weigh` has under another name.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A flag that we lack, or that means something else here.
struct OtherFlag {
    /// As other programs spell it, comma-separated.
    flags: &'static str,
    /// Who has it.
    programs: &'static str,
    /// What to write instead.
    instead: &'static str,
}

const fn other(flags: &'static str, programs: &'static str, instead: &'static str) -> OtherFlag {
    OtherFlag { flags, programs, instead }
}

const OTHER_FLAGS: &[OtherFlag] = &[
    other(
        "-s, --script",
        "wrk",
        "`--mix 'METHOD PATH'` for several requests; an experiment file for scenarios",
    ),
    other(
        "-U, --u_latency, -B, --batch_latency",
        "wrk2",
        "nothing: service times are printed beside response times",
    ),
    other("-T, --content-type", "hey, oha, ab", "`--header 'Content-Type: …'`, or `--json`"),
    other(
        "-A, --accept",
        "hey, oha, ab",
        "`--header 'Accept: …'` (ab's credentials: `--header 'Authorization: …'`)",
    ),
    other("-a, --basic-auth", "hey, oha", "`--header 'Authorization: Basic …'`"),
    other("-C, --cookie", "ab", "`--header 'Cookie: …'`"),
    other("-i, --head", "ab", "`--method HEAD`"),
    other("-p, --postfile", "ab", "`--body-file FILE` (oha's streams: `--streams`)"),
    other("-w, -g, -e", "ab", "`--format csv` or `--format json`, and `--output FILE`"),
    other("-j, --output-format", "oha", "`--format json`"),
    other("-w, --wait-ongoing-requests-after-deadline", "oha", "nothing: replies are waited for"),
    other("--latency-correction", "oha", "nothing: with `--rate` times begin when a request was due"),
    other("--burst-delay, --burst-rate", "oha", "`--profile 'burst:1000/s..5000/s for 200ms every 2s'`"),
    other("--no-tui", "oha", "`--quiet`"),
    other("--http-version", "oha", "`--http2`, or nothing for HTTP/1.1"),
    other("--host", "hey, oha", "`--header 'Host: …'`, or `--connect-to ADDRESS`"),
    other("--disable-compression, --disable-redirects, --redirect", "hey, oha", "nothing: neither is done"),
    other("-x, --proxy", "hey, oha, ab", "`--connect-to ADDRESS` for another address; there is no proxy"),
    other("--cpus", "ghz", "`--threads`"),
    other("-b, --max-concurrent-streams", "h2load, ab", "`--streams`"),
    other("--stage, --stages", "k6", "`--profile 'ramp:1000/s..5000/s over 30s'`"),
    other("--summary-export, --summary-mode", "k6", "`--format json --output FILE`"),
    other("--threshold, --thresholds", "k6", "`--fail-if 'p99 > 5ms'` or `--require`"),
    other("--call", "ghz", "`--grpc package.Service/Method`"),
    other("--import-paths", "ghz", "`--include DIR`"),
    other("--protoset", "ghz", "`--proto FILE` or `--reflection`"),
    other("--skipTLS, --skip-tls", "ghz", "`--insecure`"),
    other("--load-schedule, --load-start, --load-end", "ghz", "`--profile`"),
    other("--connect-timeout", "ghz, oha", "`--timeout`, which holds for connecting too"),
    other("--server", "memtier", "a URL: `redis://HOST:PORT`, `memcached://HOST:PORT`"),
    other("--port", "memtier", "a URL: `redis://HOST:PORT`, `memcached://HOST:PORT`"),
    other("-P, --protocol", "memtier", "a URL: `redis://HOST:PORT`, `memcached://HOST:PORT`"),
    other(
        "--ratio, --key-pattern, --key-maximum, --data-size",
        "memtier",
        "`--command 'SET k v'` for each command",
    ),
    other("--hide-histogram", "memtier", "nothing: `--latency` shows it"),
];

/// What to write instead of a flag of another program, in one line; `None` for any other error.
pub fn explain(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() == ErrorKind::InvalidValue || error.kind() == ErrorKind::ValueValidation {
        return is_body(error, flag)
            .then(|| "`-d` is `--duration` here; a body is `--body`, a message of gRPC `--data`".to_owned());
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let flag = flag.split('=').next().unwrap_or(flag);
    let named = |other: &&OtherFlag| other.flags.split(", ").any(|known| known == flag);
    let found: Vec<&OtherFlag> = OTHER_FLAGS.iter().filter(named).collect();
    let words = found.iter().map(|other| format!("`{flag}` of {} is here {}", other.programs, other.instead));
    (!found.is_empty()).then(|| words.collect::<Vec<_>>().join("; "))
}

/// Whether `-d` was given what hey, oha and ghz take there.
fn is_body(error: &clap::Error, flag: &str) -> bool {
    let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else { return false };
    flag.starts_with("--duration") && value.trim().starts_with(['{', '[', '"', '@', '<'])
}

/// Leaves a proposal out that is no misspelling: another program's flag is not ours with other letters.
pub fn forget_far_proposals(error: &mut clap::Error) {
    let text = |value: Option<&ContextValue>| match value {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let typed = text(error.get(ContextKind::InvalidArg));
    let proposed = text(error.get(ContextKind::SuggestedArg));
    if let (Some(typed), Some(proposed)) = (typed, proposed)
        && strsim::damerau_levenshtein(&typed, &proposed) > 2
    {
        error.remove(ContextKind::SuggestedArg);
    }
    // "to pass `-z` as a value": no argument of ours begins with a hyphen.
    error.remove(ContextKind::Suggested);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flag_is_explained_that_works() {
        use clap::CommandFactory;
        let command = crate::args::Arguments::command();
        let load = command.find_subcommand("load").expect("the verb");
        for known in OTHER_FLAGS.iter().flat_map(|other| other.flags.split(", ")) {
            let is_ours = load.get_arguments().any(|argument| {
                let longs = argument.get_long_and_visible_aliases().unwrap_or_default().into_iter();
                let mut all = longs.chain(argument.get_all_aliases().unwrap_or_default());
                let short = |c: char| known.strip_prefix('-') == Some(c.encode_utf8(&mut [0; 4]));
                all.any(|long| known.strip_prefix("--") == Some(long))
                    || argument.get_short().is_some_and(short)
                    || argument.get_all_short_aliases().unwrap_or_default().into_iter().any(short)
            });
            assert!(!is_ours, "`{known}` works");
        }
    }
}
