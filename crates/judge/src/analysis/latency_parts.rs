//! The parts of a relayed request's time: waiting at the client, outside the relay's own call, and inside it;
//! and of the call, what the peer's server takes by itself and what the relay's client adds.
//!
//! The first three are parts of each single request and add up to its response time. So do their means;
//! medians do not, and no median here is a difference of two. What the peer takes by itself comes from
//! another variant, in the same block and the same rounds; the rest of the call is a difference of two means,
//! paired by block. Only durations are used: the relay's clock and the generator's are never compared.

use std::collections::BTreeSet;

use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::parts::{PartCost, PartTimes, RelayParts, SizedParts, TimePart};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::record::samples::Sample;
use weighbridge_model::summary::{Cost, VariantSummary};

use crate::estimate::{BlockEstimate, Contrast, beyond, estimate_if_all};
use crate::question::{Point, Question, Scope};
use crate::records::{Block, Records};
use crate::stats::sample::quantile_nearest_rank;
use crate::thresholds::BEYOND_PER_BLOCK;
use crate::verdict::{conclude, correct, cost_without_verdict};

/// Up to this many sizes are shown one by one; more are grouped by powers of ten.
const SIZES_BY_THEMSELVES: usize = 6;

/// The parts for every relay that reported its calls. `variants` says whose figures must not be used.
pub fn relays(question: &Question, records: &Records<'_>, variants: &[VariantSummary]) -> Vec<RelayParts> {
    let mut all = Vec::new();
    for (id, point) in question.points() {
        let relay = |(variant, _)| Relay::new(question, records, id, variant);
        let relays: Vec<Relay<'_>> = question.variants().filter_map(relay).collect();
        let mut costs = Vec::new();
        let first = all.len();
        for relay in &relays {
            let mut parts = relay.latency_parts(question, point);
            if records.bridge.is_none() && relay.variant != VariantId(0) {
                relay.costs(question, &mut parts.parts);
            }
            costs.extend(
                parts.parts.iter().filter_map(|part| Some(row(point, &parts.variant, part.cost.as_ref()?))),
            );
            all.push(parts);
        }
        correct(&mut costs);
        let mut judged = costs.into_iter();
        for relay in &mut all[first..] {
            let doubt = invalid(variants, point, &relay.variant);
            for cost in relay.parts.iter_mut().filter_map(|part| part.cost.as_mut()) {
                judged.next().into_iter().for_each(|row| take(cost, row));
                if let Some(reason) = &doubt {
                    (cost.verdict, cost.effect) = (Verdict::Invalid, None);
                    cost.reason = Some(reason.clone());
                }
            }
        }
    }
    all
}

fn invalid(variants: &[VariantSummary], point: &Point, name: &str) -> Option<String> {
    let here = |one: &&VariantSummary| one.point == point.label && (one.baseline || one.name == name);
    let bad = variants.iter().filter(here).find(|one| one.validity == Validity::Invalid)?;
    Some(format!("`{}`: {}", bad.name, bad.reasons.join("; ")))
}

fn row(point: &Point, variant: &str, cost: &PartCost) -> Cost {
    Cost {
        verdict: cost.verdict,
        effect: cost.effect,
        reason: cost.reason.clone(),
        p: cost.p,
        ..cost_without_verdict(point, Scope::Only, variant, Quantity::ServiceMean, Quantity::ResponseP50)
    }
}

fn take(cost: &mut PartCost, row: Cost) {
    (cost.verdict, cost.effect, cost.reason) = (row.verdict, row.effect, row.reason);
}

struct BlockRequests<'a> {
    block: u32,
    /// Good replies whose relay reported its call.
    good: Vec<RelayedRequest<'a>>,
    /// The same of the baseline, in the batch in which the relay lived.
    baseline: Vec<RelayedRequest<'a>>,
    /// Good replies that came directly from the peer, in rounds that the relay has too.
    direct: Vec<&'a Sample>,
}

struct Relay<'a> {
    variant: VariantId,
    direct: Option<VariantId>,
    blocks: Vec<BlockRequests<'a>>,
    failed: u64,
    left_out: u64,
    retried: u64,
    retries: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeClass {
    pub from_bytes: u64,
    pub to_bytes: u64,
}

impl SizeClass {
    pub(crate) const ALL: Self = Self { from_bytes: 0, to_bytes: u64::MAX };

    pub(crate) fn holds(self, sample: &Sample) -> bool {
        (self.from_bytes..=self.to_bytes).contains(&sample.size.get())
    }
}

struct RelayedRequest<'a> {
    sample: &'a Sample,
    parts: [Nanoseconds; 4],
}

