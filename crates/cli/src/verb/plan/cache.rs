//! Of a plan, what concerns caches: how much a workload asks for, what share of it each variant should find, and its requests
//! for other programs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use anyhow::bail;
use weighbridge_model::experiment::{CacheOperation, EvictionPolicy, Experiment, Flow, LoadSpec, Variant};
use weighbridge_model::id::PointId;
use weighbridge_model::plan::Plan;
use weighbridge_model::quantity::grouped;
use weighbridge_workload::{
    CacheForecast, ExpectedHits, Replay, StreamedRequest, cache_forecast, cache_stream,
};

/// The requests of each point's trace; `None` where there is none, or it was not read.
type Replays = [Option<Arc<Replay>>];

/// The working set of each workload, and what each variant should find at its limit; nothing if nothing is cached.
pub(super) fn described(experiment: &Experiment, replays: &Replays) -> String {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for (at, point) in experiment.points.iter().enumerate() {
        let replay = replays.get(at).and_then(Option::as_ref);
        let Some(forecast) = cache_forecast(&point.workload, replay) else { continue };
        let workload = point.workload.words();
        if !seen.insert(workload.clone()) {
            continue;
        }
        if let Some(replay) = replay {
            let _ = writeln!(text, "trace    {}", replay.described());
            let _ = replay.noted().map(|noted| writeln!(text, "         {noted}"));
        }
        if experiment.points.len() > 1 {
            let _ = writeln!(text, "cache    {workload}");
        }
        let (names, values) = (forecast.key_bytes(), forecast.value_bytes());
        let keys = grouped(forecast.keys());
        let _ =
            writeln!(text, "keys     {keys}, with {names} of names and {values} of values, the working set");
        for variant in &experiment.variants {
            text.push_str(&expected(variant, &forecast));
        }
    }
    text
}

/// What a variant should find, if it has a limit.
fn expected(variant: &Variant, forecast: &CacheForecast) -> String {
    let Some(limit) = variant.cache.and_then(|cache| cache.limit) else { return String::new() };
    let policy = variant.cache.and_then(|cache| cache.policy).unwrap_or(EvictionPolicy::Lru);
    let (name, at) = (&variant.name, format!("{} at {limit}", policy.name()));
    match forecast.expect(policy, limit) {
        None => format!("hits     {name}: no formula for {at}\n"),
        Some(ExpectedHits { hit_rate, held, simulated: Some(requests), .. }) => format!(
            "hits     {name}: {hit_rate} of all gets expected by {at}, which holds {} keys after {} requests of the trace (simulated)\n",
            grouped(held),
            grouped(requests)
        ),
        Some(found) if found.is_all => {
            format!(
                "hits     {name}: {} of all gets expected by {at}, which has room for all\n",
                found.hit_rate
            )
        }
        Some(found) => format!(
            "hits     {name}: {} of all gets expected by {at}, which holds {} keys (Che's approximation)\n",
            found.hit_rate,
            grouped(found.held)
        ),
    }
}

/// Text that is printed at once.
const PIECE: usize = 1 << 16;

/// Prints the requests that fill a cache, and then so many of the first window of the first block, as lines of seven columns:
/// time in seconds, key, bytes of the key, bytes of its value, client, operation, time to live in seconds.
///
/// Errors: if the workload names no keys, and those of `print`.
pub(super) fn stream(
    experiment: &Experiment,
    replays: &Replays,
    requests: u64,
    print: &mut dyn FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let point = &experiment.points[0];
    let plan = Plan::new(experiment.plan.seed, experiment.variants.len(), experiment.points.len());
    let replay = replays.first().and_then(Option::as_ref);
    let Some(stream) = cache_stream(&point.workload, plan.substream(0, PointId(0), 0), replay) else {
        bail!(
            "`--stream` prints requests for keys, and this workload has none; it belongs to the workload `cache`, whose trace, if it has one, must be there"
        );
    };
    let rate = mean_rate(&point.load);
    let mut text = String::new();
    let mut sent = 0u64;
    for request in stream {
        if !request.fills && sent == requests {
            break;
        }
        let second = rate.map_or(0, |rate| (sent as f64 / rate) as u64);
        line(&mut text, second, &request);
        sent += u64::from(!request.fills);
        if text.len() >= PIECE {
            print(&text)?;
            text.clear();
        }
    }
    if text.is_empty() { Ok(()) } else { print(&text) }
}

/// Requests per second of open load whose rate is known.
fn mean_rate(load: &LoadSpec) -> Option<f64> {
    match load.model.flow()? {
        Flow::Law { profile, .. } => Some(profile.mean().get()),
        Flow::Trace(_) => None,
    }
}

