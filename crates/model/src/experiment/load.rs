//! The table `[load]`, read and written.

use std::num::NonZeroU32;

use toml::{Table, Value as Toml};

use super::node::{Node, Read, Reader, Value};
use super::read::{default, positive_time};
use super::shape::{Arrivals, Flow, LoadModel, Profile, RateStep, SessionLength, Think, TraceSpec};
use super::write::time;
use super::{HeaderTable, LoadSpec, Point};
use crate::legs::Stamps;
use crate::quantity::{PerSecond, Ratio};

const CHURN_MOST: u64 = 1_000_000;

#[derive(Clone, Copy, PartialEq)]
enum LoadKind {
    Closed,
    Open,
    PartlyOpen,
}

enum Law {
    Arrivals(Arrivals),
    Trace(TraceSpec),
}

impl Default for LoadSpec {
    /// Closed load on one connection.
    fn default() -> Self {
        Self {
            model: LoadModel::Closed,
            connections: default::CONNECTIONS,
            in_flight: default::IN_FLIGHT,
            timeout: default::TIMEOUT,
            warmup: default::WARMUP,
            think: Think::None,
            churn: None,
            stamps: Stamps::Off,
            header_table: HeaderTable::Used,
        }
    }
}

/// What the load is where the file does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadDefault {
    Closed,
    /// Open load whose rate is varied.
    AnyRate,
}

/// Stands for the rate that is varied: one arrival per second, so that a factor is a rate.
const UNIT_RATE: Profile = Profile::Constant { rate: PerSecond::ONE };

pub(super) fn load(file: &str, tree: Option<&Node>, default: LoadDefault) -> Read<LoadSpec> {
    let Some(tree) = tree else {
        return Ok(match default {
            LoadDefault::Closed => LoadSpec::default(),
            LoadDefault::AnyRate => LoadSpec {
                model: LoadModel::Open {
                    flow: Flow::Law { profile: UNIT_RATE, arrivals: Arrivals::default() },
                },
                connections: default::CONNECTIONS_OPEN,
                ..LoadSpec::default()
            },
        });
    };
    read(Reader::new(file, "load", tree)?, default)
}

fn read(reader: Reader<'_>, default: LoadDefault) -> Read<LoadSpec> {
    let kinds =
        [("closed", LoadKind::Closed), ("open", LoadKind::Open), ("partly-open", LoadKind::PartlyOpen)];
    let unnamed = if default == LoadDefault::AnyRate { LoadKind::Open } else { LoadKind::Closed };
    let kind = reader.choice("model", &kinds)?.unwrap_or(unnamed);
    let model = model(&reader, kind, default)?;
    let think = reader.value("think", think)?.unwrap_or_default();
    if kind == LoadKind::Open && think != Think::None {
        let message = "`load.think` has no use in open load, where requests are due by the schedule; use `model = \"partly-open\"`, or leave it out";
        return Err(reader.error(reader.line(), message));
    }
    let connections = if kind == LoadKind::Closed { default::CONNECTIONS } else { default::CONNECTIONS_OPEN };
    let spec = LoadSpec {
        model,
        connections: reader.integer("connections", 1, 60_000)?.map_or(connections, |n| n as u32),
        in_flight: reader.integer("in_flight", 1, 1_000)?.map_or(default::IN_FLIGHT, |n| n as u32),
        timeout: positive_time(&reader, "timeout")?.unwrap_or(default::TIMEOUT),
        warmup: reader.quantity("warmup")?.unwrap_or(default::WARMUP),
        think,
        churn: churn(&reader)?,
        stamps: stamps(&reader)?,
        header_table: header_table(&reader)?,
    };
    spec.check_stamps().map_err(|why| {
        let message =
            format!("`load.kernel_timestamps` needs {why}; set `load.in_flight = 1`, or leave it out");
        reader.error(reader.line(), message)
    })?;
    reader.finish()?;
    Ok(spec)
}