/// Waiting, outside, inside, response; `None` if the relay did not report its call.
fn parts(sample: &Sample) -> Option<[Nanoseconds; 4]> {
    let inside = sample.relayed?.duration;
    let waiting = sample.sent.saturating_sub(sample.due);
    Some([waiting, sample.relay_cost()?, inside, sample.response()])
}

/// The index of a part among [`parts`].
const fn place(part: TimePart) -> Option<usize> {
    match part {
        TimePart::Waiting => Some(0),
        TimePart::Outside => Some(1),
        TimePart::Inside => Some(2),
        TimePart::Response => Some(3),
        TimePart::Server | TimePart::Client => None,
    }
}

fn good<'a>(trials: &[&'a TrialRecord], point: PointId) -> Vec<RelayedRequest<'a>> {
    let all = trials.iter().flat_map(|trial| &trial.samples);
    let good = all.filter(|sample| sample.is_measured(point) && sample.is_good());
    good.filter_map(|sample| Some(RelayedRequest { sample, parts: parts(sample)? })).collect()
}

impl<'a> Relay<'a> {
    /// `None` where no good reply has a reported call.
    fn new(question: &Question, records: &Records<'a>, point: PointId, variant: VariantId) -> Option<Self> {
        let direct = question.directs.iter().find(|(relay, _)| *relay == variant).map(|(_, direct)| *direct);
        let mut relay =
            Self { variant, direct, blocks: Vec::new(), failed: 0, left_out: 0, retried: 0, retries: 0 };
        for block in &records.used {
            relay.add(block, point);
        }
        (!relay.blocks.is_empty()).then_some(relay)
    }

    fn add(&mut self, block: &Block<'a>, point: PointId) {
        let trials_of_variant =
            |variant: VariantId| block.trials.iter().copied().filter(move |trial| trial.variant == variant);
        let mine: Vec<&TrialRecord> = trials_of_variant(self.variant).collect();
        let beside = |trial: &&TrialRecord| mine.iter().any(|one| one.batch == trial.batch);
        let good = good(&mine, point);
        for trial in &mine {
            let here = || trial.samples.iter().filter(|sample| sample.is_measured(point));
            self.failed += here().filter(|sample| !sample.is_good()).count() as u64;
            self.left_out += trial.samples_left_out(point);
            let retries =
                here().filter_map(|sample| sample.relayed).map(|relayed| u64::from(relayed.retries));
            let retries: Vec<u64> = retries.filter(|retries| *retries > 0).collect();
            self.retried += retries.len() as u64;
            self.retries += retries.iter().sum::<u64>();
        }
        if good.is_empty() {
            return;
        }
        let rounds: BTreeSet<u32> = good.iter().map(|one| one.sample.round).collect();
        let direct: Vec<&TrialRecord> =
            self.direct.map(|direct| trials_of_variant(direct).collect()).unwrap_or_default();
        let shared = |sample: &&Sample| {
            sample.is_measured(point) && sample.is_good() && rounds.contains(&sample.round)
        };
        self.blocks.push(BlockRequests {
            block: block.number,
            good,
            baseline: self::good(&trials_of_variant(VariantId(0)).filter(beside).collect::<Vec<_>>(), point),
            direct: direct.iter().flat_map(|trial| &trial.samples).filter(shared).collect(),
        });
    }

    fn latency_parts(&self, question: &Question, point: &Point) -> RelayParts {
        let first_stage = question.blocks.min as usize;
        let requests = |class: SizeClass| {
            let good = self.blocks.iter().flat_map(|block| &block.good);
            good.filter(|one| class.holds(one.sample)).count() as u64
        };
        let classes =
            classes(self.blocks.iter().flat_map(|block| &block.good).map(|one| one.sample.size.get()));
        let sized = |class: &SizeClass| SizedParts {
            from_bytes: class.from_bytes,
            to_bytes: class.to_bytes,
            requests: requests(*class),
            parts: self.parts(first_stage, *class),
        };
        let direct = self.direct.filter(|_| self.blocks.iter().all(|block| !block.direct.is_empty()));
        RelayParts {
            variant: question.variants[self.variant.index()].name.clone(),
            point: point.label.clone(),
            operation: point.operations.first().cloned().unwrap_or_default(),
            requests: requests(SizeClass::ALL),
            failed: self.failed,
            left_out: self.left_out,
            retried: self.retried,
            retries: self.retries,
            direct: direct.map(|direct| question.variants[direct.index()].name.clone()),
            parts: self.parts(first_stage, SizeClass::ALL),
            sizes: if classes.len() > 1 { classes.iter().map(sized).collect() } else { Vec::new() },
        }
    }

