//! Reads the checked experiment from the tree: every key once, every default in one place.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::limit::Limits;
use super::load::{LoadDefault, load};
use super::node::{ExperimentError, Node, Read, Reader, Value, suggestion};
use super::template::expand_address;
use super::{
    CapacitySpec, Experiment, Hooks, LoadModel, OwnSlots, Peer, PlanRules, Point, Program, Protocol, Scheme,
    Target, TlsSpec, Url, Variant, WorkloadSpec, base, cache, capacity, database, jvm, layers, matrix, peer,
    program, protocol, tags,
};
use crate::estimate::{ContrastKind, Quantity};
use crate::gate::{Gate, GateKind};
use crate::idle::Idle;
use crate::pairing::PairingChoice;
use crate::quantity::{Nanoseconds, Ratio, percentage_points};
use crate::secret::shown_path;

/// Defaults of the experiment file, with reasons.
pub(super) mod default {
    use super::{Nanoseconds, Quantity, Ratio};

    /// One connection: the smallest load that says what a request costs.
    pub const CONNECTIONS: u32 = 1;
    /// Open load needs free slots, or requests wait for the pool and not for the server.
    pub const CONNECTIONS_OPEN: u32 = 16;
    /// No pipelining unless asked for.
    pub const IN_FLIGHT: u32 = 1;
    /// Longer than any healthy reply, short enough to end a run.
    pub const TIMEOUT: Nanoseconds = Nanoseconds::from_secs(10);
    /// Enough for a compiled service; a JVM wants seconds.
    pub const WARMUP: Nanoseconds = Nanoseconds::from_millis(200);
    /// Robust and narrow; the mean is reported beside it.
    pub const HEADLINE: Quantity = Quantity::ResponseP50;
    /// The fewest whose t interval is useful (t(5) = 2.57).
    pub const BLOCKS_MIN: u32 = 6;
    /// Beyond this another block narrows the interval by under 2 %.
    pub const BLOCKS_MAX: u32 = 30;
    /// What a person waits for.
    pub const BUDGET: Nanoseconds = Nanoseconds::from_secs(300);
    /// Smaller differences rarely decide a design.
    pub const MARGIN: Ratio = Ratio::new(0.02);
    /// As many failures more as make a variant suspect.
    pub const SHARE_MARGIN: Ratio = Ratio::new(0.01);
    /// Runs are repeatable unless another seed is asked for.
    pub const SEED: u64 = 1;
    /// More processes than this disturb each other even when frozen.
    pub const TOGETHER: u32 = 6;
}

