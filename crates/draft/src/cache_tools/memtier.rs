//! A command line of memtier_benchmark (github.com/redis/memtier_benchmark).

use super::options::{Effect, GivenOption, GivenOptions, ToolError, ToolOption};
use super::{CacheDraft, quoted};

const COMMANDS: Effect =
    Effect::Refused("commands of your own belong to the workload `commands`: `weigh load URL --command …`");
const CLUSTER: Effect =
    Effect::Refused("clusters and replicas are not known here; leave it out, and name one node");
const STEPS: Effect = Effect::Refused(
    "connections do not grow within a run; leave it out, or make `load.connections` a matrix",
);
const IMPORTED: Effect = Effect::Refused("values are the workload's own, and each is checked; leave it out");
const WAITS: Effect = Effect::Refused("`WAIT` is not sent; leave it out");
const TLS: Effect = Effect::Refused("say `ca` and the like in the table `tls` of the variant; leave it out");
const RECONNECTS: Effect =
    Effect::Refused("what fails is an error here, and its connection is opened again; leave it out");
const BUDGET: Effect = Effect::Noted("how long is measured follows from `plan.budget`");

const KNOWN: &[ToolOption] = &[
    ToolOption::value("server", Some('s'), Effect::Taken),
    ToolOption::value("host", Some('h'), Effect::Taken),
    ToolOption::value("port", Some('p'), Effect::Taken),
    ToolOption::value("unix-socket", Some('S'), Effect::Taken),
    ToolOption::flag("ipv4", Some('4'), Effect::None),
    ToolOption::flag("ipv6", Some('6'), Effect::None),
    ToolOption::value("protocol", Some('P'), Effect::Taken),
    ToolOption::value(
        "authenticate",
        Some('a'),
        Effect::Refused("the workload `cache` does not log in; leave it out"),
    ),
    ToolOption::flag("tls", None, Effect::Taken),
    ToolOption::value("cert", None, TLS),
    ToolOption::value("key", None, TLS),
    ToolOption::value("cacert", None, TLS),
    ToolOption::flag("tls-skip-verify", None, TLS),
    ToolOption::value("tls-protocols", None, TLS),
    ToolOption::value("sni", None, TLS),
    ToolOption::value("run-count", Some('x'), Effect::Noted("a run has blocks, `plan.blocks`")),
    ToolOption::flag("debug", Some('D'), Effect::None),
    ToolOption::flag("show-config", None, Effect::None),
    ToolOption::flag("hide-histogram", None, Effect::None),
    ToolOption::value("print-percentiles", None, Effect::None),
    ToolOption::flag("print-all-runs", None, Effect::None),
    ToolOption::value("client-stats", None, Effect::None),
    ToolOption::value("out-file", Some('o'), Effect::None),
    ToolOption::value("json-out-file", None, Effect::None),
    ToolOption::value("hdr-file-prefix", None, Effect::None),
    ToolOption::flag("cluster-mode", None, CLUSTER),
    ToolOption::value("requests", Some('n'), BUDGET),
    ToolOption::value("test-time", None, BUDGET),
    ToolOption::value("rate-limiting", None, Effect::Taken),
    ToolOption::value("clients", Some('c'), Effect::Taken),
    ToolOption::value("threads", Some('t'), Effect::Taken),
    ToolOption::value("clients-start", None, STEPS),
    ToolOption::value("clients-step", None, STEPS),
    ToolOption::value("step-duration", None, STEPS),
    ToolOption::value("ratio", None, Effect::Taken),
    ToolOption::value("pipeline", None, Effect::Taken),
    ToolOption::value("reconnect-interval", None, Effect::Taken),
    ToolOption::flag("reconnect-on-error", None, RECONNECTS),
    ToolOption::value("max-reconnect-attempts", None, RECONNECTS),
    ToolOption::value("reconnect-backoff-factor", None, RECONNECTS),
    ToolOption::value("connection-timeout", None, RECONNECTS),
    ToolOption::value("multi-key-get", None, Effect::Taken),
    ToolOption::value("select-db", None, Effect::Taken),
    ToolOption::flag("distinct-client-seed", None, Effect::None),
    ToolOption::flag("randomize", None, Effect::Noted("requests follow from `plan.seed`")),
    ToolOption::value("command", None, COMMANDS),
    ToolOption::value("command-ratio", None, COMMANDS),
    ToolOption::value("command-key-pattern", None, COMMANDS),
    ToolOption::value("monitor-input", None, COMMANDS),
    ToolOption::value("monitor-pattern", None, COMMANDS),
    ToolOption::flag("scan-incremental-iteration", None, COMMANDS),
    ToolOption::value("data-size", Some('d'), Effect::Taken),
    ToolOption::value(
        "data-offset",
        None,
        Effect::Refused("parts of values are not asked for; leave it out"),
    ),
    ToolOption::flag("random-data", Some('R'), Effect::None),
    ToolOption::value("data-size-range", None, Effect::Taken),
    ToolOption::value("data-size-list", None, Effect::Taken),
    ToolOption::value("data-size-pattern", None, Effect::Taken),
    ToolOption::value(
        "expiry-range",
        None,
        Effect::Refused("all values live equally long here, `workload.ttl`; leave it out"),
    ),
    ToolOption::value("data-import", None, IMPORTED),
    ToolOption::flag("data-verify", None, Effect::Noted("every value is checked as it comes")),
    ToolOption::flag("verify-only", None, IMPORTED),
    ToolOption::flag("generate-keys", None, IMPORTED),
    ToolOption::flag("no-expiry", None, IMPORTED),
    ToolOption::value("key-prefix", None, Effect::Taken),
    ToolOption::value("key-minimum", None, Effect::Taken),
    ToolOption::value("key-maximum", None, Effect::Taken),
    ToolOption::value("key-pattern", None, Effect::Taken),
    ToolOption::value("key-stddev", None, GAUSSIAN),
    ToolOption::value("key-median", None, GAUSSIAN),
    ToolOption::value("key-zipf-exp", None, Effect::Taken),
    ToolOption::value("wait-ratio", None, WAITS),
    ToolOption::value("num-slaves", None, WAITS),
    ToolOption::value("wait-timeout", None, WAITS),
];