fn model(reader: &Reader<'_>, kind: LoadKind, default: LoadDefault) -> Read<LoadModel> {
    let rate: Option<PerSecond> = reader.quantity("rate")?;
    let sessions: Option<PerSecond> = reader.quantity("sessions")?;
    let mut profile = reader.value("profile", profile)?;
    let arrivals = reader.value("arrivals", arrivals)?;
    if default == LoadDefault::AnyRate {
        if rate.is_some() || sessions.is_some() {
            let key = if rate.is_some() { "rate" } else { "sessions" };
            let message = format!(
                "`[capacity]` varies `load.{key}`; leave it out, or bound it by `from` and `to` in `[capacity]`"
            );
            return Err(reader.error(reader.line(), message));
        }
        let is_trace = matches!(arrivals, Some(Law::Trace(_)));
        profile = profile.or((!is_trace && kind != LoadKind::Closed).then_some(UNIT_RATE));
    }
    let length = reader.value("length", length)?;
    let wrong = |message: &str| Err(reader.error(reader.line(), message));
    match kind {
        LoadKind::Closed => {
            if rate.is_some() || arrivals.is_some() || profile.is_some() {
                return wrong(
                    "`load.rate`, `load.arrivals` and `load.profile` belong to `model = \"open\"` or `model = \"partly-open\"`",
                );
            }
            if sessions.is_some() || length.is_some() {
                return wrong("`load.sessions` and `load.length` belong to `model = \"partly-open\"`");
            }
            Ok(LoadModel::Closed)
        }
        LoadKind::Open => {
            if sessions.is_some() || length.is_some() {
                return wrong("`load.sessions` and `load.length` belong to `model = \"partly-open\"`");
            }
            let missing = "open load needs a `rate` above zero, such as `rate = \"5000/s\"`, or a `profile`";
            Ok(LoadModel::Open { flow: flow(reader, rate, "rate", profile, arrivals, missing)? })
        }
        LoadKind::PartlyOpen => {
            if rate.is_some() {
                return wrong(
                    "`load.rate` belongs to `model = \"open\"`; sessions arrive at `sessions = \"50/s\"`",
                );
            }
            let missing =
                "partly open load needs `sessions` above zero, such as `sessions = \"50/s\"`, or a `profile`";
            let flow = flow(reader, sessions, "sessions", profile, arrivals, missing)?;
            let Some(length) = length else {
                return wrong(
                    "partly open load needs the `length` of sessions, such as `length = 10`, `\"geometric:mean=10\"` or `\"workload\"`",
                );
            };
            Ok(LoadModel::PartlyOpen { flow, length })
        }
    }
}

/// Exactly one of a rate, a profile and a trace says how much arrives.
fn flow(
    reader: &Reader<'_>,
    rate: Option<PerSecond>,
    key: &str,
    profile: Option<Profile>,
    law: Option<Law>,
    missing: &str,
) -> Read<Flow> {
    let wrong = |message: String| Err(reader.error(reader.line(), message));
    let arrivals = match law {
        Some(Law::Trace(_)) if rate.is_some() || profile.is_some() => {
            return wrong(format!(
                "a trace brings its own rate; leave `{key}` and `profile` out, or change its `speed`"
            ));
        }
        Some(Law::Trace(trace)) => return Ok(Flow::Trace(trace)),
        Some(Law::Arrivals(arrivals)) => arrivals,
        None => Arrivals::default(),
    };
    match (rate, profile) {
        (Some(_), Some(_)) => wrong(format!(
            "`load.{key}` and `load.profile` cannot stand together; a profile brings its rates"
        )),
        (None, Some(profile)) => Ok(Flow::Law { profile, arrivals }),
        (Some(rate), None) if rate.get() > 0.0 => {
            Ok(Flow::Law { profile: Profile::Constant { rate }, arrivals })
        }
        _ => wrong(missing.to_owned()),
    }
}

/// The values of a table if its keys are exactly `keys`, in that order.
fn fields<'a, const N: usize>(node: &'a Node, keys: [&str; N]) -> Option<[&'a Node; N]> {
    let Value::Table(entries) = &node.value else { return None };
    let find = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, node)| node);
    if entries.len() != N {
        return None;
    }
    let found: Vec<&Node> = keys.iter().filter_map(|key| find(key)).collect();
    found.try_into().ok()
}

fn text<T: std::str::FromStr<Err: std::fmt::Display>>(node: &Node) -> Result<T, String> {
    node.show().parse().map_err(|error: T::Err| error.to_string())
}