pub(super) fn experiment(file: &str, text: &str) -> Read<Experiment> {
    let mut root = Node::parse(file, text)?;
    // These keys are allowed, though the expansion has removed them from the tree.
    let expanded = matrix::expand(file, &mut root)?;
    let reader = Reader::new(file, "", &root)?;
    for key in ["workload", "load", "variant", "matrix"] {
        reader.node(key);
    }
    let title = reader.name("title")?.unwrap_or_else(|| "untitled experiment".to_owned());
    let capacity = reader.table("capacity")?.map(capacity::read).transpose()?;
    let (mut plan, asked) = (plan(reader.table("plan")?)?, reader.table("plan")?);
    let names_headline = asked.as_ref().is_some_and(|asked| asked.node("headline").is_some());
    if capacity.is_some() && !names_headline {
        plan.headline = Quantity::Capacity;
    }
    let gates = gates(reader.table("gates")?)?;
    let hooks = hooks(reader.table("hooks")?)?;
    let run_tags = tags::read(&reader)?;
    reader.finish()?;

    // An error of the whole file.
    let refused = |message: String| ExperimentError { file: file.to_owned(), line: 0, message };
    let mut points = Vec::new();
    for point in expanded.points {
        let Some(tree) = &point.workload else {
            let message = "no `[workload]`; write one with `name = \"pingpong\"` or `name = \"http\"`";
            return Err(refused(message.to_owned()));
        };
        let mut workload = WorkloadSpec::read(Reader::new(file, "workload", tree)?)?;
        workload.set_seed(plan.seed);
        workload.check_label(&point.label).map_err(refused)?;
        let default = if capacity.is_some() { LoadDefault::AnyRate } else { LoadDefault::Closed };
        let load = load(file, point.load.as_ref(), default)?;
        workload.check_passages(&load, &plan, capacity.is_some()).map_err(refused)?;
        workload.check_arrivals(&load).map_err(refused)?;
        points.push(Point { label: point.label, workload, load });
    }
    check_gates(&gates, &points).map_err(refused)?;
    let variants = variants(file, &expanded.variants)?;
    for point in &points {
        point.workload.check_variants(&variants).map_err(refused)?;
    }
    if points.iter().any(|point| point.workload.ages()) {
        let line =
            asked.as_ref().map_or(0, |asked| asked.node("pairing").map_or(asked.line(), |node| node.line));
        let wrong = |message: String| ExperimentError { file: file.to_owned(), line, message };
        plan.pairing = ageing(plan.pairing, capacity.is_some()).map_err(wrong)?;
    }
    if let Some(asked) = asked {
        check_duet(&asked, &variants, &points)?;
        check_idle(&asked, &plan, &variants)?;
        check_quick(&asked, &plan.quick, &variants)?;
        check_headline(&asked, plan.headline, &points)?;
    }
    for (variant, node) in variants.iter().zip(&expanded.variants) {
        super::direct::check(file, variant, node.line, &points, &plan)?;
        for point in &points {
            let refused = |message| ExperimentError { file: file.to_owned(), line: node.line, message };
            variant.check_slots(&point.load).map_err(refused)?;
        }
    }
    check_capacity(capacity.as_ref(), &points, &plan).map_err(refused)?;
    let tags = tags::read_variants(file, run_tags, &variants, &expanded.variants)?;
    Ok(Experiment { title, points, variants, plan, capacity, gates, hooks, tags })
}