const GAUSSIAN: Effect = Effect::Refused("there is no Gaussian law of keys; leave it out");

/// The most keys of the workload `cache`, and of one get.
const KEYS_MOST: u64 = 100_000_000;
const BATCH_MOST: u32 = 1000;

pub(super) fn draft(words: &[String]) -> Result<CacheDraft, ToolError> {
    let given = GivenOptions::read(words, KNOWN)?;
    let host = given.last("server").or(given.last("host")).map_or("localhost", |given| given.value.as_str());
    let connections = given.number::<u32>("clients", 50)?.saturating_mul(given.number("threads", 4)?);
    let mut load = match given.last("rate-limiting") {
        None => vec![("model", quoted("closed"))],
        // A connection sends so many, one after the other.
        Some(limit) => {
            let rate = limit.read::<u64>("a number of requests")?.saturating_mul(connections.into());
            vec![
                ("model", quoted("open")),
                ("rate", quoted(&format!("{rate}/s"))),
                ("arrivals", quoted("constant")),
            ]
        }
    };
    load.push(("connections", connections.to_string()));
    load.push(("in_flight", given.number::<u32>("pipeline", 1)?.to_string()));
    if let Some(churn) = given.last("reconnect-interval") {
        load.push(("churn", churn.read::<u32>("a number of requests")?.to_string()));
    }
    let workload = workload(&given)?;
    let url = url(&given, host)?;
    let mut notes = given.notes.clone();
    notes.push(
        "nothing is stored before, so gets miss until sets come; `start = \"warm\"` sets each key once"
            .to_owned(),
    );
    notes.push("keys have names of their own, as long as memtier's longest".to_owned());
    let unix = given.last("unix-socket").map(|given| given.value.clone());
    Ok(CacheDraft {
        line: format!("memtier of {host}"),
        url,
        unix,
        workload,
        load,
        capacity: Vec::new(),
        notes,
    })
}

