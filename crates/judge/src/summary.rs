//! The whole answer: every cost, figure and finding of a run, in the order of tables.
//!
//! Estimates come from [`crate::estimate`], verdicts from [`crate::verdict`], doubts from [`crate::checks`];
//! this module puts them together and lets `invalid` override.

use std::collections::{BTreeMap, BTreeSet};

use weighbridge_model::estimate::{ContrastKind, Quantity, Statistic, Verdict};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::legs::{Legs, StampSummary};
use weighbridge_model::quantity::{Ratio, grouped};
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{ErrorCounts, Traffic, TrialRecord, WindowKind, WindowRecord};
use weighbridge_model::summary::{
    BlockCounts, Cost, Figure, Finding, Goal, OtherWindows, PointPairing, SCHEMA_VERSION, SampleCounts,
    Spread, Summary, VariantSummary,
};

use crate::analysis::capacity;
use crate::analysis::factorial::Factorials;
use crate::analysis::goodput;
use crate::analysis::latency_parts;
use crate::analysis::layers::{Layers, PointContext, PointSamples};
use crate::analysis::legs::stamps;
use crate::analysis::machine;
use crate::analysis::roles::roles_where_several;
use crate::analysis::sizes::{self, SizeAnalysis};
use crate::analysis::tables;
use crate::analysis::variance_components::{self, variance_components};
use crate::checks::core_latency::{cores_moved, explained_by_places};
use crate::checks::tail::{NamedSamples, thin_tail_remark};
use crate::checks::{
    CheckContext, Diagnosis, Impact, RunContext, VariantTotals, diagnose, not_paired, run_findings, subject,
};
use crate::estimate::{
    Absence, Estimand, VariantSamples, contrast_between, headlines, lone_log_capacities, mean_with_error,
};
use crate::question::{Point, Question, Run, Scope, Transport, Variant};
use crate::records::{Cell, Records, WindowSelection};
use crate::thresholds::{BEYOND_IN_ALL, BEYOND_PER_BLOCK, LEVEL};
use crate::verdict::{append_reason, bootstrap_differs, conclude, correct, cost_without_verdict};

/// A variant beside which all others lived, though these did not live beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bridge {
    /// The number of its trials, which none of the question's variants has.
    pub variant: VariantId,
    pub name: String,
}

pub fn summarise(question: &Question, trials: &[TrialRecord]) -> Summary {
    let records = Records::new(trials);
    summary_of_records(question, &records, None, &SizeAnalysis::new(question, &records))
}

/// Judges variants of different batches through `bridge`: every cost is a ratio of ratios, and a difference
/// of differences.
pub fn summarise_through(question: &Question, trials: &[TrialRecord], bridge: &Bridge) -> Summary {
    let records = Records { bridge: Some(bridge.variant), ..Records::new(trials) };
    summary_of_records(question, &records, Some(bridge), &SizeAnalysis::new(question, &records))
}

