//! The way back: a checked experiment as a file, every default written out.

use super::{
    Arrivals, Equality, Experiment, LoadModel, LoadSpec, Point, Readiness, RequestSpec, Target, WorkloadSpec,
};
use crate::gate::GateKind;
use crate::quantity::{Nanoseconds, Ratio};
use toml::{Table, Value};

pub(super) fn experiment(experiment: &Experiment) -> String {
    let mut root = Table::new();
    root.insert("title".into(), experiment.title.clone().into());
    let first = &experiment.points[0];
    root.insert("workload".into(), workload(&first.workload).into());
    root.insert("load".into(), load(&first.load).into());
    root.insert("plan".into(), plan(experiment).into());
    if let Some(table) = gates(experiment) {
        root.insert("gates".into(), table.into());
    }
    if let Some(table) = hooks(experiment) {
        root.insert("hooks".into(), table.into());
    }
    root.insert("variant".into(), experiment.variants.iter().map(variant).collect::<Vec<Value>>().into());
    if let Some(table) = matrix(&experiment.points) {
        root.insert("matrix".into(), table.into());
    }
    toml::to_string(&root).expect("a table of plain values is TOML")
}

fn time(time: Nanoseconds) -> Value {
    format!("{} ns", time.as_nanos()).into()
}

fn share(ratio: Ratio) -> Value {
    // The shortest text that reads back as the same number.
    format!("{:?}", ratio.get()).into()
}

fn workload(spec: &WorkloadSpec) -> Table {
    let mut table = Table::new();
    match spec {
        WorkloadSpec::Pingpong { sizes } => {
            table.insert("name".into(), "pingpong".into());
            let sizes: Vec<Value> = sizes.iter().map(|size| size.get().to_string().into()).collect();
            match &sizes[..] {
                [one] => table.insert("size".into(), one.clone()),
                _ => table.insert("sizes".into(), sizes.into()),
            };
        }
        WorkloadSpec::Http { requests, equal } => {
            table.insert("name".into(), "http".into());
            let equal = match equal {
                Equality::Status => "status",
                Equality::Length => "length",
                Equality::Json => "json",
                Equality::Bytes => "bytes",
            };
            table.insert("equal".into(), equal.into());
            table.insert("request".into(), requests.iter().map(request).collect::<Vec<Value>>().into());
        }
    }
    table
}

fn pairs(pairs: &[(String, String)]) -> Table {
    pairs.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
}

fn request(request: &RequestSpec) -> Value {
    let mut table = Table::new();
    table.insert("name".into(), request.name.clone().into());
    table.insert("method".into(), request.method.clone().into());
    table.insert("path".into(), request.path.clone().into());
    table.insert("headers".into(), pairs(&request.headers).into());
    table.insert("body".into(), String::from_utf8_lossy(&request.body).into_owned().into());
    table.insert("weight".into(), request.weight.into());
    let mut check = Table::new();
    if let Some(status) = request.check.status {
        check.insert("status".into(), i64::from(status).into());
    }
    if let Some(length) = request.check.length {
        check.insert("length".into(), length.get().to_string().into());
    }
    check.insert("headers".into(), pairs(&request.check.headers).into());
    let json = request
        .check
        .json
        .iter()
        .filter_map(|(pointer, value)| Some((pointer.clone(), Value::try_from(value).ok()?)));
    check.insert("json".into(), json.collect::<Table>().into());
    table.insert("check".into(), check.into());
    table.into()
}

fn load(spec: &LoadSpec) -> Table {
    let mut table = Table::new();
    match spec.model {
        LoadModel::Closed => {
            table.insert("model".into(), "closed".into());
        }
        LoadModel::Open { rate, arrivals } => {
            table.insert("model".into(), "open".into());
            table.insert("rate".into(), format!("{:?}/s", rate.get()).into());
            let arrivals = match arrivals {
                Arrivals::Constant => "constant",
                Arrivals::Poisson => "poisson",
            };
            table.insert("arrivals".into(), arrivals.into());
        }
    }
    table.insert("connections".into(), i64::from(spec.connections).into());
    table.insert("in_flight".into(), i64::from(spec.in_flight).into());
    table.insert("timeout".into(), time(spec.timeout));
    table.insert("warmup".into(), time(spec.warmup));
    table.insert("keep_alive".into(), spec.keep_alive.into());
    table
}

fn plan(experiment: &Experiment) -> Table {
    let rules = &experiment.plan;
    let mut blocks = Table::new();
    blocks.insert("min".into(), i64::from(rules.blocks_min).into());
    blocks.insert("max".into(), i64::from(rules.blocks_max).into());
    let mut table = Table::new();
    table.insert("headline".into(), rules.headline.label().into());
    table.insert("blocks".into(), blocks.into());
    if let Some(until) = rules.until {
        table.insert("until".into(), share(until));
    }
    table.insert("budget".into(), time(rules.budget));
    table.insert("margin".into(), share(rules.margin));
    table.insert("seed".into(), i64::try_from(rules.seed).unwrap_or(i64::MAX).into());
    if let Some(window) = rules.window {
        table.insert("window".into(), time(window));
    }
    table.insert("together".into(), i64::from(rules.together).into());
    table.insert("freeze".into(), rules.freeze.into());
    table
}

fn gates(experiment: &Experiment) -> Option<Table> {
    let of = |kind: GateKind| -> Vec<Value> {
        experiment
            .gates
            .iter()
            .filter(|gate| gate.kind == kind)
            .map(|gate| gate.text.clone().into())
            .collect()
    };
    let mut table = Table::new();
    for (key, kind) in [("fail_if", GateKind::FailIf), ("require", GateKind::Require)] {
        let texts = of(kind);
        if !texts.is_empty() {
            table.insert(key.into(), texts.into());
        }
    }
    (!table.is_empty()).then_some(table)
}

fn hooks(experiment: &Experiment) -> Option<Table> {
    let hooks = &experiment.hooks;
    let entries = [("prepare", &hooks.prepare), ("reset", &hooks.reset), ("cleanup", &hooks.cleanup)];
    let table: Table =
        entries.iter().filter_map(|(key, text)| Some(((*key).into(), text.as_deref()?.into()))).collect();
    (!table.is_empty()).then_some(table)
}

fn variant(variant: &super::Variant) -> Value {
    let mut table = Table::new();
    table.insert("name".into(), variant.name.clone().into());
    table.insert("protocol".into(), variant.protocol.name().into());
    match &variant.target {
        Target::Service { name } => {
            table.insert("service".into(), name.clone().into());
        }
        Target::Command { argv, ready } => {
            table.insert("command".into(), argv.iter().cloned().map(Value::from).collect::<Vec<_>>().into());
            let ready = match ready {
                Readiness::Line => "line",
                Readiness::Port => "port",
            };
            table.insert("ready".into(), ready.into());
        }
        Target::Url(url) => {
            table.insert("url".into(), url.to_string().into());
        }
    }
    if !variant.env.is_empty() {
        table.insert("env".into(), pairs(&variant.env).into());
    }
    table.into()
}

/// The factors that the points' labels name, with their values in order of first appearance.
fn matrix(points: &[Point]) -> Option<Table> {
    let mut table = Table::new();
    for point in points {
        for (key, value) in &point.label {
            let values = table.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(values) = values {
                let value = Value::from(value.clone());
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
    }
    (!table.is_empty()).then_some(table)
}
