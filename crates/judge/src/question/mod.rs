//! The question to the judge: the experiment as far as it matters for estimates and verdicts.
//!
//! The conductor makes these values from the checked experiment, the host's facts and the run's. They contain
//! no record of a measurement, and the judge knows nothing else about the run.

mod stack;

pub use stack::{Family, Identity, Stack, StackElement};
pub(crate) use stack::{RELAYED, names};

use weighbridge_model::estimate::{ContrastKind, Quantity};
use weighbridge_model::experiment::{
    self, Experiment, LoadModel, Part, ScriptOperations, TriedRates, WorkloadSpec,
};
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::idle::IdleWait;
use weighbridge_model::objective::Objectives;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Ratio};
use weighbridge_model::sizes::SizeGuide;
use weighbridge_model::summary::{Relay, Slots};
use weighbridge_model::tags::Tags;

#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub run: Run,
    pub headline: Quantity,
    /// The margin of relevance, of ratio − 1.
    pub margin: Ratio,
    /// The margin of relevance of differences of shares.
    pub share_margin: Ratio,
    /// Quantities that gates ask for, and that are told for no other reason.
    pub gated: Vec<Quantity>,
    /// The name of the workload; empty where it is not known.
    pub workload: &'static str,
    /// Wanted half-width of the headline's ratio, relative to the ratio, or of its difference where shares are compared;
    /// `None` if the plan has no such goal.
    pub until: Option<Ratio>,
    pub blocks: Blocks,
    /// In the order of [`VariantId`]; the first is the baseline.
    pub variants: Vec<Variant>,
    /// In the order of [`PointId`]; at least one.
    pub points: Vec<Point>,
    pub cores: Cores,
    pub idle: Option<IdleWait>,
    /// Sizes at which the host is known to change; empty if nobody looked.
    pub guides: Vec<SizeGuide>,
    /// The sizes that each point asks for. Points beyond the last entry have [`AskedSizes::Unknown`].
    pub sizes: Vec<AskedSizes>,
    /// For every relay that has one: the variant that is its peer, asked directly.
    pub directs: Vec<(VariantId, VariantId)>,
    pub absent: Vec<Absent>,
    pub compositions: Vec<Composition>,
    /// By point; empty where no capacity is asked for.
    pub objectives: Vec<Objectives>,
    /// The highest rate that the experiment allows in a search for capacity.
    pub highest_rate: Option<PerSecond>,
    /// The rates that it lists, ascending; empty where rates are searched for.
    pub listed_rates: Vec<PerSecond>,
}

/// An operation that is a session of others, each of which is measured alone at a point of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composition {
    pub point: PointId,
    pub operation: OperationId,
    /// The points of its parts, and how often each is called.
    pub parts: Vec<(PointId, u32)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Absent {
    pub name: String,
    /// With the remedy.
    pub reason: String,
    pub stack: Stack,
}