/// What a variant's runtime reported in its trials.
fn runtime(cells: &[Cell<'_>]) -> BTreeMap<String, String> {
    let mut seen: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let trials = cells.iter().flat_map(|cell| &cell.trials);
    for (key, value) in
        trials.filter_map(|trial| trial.service.runtime.as_ref()).flat_map(|facts| &facts.said)
    {
        seen.entry(key.clone()).or_default().insert(value);
    }
    let joined = |values: BTreeSet<&str>| values.into_iter().collect::<Vec<_>>().join(" or ");
    seen.into_iter().map(|(key, values)| (key, joined(values))).collect()
}

pub(crate) fn summary_of_records(
    question: &Question,
    records: &Records<'_>,
    bridge: Option<&Bridge>,
    sizes: &SizeAnalysis<'_>,
) -> Summary {
    let through = bridge.map(|bridge| &bridge.name[..]);
    let mut findings = run_findings(&RunContext { question, records, bridge: through });
    let (mut costs, mut variants, mut spreads, mut capacities) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut layers, mut factorials) = (Layers::new(question, records), Factorials::new(question));
    for (id, point) in question.points() {
        let mut table = Table::new(question, records, id, point);
        table.bridge = bridge
            .map(|bridge| (bridge, samples_by_scope(question, records, id, bridge.variant, &table.scopes)));
        costs.extend(table.costs());
        variants.extend(table.variants());
        findings.extend(table.findings());
        spreads.extend(table.spreads());
        capacities.extend(capacity::found(question, records, id, point));
        table.analyse(&mut layers, &mut factorials);
        findings.extend(not_paired(question, records, id));
    }
    let (layering, interacting) = layers.end();
    let over_size = sizes.over_size();
    findings.extend(interacting);
    findings.extend(sizes::findings(&over_size, &|cliff| sizes.measured(cliff)));
    findings.extend(spreads.iter().map(variance_components::finding).chain(cores_moved(question, records)));
    findings.sort_by_key(|finding: &Finding| std::cmp::Reverse(finding.severity));
    let Run { title, name, started, took, quick, conditions, tags, unavailable } = question.run.clone();
    Summary {
        schema: SCHEMA_VERSION,
        title,
        run: name,
        started,
        took,
        quick,
        validity: variants.iter().map(|variant| variant.validity).max().unwrap_or_default(),
        headline: question.headline,
        margin: question.margin,
        share_margin: has_plain(&costs).then_some(question.share_margin),
        blocks: BlockCounts {
            used: records.used.len() as u32,
            void: records.void.len() as u32,
            min: question.blocks.min,
            max: question.blocks.max,
        },
        goal: goal(question, records),
        conditions,
        pairings: pairings(question, records),
        costs,
        relays: latency_parts::relays(question, records, &variants),
        tables: tables(question, records, &variants),
        variants,
        findings,
        cpu_roles: machine::roles(question, records),
        spread: spreads,
        over_size,
        tags,
        carried: goodput::goodput(question, records),
        roles: roles_where_several(question, records),
        layering,
        factorials: factorials.end(),
        capacities,
        common_rates: capacity::common_rates(question, records),
        unavailable,
        idle: question.idle.clone(),
        calibration: None,
    }
}

fn has_plain(costs: &[Cost]) -> bool {
    costs.iter().any(|cost| cost.quantity.contrast() == ContrastKind::Plain)
}

/// How variants were paired at each point; empty if no block counts.
fn pairings(question: &Question, records: &Records<'_>) -> Vec<PointPairing> {
    let points = question.points().filter(|_| !records.used.is_empty());
    let pairing = |(id, point): (PointId, &Point)| PointPairing {
        point: point.label.clone(),
        pairing: records.pairing(id),
    };
    points.map(pairing).collect()
}

fn goal(question: &Question, records: &Records<'_>) -> Option<Goal> {
    let until = question.until?;
    let widths: Option<Vec<f64>> =
        headlines(question, records).iter().map(|h| h.contrast.as_ref().ok()?.half_width()).collect();
    let lone = lone_log_capacities(question, records);
    let lone = lone.iter().map(|logs| mean_with_error(logs, question.blocks.min as usize));
    let lone = lone.map(|mean| mean.map(|mean| mean.interval(LEVEL).half_width().exp_m1()));
    let widths = widths.zip(lone.collect::<Option<Vec<f64>>>()).map(|(both, lone)| [both, lone].concat());
    let widest = widths.and_then(|widths| widths.into_iter().reduce(f64::max));
    // Stein's n meets the goal exactly; rounding must not undo that.
    let reached = widest.is_some_and(|width| width <= until.get() * (1.0 + 1e-9));
    Some(Goal { until, half_width: widest.map(Ratio::new), reached })
}

fn samples_by_scope<'a>(
    question: &Question,
    records: &Records<'a>,
    point: PointId,
    variant: VariantId,
    scopes: &[Scope],
) -> Vec<VariantSamples<'a>> {
    let samples = |&scope: &Scope| {
        let estimand = Estimand { point, variant, scope };
        VariantSamples::new(question, records, estimand, WindowSelection::Measured)
    };
    scopes.iter().map(samples).collect()
}

