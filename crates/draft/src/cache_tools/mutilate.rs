//! A command line of mutilate (github.com/leverich/mutilate).

use weighbridge_model::experiment::LengthLaw;

use super::options::{Effect, GivenOption, GivenOptions, ToolError, ToolOption};
use super::{CacheDraft, quoted};

const AGENTS: Effect = Effect::Refused(
    "there are no agents here: one client with a core of its own sends all, and says if it is the limit; leave it out",
);
const SASL: Effect =
    Effect::Refused("SASL belongs to the binary protocol, which is not spoken; leave it out");
const BUDGET: Effect = Effect::Noted("how long is measured follows from `plan.budget`");

const KNOWN: &[ToolOption] = &[
    ToolOption::flag("verbose", Some('v'), Effect::None),
    ToolOption::flag("quiet", None, Effect::None),
    ToolOption::value("server", Some('s'), Effect::Taken),
    ToolOption::flag(
        "binary",
        None,
        Effect::Refused("the binary protocol of memcached is deprecated and not spoken; leave it out"),
    ),
    ToolOption::value("qps", Some('q'), Effect::Taken),
    ToolOption::value("time", Some('t'), BUDGET),
    ToolOption::value("keysize", Some('K'), Effect::Taken),
    ToolOption::value("valuesize", Some('V'), Effect::Taken),
    ToolOption::value("records", Some('r'), Effect::Taken),
    ToolOption::value("update", Some('u'), Effect::Taken),
    ToolOption::value("username", Some('U'), SASL),
    ToolOption::value("password", Some('P'), SASL),
    ToolOption::value("threads", Some('T'), Effect::Taken),
    ToolOption::flag("affinity", None, Effect::None),
    ToolOption::value("connections", Some('c'), Effect::Taken),
    ToolOption::value("depth", Some('d'), Effect::Taken),
    ToolOption::flag("roundrobin", Some('R'), Effect::None),
    ToolOption::value("iadist", Some('i'), Effect::Taken),
    ToolOption::flag(
        "skip",
        Some('S'),
        Effect::Noted("requests that are late are sent late, and their lateness counts"),
    ),
    ToolOption::flag(
        "moderate",
        None,
        Effect::Refused("arrivals follow their law, however close they are; leave it out"),
    ),
    ToolOption::flag("noload", None, Effect::Taken),
    ToolOption::flag("loadonly", None, Effect::Refused("an experiment measures; leave it out")),
    ToolOption::flag("blocking", Some('B'), Effect::None),
    ToolOption::flag(
        "no_nodelay",
        None,
        Effect::Refused("small requests are always sent at once; leave it out"),
    ),
    ToolOption::value("warmup", Some('w'), Effect::Taken),
    ToolOption::value("wait", Some('W'), Effect::None),
    ToolOption::value("save", None, Effect::Noted("a run folder holds the distributions of all times")),
    ToolOption::value("search", None, Effect::Taken),
    ToolOption::value("scan", None, Effect::Taken),
    ToolOption::flag("agentmode", Some('A'), AGENTS),
    ToolOption::value("agent", Some('a'), AGENTS),
    ToolOption::value("agent_port", Some('p'), AGENTS),
    ToolOption::value("lambda_mul", Some('l'), AGENTS),
    ToolOption::value("measure_connections", Some('C'), AGENTS),
    ToolOption::value("measure_qps", Some('Q'), AGENTS),
    ToolOption::value("measure_depth", Some('D'), AGENTS),
];

/// Most rates of `--scan`.
const RATES_MOST: usize = 100;

pub(super) fn draft(words: &[String]) -> Result<CacheDraft, ToolError> {
    let given = GivenOptions::read(words, KNOWN)?;
    let mut servers = given.taken.iter().filter(|one| one.long == "server");
    let server = servers.next().ok_or(ToolError::NoServer)?;
    if let Some(second) = servers.next() {
        return Err(second.wrong(
            "a second server would be a variant of its own here; give one, and add the other to the file",
        ));
    }
    let update: f64 = given.number("update", 0.0)?;
    if !(0.0..=1.0).contains(&update) {
        return Err(given.last("update").unwrap_or(server).wrong("the share of sets lies between 0 and 1"));
    }
    // Shares as they are written: 1 − 0.0333 is not 0.9667 in binary.
    let gets = ((1.0 - update) * 1e9).round() / 1e9;
    let mut workload = vec![
        ("keys", given.number::<u32>("records", 10_000)?.to_string()),
        ("key", law(&given, "keysize", "30")?),
        ("value", law(&given, "valuesize", "200")?),
        ("mix", format!("{{ get = {gets}, set = {update} }}")),
        ("popularity", quoted("uniform")),
    ];
    if given.last("noload").is_some() {
        workload.push(("start", quoted("cold")));
    }
    let (mut load, capacity, more) = rates(&given)?;
    let connections = given.number::<u32>("threads", 1)?.saturating_mul(given.number("connections", 1)?);
    load.push(("connections", connections.to_string()));
    load.push(("in_flight", given.number::<u32>("depth", 1)?.to_string()));
    if let Some(warmup) = given.last("warmup") {
        load.push(("warmup", quoted(&format!("{} s", warmup.read::<u32>("seconds")?))));
    }
    let mut notes = given.notes;
    notes.push("sizes of values belong to keys here, where mutilate draws one for each set".to_owned());
    notes.extend(more);
    let url = format!("memcached://{}", server.value);
    let line = format!("mutilate of {}", server.value);
    Ok(CacheDraft { line, url, unix: None, workload, load, capacity, notes })
}