pub(super) fn positive_time(reader: &Reader<'_>, key: &'static str) -> Read<Option<Nanoseconds>> {
    reader.value(key, |node| match node.show().parse::<Nanoseconds>() {
        Ok(Nanoseconds::ZERO) => Err("must be above zero".to_owned()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    })
}

/// Most blocks of a run: some hours of short ones.
const MOST_BLOCKS: u64 = 10_000;

/// `blocks = 8` is exactly so many; a table has the fewest and the most.
fn blocks(reader: &Reader<'_>, rules: &mut PlanRules) -> Read<()> {
    if matches!(reader.node("blocks"), Some(Node { value: Value::Integer(_), .. })) {
        if let Some(exactly) = reader.integer("blocks", 1, MOST_BLOCKS)? {
            (rules.blocks_min, rules.blocks_max) = (exactly as u32, exactly as u32);
        }
        return Ok(());
    }
    let Some(blocks) = reader.table("blocks")? else { return Ok(()) };
    rules.blocks_min = blocks.integer("min", 1, MOST_BLOCKS)?.map_or(rules.blocks_min, |n| n as u32);
    rules.blocks_max =
        blocks.integer("max", 1, MOST_BLOCKS)?.map_or(rules.blocks_max.max(rules.blocks_min), |n| n as u32);
    if rules.blocks_max < rules.blocks_min {
        let message = format!(
            "`plan.blocks`: max = {} is below min = {}; raise one or lower the other",
            rules.blocks_max, rules.blocks_min
        );
        return Err(blocks.error(blocks.line(), message));
    }
    blocks.finish()
}

fn plan(reader: Option<Reader<'_>>) -> Read<PlanRules> {
    let mut rules = PlanRules::default();
    let Some(reader) = reader else { return Ok(rules) };
    if let Some(headline) = reader.quantity("headline")? {
        rules.headline = headline;
    }
    blocks(&reader, &mut rules)?;
    rules.until = match rules.headline.contrast() {
        ContrastKind::Log => share(&reader, "until")?,
        ContrastKind::Plain => points(&reader, "until")?,
    };
    rules.budget = positive_time(&reader, "budget")?.unwrap_or(rules.budget);
    rules.margin = share(&reader, "margin")?.unwrap_or(rules.margin);
    rules.share_margin = points(&reader, "share_margin")?.unwrap_or(rules.share_margin);
    rules.seed = reader.integer("seed", 0, i64::MAX as u64)?.unwrap_or(rules.seed);
    rules.window = positive_time(&reader, "window")?;
    rules.together = reader.integer("together", 2, 64)?.map_or(rules.together, |n| n as u32);
    rules.freeze = reader.boolean("freeze")?.unwrap_or(rules.freeze);
    rules.idle = idle(&reader)?.unwrap_or(rules.idle);
    rules.pairing = pairing(&reader)?.unwrap_or(rules.pairing);
    rules.quick = quick(&reader)?.unwrap_or_default();
    reader.finish()?;
    Ok(rules)
}

fn idle(reader: &Reader<'_>) -> Read<Option<Idle>> {
    reader.choice("idle", &Idle::ALL.map(|way| (way.name(), way)))
}

fn pairing(reader: &Reader<'_>) -> Read<Option<PairingChoice>> {
    reader.choice("pairing", &PairingChoice::ALL.map(|choice| (choice.name(), choice)))
}

fn quick(reader: &Reader<'_>) -> Read<Option<Vec<String>>> {
    reader.value("quick", |node| match &node.value {
        Value::List(names) if !names.is_empty() => Ok(names.iter().map(Node::show).collect()),
        _ => Err(format!("`{}` must be a list of at least one variant's name", node.show())),
    })
}

/// Each name in `quick` must be a variant, and occur once.
fn check_quick(plan: &Reader<'_>, quick: &[String], variants: &[Variant]) -> Read<()> {
    let line = plan.node("quick").map_or(plan.line(), |node| node.line);
    let refuse = |message: String| Err(plan.error(line, format!("`plan.quick`: {message}")));
    let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    for (at, name) in quick.iter().enumerate() {
        if !names.contains(&name.as_str()) {
            return refuse(format!("`{name}` is no variant{}", suggestion(name, &names)));
        }
        if quick[..at].contains(name) {
            return refuse(format!("`{name}` stands there twice; leave one out"));
        }
    }
    Ok(())
}

/// Variants that are measured at the same time, or request by request in turn, share one state of the host.
fn check_idle(plan: &Reader<'_>, rules: &PlanRules, variants: &[Variant]) -> Read<()> {
    let own = variants.iter().find(|variant| variant.idle.is_some_and(|idle| idle != rules.idle));
    let (Some(variant), PairingChoice::Duet | PairingChoice::Requests) = (own, rules.pairing) else {
        return Ok(());
    };
    let line = plan.node("pairing").map_or(plan.line(), |node| node.line);
    let message = format!(
        "`plan.pairing`: `{}` measures all variants at once, and `{}` has an `idle` of its own; use `windows`, or leave `idle` out there",
        rules.pairing.name(),
        variant.name
    );
    Err(plan.error(line, message))
}

/// Why no run of these points has the quantity, if it is of another workload.
fn foreign(quantity: Quantity, points: &[Point]) -> Option<String> {
    let only = quantity.of_workload()?;
    let other = points.iter().find(|point| point.workload.name() != only)?;
    Some(format!(
        "only the workload `{only}` has `{}`, and this one is `{}`; name another quantity, such as `response p50`",
        quantity.label(),
        other.workload.name()
    ))
}

impl Experiment {
    /// Adds gates to those of its file.
    ///
    /// Errors: in words, which of them cannot be told of its workload.
    pub fn add_gates(&mut self, gates: &[Gate]) -> Result<(), String> {
        check_gates(gates, &self.points)?;
        self.gates.extend_from_slice(gates);
        Ok(())
    }
}

/// Errors: in words, which gate cannot be told.
fn check_gates(gates: &[Gate], points: &[Point]) -> Result<(), String> {
    let wrong = |gate: &Gate| {
        let why = foreign(gate.quantity()?, points)?;
        Some(format!("the gate `{}`: {why}", gate.text))
    };
    gates.iter().find_map(wrong).map_or(Ok(()), Err)
}

/// Errors: in words, why the capacity cannot be searched for, or that none is asked for.
fn check_capacity(capacity: Option<&CapacitySpec>, points: &[Point], plan: &PlanRules) -> Result<(), String> {
    match capacity {
        Some(spec) => spec.check(points, plan),
        None if plan.headline == Quantity::Capacity => Err(
            "the headline `capacity` needs a table `[capacity]` with an `objective`, such as `objective = \"p99 < 10 ms\"`"
                .to_owned(),
        ),
        None => Ok(()),
    }
}

fn check_headline(plan: &Reader<'_>, headline: Quantity, points: &[Point]) -> Read<()> {
    let Some(why) = foreign(headline, points) else { return Ok(()) };
    let line = plan.node("headline").map_or(plan.line(), |node| node.line);
    Err(plan.error(line, format!("`plan.headline`: {why}")))
}

/// Values that run out do so while a variant is frozen, so variants are measured one after another.
///
/// Errors: in words, if they are to take turns.
fn ageing(pairing: PairingChoice, is_capacity: bool) -> Result<PairingChoice, String> {
    match pairing {
        _ if is_capacity => Err(
            "`workload.ttl`: steps of a capacity take turns, and values run out while a variant is frozen; leave `ttl` or `[capacity]` out"
                .to_owned(),
        ),
        PairingChoice::Auto | PairingChoice::Sequential => Ok(PairingChoice::Sequential),
        other => Err(format!(
            "`plan.pairing`: with `workload.ttl` values run out while a variant is frozen, and `{}` lets variants take turns or share a window; use `sequential`, or leave `pairing` out",
            other.name()
        )),
    }
}

/// A duet needs two variants that are started here: a server that somebody else runs cannot be moved to other
/// cores. In closed load the faster one is sent more, which must not matter to either.
fn check_duet(plan: &Reader<'_>, variants: &[Variant], points: &[Point]) -> Read<()> {
    let Some(node) = plan.node("pairing").filter(|node| node.show() == PairingChoice::Duet.name()) else {
        return Ok(());
    };
    let refuse = |message: String| Err(plan.error(node.line, format!("`plan.pairing`: {message}")));
    if variants.len() != 2 {
        return refuse(format!(
            "`duet` is of exactly 2 variants, and {}; write one experiment for each pair, or use `windows`",
            match variants.len() {
                1 => "there is 1".to_owned(),
                count => format!("there are {count}"),
            }
        ));
    }
    let remembers = |point: &&Point| point.load.model == LoadModel::Closed && point.workload.is_stateful();
    if let Some(point) = points.iter().find(remembers) {
        return refuse(format!(
            "in closed load `duet` sends the faster variant more, and what `{}` is answered depends on all that was sent before; use `windows`, or open load",
            point.workload.name()
        ));
    }
    match variants.iter().find(|variant| matches!(variant.target, Target::Url(_))) {
        Some(variant) => refuse(format!(
            "`duet` moves variants from core to core, and `{}` is a `url`, which is not started here; let it be started as `service` or `command`, or use `windows`",
            variant.name
        )),
        None => Ok(()),
    }
}

fn share(reader: &Reader<'_>, key: &'static str) -> Read<Option<Ratio>> {
    reader.value(key, |node| match node.show().parse::<Ratio>() {
        Ok(share) if share.get() > 0.0 && share.get() < 10.0 => Ok(share),
        Ok(share) => Err(format!("`{share}` must be above 0 % and below 1000 %")),
        Err(error) => Err(error.to_string()),
    })
}

/// A difference of shares, such as `1 pp`.
fn points(reader: &Reader<'_>, key: &'static str) -> Read<Option<Ratio>> {
    reader.value(key, |node| match percentage_points(&node.show()) {
        Some(points) if points.get() > 0.0 && points.get() < 1.0 => Ok(points),
        Some(_) => Err(format!("`{}` must be above 0 pp and below 100 pp", node.show())),
        None => Err(format!(
            "`{}` is not a difference of shares in percentage points, such as `1 pp`",
            node.show()
        )),
    })
}

fn gates(reader: Option<Reader<'_>>) -> Read<Vec<Gate>> {
    let Some(reader) = reader else { return Ok(Vec::new()) };
    let mut gates = Vec::new();
    for (key, kind) in [("fail_if", GateKind::FailIf), ("require", GateKind::Require)] {
        let read = |node: &Node| -> Result<Vec<Gate>, String> {
            let texts = match &node.value {
                Value::List(items) => items.iter().map(Node::show).collect(),
                _ => vec![node.show()],
            };
            texts.iter().map(|text| Gate::parse(kind, text).map_err(|e| e.to_string())).collect()
        };
        gates.extend(reader.value(key, read)?.unwrap_or_default());
    }
    reader.finish()?;
    Ok(gates)
}

fn hooks(reader: Option<Reader<'_>>) -> Read<Hooks> {
    let Some(reader) = reader else { return Ok(Hooks::default()) };
    let hooks = Hooks {
        prepare: reader.text("prepare")?,
        reset: reader.text("reset")?,
        cleanup: reader.text("cleanup")?,
    };
    reader.finish()?;
    Ok(hooks)
}

/// Reads `weight`, the share of the mix; 1 by default.
pub(super) fn weight(reader: &Reader<'_>) -> Read<f64> {
    let weight = reader.value("weight", |node| match node.show().parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => Ok(weight),
        _ => Err(format!("`{}` must be a number above zero", node.show())),
    })?;
    Ok(weight.unwrap_or(1.0))
}