struct Table<'a> {
    question: &'a Question,
    records: &'a Records<'a>,
    id: PointId,
    point: &'a Point,
    scopes: Vec<Scope>,
    /// By variant, then by scope.
    samples: Vec<Vec<VariantSamples<'a>>>,
    diagnoses: Vec<Diagnosis>,
    /// With its samples by scope.
    bridge: Option<(&'a Bridge, Vec<VariantSamples<'a>>)>,
}

impl<'a> Table<'a> {
    fn new(question: &'a Question, records: &'a Records<'a>, id: PointId, point: &'a Point) -> Self {
        let scopes = point.scopes();
        let samples = |(variant, _)| samples_by_scope(question, records, id, variant, &scopes);
        let samples: Vec<Vec<VariantSamples<'a>>> = question.variants().map(samples).collect();
        let explained_by_places = explained_by_places(records, id);
        let diagnosis = |(variant, _): (VariantId, &Variant)| {
            diagnose(&CheckContext {
                question,
                records,
                point: id,
                variant,
                scope: scopes[0],
                samples: &samples[variant.index()][0],
                totals: VariantTotals::new(records, id, variant),
                explained_by_places,
            })
        };
        let diagnoses = question.variants().map(diagnosis).collect();
        Self { question, records, id, point, scopes, samples, diagnoses, bridge: None }
    }

    /// By variant, the headline first, with Holm's correction over all of them.
    fn costs(&self) -> Vec<Cost> {
        let mut costs = Vec::new();
        for (variant, _) in self.question.variants().skip(1) {
            let mut rows = Vec::new();
            for (at, &scope) in self.scopes.iter().enumerate() {
                rows.extend(self.quantities(scope).map(|quantity| self.cost(variant, at, quantity)));
            }
            rows.sort_by_key(|row| !row.headline);
            costs.extend(rows);
        }
        correct(&mut costs);
        costs
    }

    fn cost(&self, variant: VariantId, at: usize, quantity: Quantity) -> Cost {
        let scope = self.scopes[at];
        let bridge = self.bridge.as_ref().map(|(_, samples)| &samples[at]);
        let contrast =
            contrast_between(&self.samples[variant.index()][at], &self.samples[0][at], bridge, quantity);
        let name = &self.question.variants[variant.index()].name;
        let mut cost = cost_without_verdict(self.point, scope, name, quantity, self.question.headline);
        match contrast {
            Err(absence) => cost.reason = Some(self.why_absent(absence, quantity)),
            Ok(contrast) => {
                let conclusion = conclude(&contrast, quantity, self.question.margin_of(quantity));
                cost.difference = Some(contrast.difference());
                cost.ratio = contrast.ratio();
                cost.verdict = conclusion.verdict;
                cost.effect = conclusion.effect;
                cost.reason = conclusion.reason;
                cost.p = conclusion.p;
                let differs = |ratio| bootstrap_differs(&ratio, self.question.margin, cost.verdict);
                if let Some(remark) = cost.ratio.and_then(differs) {
                    append_reason(&mut cost.reason, remark);
                }
                self.few_events(&mut cost, variant, at);
                if let Some((bridge, _)) = &self.bridge {
                    append_reason(
                        &mut cost.reason,
                        format!("in different batches: through `{}`", bridge.name),
                    );
                }
            }
        }
        self.doubt(&mut cost, variant);
        self.withhold_if_late(&mut cost, variant, at);
        cost
    }

    /// Withholds a cost that the generator's lateness could have moved, on either side.
    fn withhold_if_late(&self, cost: &mut Cost, variant: VariantId, at: usize) {
        let moved = |id: VariantId| Some((id, self.diagnoses[id.index()].moved(at, cost.quantity)?));
        if cost.verdict == Verdict::Invalid {
            return;
        }
        if let Some((id, figure)) = [VariantId(0), variant].into_iter().find_map(moved) {
            let reason = format!("`{}`: {}", self.question.variants[id.index()].name, figure.reason());
            (cost.verdict, cost.effect, cost.reason) = (Verdict::Withheld, None, Some(reason));
            (cost.difference, cost.ratio, cost.p) = (None, None, None);
        }
    }