fn profile(node: &Node) -> Result<Profile, String> {
    let Value::Table(_) = &node.value else { return text(node) };
    let profile = if let Some([steps]) = fields(node, ["steps"]) {
        let Value::List(items) = &steps.value else {
            return Err("`steps` must be a list of `{ rate = \"1000/s\", for = \"10 s\" }`".to_owned());
        };
        let step = |node: &Node| match fields(node, ["rate", "for"]) {
            Some([rate, lasts]) => Ok(RateStep { rate: text(rate)?, lasts: text(lasts)? }),
            None => Err(format!(
                "`{}` is not a step; write `{{ rate = \"1000/s\", for = \"10 s\" }}`",
                node.show()
            )),
        };
        Profile::Steps { steps: items.iter().map(step).collect::<Result<_, _>>()? }
    } else if let Some([ramp]) = fields(node, ["ramp"]) {
        let Some([from, to, over]) = fields(ramp, ["from", "to", "over"]) else {
            return Err("`ramp` takes `from`, `to` and `over`".to_owned());
        };
        Profile::Ramp { from: text(from)?, to: text(to)?, over: text(over)? }
    } else if let Some([sine]) = fields(node, ["sine"]) {
        let Some([mean, amplitude, period]) = fields(sine, ["mean", "amplitude", "period"]) else {
            return Err("`sine` takes `mean`, `amplitude` and `period`".to_owned());
        };
        Profile::Sine { mean: text(mean)?, amplitude: text(amplitude)?, period: text(period)? }
    } else if let Some([burst]) = fields(node, ["burst"]) {
        let Some([base, peak, every, length]) = fields(burst, ["base", "peak", "every", "length"]) else {
            return Err("`burst` takes `base`, `peak`, `every` and `length`".to_owned());
        };
        Profile::Burst { base: text(base)?, peak: text(peak)?, every: text(every)?, length: text(length)? }
    } else {
        return Err("a profile is one of `steps`, `ramp`, `sine` and `burst`".to_owned());
    };
    profile.check()?;
    Ok(profile)
}

fn arrivals(node: &Node) -> Result<Law, String> {
    let Value::Table(entries) = &node.value else { return text(node).map(Law::Arrivals) };
    if let Some([share]) = fields(node, ["jitter"]) {
        return Arrivals::jitter(text::<Ratio>(share)?).map(Law::Arrivals);
    }
    let mut trace = TraceSpec { file: String::new(), speed: 1.0, sha256: None };
    for (key, node) in entries {
        match (key.as_str(), &node.value) {
            ("trace", Value::Text(file)) => trace.file.clone_from(file),
            ("sha256", Value::Text(hash))
                if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) =>
            {
                trace.sha256 = Some(hash.to_ascii_lowercase());
            }
            ("speed", _) => trace.speed = speed(&node.show())?,
            _ => {
                return Err(format!(
                    "`{key} = {}` is not known here; write `{{ trace = \"times.csv\", speed = 1 }}` or `{{ jitter = \"20 %\" }}`",
                    node.show()
                ));
            }
        }
    }
    if trace.file.is_empty() {
        return Err("names no file; write `{ trace = \"times.csv\" }`".to_owned());
    }
    Ok(Law::Trace(trace))
}

/// Speed of a trace relative to its recording.
///
/// Errors: in words, if it is not from 0.001 to 1,000,000.
pub fn speed(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(speed) if (0.001..=1e6).contains(&speed) => Ok(speed),
        _ => Err(format!("a speed of `{text}` must be a number from 0.001 to 1000000")),
    }
}

fn think(node: &Node) -> Result<Think, String> {
    let Value::Table(_) = &node.value else { return text(node) };
    let law = |node: &Node| node.show();
    if let Some([name, mean]) = fields(node, ["law", "mean"])
        && law(name) == "exponential"
    {
        return Think::exponential(text(mean)?);
    }
    if let Some([name, low, high]) = fields(node, ["law", "low", "high"])
        && law(name) == "uniform"
    {
        return Think::uniform(text(low)?, text(high)?);
    }
    Err("write `\"10 ms\"`, `{ law = \"exponential\", mean = \"10 ms\" }` or `{ law = \"uniform\", low = \"5 ms\", high = \"15 ms\" }`".to_owned())
}

