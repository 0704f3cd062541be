//! What the judge is asked: the experiment as far as it bears on estimates and verdicts.
//!
//! Plain values that the conductor makes from the checked experiment, the host's facts and the run's; no
//! record of a measurement is in here, and the judge learns nothing of the run from anywhere else.

mod stack;

pub use stack::{Family, Identity, Stack, StackElement};
pub(crate) use stack::{RELAYED, names};

use weighbridge_model::estimate::Quantity;
use weighbridge_model::experiment::{self, Experiment, LoadModel, WorkloadSpec};
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::idle::IdleWait;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Ratio};
use weighbridge_model::sizes::SizeGuide;
use weighbridge_model::summary::Relay;
use weighbridge_model::tags::Tags;

/// The whole question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The run's own facts, passed through to the summary.
    pub run: Run,
    pub headline: Quantity,
    /// The margin of relevance, of ratio − 1.
    pub margin: Ratio,
    /// Wanted half-width of the headline's ratio, relative to the ratio; `None` where the plan has no such
    /// goal.
    pub until: Option<Ratio>,
    /// Fewest and most blocks; the fewest are the first stage.
    pub blocks: Blocks,
    /// All variants, in the order of [`VariantId`]; the first is the baseline.
    pub variants: Vec<Variant>,
    /// All points, in the order of [`PointId`]; at least one.
    pub points: Vec<Point>,
    /// The cores that client and services ran on.
    pub cores: Cores,
    /// How idle cores waited; `None` where nobody knows.
    pub idle: Option<IdleWait>,
    /// Sizes at which something known of the host changes; empty where nobody looked.
    pub guides: Vec<SizeGuide>,
    /// Which sizes are asked for at each point; a point behind the last asks for none that are known.
    pub sizes: Vec<AskedSizes>,
    /// A relay and the variant that is its peer asked directly, for every relay that has one.
    pub directs: Vec<(VariantId, VariantId)>,
    /// Variants of the experiment that could not be measured, as far as anybody knows what they are made of.
    pub absent: Vec<Absent>,
}

/// A variant that could not be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Absent {
    pub name: String,
    /// Why, with the remedy.
    pub reason: String,
    /// What it would have been.
    pub stack: Stack,
}

impl Absent {
    /// A variant of the experiment that could not be measured.
    pub fn new(variant: &experiment::Variant, reason: impl Into<String>) -> Self {
        Self { name: variant.name.clone(), reason: reason.into(), stack: Stack::new(variant) }
    }
}

/// Which sizes a point asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskedSizes {
    /// Nobody knows: the workload has none.
    #[default]
    Unknown,
    /// Always the same.
    One(Bytes),
    /// Several, one by one.
    Listed,
    /// Many, spread over a range.
    Range,
}

/// Facts of a run that the summary repeats.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// The experiment's title.
    pub title: String,
    /// The run folder's name.
    pub name: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Time from the first start to the last stop.
    pub took: Nanoseconds,
    /// Measured by `--quick`.
    pub quick: bool,
    /// In words: workload, load model and connections of each point.
    pub conditions: Vec<String>,
    /// Words by which the run and its variants are found.
    pub tags: Tags,
    /// Variants that could not be measured: name and reason with remedy.
    pub unavailable: Vec<(String, String)>,
}

/// Fewest and most blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Fewest, and the first stage of Stein's rule.
    pub min: u32,
    /// Most.
    pub max: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub name: String,
    /// What its requests travel on.
    pub transport: Transport,
    /// Whether each block has a process of its own.
    pub lifetime: Lifetime,
    /// The service and its peer, where it passes requests on.
    pub relay: Option<Relay>,
    /// What it is, and what it has that others may have not.
    pub stack: Stack,
}

/// Whether a variant is started afresh for each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// We start and stop it: intervals hold the variance of restarts.
    Restarted,
    /// Somebody else runs it: blocks are blocks of time.
    Instance,
}

/// What a variant's requests travel on, so that a variant can be found not to be what its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP: the kernel counts bytes on the generator's sockets.
    Tcp,
    /// In the service's own process: no byte may be counted.
    InProcess,
    /// Anything whose bytes the kernel does not count (a Unix socket).
    Uncounted,
}