    fn spreads(&self) -> Vec<Spread> {
        let components = |(variant, _)| {
            let estimand = Estimand { point: self.id, variant, scope: self.scopes[0] };
            variance_components(self.question, self.records, estimand)
        };
        // Where rates are tried, windows differ by their rate.
        let at_one_rate = self.question.objectives(self.id).is_none();
        self.question.variants().skip(1).filter(|_| at_one_rate).filter_map(components).collect()
    }

    fn why_absent(&self, absence: Absence, quantity: Quantity) -> String {
        let why = match (absence, quantity) {
            (Absence::NotMeasured, Quantity::Capacity) => {
                "there is only a limit, since no rate was found that breaks the objective, or none that keeps it"
            }
            (Absence::NotMeasured, Quantity::MemoryPeak) if self.question.points.len() > 1 => {
                "a trial that visits several points has one peak for all"
            }
            (
                Absence::NotMeasured,
                Quantity::BytesPerOperation
                | Quantity::PayloadBytesPerOperation
                | Quantity::SegmentsPerOperation,
            ) if self.has_direct() => "nothing travels where operations run in the service's own process",
            (Absence::NotMeasured, Quantity::WireBytesPerOperation) => {
                "only a link of the variant's own is counted, which the layer `veth` makes"
            }
            (Absence::NotMeasured, Quantity::SegmentsPerOperation) => {
                "the kernel counts segments of TCP connections alone"
            }
            (Absence::NotMeasured, Quantity::RestoreTime) => "no database is restored before windows",
            (Absence::NotMeasured, Quantity::ActionThroughput) => "only the workload `trade` has actions",
            (Absence::NotMeasured, _) if quantity.contrast() == ContrastKind::Plain => {
                "the workload does not count what it is made of"
            }
            (Absence::NotMeasured, Quantity::CpuPerOperation | Quantity::MemoryPeak) => {
                return "not started by weigh; use `service` or `command` instead of a URL".to_owned();
            }
            (Absence::FewPerBlock { found }, _) => {
                return too_few(quantity, BEYOND_PER_BLOCK, found, "in each block");
            }
            (Absence::FewInAll { found }, _) => return too_few(quantity, BEYOND_IN_ALL, found, "in all"),
            _ => return absence.to_string(),
        };
        format!("{absence}: {why}")
    }

    fn analyse(&self, layers: &mut Layers<'_>, factorials: &mut Factorials<'_>) {
        // A bridged question has not all variants of the experiment's chains.
        if self.bridge.is_some() || !(layers.is_asked() || factorials.is_asked()) {
            return;
        }
        let why = |absence, quantity| self.why_absent(absence, quantity);
        let context = PointContext {
            id: self.id,
            samples: PointSamples {
                all: self.samples.iter().map(|samples| &samples[0]).collect(),
                batches: self.records.batches().into_values().collect(),
                first_stage: self.question.blocks.min as usize,
            },
            diagnoses: &self.diagnoses,
            why: &why,
        };
        layers.add(&context);
        factorials.add(&context);
    }

    /// Bytes on a link are included if some variant has a link, payload if there are codecs to compare, shares if the
    /// workload counts, actions and times of restoring if there were any, and each if it is the headline; shares also if a gate
    /// asks for them.
    fn quantities(&self, scope: Scope) -> impl Iterator<Item = Quantity> + use<'_, 'a> {
        let trials = || self.records.used.iter().flat_map(|block| &block.trials);
        let mut networks = trials().filter_map(|trial| trial.service.network.as_ref());
        let has_links = networks.any(|network| !network.crossed.is_empty());
        let restores = trials().flat_map(|trial| &trial.windows).any(|window| window.restore.is_some());
        let has_actions = |window: &WindowRecord| {
            window.figures.counts.is_some_and(|counts| counts.get(Count::Actions) > 0)
        };
        let acts = trials().flat_map(|trial| &trial.windows).any(has_actions);
        let (headline, has_codecs) = (self.question.headline, self.question.has_codecs_to_compare());
        let asks_capacity = self.question.objectives(self.id).is_some();
        let counts = self.samples.iter().any(|scopes| scopes[0].counts());
        let is_measured = trials()
            .flat_map(|trial| &trial.windows)
            .any(|window| window.kind == WindowKind::Measured && window.point == self.id);
        let is_told = move |quantity: Quantity| match quantity {
            Quantity::Capacity => asks_capacity,
            // What one step tells of single operations is too little; the table of rates has their means.
            _ if asks_capacity && !(is_measured && scope.is_whole()) => false,
            Quantity::WireBytesPerOperation => has_links,
            Quantity::PayloadBytesPerOperation => has_codecs,
            Quantity::RestoreTime => restores,
            Quantity::ActionThroughput => acts,
            _ => self.question.tells(quantity, counts),
        };
        let is_there =
            move |quantity: &Quantity| scope.has(*quantity) && (is_told(*quantity) || *quantity == headline);
        Quantity::ALL.into_iter().filter(is_there)
    }