/// A law of lengths, whose language is mutilate's.
fn law(given: &GivenOptions, long: &str, default: &str) -> Result<String, ToolError> {
    let Some(option) = given.last(long) else { return Ok(quoted(&format!("fixed:{default}"))) };
    let law: LengthLaw = option.value.parse().map_err(|why: String| option.wrong(why))?;
    Ok(quoted(&law.to_string()))
}

type Keys = Vec<(&'static str, String)>;

/// Keys of `[load]` and `[capacity]` that say how fast, and a note.
fn rates(given: &GivenOptions) -> Result<(Keys, Keys, Option<String>), ToolError> {
    let arrivals = given.last("iadist").map_or(Ok(quoted("poisson")), arrivals)?;
    let open = |mut keys: Keys| {
        keys.insert(0, ("model", quoted("open")));
        keys.push(("arrivals", arrivals.clone()));
        keys
    };
    let objective = given.last("search").map(objective).transpose()?;
    let rates = given.last("scan").map(scanned).transpose()?;
    if objective.is_none() && rates.is_none() {
        let rate: u64 = given.number("qps", 0)?;
        return Ok(match rate {
            0 => (vec![("model", quoted("closed"))], Vec::new(), None),
            rate => (open(vec![("rate", quoted(&format!("{rate}/s")))]), Vec::new(), None),
        });
    }
    let note = objective
        .is_none()
        .then(|| "what a rate of `--scan` must keep is yours to say in `capacity.objective`".to_owned());
    let objective = objective.unwrap_or_else(|| quoted("p99 < 10 ms"));
    let capacity = [("objective", objective)].into_iter().chain(rates.map(|rates| ("rates", rates)));
    Ok((open(Vec::new()), capacity.collect(), note))
}

/// Gaps between requests; their scale follows from the rate.
fn arrivals(option: &GivenOption) -> Result<String, ToolError> {
    let (name, rest) = option.value.split_once(':').unwrap_or((&option.value, ""));
    let numbers: Vec<f64> = rest.split(',').filter_map(|number| number.parse().ok()).collect();
    match (name, &numbers[..]) {
        ("exponential", _) => Ok(quoted("poisson")),
        ("fixed", _) => Ok(quoted("constant")),
        ("fb_ia", _) => Ok(quoted("fb_ia")),
        ("pareto", &[_, _, shape]) if (0.0..0.5).contains(&shape) => Ok(quoted(&format!("gpd:k={shape}"))),
        _ => Err(option.wrong(
            "gaps are `exponential`, `fixed`, `fb_ia` or `pareto:LOCATION,SCALE,SHAPE` with a shape from 0 to below 0.5",
        )),
    }
}

/// `95:1000`: 95 of 100 requests below 1000 µs.
fn objective(option: &GivenOption) -> Result<String, ToolError> {
    let parts = option.value.split_once(':');
    let is_known = |share: &str| ["50", "90", "95", "99", "99.9"].contains(&share);
    match parts
        .and_then(|(share, limit)| Some((share, limit.parse::<u64>().ok().filter(|limit| *limit > 0)?)))
    {
        Some((share, limit)) if is_known(share) => Ok(quoted(&format!("p{share} < {limit} us"))),
        _ => Err(option.wrong("write `N:X`, where N is 50, 90, 95, 99 or 99.9 and X are microseconds")),
    }
}

/// `1000:5000:500`.
fn scanned(option: &GivenOption) -> Result<String, ToolError> {
    let numbers: Vec<u64> = option.value.split(':').filter_map(|number| number.parse().ok()).collect();
    let [least @ (1..), most, step @ (1..)] = numbers[..] else {
        return Err(option.wrong("write `MIN:MAX:STEP`, whole numbers above zero"));
    };
    let rates: Vec<String> = (least..=most)
        .step_by(step as usize)
        .take(RATES_MOST + 1)
        .map(|rate| quoted(&format!("{rate}/s")))
        .collect();
    match rates.len() {
        0 => Err(option.wrong("the highest rate is below the lowest")),
        1..=RATES_MOST => Ok(format!("[{}]", rates.join(", "))),
        _ => Err(option.wrong("more than 100 rates; take a larger step")),
    }
}