impl Absent {
    pub fn new(variant: &experiment::Variant, reason: impl Into<String>) -> Self {
        Self { name: variant.name.clone(), reason: reason.into(), stack: Stack::new(variant) }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedSizes {
    /// The workload has no sizes.
    #[default]
    Unknown,
    One(Bytes),
    Listed,
    Range,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    pub title: String,
    pub name: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// From the first start to the last stop.
    pub took: Nanoseconds,
    /// Measured with `--quick`.
    pub quick: bool,
    /// Workload, load model and connections of each point, in words.
    pub conditions: Vec<String>,
    /// Words for finding the run and its variants.
    pub tags: Tags,
    pub unavailable: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Fewest blocks, and the first stage of Stein's rule.
    pub min: u32,
    pub max: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub name: String,
    pub transport: Transport,
    pub lifetime: Lifetime,
    /// The service and its peer, if it passes requests on.
    pub relay: Option<Relay>,
    pub stack: Stack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// We start and stop it: intervals include the variance of restarts.
    Restarted,
    /// Somebody else runs it: blocks are only blocks of time.
    Instance,
}

/// How a variant's requests travel, so that a wrong transport can be detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    InProcess,
    /// The kernel does not count the bytes (a Unix socket).
    Uncounted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Factor values; empty if the experiment has one point.
    pub label: PointLabel,
    pub load: Load,
    pub slots: u64,
    /// Of each variant, where its connections are not simply the load's; none beyond the last entry.
    pub own_slots: Vec<Option<Slots>>,
    /// Requests that a slot makes one after another, on average and rounded up, where windows end with whole sessions; else 1.
    pub session_length: u64,
    /// In the order of [`OperationId`].
    pub operations: Vec<String>,
    /// What they are in terms of the workload's script, if it plays one.
    pub script: Option<ScriptOperations>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// When a connection becomes free: p50 is a typical.
    Closed,
    /// By a schedule, at least in part (open and partly open): p50 is pooled.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// The number of cores that the roles of a variant share; `None` if unknown (a URL elsewhere).
    pub service: Option<u32>,
    pub placement: Placement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    Apart,
    Shared,
}

impl Question {
    /// The question of an experiment. Variants count as TCP, except those whose operations run in the
    /// service's process.
    pub fn new(experiment: &Experiment, run: Run, cores: Cores) -> Self {
        let variant = |v: &experiment::Variant| Variant {
            name: v.name.clone(),
            transport: match v.protocol {
                experiment::Protocol::DIRECT => Transport::InProcess,
                _ => Transport::Tcp,
            },
            lifetime: match v.target {
                experiment::Target::Url(_) => Lifetime::Instance,
                experiment::Target::Service { .. } | experiment::Target::Command(_) => Lifetime::Restarted,
            },
            relay: match (&v.target, &v.peer) {
                (experiment::Target::Service { name }, Some(peer)) => {
                    Some(Relay { service: name.clone(), peer: peer.service.clone() })
                }
                _ => None,
            },
            stack: Stack::new(v),
        };
        let point = |p: &experiment::Point| Point {
            label: p.label.clone(),
            load: match p.load.model {
                LoadModel::Closed => Load::Closed,
                LoadModel::Open { .. } | LoadModel::PartlyOpen { .. } => Load::Open,
            },
            slots: p.load.slots(),
            own_slots: experiment.variants.iter().map(|variant| own_slots(variant, p)).collect(),
            session_length: match p.workload.sessions_of_a_passage() {
                Some(_) => p.workload.session_length().ceil() as u64,
                None => 1,
            },
            operations: p.workload.operations(),
            script: p.workload.script_operations(),
        };
        let plan = &experiment.plan;
        Self {
            run,
            headline: plan.headline,
            margin: plan.margin,
            share_margin: plan.share_margin,
            gated: experiment.gates.iter().filter_map(|gate| gate.quantity()).collect(),
            workload: experiment.points.first().map_or("", |point| point.workload.name()),
            until: plan.until,
            blocks: Blocks { min: plan.blocks_min, max: plan.blocks_max },
            variants: experiment.variants.iter().map(variant).collect(),
            points: experiment.points.iter().map(point).collect(),
            cores,
            idle: None,
            guides: Vec::new(),
            sizes: experiment.points.iter().map(|point| AskedSizes::new(&point.workload)).collect(),
            directs: directs(&experiment.variants),
            absent: Vec::new(),
            compositions: compositions(&experiment.points),
            objectives: objectives(experiment),
            highest_rate: highest_rate(experiment),
            listed_rates: match experiment.capacity.as_ref().map(|spec| &spec.rates) {
                Some(TriedRates::Listed(rates)) => rates.clone(),
                _ => Vec::new(),
            },
        }
    }

    /// Whether a quantity is told of a workload that counts, or not: shares are, or where somebody asks for them; none of
    /// another workload.
    pub fn tells(&self, quantity: Quantity, counts: bool) -> bool {
        if quantity.of_workload().is_some_and(|only| !self.workload.is_empty() && only != self.workload) {
            return false;
        }
        let is_share = quantity.contrast() == ContrastKind::Plain;
        !is_share || counts || quantity == self.headline || self.gated.contains(&quantity)
    }