/// Reads a table of free names with text values.
pub(super) fn pairs(reader: &Reader<'_>, key: &'static str) -> Read<Vec<(String, String)>> {
    let Some(table) = reader.table(key)? else { return Ok(Vec::new()) };
    let pair = |(name, node): &(String, Node)| match &node.value {
        Value::List(_) | Value::Table(_) => {
            Err(table.error(node.line, format!("`{}` must be text in quotes", table.full_key(name))))
        }
        _ => Ok((name.clone(), node.show())),
    };
    table.free_entries().iter().map(pair).collect()
}

/// Refuses an empty table of conditions, which looks like a check and can never fail.
pub(super) fn refuse_empty(reader: &Reader<'_>, key: &'static str) -> Read<()> {
    match reader.table(key)?.filter(|table| table.free_entries().is_empty()) {
        Some(table) => {
            let message = format!(
                "`{}` is empty and would check nothing; say what it wants or leave it out",
                reader.full_key(key)
            );
            Err(table.error(table.line(), message))
        }
        None => Ok(()),
    }
}

/// The table `json` of a check: pointers with the expected values.
pub(super) fn json_conditions(reader: &Reader<'_>) -> Read<Vec<(String, serde_json::Value)>> {
    refuse_empty(reader, "json")?;
    let Some(table) = reader.table("json")? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (pointer, node) in table.free_entries() {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let message = format!("`{pointer}` is not a JSON pointer; write `\"/{pointer}\"`");
            return Err(table.error(node.line, message));
        }
        let value = json_value(node).map_err(|(line, message)| table.error(line, message))?;
        found.push((pointer.clone(), value));
    }
    Ok(found)
}