/// One point: its factor values, load model and operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Factor values; empty where the experiment has one point.
    pub label: PointLabel,
    /// The load model, as far as it decides how p50 is estimated.
    pub load: Load,
    /// Requests that can be outstanding at once.
    pub slots: u64,
    /// The operations' names, in the order of [`OperationId`].
    pub operations: Vec<String>,
}

/// How requests become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// When a connection becomes free: p50 is a typical.
    Closed,
    /// By a schedule, at least in part (open and partly open): p50 is pooled.
    Open,
}

/// The cores of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// How many cores the roles of a variant share; `None` where that is not ours to know (a URL elsewhere).
    pub service: Option<u32>,
    /// Whether they are apart from the client's.
    pub placement: Placement,
}

/// Whether client and service compete for a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// No core is used by both, or the service is on another host.
    Apart,
    /// At least one core is used by both.
    Shared,
}

impl Question {
    /// The question that an experiment asks. Its variants are taken to travel over TCP, but for those whose
    /// operations run in the service's own process.
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
            operations: p.workload.operations(),
        };
        let plan = &experiment.plan;
        Self {
            run,
            headline: plan.headline,
            margin: plan.margin,
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
        }
    }

    pub fn asked(&self, point: PointId) -> AskedSizes {
        self.sizes.get(point.index()).copied().unwrap_or_default()
    }

    /// All points with their ids.
    pub fn points(&self) -> impl Iterator<Item = (PointId, &Point)> {
        (0..).map(PointId).zip(&self.points)
    }

    /// All variants with their ids, the baseline first.
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

/// For each relay the first variant that is its peer, alike but for being asked directly.
fn directs(variants: &[experiment::Variant]) -> Vec<(VariantId, VariantId)> {
    let is_direct = |relay: &experiment::Variant, other: &experiment::Variant| {
        let (Some(peer), experiment::Target::Service { name }) = (&relay.peer, &other.target) else {
            return false;
        };
        let as_it_is = other.peer.is_none() && other.tls.is_none() && other.limits.is_none();
        // A relay asks its peer on the bare host, so that is how the peer is to be asked.
        let alike = *name == peer.service && other.env == peer.env && other.layers.is_empty();
        alike && as_it_is && other.protocol == experiment::Protocol::HTTP1_JSON
    };
    let direct = |(id, relay): (VariantId, &experiment::Variant)| {
        let direct = variants.iter().position(|other| is_direct(relay, other))?;
        Some((id, VariantId(direct as u16)))
    };
    (0..).map(VariantId).zip(variants).filter_map(direct).collect()
}

impl Point {
    /// What costs are shown for: `all` first where there are several operations, then each operation.
    pub fn scopes(&self) -> Vec<Scope> {
        let each = (0..self.operations.len()).map(|at| Scope::One(OperationId(at as u16)));
        match self.operations.len() {
            1 => vec![Scope::Only],
            _ => std::iter::once(Scope::All).chain(each).collect(),
        }
    }

    /// A scope's name in costs and figures.
    pub fn name(&self, scope: Scope) -> &str {
        match scope {
            Scope::All => "all",
            Scope::Only => self.operations.first().map_or("all", String::as_str),
            Scope::One(operation) => self.operations.get(operation.index()).map_or("unknown", String::as_str),
        }
    }
}

/// Which requests of a workload a figure covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All of several operations together.
    All,
    /// The workload's only operation.
    Only,
    /// One of several operations.
    One(OperationId),
}

impl Scope {
    /// Whether it covers every request.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::All | Self::Only)
    }

    /// Whether a quantity is shown for it: CPU, bytes and memory belong to no single one of several
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
    fn quantities_of_the_whole_are_not_split_by_operation() {
        let one = Scope::One(OperationId(0));
        assert!(!one.has(Quantity::CpuPerOperation) && one.has(Quantity::Throughput));
        assert!(Scope::All.has(Quantity::MemoryPeak) && Scope::Only.has(Quantity::MemoryPeak));
    }
}