    fn parts(&self, first_stage: usize, class: SizeClass) -> Vec<PartTimes> {
        let over_blocks = |value: &dyn Fn(&BlockRequests<'_>) -> Option<f64>| {
            // Blocks that never asked for sizes of the class do not count.
            let asked = self.blocks.iter().filter(|block| block.has(class));
            estimate_if_all(asked.map(value), first_stage)
        };
        let part = |part: TimePart| {
            let mean_ns = over_blocks(&|block| block.mean(part, class))?;
            let p50_ns = over_blocks(&|block| block.median(part, class));
            Some(PartTimes { part, mean_ns, p50_ns, cost: None })
        };
        TimePart::ALL.into_iter().filter_map(part).collect()
    }

    /// Compares each part's mean with the baseline's, over blocks in which both are above zero.
    fn costs(&self, question: &Question, parts: &mut [PartTimes]) {
        for part in parts {
            let Some(place) = place(part.part) else { continue };
            let block = |block: &BlockRequests<'_>| {
                let (mine, theirs) = (
                    mean(&block.good, place, SizeClass::ALL)?,
                    mean(&block.baseline, place, SizeClass::ALL)?,
                );
                (mine > 0.0 && theirs > 0.0).then(|| BlockEstimate {
                    block: block.block,
                    compared: (mine / theirs).ln(),
                    difference: mine - theirs,
                })
            };
            let Some(blocks) = self.blocks.iter().map(block).collect::<Option<Vec<_>>>() else { continue };
            part.cost = cost(Contrast::new(blocks, question.blocks.min as usize), question.margin);
        }
    }
}

fn cost(contrast: Contrast, margin: Ratio) -> Option<PartCost> {
    let conclusion = conclude(&contrast, Quantity::ServiceMean, margin);
    Some(PartCost {
        difference: contrast.difference(),
        ratio: contrast.ratio()?,
        verdict: conclusion.verdict,
        effect: conclusion.effect,
        reason: conclusion.reason,
        p: conclusion.p,
    })
}

impl BlockRequests<'_> {
    fn has(&self, class: SizeClass) -> bool {
        self.good.iter().any(|one| class.holds(one.sample))
    }

    fn mean(&self, part: TimePart, class: SizeClass) -> Option<f64> {
        match (part, place(part)) {
            (_, Some(place)) => mean(&self.good, place, class),
            (TimePart::Client, _) => {
                Some(self.mean(TimePart::Inside, class)? - self.mean(TimePart::Server, class)?)
            }
            _ => {
                let times =
                    self.direct.iter().filter(|sample| class.holds(sample)).map(|sample| sample.service());
                exact_mean(times)
            }
        }
    }

    fn median(&self, part: TimePart, class: SizeClass) -> Option<f64> {
        let place = place(part)?;
        let requests = self.good.iter().filter(|one| class.holds(one.sample));
        let times: Vec<f64> = requests.map(|one| one.parts[place].as_nanos() as f64).collect();
        let enough = beyond(times.len() as u64, 0.5) >= BEYOND_PER_BLOCK;
        quantile_nearest_rank(&times, 0.5).filter(|_| enough)
    }
}

fn mean(requests: &[RelayedRequest<'_>], place: usize, class: SizeClass) -> Option<f64> {
    exact_mean(requests.iter().filter(|one| class.holds(one.sample)).map(|one| one.parts[place]))
}

/// The sum is exact.
fn exact_mean(times: impl Iterator<Item = Nanoseconds>) -> Option<f64> {
    let (sum, count) =
        times.fold((0_u128, 0_u64), |(sum, count), time| (sum + u128::from(time.as_nanos()), count + 1));
    (count > 0).then(|| sum as f64 / count as f64)
}

/// Size classes, ascending: one for each size if there are few, else one for each number of digits.
pub(crate) fn classes(sizes: impl Iterator<Item = u64>) -> Vec<SizeClass> {
    let sizes: Vec<u64> = sizes.collect::<BTreeSet<_>>().into_iter().collect();
    if sizes.len() <= SIZES_BY_THEMSELVES {
        return sizes.into_iter().map(|size| SizeClass { from_bytes: size, to_bytes: size }).collect();
    }
    let alike = |a: &u64, b: &u64| a.max(&1).ilog10() == b.max(&1).ilog10();
    let class = |sizes: &[u64]| SizeClass { from_bytes: sizes[0], to_bytes: sizes[sizes.len() - 1] };
    sizes.chunk_by(alike).map(class).collect()
}