pub(super) fn json_value(node: &Node) -> Result<serde_json::Value, (usize, String)> {
    Ok(match &node.value {
        Value::Text(text) => text.clone().into(),
        Value::Integer(n) => (*n).into(),
        Value::Float(x) if x.is_finite() => (*x).into(),
        Value::Float(x) => {
            return Err((node.line, format!("`{x}` is no value in JSON; give a finite number")));
        }
        Value::Boolean(b) => (*b).into(),
        Value::List(items) => items.iter().map(json_value).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Table(entries) => entries
            .iter()
            .map(|(key, node)| Ok((key.clone(), json_value(node)?)))
            .collect::<Result<serde_json::Map<_, _>, _>>()?
            .into(),
    })
}

fn variants(file: &str, nodes: &[Node]) -> Read<Vec<Variant>> {
    let mut variants = Vec::new();
    let mut names = BTreeSet::new();
    for node in nodes {
        let variant = variant(Reader::new(file, "variant", node)?)?;
        if !names.insert(variant.name.clone()) {
            let message = format!("two variants are named `{}`; give each a `name` of its own", variant.name);
            return Err(ExperimentError { file: file.to_owned(), line: node.line, message });
        }
        variants.push(variant);
    }
    program::check_ports(file, &variants, nodes)?;
    if variants.is_empty() {
        let message = "no `[[variant]]`; write at least one with `service`, `command` or `url`";
        return Err(ExperimentError { file: file.to_owned(), line: 0, message: message.to_owned() });
    }
    Ok(variants)
}