fn length(node: &Node) -> Result<SessionLength, String> {
    let Value::Table(_) = &node.value else { return text(node) };
    match fields(node, ["law", "mean"]) {
        Some([law, mean]) if law.show() == "geometric" => {
            let mean = mean.show().parse().map_err(|_| format!("`{}` is not a number", mean.show()))?;
            SessionLength::geometric(mean)
        }
        _ => Err("write `10`, `{ law = \"geometric\", mean = 10 }` or `\"workload\"`".to_owned()),
    }
}

fn churn(reader: &Reader<'_>) -> Read<Option<NonZeroU32>> {
    let keep_alive = reader.boolean("keep_alive")?;
    let churn = reader.integer("churn", 1, CHURN_MOST)?.and_then(|n| NonZeroU32::new(n as u32));
    match (keep_alive, churn) {
        (Some(_), Some(_)) => Err(reader.error(
            reader.line(),
            "`load.keep_alive` and `load.churn` cannot stand together; `keep_alive = false` is `churn = 1`",
        )),
        (Some(false), None) => Ok(Some(NonZeroU32::MIN)),
        (Some(true) | None, churn) => Ok(churn),
    }
}

fn stamps(reader: &Reader<'_>) -> Read<Stamps> {
    Ok(match reader.boolean("kernel_timestamps")? {
        Some(true) => Stamps::Kernel,
        Some(false) | None => Stamps::Off,
    })
}

/// Bytes of the dynamic table: none, or those that HTTP/2 begins with.
fn header_table(reader: &Reader<'_>) -> Read<HeaderTable> {
    let tables = [("0", HeaderTable::Unused), ("4096", HeaderTable::Used)];
    Ok(reader.choice("header_table", &tables)?.unwrap_or_default())
}

/// The table of the first point's load, without the keys that the matrix sets and those that exclude them.
/// `varied` leaves the rate out.
pub(super) fn write(point: &Point, varied: bool) -> Table {
    let spec = &point.load;
    let mut table = Table::new();
    match &spec.model {
        LoadModel::Closed => {
            table.insert("model".into(), "closed".into());
        }
        LoadModel::Open { flow } => {
            table.insert("model".into(), "open".into());
            write_flow(&mut table, flow, "rate");
        }
        LoadModel::PartlyOpen { flow, length } => {
            table.insert("model".into(), "partly-open".into());
            write_flow(&mut table, flow, "sessions");
            table.insert("length".into(), length.to_string().into());
        }
    }
    if varied {
        table.remove("rate");
        table.remove("sessions");
    }
    table.insert("connections".into(), i64::from(spec.connections).into());
    table.insert("in_flight".into(), i64::from(spec.in_flight).into());
    table.insert("timeout".into(), time(spec.timeout));
    table.insert("warmup".into(), time(spec.warmup));
    if spec.think != Think::None {
        table.insert("think".into(), spec.think.to_string().into());
    }
    if spec.stamps == Stamps::Kernel {
        table.insert("kernel_timestamps".into(), true.into());
    }
    if spec.header_table == HeaderTable::Unused {
        table.insert("header_table".into(), 0.into());
    }
    let by_matrix = point.label.keys().any(|key| key == "load.keep_alive" || key == "load.churn");
    match spec.churn {
        _ if by_matrix => {}
        Some(requests) => {
            table.insert("churn".into(), i64::from(requests.get()).into());
        }
        None => {
            table.insert("keep_alive".into(), true.into());
        }
    }
    table
}

fn write_flow(table: &mut Table, flow: &Flow, key: &str) {
    match flow {
        Flow::Law { profile, arrivals } => {
            match profile {
                Profile::Constant { rate } => table.insert(key.into(), format!("{}/s", rate.get()).into()),
                profile => table.insert("profile".into(), profile.to_string().into()),
            };
            table.insert("arrivals".into(), arrivals.to_string().into());
        }
        Flow::Trace(spec) => {
            let mut trace = Table::new();
            trace.insert("trace".into(), spec.file.clone().into());
            trace.insert("speed".into(), spec.speed.into());
            if let Some(hash) = &spec.sha256 {
                trace.insert("sha256".into(), hash.clone().into());
            }
            table.insert("arrivals".into(), Toml::Table(trace));
        }
    }
}