    fn has_direct(&self) -> bool {
        self.question.variants.iter().any(|variant| variant.transport == Transport::InProcess)
    }

    /// Adds a remark if a few events of the variant or of the baseline determine the cost.
    fn few_events(&self, cost: &mut Cost, variant: VariantId, at: usize) {
        let named = |id: VariantId| NamedSamples {
            name: &self.question.variants[id.index()].name,
            samples: &self.samples[id.index()][at],
        };
        if let Some(remark) = thin_tail_remark([named(variant), named(VariantId(0))], cost.quantity) {
            append_reason(&mut cost.reason, remark);
        }
    }

    /// Applies the diagnosis: invalid figures, a generator that was the limit, a cost that depends on the
    /// window.
    fn doubt(&self, cost: &mut Cost, variant: VariantId) {
        let both = [VariantId(0), variant].map(|v| (v, &self.diagnoses[v.index()]));
        let name = |v: VariantId| &self.question.variants[v.index()].name;
        let objections = both.iter().filter_map(|(v, d)| Some((*v, d.objection(cost.quantity)?)));
        // An invalid figure takes precedence, whichever of the two has it.
        if let Some((v, objection)) = objections.min_by_key(|(_, one)| one.verdict != Verdict::Invalid) {
            cost.verdict = objection.verdict;
            cost.effect = None;
            cost.reason = Some(format!("`{}`: {}", name(v), objection.reason));
            return;
        }
        if let Some(alarm) = both[1].1.with(Impact::CostsWithheld).next() {
            cost.verdict = Verdict::Withheld;
            cost.effect = None;
            cost.reason = Some(alarm.reason_with_remedy());
            return;
        }
        for alarm in both[1].1.with(Impact::HeadlineSuspect).filter(|_| cost.headline) {
            append_reason(&mut cost.reason, alarm.reason());
        }
    }

    fn variants(&self) -> Vec<VariantSummary> {
        self.question.variants().map(|(variant, _)| self.variant(variant)).collect()
    }

    fn variant(&self, variant: VariantId) -> VariantSummary {
        let cells = self.records.cells(self.id, variant, WindowSelection::Measured);
        let (mut errors, mut traffic) = (ErrorCounts::default(), Traffic::default());
        for cell in &cells {
            errors.add(cell.errors());
            traffic.add(cell.traffic());
        }
        let diagnosis = &self.diagnoses[variant.index()];
        VariantSummary {
            name: self.question.variants[variant.index()].name.clone(),
            point: self.point.label.clone(),
            baseline: variant == VariantId(0),
            validity: diagnosis.validity(),
            reasons: diagnosis.reasons(),
            requests: cells.iter().map(|cell| cell.requests()).sum(),
            errors: errors.total(),
            errors_by_kind: errors,
            other_windows: other_windows(&cells),
            samples: self.sample_counts(&cells),
            connects: cells.iter().flat_map(|cell| &cell.windows).map(|w| w.figures.connects).sum(),
            not_sent: cells.iter().map(|cell| cell.not_sent()).sum(),
            resent: cells.iter().flat_map(|cell| &cell.windows).map(|w| w.figures.resent).sum(),
            windows: cells.iter().map(|cell| cell.windows.len() as u64).sum(),
            blocks: cells.len() as u32,
            batches: self.batches(variant),
            version: cells
                .iter()
                .flat_map(|cell| &cell.trials)
                .find_map(|trial| trial.service.version.clone()),
            runtime: runtime(&cells),
            slots: self.point.own_slots.get(variant.index()).copied().flatten(),
            relay: self.question.variants[variant.index()].relay.clone(),
            figures: self.figures(variant),
            traffic,
            kernel_timestamps: self.stamps(&cells),
        }
    }