    /// The margin of relevance, on the scale on which a quantity is compared.
    pub fn margin_of(&self, quantity: Quantity) -> Ratio {
        match quantity.contrast() {
            ContrastKind::Log => self.margin,
            ContrastKind::Plain => self.share_margin,
        }
    }

    pub fn asked(&self, point: PointId) -> AskedSizes {
        self.sizes.get(point.index()).copied().unwrap_or_default()
    }

    /// What the point's capacity must keep; `None` where no capacity is asked for.
    pub fn objectives(&self, point: PointId) -> Option<&Objectives> {
        self.objectives.get(point.index())
    }

    pub fn points(&self) -> impl Iterator<Item = (PointId, &Point)> {
        (0..).map(PointId).zip(&self.points)
    }

    /// Whether variants differ in their protocol, each of which has a codec: what keyed protocols carry has no bodies.
    pub fn has_codecs_to_compare(&self) -> bool {
        let protocols: Option<Vec<_>> =
            self.variants.iter().map(|variant| Some(variant.stack.family.as_ref()?.protocol)).collect();
        let protocols = protocols.unwrap_or_default();
        protocols.iter().all(|one| one.codec().is_some()) && protocols.windows(2).any(|two| two[0] != two[1])
    }

    /// The baseline first.
    pub fn variants(&self) -> impl Iterator<Item = (VariantId, &Variant)> {
        (0..).map(VariantId).zip(&self.variants)
    }
}

impl AskedSizes {
    fn new(workload: &WorkloadSpec) -> Self {
        match workload.listed_sizes() {
            _ if workload.spread().is_some() => Self::Range,
            [] => Self::Unknown,
            [size] => Self::One(*size),
            _ => Self::Listed,
        }
    }
}

fn own_slots(variant: &experiment::Variant, point: &experiment::Point) -> Option<Slots> {
    let load = variant.load(&point.load);
    let (connections, in_flight) = (load.connections, load.in_flight);
    let pipelined = in_flight > 1 && variant.protocol.framing().is_in_order();
    (pipelined || load != point.load).then_some(Slots { connections, in_flight, pipelined })
}

/// The compositions whose parts were all measured alone, under the same load.
fn compositions(points: &[experiment::Point]) -> Vec<Composition> {
    let composition = |(id, point): (PointId, &experiment::Point)| {
        let (operation, parts) = point.workload.composition()?;
        let alone = |part: Part<WorkloadSpec>| {
            let is_it = |other: &experiment::Point| other.workload == part.alone && other.load == point.load;
            Some((PointId(points.iter().position(is_it)? as u16), part.times))
        };
        let parts = parts.into_iter().map(alone).collect::<Option<_>>()?;
        Some(Composition { point: id, operation, parts })
    };
    (0..).map(PointId).zip(points).filter_map(composition).collect()
}

/// By point; a checked experiment names only operations that its workload has.
fn objectives(experiment: &Experiment) -> Vec<Objectives> {
    let Some(spec) = &experiment.capacity else { return Vec::new() };
    experiment.points.iter().filter_map(|point| spec.objectives_for(&point.workload).ok()).collect()
}

fn highest_rate(experiment: &Experiment) -> Option<PerSecond> {
    match &experiment.capacity.as_ref()?.rates {
        TriedRates::Searched { to, .. } => *to,
        TriedRates::Listed(rates) => rates.last().copied(),
    }
}

/// For each relay, the first variant that equals its peer, asked directly.
fn directs(variants: &[experiment::Variant]) -> Vec<(VariantId, VariantId)> {
    let is_direct = |relay: &experiment::Variant, other: &experiment::Variant| {
        let (Some(peer), experiment::Target::Service { name }) = (&relay.peer, &other.target) else {
            return false;
        };
        let as_it_is = other.peer.is_none() && other.tls.is_none() && other.limits.is_none();
        // A relay asks its peer on the bare host, so the direct variant must be bare too.
        let alike = *name == peer.service && other.env == peer.env && other.layers.is_empty();
        alike && as_it_is && other.protocol == peer.protocol
    };
    let direct = |(id, relay): (VariantId, &experiment::Variant)| {
        let direct = variants.iter().position(|other| is_direct(relay, other))?;
        Some((id, VariantId(direct as u16)))
    };
    (0..).map(VariantId).zip(variants).filter_map(direct).collect()
}

impl Point {
    /// The scopes that costs are shown for: `all` first if there are several operations, then each operation.
    pub fn scopes(&self) -> Vec<Scope> {
        let each = (0..self.operations.len()).map(|at| Scope::One(OperationId(at as u16)));
        match self.operations.len() {
            1 => vec![Scope::Only],
            _ => std::iter::once(Scope::All).chain(each).collect(),
        }
    }