fn variant(reader: Reader<'_>) -> Read<Variant> {
    let line = reader.line();
    let line_of = |key: &'static str| reader.node(key).map_or(line, |node| node.line);
    let service = reader.text("service")?;
    let command = reader.value("command", command_words)?;
    let environment = |name: &str| std::env::var(name).ok();
    let url = reader.value("url", |node| Url::parse(&expand_address(&node.show(), &environment)?))?;
    let program = program::read(&reader)?.program(&reader, command)?;
    let name = reader.name("name")?;
    let url_protocol = url.as_ref().map_or_else(Protocol::default, |url| url.scheme.protocol());
    let protocol = protocol::read(&reader)?.unwrap_or(url_protocol);
    let unix = unix(&reader, url.is_some())?;
    let env = pairs(&reader, "env")?;
    let limits = Limits::read(&reader)?;
    let slots = OwnSlots::read(&reader)?;
    let idle = idle(&reader)?;
    let peer = peer::read(&reader)?;
    let cache = cache::read(&reader)?;
    let database = database::read(&reader)?;
    let base = base::read(&reader)?;
    let jvm = jvm::read(&reader)?;
    // The values are read later, by `tags::read_variants`; this marks the key as known.
    tags::read(&reader)?;
    let tls = super::tls::read(&reader)?;
    let layers = layers::read(&reader)?;
    if url.is_some() && !env.is_empty() {
        return Err(reader.error(line, "`env` has no use beside `url`: that server is not started by us"));
    }
    if let (Some(_), Some(key)) = (&url, limits.named()) {
        let message = format!("`{key}` has no use beside `url`: that server is not started by us");
        return Err(reader.error(line, message));
    }
    if let Some(url) = url.as_ref().filter(|url| !url.scheme.carries(protocol)) {
        let message = format!("protocol `{}` is not spoken at `{url}`; leave it out", protocol.name());
        return Err(reader.error(line, message));
    }
    let target = match (service, program, url) {
        (Some(name), None, None) => Target::Service { name },
        (None, Some(program), None) => Target::Command(program),
        (None, None, Some(url)) => Target::Url(url),
        _ => {
            return Err(reader.error(line, "a variant needs exactly one of `service`, `command` and `url`"));
        }
    };
    let tls = effective_tls(&target, tls).map_err(|message| reader.error(line_of("tls"), message))?;
    let name = name.unwrap_or_else(|| default_name(&target, peer.as_ref()));
    let variant = Variant {
        name,
        target,
        protocol,
        tls,
        unix,
        env,
        limits,
        slots,
        idle,
        peer,
        cache,
        database,
        base,
        jvm,
        layers,
    };
    check_settings(&variant, &reader)?;
    reader.finish()?;
    Ok(variant)
}