fn workload(given: &GivenOptions) -> Result<Vec<(&'static str, String)>, ToolError> {
    let (least, most): (u64, u64) =
        (given.number("key-minimum", 0)?, given.number("key-maximum", 10_000_000)?);
    let keys = most.saturating_sub(least).saturating_add(1);
    if let Some(most) = given.last("key-maximum").filter(|_| keys > KEYS_MOST) {
        return Err(most.wrong(format!("{keys} keys are too many; at most {KEYS_MOST} are allowed")));
    }
    let prefix = given.last("key-prefix").map_or("memtier-", |given| given.value.as_str());
    let digits = most.checked_ilog10().unwrap_or(0) as usize + 1;
    // A letter, and the digits of the largest number.
    let key = (prefix.len() + digits).max(keys.ilog10() as usize + 2);
    let pattern =
        given.last("key-pattern").map_or(Ok("uniform".to_owned()), |pattern| popularity(pattern, given))?;
    let ratio = given.last("ratio").map_or(Ok(Ratio { sets: 1, gets: 10 }), ratio)?;
    // The ratio is of keys, and a get asks for no more of them than the ratio has.
    let asked = given.number::<u32>("multi-key-get", 0)?;
    let batch = asked.min(ratio.gets).max(1);
    if let Some(option) = given.last("multi-key-get").filter(|_| batch > BATCH_MOST) {
        return Err(option.wrong(format!("at most {BATCH_MOST} keys of one get are allowed")));
    }
    let gets = f64::from(ratio.gets) / f64::from(batch);
    let mut keys = vec![
        ("keys", keys.to_string()),
        ("key", key.to_string()),
        ("value", quoted(&value(given)?)),
        ("mix", format!("{{ get = {gets}, set = {} }}", ratio.sets)),
        ("popularity", quoted(&pattern)),
        ("start", quoted("cold")),
    ];
    keys.extend((batch > 1).then(|| ("batch", batch.to_string())));
    Ok(keys)
}

/// Keys that are set and that are asked for.
struct Ratio {
    sets: u32,
    gets: u32,
}

/// `1:10`: sets and gets.
fn ratio(option: &GivenOption) -> Result<Ratio, ToolError> {
    let parts = option
        .value
        .split_once(':')
        .and_then(|(sets, gets)| Some((sets.parse::<u32>().ok()?, gets.parse::<u32>().ok()?)));
    match parts {
        Some((sets, gets)) if sets > 0 || gets > 0 => Ok(Ratio { sets, gets }),
        _ => Err(option.wrong("write `SETS:GETS`, whole numbers that are not both zero")),
    }
}

/// `R:R` or `Z:Z`.
fn popularity(option: &GivenOption, given: &GivenOptions) -> Result<String, ToolError> {
    match option.value.as_str() {
        "R:R" => Ok("uniform".to_owned()),
        "Z:Z" => Ok(format!("zipf:{}", given.number::<f64>("key-zipf-exp", 1.0)?)),
        other => Err(option.wrong(format!(
            "`{other}` has no counterpart: sets and gets name keys by one law, `R:R` (uniform) or `Z:Z` (Zipf); a warm start sets \
             each key once"
        ))),
    }
}

fn value(given: &GivenOptions) -> Result<String, ToolError> {
    if let Some(pattern) = given.last("data-size-pattern").filter(|pattern| pattern.value != "R") {
        return Err(
            pattern.wrong("sizes belong to keys, by a law and not in the order of keys; leave it out")
        );
    }
    if let Some(range) = given.last("data-size-range") {
        let (low, high) = range.value.split_once('-').ok_or_else(|| range.wrong("write `LEAST-MOST`"))?;
        return Ok(format!("uniform:{low},{high}"));
    }
    if let Some(list) = given.last("data-size-list") {
        return Ok(format!("list:{}", list.value.replace(':', "=")));
    }
    Ok(format!("fixed:{}", given.number::<u32>("data-size", 32)?))
}

fn url(given: &GivenOptions, host: &str) -> Result<String, ToolError> {
    let protocol = given.last("protocol");
    let secure = given.last("tls").is_some();
    let is_socket = given.last("unix-socket").is_some();
    let scheme = match protocol.map_or("redis", |given| given.value.as_str()) {
        "redis" | "resp2" if secure => "rediss",
        "redis" | "resp2" => "redis",
        "memcache_text" if !secure => "memcached",
        "memcache_binary" => {
            let why = "the binary protocol of memcached is deprecated and not spoken; leave it out";
            return Err(protocol.map_or(ToolError::NoServer, |given| given.wrong(why)));
        }
        other => {
            let why = format!(
                "`{other}` is not spoken by the workload `cache` here; allowed are `redis`, `resp2`, `memcache_text`"
            );
            return Err(protocol.map_or(ToolError::NoServer, |given| given.wrong(why)));
        }
    };
    let port = match given.last("port") {
        Some(port) => format!(":{}", port.read::<u16>("a port")?),
        None if is_socket => String::new(),
        None => ":6379".to_owned(),
    };
    let database = given.last("select-db").map_or(Ok(String::new()), |given| {
        given.read::<u32>("the number of a database").map(|number| format!("/{number}"))
    })?;
    Ok(format!("{scheme}://{host}{port}{database}"))
}
