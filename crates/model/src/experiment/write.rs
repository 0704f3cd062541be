//! Writes a checked experiment as a file, with every default.

use super::{Experiment, Point, Target, capacity, load, tags};
use crate::gate::GateKind;
use crate::quantity::{Nanoseconds, Ratio};
use toml::{Table, Value};

pub(super) fn experiment(experiment: &Experiment) -> String {
    let mut root = Table::new();
    root.insert("title".into(), experiment.title.clone().into());
    let first = &experiment.points[0];
    root.insert("workload".into(), common_workload(&experiment.points).into());
    root.insert("load".into(), load::write(first, experiment.capacity.is_some()).into());
    if let Some(spec) = &experiment.capacity {
        root.insert("capacity".into(), capacity::write(spec).into());
    }
    root.insert("plan".into(), plan(experiment).into());
    if let Some(table) = gates(experiment) {
        root.insert("gates".into(), table.into());
    }
    if let Some(table) = hooks(experiment) {
        root.insert("hooks".into(), table.into());
    }
    if let Some(table) = tags::write(Some(&experiment.tags.run)) {
        root.insert("tags".into(), table.into());
    }
    let variants = experiment.variants.iter().map(|variant| tagged(variant, experiment));
    root.insert("variant".into(), variants.collect::<Vec<Value>>().into());
    if let Some(table) = matrix(&experiment.points) {
        root.insert("matrix".into(), table.into());
    }
    toml::to_string(&root).expect("a table of plain values is TOML")
}

pub(super) fn time(time: Nanoseconds) -> Value {
    format!("{} ns", time.as_nanos()).into()
}

fn share(ratio: Ratio) -> Value {
    // The shortest decimal that reads back as the same number, without an exponent, which `{:?}` may write
    // and quantities do not parse.
    ratio.get().to_string().into()
}

/// The first point's workload without the keys of the matrix. Empty if the points have different workloads,
/// which share no other key.
fn common_workload(points: &[Point]) -> Table {
    let name = |point: &Point| point.label.get("workload.name").cloned();
    if points.iter().any(|point| name(point) != name(&points[0])) {
        return Table::new();
    }
    let mut table = points[0].workload.write();
    // `size` and `sizes` exclude each other.
    if points[0].label.keys().any(|key| key == "workload.size" || key == "workload.sizes") {
        table.remove("size");
        table.remove("sizes");
    }
    table
}

pub(super) fn json_conditions(conditions: &[(String, serde_json::Value)]) -> Table {
    let conditions = conditions.iter();
    conditions.filter_map(|(pointer, value)| Some((pointer.clone(), Value::try_from(value).ok()?))).collect()
}

pub(super) fn pairs(pairs: &[(String, String)]) -> Table {
    pairs.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect()
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
    if rules.share_margin != super::PlanRules::default().share_margin {
        table.insert("share_margin".into(), share(rules.share_margin));
    }
    table.insert("seed".into(), i64::try_from(rules.seed).unwrap_or(i64::MAX).into());
    if let Some(window) = rules.window {
        table.insert("window".into(), time(window));
    }
    table.insert("together".into(), i64::from(rules.together).into());
    table.insert("freeze".into(), rules.freeze.into());
    table.insert("idle".into(), rules.idle.name().into());
    table.insert("pairing".into(), rules.pairing.name().into());
    if !rules.quick.is_empty() {
        let names: Vec<Value> = rules.quick.iter().map(|name| name.clone().into()).collect();
        table.insert("quick".into(), names.into());
    }
    table
}

fn gates(experiment: &Experiment) -> Option<Table> {
    let texts_of_kind = |kind: GateKind| -> Vec<Value> {
        experiment
            .gates
            .iter()
            .filter(|gate| gate.kind == kind)
            .map(|gate| gate.text.clone().into())
            .collect()
    };
    let mut table = Table::new();
    for (key, kind) in [("fail_if", GateKind::FailIf), ("require", GateKind::Require)] {
        let texts = texts_of_kind(kind);
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

fn tagged(one: &super::Variant, experiment: &Experiment) -> Value {
    let mut table = variant(one);
    if let Some(tags) = tags::write(experiment.tags.variants.get(&one.name)) {
        table.insert("tags".into(), tags.into());
    }
    table.into()
}

fn variant(variant: &super::Variant) -> Table {
    let mut table = Table::new();
    table.insert("name".into(), variant.name.clone().into());
    table.insert("protocol".into(), variant.protocol.name().into());
    match &variant.target {
        Target::Service { name } => {
            table.insert("service".into(), name.clone().into());
        }
        Target::Command(program) => super::program::write(&mut table, program),
        Target::Url(url) => {
            table.insert("url".into(), url.to_string().into());
        }
    }
    if let Some(tls) = &variant.tls {
        table.insert("tls".into(), super::tls::write(tls));
    }
    if let Some(path) = &variant.unix {
        table.insert("unix".into(), path.to_string_lossy().into_owned().into());
    }
    if !variant.env.is_empty() {
        table.insert("env".into(), pairs(&variant.env).into());
    }
    variant.limits.write(&mut table);
    variant.slots.write(&mut table);
    if let Some(idle) = variant.idle {
        table.insert("idle".into(), idle.name().into());
    }
    if let Some(peer) = &variant.peer {
        table.insert("peer".into(), super::peer::write(peer));
    }
    if let Some(cache) = &variant.cache {
        table.insert("cache".into(), super::cache::write(cache).into());
    }
    if let Some(database) = &variant.database {
        table.insert("database".into(), super::database::write(database));
    }
    if let Some(base) = variant.base {
        table.insert("base".into(), i64::from(base).into());
    }
    if let Some(jvm) = &variant.jvm {
        table.insert("jvm".into(), super::jvm::write(jvm).into());
    }
    if !variant.layers.is_empty() {
        table.insert("layers".into(), super::layers::write(&variant.layers));
    }
    table
}

/// The factors in the points' labels, with their values in order of first appearance. The last factor of a
/// file varies fastest, so factors are ordered by how late each first changes.
fn matrix(points: &[Point]) -> Option<Table> {
    let first_change = |key: &str| points.iter().position(|point| point.label[key] != points[0].label[key]);
    let mut keys: Vec<&String> = points[0].label.keys().collect();
    keys.sort_by_key(|key| std::cmp::Reverse(first_change(key)));
    let values_of = |key: &String| {
        let mut values: Vec<Value> = Vec::new();
        for point in points {
            let value = factor_value(key, &point.label[key]);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let table: Table = keys.into_iter().map(|key| (key.clone(), values_of(key).into())).collect();
    (!table.is_empty()).then_some(table)
}

/// A label's value in the type that its key needs; most are text.
fn factor_value(key: &str, shown: &str) -> Value {
    let typed = match key {
        "load.connections" | "load.in_flight" | "load.churn" | "workload.version" | "workload.database" => {
            shown.parse().ok().map(Value::Integer)
        }
        "load.keep_alive" => shown.parse().ok().map(Value::Boolean),
        "workload.sizes" => shown
            .strip_prefix('[')
            .and_then(|list| list.strip_suffix(']'))
            .map(|list| list.split(", ").map(Value::from).collect::<Vec<_>>().into()),
        _ => None,
    };
    typed.unwrap_or_else(|| shown.into())
}