    fn sample_counts(&self, cells: &[Cell<'_>]) -> Option<SampleCounts> {
        let mut counts = SampleCounts::default();
        for trial in cells.iter().flat_map(|cell| &cell.trials) {
            counts.kept += trial.samples.iter().filter(|sample| sample.point == self.id).count() as u64;
            counts.left_out += trial.samples_left_out(self.id);
        }
        (counts.kept > 0).then_some(counts)
    }

    /// The batches in which a variant was measured; empty if all variants lived at once.
    fn batches(&self, variant: VariantId) -> Vec<u32> {
        let batches = self.records.batches();
        let number_if_member =
            |(number, members): (&u32, &Vec<VariantId>)| members.contains(&variant).then_some(*number);
        if batches.len() > 1 { batches.iter().filter_map(number_if_member).collect() } else { Vec::new() }
    }

    /// Over the measured windows of every block that counts.
    fn stamps(&self, cells: &[Cell<'_>]) -> Option<StampSummary> {
        let mut legs = Legs::default();
        let trials = cells.iter().flat_map(|cell| &cell.trials);
        trials.filter_map(|trial| trial.tallies.get(self.id.index())).for_each(|t| legs.merge(&t.legs));
        stamps(cells.iter().flat_map(|cell| &cell.windows).map(|window| &window.figures), &legs)
    }

    fn figures(&self, variant: VariantId) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (at, (&scope, samples)) in self.scopes.iter().zip(&self.samples[variant.index()]).enumerate() {
            for quantity in self.quantities(scope) {
                let late = self.diagnoses[variant.index()].moved(at, quantity);
                let (estimate, reason) = match (samples.figure(quantity), late) {
                    (Err(absence), _) => (None, Some(self.why_absent(absence, quantity))),
                    (Ok(_), Some(figure)) => (None, Some(figure.reason())),
                    (Ok(estimate), None) => (Some(estimate), None),
                };
                let operation = self.point.name(scope).to_owned();
                figures.push(Figure { operation, quantity, unit: quantity.unit(), estimate, reason });
            }
        }
        figures
    }

    fn findings(&self) -> Vec<Finding> {
        let findings = |(variant, diagnosis): (&Variant, &Diagnosis)| {
            let subject = subject(&variant.name, &self.point.label);
            diagnosis.alarms.iter().map(|alarm| alarm.finding(&subject)).collect::<Vec<_>>()
        };
        self.question.variants.iter().zip(&self.diagnoses).flat_map(findings).collect()
    }
}

/// `needs about 10,000 requests in all, fewer than 400 were answered; allow a larger budget`
fn too_few(quantity: Quantity, needed: u64, found: u64, place: &str) -> String {
    let beyond = match quantity.statistic() {
        Statistic::Quantile(q) => 1.0 - q,
        Statistic::Mean | Statistic::Other => 1.0,
    };
    let requests = |beyond_it: u64| (beyond_it as f64 / beyond).round() as u64;
    format!(
        "needs about {} requests {place}, fewer than {} were answered; allow a larger budget",
        grouped(requests(needed)),
        grouped(requests(found + 1))
    )
}

fn other_windows(cells: &[Cell<'_>]) -> OtherWindows {
    let mut other = OtherWindows::default();
    for window in cells.iter().flat_map(Cell::other_windows) {
        other.requests += window.figures.begun();
        other.errors_by_kind.add(window.figures.errors);
    }
    OtherWindows { errors: other.errors_by_kind.total(), ..other }
}