    pub fn name(&self, scope: Scope) -> &str {
        match scope {
            Scope::All => "all",
            Scope::Only => self.operations.first().map_or("all", String::as_str),
            Scope::One(operation) => self.operations.get(operation.index()).map_or("unknown", String::as_str),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    All,
    Only,
    One(OperationId),
}

impl Scope {
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::All | Self::Only)
    }

    /// Whether a quantity is shown for this scope: CPU, bytes and memory cannot be assigned to single
    /// operations.
    pub const fn has(self, quantity: Quantity) -> bool {
        self.is_whole() || quantity.is_by_operation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_asks_its_question() {
        let text = r#"
            [workload]
            name = "pingpong"
            [load]
            model = "closed"
            [plan]
            headline = "throughput"
            until = "1 %"
            margin = "3 %"
            blocks = { min = 8, max = 20 }
            [[variant]]
            name = "ours"
            service = "go"
            [[variant]]
            name = "theirs"
            url = "http://127.0.0.1:8080/"
        "#;
        let experiment = Experiment::parse("test.toml", text).expect("a valid experiment");
        let cores = Cores { service: Some(1), placement: Placement::Apart };
        let question = Question::new(&experiment, Run::default(), cores);
        assert_eq!(question.headline, Quantity::Throughput);
        assert_eq!((question.margin, question.until), (Ratio::new(0.03), Some(Ratio::new(0.01))));
        assert_eq!(question.blocks, Blocks { min: 8, max: 20 });
        let lifetimes: Vec<_> = question.variants.iter().map(|v| v.lifetime).collect();
        assert_eq!(lifetimes, [Lifetime::Restarted, Lifetime::Instance]);
        assert_eq!((question.points[0].load, question.points[0].scopes()), (Load::Closed, vec![Scope::Only]));
    }

    #[test]
    fn compositions_find_the_points_of_their_parts_under_the_same_load() {
        let text = r#"
            workload = { name = "person", ids = "composition" }
            load.connections = 4
            [matrix]
            load.think = ["0 ms", "1 ms"]
            workload.operation = [
                "createPerson", "listPersons", "getPerson", "getPersonLinks", "programComposition",
            ]
            [[variant]]
            service = "go"
            [[variant]]
            name = "one connection"
            service = "go"
            connections = 1
            in_flight = 4
        "#;
        let experiment = Experiment::parse("test.toml", text).expect("a valid experiment");
        let cores = Cores { service: Some(1), placement: Placement::Apart };
        let question = Question::new(&experiment, Run::default(), cores);
        let composition = |point, parts: [u16; 4]| Composition {
            point: PointId(point),
            operation: OperationId(4),
            parts: parts.map(PointId).into_iter().zip([1, 4, 2, 1]).collect(),
        };
        assert_eq!(question.compositions, [composition(4, [1, 2, 3, 0]), composition(9, [6, 7, 8, 5])]);
        let one = Slots { connections: 1, in_flight: 4, pipelined: true };
        assert!(question.points.iter().all(|point| point.own_slots == [None, Some(one)]));
        let names: Vec<_> = question.variants[1].stack.elements.iter().map(|one| &one.name[..]).collect();
        assert_eq!(names, ["connections 1", "in_flight 4"]);
    }

    #[test]
    fn quantities_of_the_whole_are_not_split_by_operation() {
        let one = Scope::One(OperationId(0));
        assert!(!one.has(Quantity::CpuPerOperation) && one.has(Quantity::Throughput));
        assert!(Scope::All.has(Quantity::MemoryPeak) && Scope::Only.has(Quantity::MemoryPeak));
    }
}