fn check_settings(variant: &Variant, reader: &Reader<'_>) -> Read<()> {
    let line_of = |key: &'static str| reader.node(key).map_or(reader.line(), |node| node.line);
    let line = reader.line();
    peer::check(variant).map_err(|message| reader.error(line, message))?;
    cache::check(variant).map_err(|message| reader.error(line, message))?;
    database::check(variant).map_err(|message| reader.error(line_of("database"), message))?;
    base::check(variant).map_err(|message| reader.error(line_of("base"), message))?;
    jvm::check(variant).map_err(|message| reader.error(line_of("jvm"), message))?;
    layers::check(variant).map_err(|message| reader.error(line_of("layers"), message))
}

/// Reads `unix`, the path of a socket.
fn unix(reader: &Reader<'_>, has_url: bool) -> Read<Option<PathBuf>> {
    match reader.text("unix")? {
        Some(_) if !has_url => Err(reader
            .error(reader.line(), "`unix` belongs to `url`: it leads to a server that somebody else runs")),
        Some(path) if path.is_empty() => {
            Err(reader.error(reader.line(), "`variant.unix` is empty; give the path of a socket"))
        }
        path => Ok(path.map(PathBuf::from)),
    }
}

fn default_name(target: &Target, peer: Option<&Peer>) -> String {
    match target {
        Target::Service { name } => match peer {
            Some(peer) if peer.protocol != Protocol::default() => {
                format!("{name} to {} over {}", peer.service, peer.protocol.name())
            }
            Some(peer) => format!("{name} to {}", peer.service),
            None => name.clone(),
        },
        Target::Command(program) => program_name(program),
        Target::Url(url) => shown_path(&url.to_string()),
    }
}

/// Default name of a command: its revision if it has one, else its program.
fn program_name(program: &Program) -> String {
    let file = program.argv[0].rsplit('/').next().unwrap_or_default();
    program.revision.clone().unwrap_or_else(|| file.to_owned())
}

/// The effective `tls` of a target: the scheme of an address decides whether there is TLS.
fn effective_tls(target: &Target, given: Option<Option<TlsSpec>>) -> Result<Option<TlsSpec>, String> {
    match (target, given) {
        (Target::Url(url), Some(None)) if url.scheme.is_secured() => {
            Err(format!("`tls = false` beside `{url}`; leave it out, or write `http://`"))
        }
        (Target::Url(url), Some(Some(_))) if url.scheme == Scheme::Http => {
            Err(format!("`tls` beside `{url}`, which is plain text; write `https://`"))
        }
        (Target::Url(url), None) if url.scheme.is_secured() => Ok(Some(TlsSpec::default())),
        (_, given) => Ok(given.flatten()),
    }
}

/// A command as a list of words, or as text that is split at blanks outside quotes.
fn command_words(node: &Node) -> Result<Vec<String>, String> {
    let words = match &node.value {
        Value::List(items) => items.iter().map(Node::show).collect(),
        _ => split_words(&node.show())?,
    };
    if words.first().is_none_or(String::is_empty) {
        return Err("names no program".to_owned());
    }
    Ok(words)
}

/// Words as a shell splits them, with single and double quotes and backslash, without expansion of any kind.
fn split_words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut open, mut quote) = (Vec::new(), String::new(), false, None);
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => (quote, open) = (Some(c), true),
            (None | Some('"'), '\\') => {
                word.extend(letters.next());
                open = true;
            }
            (None, c) if c.is_whitespace() => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (_, c) => {
                word.push(c);
                open = true;
            }
        }
    }
    if quote.is_some() {
        return Err(format!("`{text}` ends inside quotes"));
    }
    if open {
        words.push(word);
    }
    Ok(words)
}