fn line(text: &mut String, second: u64, request: &StreamedRequest) {
    let ttl = request.ttl;
    let StreamedRequest { operation, key, value_length, .. } = request;
    let operation = match operation {
        // Traces have no operation that asks for no more than whether there is a value; a cache is used the same way.
        CacheOperation::Get | CacheOperation::Head => "get",
        CacheOperation::Set => "set",
        CacheOperation::Delete => "delete",
    };
    let _ = writeln!(text, "{second},{key},{},{value_length},0,{operation},{ttl}", key.len());
}

#[cfg(test)]
mod tests {
    use weighbridge_workload::ReplayParser;

    use super::*;
    use crate::golden::assert_golden;

    const TEXT: &str = "[workload]\nname = 'cache'\nkeys = 20\nvalue = 'uniform:1,500'\n\
        mix = { get = 6, set = 3, delete = 1 }\n[load]\nmodel = 'open'\nrate = '8/s'\n[plan]\nseed = 7\n\
        [[variant]]\nname = 'lru'\nservice = 'rust'\ncache.limit = '2 kB'\n\
        [[variant]]\nname = 'fifo'\nservice = 'rust'\ncache = { limit = '2 kB', policy = 'fifo' }\n\
        [[variant]]\nname = 'largest'\nservice = 'rust'\ncache = { limit = '2 kB', policy = 'largest' }\n\
        [[variant]]\nname = 'roomy'\nservice = 'rust'\ncache.limit = '1 MB'\n\
        [[variant]]\nname = 'unlimited'\nservice = 'rust'\n";

    #[test]
    fn caches_and_their_requests_are_printed_as_the_golden_files_have_them() {
        let experiment = Experiment::parse("cache.toml", TEXT).expect("an experiment");
        assert_golden("plan-cache.txt", &described(&experiment, &[]));
        let mut printed = String::new();
        let mut print = |text: &str| {
            printed.push_str(text);
            Ok(())
        };
        stream(&experiment, &[], 30, &mut print).expect("requests");
        assert_golden("plan-stream.csv", &printed);
    }

    fn streamed(text: &str, replay: Option<&Arc<Replay>>) -> String {
        let experiment = Experiment::parse("cache.toml", text).expect("an experiment");
        let mut printed = String::new();
        let mut print = |text: &str| {
            printed.push_str(text);
            Ok(())
        };
        stream(&experiment, &[replay.cloned()], 3000, &mut print).expect("requests");
        printed
    }

    /// Operations with keys by their order of first use, and lengths.
    fn requests(rows: &str) -> Vec<(String, usize, String, String)> {
        let mut known = Vec::new();
        let request = |row: &str| {
            let columns: Vec<&str> = row.split(',').collect();
            let key = columns[1].to_owned();
            let at = known.iter().position(|one| *one == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            (columns[5].to_owned(), at, columns[2].to_owned(), columns[3].to_owned())
        };
        rows.lines().map(request).collect()
    }

    #[test]
    fn what_is_printed_is_replayed() {
        let rows = streamed(TEXT, None);
        let text = "[workload]\nname = 'cache'\nstart = 'cold'\ntrace = { file = 't.csv', format = 'twitter' }\n\
            [[variant]]\nname = 'lru'\nservice = 'rust'\ncache.limit = '2 kB'\n";
        let mut experiment = Experiment::parse("cache.toml", text).expect("an experiment");
        let spec = experiment.points[0].workload.replaying().expect("a trace");
        let trace = spec.trace.clone().expect("a trace");
        let mut parser = ReplayParser::new(&trace);
        assert!(rows.lines().all(|row| parser.line(row.as_bytes()).expect("a row")));
        let replay = Arc::new(parser.finish().expect("a trace"));
        assert_eq!((replay.len(), replay.noted()), (3020, None));
        let again = streamed(text, Some(&replay));
        let printed = requests(&rows);
        assert_eq!(requests(&again), printed[..3000]);
        spec.set_found(replay.keys(), |operation| replay.count(operation), "0".repeat(64));
        assert_golden("plan-replay.txt", &described(&experiment, &[Some(replay)]));
    }

    #[test]
    fn what_names_no_keys_has_no_stream() {
        let text = "[workload]\nname = 'pingpong'\n[[variant]]\nservice = 'rust'\n";
        let experiment = Experiment::parse("pong.toml", text).expect("an experiment");
        assert_eq!(described(&experiment, &[]), "");
        let error = stream(&experiment, &[], 1, &mut |_| Ok(())).expect_err("no keys").to_string();
        assert!(error.contains("belongs to the workload `cache`"), "{error}");
    }
}
