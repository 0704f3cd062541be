//! Layers: intervals cover planted costs of steps, steps add up to the whole, single layers are compared with
//! all together, and costs with the size.

use crate::common;

use common::{Place, add_window, good, noisy, normal, question, random, trial};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::analysis::layers::lineup;
use weighbridge_judge::question::{Family, Stack, StackElement};
use weighbridge_judge::{Absent, AskedSizes, Question, Run, summarise, whole};
use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::experiment::{Experiment, Protocol, Target};
use weighbridge_model::finding::LAYERS_INTERACT;
use weighbridge_model::id::PointId;
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::{Additivity, Chain, Interaction, Missing, StageCost};
use weighbridge_model::network::{Crossed, NetworkFacts};
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::Summary;

fn service(name: &str) -> Family {
    let target = Target::Service { name: name.to_owned() };
    Family { target, protocol: Protocol::HTTP1_JSON, unix: None, peer: None, database: None }
}

fn layered(stacks: &[&[&str]]) -> Question {
    let names: Vec<String> = stacks.iter().map(|parts| format!("rust {}", parts.join(" "))).collect();
    let mut question = question(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (variant, parts) in question.variants.iter_mut().zip(stacks) {
        variant.stack = Stack {
            family: Some(service("rust")),
            name: "rust".to_owned(),
            elements: parts.iter().copied().map(StackElement::layer).collect(),
        };
    }
    question
}

const CHAIN: [&[&str]; 4] = [&[], &["veth"], &["veth", "vxlan"], &["veth", "vxlan", "haproxy"]];
/// Time of a request of each variant, in nanoseconds.
const TAKES: [f64; 4] = [100_000.0, 104_000.0, 111_000.0, 150_000.0];

/// Blocks of all variants with these times: blocks differ by 3 % in common, starts by 0.5 %, requests by 5 %.
pub(crate) fn blocks(
    random: &mut ChaCha8Rng,
    takes: &[f64],
    (blocks, rounds, requests): (u32, u32, usize),
) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..blocks {
        let common = 1.0 + 0.03 * normal(random);
        let mut here: Vec<TrialRecord> = (0..takes.len()).map(|v| trial(block, v as u16)).collect();
        let starts: Vec<f64> = takes.iter().map(|_| 1.0 + 0.005 * normal(random)).collect();
        for round in 0..rounds {
            for position in 0..takes.len() {
                let variant = (position + round as usize) % takes.len();
                let middle = takes[variant] * common * starts[variant];
                let place = Place::measured(round, position as u32);
                add_window(&mut here[variant], place, &noisy(random, middle, 0.05, requests));
            }
        }
        trials.extend(here);
    }
    trials
}

fn only_chain(summary: &Summary) -> &Chain {
    let [chain] = &summary.layering.chains[..] else { panic!("{:?}", summary.layering.chains) };
    chain
}

#[track_caller]
fn quantity_cost(costs: &[StageCost], quantity: Quantity) -> &StageCost {
    costs.iter().find(|cost| cost.quantity == quantity).unwrap_or_else(|| panic!("no {quantity}"))
}

/// The chains of a question: variants by number, each with its stage's name.
fn chains(question: &Question) -> Vec<Vec<(u16, String)>> {
    let stages = |chain: &lineup::Chain| chain.stages.iter().map(|(id, name)| (id.0, name.clone())).collect();
    lineup::chains(question).iter().map(stages).collect()
}

fn named(stages: &[(u16, &str)]) -> Vec<(u16, String)> {
    stages.iter().map(|(id, name)| (*id, (*name).to_owned())).collect()
}

#[test]
fn a_chain_goes_from_bare_to_the_whole_stack_and_each_stage_has_its_layers_name() {
    let question = layered(&CHAIN);
    assert_eq!(lineup::chains(&question)[0].family, "rust");
    assert_eq!(chains(&question), [named(&[(0, "bare"), (1, "veth"), (2, "vxlan"), (3, "haproxy")])]);
    // One pair adds nothing to its cost; each alternative makes a chain, and so does a pair at several
    // points.
    let pair = layered(&[&["veth"], &["veth", "vxlan"]]);
    assert_eq!(lineup::chains(&pair), []);
    assert_eq!(chains(&layered(&[&["veth"], &["veth", "vxlan"], &["veth", "geneve"]])).len(), 2);
    assert_eq!(chains(&with_sizes(pair, &[64, 65_536])), [named(&[(0, "veth"), (1, "vxlan")])]);
}

#[test]
fn every_variant_stands_above_the_largest_below_it() {
    // The path down goes through the variant without the innermost layer; a variant on no path has its own
    // chain, including shared beginnings.
    let square =
        layered(&[&[], &["veth"], &["veth", "vxlan"], &["veth", "vxlan", "haproxy"], &["veth", "haproxy"]]);
    let (long, own) = (
        named(&[(0, "bare"), (1, "veth"), (2, "vxlan"), (3, "haproxy")]),
        named(&[(0, "bare"), (1, "veth"), (4, "haproxy")]),
    );
    assert_eq!(chains(&square), [long, own]);
    // A container on hosts is compared with these hosts, not with the container without them.
    let containers = layered(&[&[], &["container"], &["veth"], &["veth", "container"]]);
    let (long, own) =
        (named(&[(0, "bare"), (2, "veth"), (3, "container")]), named(&[(0, "bare"), (1, "container")]));
    assert_eq!(chains(&containers), [long, own]);
    // Two variants that are on no path share a chain if possible.
    let more =
        layered(&[&["veth"], &["veth", "a"], &["veth", "b"], &["veth", "b", "c"], &["veth", "a", "b", "c"]]);
    let all = chains(&more);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!((1..5).all(|id| all.iter().any(|chain| chain[1..].iter().any(|(stage, _)| *stage == id))));
}

#[test]
fn layers_in_another_order_are_another_stack() {
    let question = layered(&[
        &["veth"],
        &["veth", "vxlan"],
        &["veth", "vxlan", "wireguard"],
        &["veth", "wireguard", "vxlan"],
        &["veth", "wireguard"],
    ]);
    let (one, other) = (
        named(&[(0, "veth"), (1, "vxlan"), (2, "wireguard")]),
        named(&[(0, "veth"), (4, "wireguard"), (3, "vxlan")]),
    );
    assert_eq!(chains(&question), [one, other]);
    // Each order is the whole of its own sum.
    assert_eq!(lineup::single_layers(&question).len(), 2);
}

#[test]
fn every_family_has_chains_of_its_own() {
    let mut question = layered(&[&[], &["veth"], &[], &["veth"]]);
    for variant in &mut question.variants[2..] {
        variant.stack.family = Some(service("go"));
        variant.stack.name = "go".to_owned();
    }
    let chains = lineup::chains(&question);
    assert_eq!(chains.iter().map(|chain| chain.family.as_str()).collect::<Vec<_>>(), ["rust", "go"]);
    let trials = blocks(&mut random(3), &[100e3, 110e3, 200e3, 230e3], (6, 10, 40));
    let summary = summarise(&question, &trials);
    let [rust, go] = &summary.layering.chains[..] else { panic!("two") };
    for (chain, truth) in [(rust, 10e3), (go, 30e3)] {
        let cost =
            quantity_cost(&chain.stages[1].costs, Quantity::ResponseP50).difference.expect("a cost").point;
        assert!((cost / truth - 1.0).abs() < 0.2, "{}: {cost}", chain.of);
    }
}

#[test]
fn steps_add_up_to_the_whole_and_the_whole_is_the_cost_of_the_table() {
    let question = layered(&CHAIN);
    let (summary, detail) = whole(&question, &blocks(&mut random(11), &TAKES, (6, 10, 60)));
    let chain = only_chain(&summary);
    for total in &chain.whole {
        let stages = || chain.stages[1..].iter().map(|stage| quantity_cost(&stage.costs, total.quantity));
        let sum: f64 = stages().map(|cost| cost.difference.expect("a difference").point).sum();
        let product: f64 = stages().map(|cost| cost.ratio.expect("a ratio").point).product();
        let (difference, ratio) =
            (total.difference.expect("a whole").point, total.ratio.expect("a whole").point);
        let scale = quantity_cost(&chain.stages[0].costs, total.quantity).figure.expect("a figure").point;
        assert!((sum - difference).abs() < 1e-12 * scale, "{}: {sum} {difference}", total.quantity);
        assert!((product / ratio - 1.0).abs() < 1e-12, "{}: {product} {ratio}", total.quantity);
        let cost = summary
            .costs
            .iter()
            .find(|c| c.variant == "rust veth vxlan haproxy" && c.quantity == total.quantity);
        let cost = cost.expect("a row of the table");
        let (row, interval) =
            (cost.difference.expect("a cost"), total.difference.expect("a whole").interval());
        assert!((row.point - difference).abs() < 1e-9 * scale, "{}", total.quantity);
        assert_eq!(row.blocks, 6);
        assert!((row.lower.expect("bounds") - interval.expect("bounds").0).abs() < 1e-9 * scale);
    }
    // The chart draws the same, the headline first.
    let first = &detail.waterfalls[0];
    assert_eq!((first.quantity, first.of.as_str()), (Quantity::ResponseP50, "rust"));
    let names: Vec<&str> = first.layers.iter().map(|level| level.name.as_str()).collect();
    assert_eq!((first.from.name.as_str(), names), ("bare", vec!["veth", "vxlan", "haproxy"]));
    assert_eq!(detail, weighbridge_judge::detail(&question, &blocks(&mut random(11), &TAKES, (6, 10, 60))));
}

/// The two-sided tail of a binomial of `n` at 0.95 outside of these bounds is far below 1 in 10,000.
pub(crate) fn covers(hits: usize, n: usize) -> bool {
    let (mean, deviation) = (0.95 * n as f64, (0.95 * 0.05 * n as f64).sqrt());
    (hits as f64 - mean).abs() <= 4.0 * deviation
}

#[test]
fn intervals_of_steps_cover_the_planted_costs() {
    let question = layered(&CHAIN);
    let (mut hits, runs) = ([0; 8], 120);
    for seed in 0..runs {
        let summary = summarise(&question, &blocks(&mut random(1_000 + seed as u64), &TAKES, (6, 4, 60)));
        let chain = only_chain(&summary);
        for (at, quantity) in [Quantity::ResponseP50, Quantity::ResponseMean].into_iter().enumerate() {
            let stages = chain.stages[1..].iter().map(|stage| quantity_cost(&stage.costs, quantity));
            for (step, cost) in stages.chain([quantity_cost(&chain.whole, quantity)]).enumerate() {
                // Ratios are compared: differences between blocks cancel in them, and the planted ratio is
                // the truth.
                let truth = if step < 3 { TAKES[step + 1] / TAKES[step] } else { TAKES[3] / TAKES[0] };
                let (lower, upper) = cost.ratio.expect("a ratio").interval().expect("an interval");
                hits[4 * at + step] += usize::from(lower <= truth && truth <= upper);
            }
        }
    }
    assert!(hits.iter().all(|&hits| covers(hits, runs)), "{hits:?} of {runs}");
}

/// A base, two single layers on it, and both: `more` nanoseconds above the sum of the two.
const SQUARE: [&[&str]; 4] =
    [&["veth"], &["veth", "vxlan"], &["veth", "haproxy"], &["veth", "vxlan", "haproxy"]];

fn square(more: f64) -> [f64; 4] {
    [100_000.0, 107_000.0, 140_000.0, 147_000.0 + more]
}

#[test]
fn single_layers_that_add_up_agree_and_intervals_cover_what_is_planted() {
    let question = layered(&SQUARE);
    let runs = 60;
    for planted in [0.0, 12_000.0] {
        let (mut hits, mut said) = (0, 0);
        for seed in 0..runs {
            let mut random = random(5_000 + seed as u64);
            let summary = summarise(&question, &blocks(&mut random, &square(planted), (6, 4, 60)));
            let [check] = &summary.layering.sums[..] else { panic!("one") };
            assert_eq!((check.base.as_str(), check.whole.as_str()), ("rust veth", "rust veth vxlan haproxy"));
            let row = check.rows.iter().find(|row| row.quantity == Quantity::ResponseP50).expect("a row");
            assert!((row.whole.point - row.sum.point - row.interaction.point).abs() < 1e-6);
            assert!(
                (row.singles.iter().map(|single| single.point).sum::<f64>() - row.sum.point).abs() < 1e-6
            );
            let (lower, upper) = row.interaction.interval().expect("an interval");
            hits += usize::from(lower <= planted && planted <= upper);
            said += usize::from(row.verdict == Additivity::Interaction);
        }
        assert!(covers(hits, runs), "{planted}: {hits} of {runs}");
        // Holm over the rows keeps false ones rare; the planted one is eight standard errors.
        assert!(if planted > 0.0 { said >= 55 } else { said <= 3 }, "{planted}: {said} of {runs}");
    }
}

#[test]
fn an_interaction_is_a_finding_with_its_figures() {
    let question = layered(&SQUARE);
    let summary = summarise(&question, &blocks(&mut random(17), &square(20_000.0), (6, 10, 60)));
    let finding = summary.findings.iter().find(|finding| finding.name == LAYERS_INTERACT).expect("a finding");
    assert_eq!(finding.subject, "rust veth vxlan haproxy");
    assert!(
        finding
            .evidence
            .starts_with("vxlan and haproxy above `rust veth`: response p50: alone they add up to +")
    );
    assert!(finding.evidence.contains("a difference of +"), "{}", finding.evidence);
    let none = summarise(&question, &blocks(&mut random(17), &square(0.0), (6, 10, 60)));
    assert!(none.findings.iter().all(|finding| finding.name != LAYERS_INTERACT), "{:?}", none.findings);
}

/// Removes the proof that a variant's packets took its way.
fn mark_unproved(trials: &mut [TrialRecord], variant: u16) {
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == variant) {
        let facts = NetworkFacts { unproved: Some("no packets".to_owned()), ..NetworkFacts::default() };
        trial.service.network = Some(Box::new(facts));
    }
}

#[test]
fn an_invalid_stage_is_passed_over() {
    let question = layered(&CHAIN);
    let mut trials = blocks(&mut random(23), &TAKES, (6, 10, 60));
    let before = summarise(&question, &trials);
    mark_unproved(&mut trials, 1);
    let (summary, detail) = whole(&question, &trials);
    let (chain, before) = (only_chain(&summary), only_chain(&before));
    assert_eq!(chain.stages[1].validity, Validity::Invalid);
    let p50 = |chain: &Chain, place: usize| {
        quantity_cost(&chain.stages[place].costs, Quantity::ResponseP50).clone()
    };
    let invalid = p50(chain, 1);
    assert_eq!((invalid.figure, invalid.difference), (None, None), "as the cost table");
    assert!(invalid.reason.expect("why").starts_with("invalid: another way: "));
    let over = p50(chain, 2);
    assert_eq!(over.against.as_deref(), Some("rust "));
    assert_eq!(over.reason.as_deref(), Some("against `rust `, since `rust veth` is invalid"));
    // The sum of both stages, to the last bits.
    let added = |chain, place| p50(chain, place).difference.expect("a cost").point;
    assert!((added(chain, 2) - added(before, 1) - added(before, 2)).abs() < 1e-6);
    assert_eq!(p50(chain, 3), p50(before, 3));
    assert_eq!(chain.whole, before.whole, "neither of its ends is invalid");
    // The chart draws one step.
    let layers: Vec<&str> = detail.waterfalls[0].layers.iter().map(|level| level.name.as_str()).collect();
    assert_eq!(layers, ["veth + vxlan", "haproxy"]);
}

#[test]
fn an_invalid_lowest_stage_leaves_the_others_their_costs() {
    let question = layered(&CHAIN);
    let mut trials = blocks(&mut random(23), &TAKES, (6, 10, 60));
    mark_unproved(&mut trials, 0);
    let (summary, detail) = whole(&question, &trials);
    let chain = only_chain(&summary);
    let p50 = |place: usize| quantity_cost(&chain.stages[place].costs, Quantity::ResponseP50);
    assert_eq!((p50(1).difference, p50(1).reason.as_deref()), (None, Some("`rust ` is invalid")));
    assert!((2..4).all(|place| p50(place).difference.is_some()));
    let whole = quantity_cost(&chain.whole, Quantity::ResponseP50);
    assert_eq!((whole.difference, whole.reason.as_deref()), (None, Some("`rust ` is invalid")));
    let first = &detail.waterfalls[0];
    assert_eq!((first.quantity, first.from.name.as_str()), (Quantity::ResponseP50, "veth"));
    assert_eq!(first.layers.len(), 2);
}

#[test]
fn throughput_that_the_cost_table_withholds_is_in_no_chain() {
    let question = layered(&CHAIN);
    let mut trials = blocks(&mut random(23), &TAKES, (6, 10, 60));
    for window in trials.iter_mut().filter(|trial| trial.variant.0 == 1).flat_map(|trial| &mut trial.windows)
    {
        window.figures.health.busy = window.figures.health.wall;
    }
    let summary = summarise(&question, &trials);
    let table = summary
        .costs
        .iter()
        .find(|cost| cost.variant == "rust veth" && cost.quantity == Quantity::Throughput);
    assert_eq!(table.expect("a row").verdict, Verdict::Withheld);
    let chain = only_chain(&summary);
    let rate = |place: usize| quantity_cost(&chain.stages[place].costs, Quantity::Throughput);
    assert_eq!((rate(1).figure, rate(1).difference), (None, None));
    assert!(rate(1).reason.as_deref().expect("why").starts_with("withheld: generator-bound: "));
    assert_eq!(rate(2).against.as_deref(), Some("rust "));
    assert_eq!(rate(2).reason.as_deref(), Some("against `rust `, since that of `rust veth` is withheld"));
    assert!(
        quantity_cost(&chain.stages[1].costs, Quantity::ResponseP50).difference.is_some(),
        "a time is not"
    );
}

#[test]
fn an_absent_variant_is_named_at_its_stage() {
    let mut question = layered(&[&[], &["veth", "vxlan"], &["veth", "vxlan", "haproxy"]]);
    let stack = layered(&[&["veth"]]).variants.remove(0).stack;
    question.absent = vec![Absent { name: "rust veth".into(), reason: "no root".into(), stack }];
    let summary = summarise(&question, &blocks(&mut random(5), &[TAKES[0], TAKES[2], TAKES[3]], (6, 10, 60)));
    let chain = only_chain(&summary);
    let missing =
        Missing { variant: "rust veth".into(), below: "rust veth vxlan".into(), reason: "no root".into() };
    assert_eq!(chain.missing, [missing]);
    assert_eq!(chain.stages[1].name, "veth + vxlan");
}

#[test]
fn a_sum_that_cannot_be_checked_says_why() {
    let mut question = layered(&SQUARE);
    let mut trials = blocks(&mut random(17), &square(0.0), (6, 10, 60));
    mark_unproved(&mut trials, 2);
    let [check] = &summarise(&question, &trials).layering.sums[..] else { panic!("one") };
    assert_eq!((check.rows.len(), check.unchecked[0].quantity), (0, None));
    assert!(check.unchecked[0].reason.starts_with("`rust veth haproxy` is invalid: another way"));
    // The same for one that could not be started.
    let gone = question.variants.remove(2);
    question.absent = vec![Absent { name: gone.name, reason: "not installed".into(), stack: gone.stack }];
    let takes = [square(0.0)[0], square(0.0)[1], square(0.0)[3]];
    let summary = summarise(&question, &blocks(&mut random(17), &takes, (6, 10, 60)));
    let [check] = &summary.layering.sums[..] else { panic!("one") };
    assert_eq!(check.singles[1].variant, "rust veth haproxy");
    assert_eq!(check.unchecked[0].reason, "`rust veth haproxy` is unavailable: not installed");
}

/// The trials with 400, 500 and 520 bytes a request on the link of each variant that has one.
fn crossed(mut trials: Vec<TrialRecord>) -> Vec<TrialRecord> {
    let per_request = [0, 400, 500, 520];
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 > 0) {
        let bytes = Bytes::new(700 * per_request[trial.variant.index()]);
        let crossed = Crossed { point: PointId(0), requests: 700, packets: 1_400, bytes };
        let facts = NetworkFacts { crossed: vec![crossed], ..NetworkFacts::default() };
        trial.service.network = Some(Box::new(facts));
    }
    trials
}

#[test]
fn bytes_on_the_wire_are_those_of_the_clients_link_by_all_requests_that_crossed_it() {
    let question = layered(&CHAIN);
    let trials = crossed(blocks(&mut random(29), &TAKES, (6, 10, 60)));
    let summary = summarise(&question, &trials);
    let chain = only_chain(&summary);
    let wire = |place: usize| quantity_cost(&chain.stages[place].costs, Quantity::WireBytesPerOperation);
    assert_eq!(wire(0).figure, None);
    assert_eq!((wire(1).figure.expect("a figure").point, wire(1).difference), (400.0, None));
    assert_eq!(wire(2).difference.expect("a cost").point, 100.0);
    assert!((wire(3).difference.expect("a cost").point - 20.0).abs() < 1e-9);
    let reason = wire(1).reason.as_deref().expect("why");
    assert_eq!(reason, "`rust ` has no such figure");
    assert_eq!(quantity_cost(&chain.whole, Quantity::WireBytesPerOperation).difference, None);
    let row = wire(0).reason.as_deref().expect("why");
    assert!(row.contains("which the layer `veth` makes"), "{row}");
    // Segments are counted on the generator's sockets, here one out and one in for each request.
    let segments =
        quantity_cost(&chain.stages[0].costs, Quantity::SegmentsPerOperation).figure.expect("a figure");
    assert_eq!(segments.point, 2.0);
    // Without any link there is no such row.
    let plain = summarise(&question, &blocks(&mut random(29), &TAKES, (6, 10, 60)));
    assert!(plain.costs.iter().all(|cost| cost.quantity != Quantity::WireBytesPerOperation));
}

#[test]
fn bytes_on_the_wire_are_compared_across_batches_though_the_baseline_has_none() {
    let question = layered(&CHAIN);
    let mut trials = Vec::new();
    for trial in crossed(blocks(&mut random(29), &TAKES, (6, 10, 60))) {
        // HAProxy lives in a batch of its own, with the baseline.
        match trial.variant.0 {
            0 => trials.extend([trial.clone(), TrialRecord { batch: 1, ..trial }]),
            3 => trials.push(TrialRecord { batch: 1, ..trial }),
            _ => trials.push(trial),
        }
    }
    trials.sort_by_key(|trial| (trial.block, trial.batch, trial.variant));
    let summary = summarise(&question, &trials);
    let chain = only_chain(&summary);
    let wire = |place: usize| quantity_cost(&chain.stages[place].costs, Quantity::WireBytesPerOperation);
    assert_eq!(wire(1).difference, None);
    for (place, planted) in [(2, 100.0), (3, 20.0)] {
        let found = wire(place).difference.expect("a cost").point;
        assert!((found - planted).abs() < 1e-9, "{found}");
    }
    // Quantities that drift with the host are still against the baseline of their own batch.
    assert!(quantity_cost(&chain.stages[3].costs, Quantity::ResponseP50).difference.is_some());
}

/// Blocks at several sizes; `takes(variant, size)` gives the times.
fn sized(
    random: &mut ChaCha8Rng,
    sizes: &[u64],
    variants: usize,
    takes: impl Fn(usize, f64) -> f64,
) -> Vec<TrialRecord> {
    let at = |size: &u64| {
        let middles: Vec<f64> = (0..variants).map(|variant| takes(variant, *size as f64)).collect();
        blocks(random, &middles, (12, 6, 60))
    };
    merge_points(sizes.iter().map(at).collect())
}

/// Merges the records of several points into blocks that visit all of them.
fn merge_points(points: Vec<Vec<TrialRecord>>) -> Vec<TrialRecord> {
    let mut all: Vec<TrialRecord> = Vec::new();
    for (at, trials) in (0_u16..).zip(points) {
        for mut one in trials {
            one.windows.iter_mut().for_each(|window| window.point = PointId(at));
            match all.iter_mut().find(|t| (t.block, t.variant) == (one.block, one.variant)) {
                Some(known) => {
                    known.windows.extend(one.windows);
                    known.tallies.extend(one.tallies);
                }
                None => all.push(one),
            }
        }
    }
    all
}

fn with_sizes(mut question: Question, sizes: &[u64]) -> Question {
    let point = question.points[0].clone();
    let label = |size: &u64| PointLabel::from([("workload.size".to_owned(), Bytes::new(*size).to_string())]);
    question.points =
        sizes.iter().map(|size| weighbridge_judge::Point { label: label(size), ..point.clone() }).collect();
    question.sizes = sizes.iter().map(|size| AskedSizes::One(Bytes::new(*size))).collect();
    question
}

#[test]
fn a_cost_per_byte_is_told_from_a_cost_per_operation() {
    let sizes = [64, 16_384, 65_536];
    let question = with_sizes(layered(&CHAIN[..3]), &sizes);
    // veth: 5 µs at any size; vxlan: 4 µs and 1 ns a byte.
    let takes = |variant: usize, size: f64| {
        100_000.0
            + size
            + if variant >= 1 { 5_000.0 } else { 0.0 }
            + if variant >= 2 { 4_000.0 + size } else { 0.0 }
    };
    let summary = summarise(&question, &sized(&mut random(31), &sizes, 3, takes));
    let layering = &summary.layering;
    assert_eq!(layering.chains.len(), 3, "one at each point");
    let slope = |stage: &str| {
        let found = layering.slopes.iter().find(|s| s.stage == stage && s.quantity == Quantity::ResponseP50);
        found.unwrap_or_else(|| panic!("no slope of {stage}"))
    };
    for (stage, per_operation, per_byte) in
        [("veth", 5_000.0, 0.0), ("vxlan", 4_000.0, 1.0), ("whole", 9_000.0, 1.0)]
    {
        let found = slope(stage);
        assert_eq!(found.sizes, sizes);
        for (estimate, truth) in [(found.per_operation, per_operation), (found.per_byte, per_byte)] {
            // 95 % intervals miss one in twenty, so twice the interval is allowed.
            let (lower, upper) = estimate.interval().expect("an interval");
            let room = 0.5 * (upper - lower);
            assert!(lower - room <= truth && truth <= upper + room, "{stage}: {estimate:?} holds no {truth}");
        }
    }
    let verdicts = |stage: &str| {
        let is_p50_of_stage =
            |one: &&Interaction| one.stage == stage && one.quantity == Quantity::ResponseP50;
        layering.interactions.iter().filter(is_p50_of_stage).map(|one| one.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("veth"), [Additivity::Agrees; 2]);
    assert_eq!(verdicts("vxlan"), [Additivity::Interaction; 2]);
    let finding = summary.findings.iter().find(|finding| finding.name == LAYERS_INTERACT).expect("a finding");
    assert!(
        finding.evidence.contains(
            "what `vxlan` adds to response p50 of `rust veth` depends on `workload.size`: from 64 B to "
        ),
        "{finding:?}"
    );
}

#[test]
fn two_variants_at_two_sizes_are_held_against_each_other() {
    let sizes = [64, 4_000_000];
    let question = with_sizes(layered(&[&["veth"], &["veth", "vxlan"]]), &sizes);
    // 8 µs of 100 µs, and 30 µs of 2 ms: within 2 % of the long request, but not of the short one or of the
    // cost. Starts do not vary, since 0.5 % of 2 ms would hide the difference.
    let at = |takes: [u64; 2]| {
        let mut trials = Vec::new();
        for (block, variant) in (0..6).flat_map(|block| [(block, 0_u16), (block, 1)]) {
            let mut one = trial(block, variant);
            let took = takes[usize::from(variant)] + 500 * u64::from((block + u32::from(variant)) % 3);
            for round in 0..6 {
                add_window(&mut one, Place::measured(round, u32::from(variant)), &vec![good(took); 200]);
            }
            trials.push(one);
        }
        trials
    };
    let trials = merge_points(vec![at([100_000, 108_000]), at([2_000_000, 2_030_000])]);
    let summary = summarise(&question, &trials);
    let layering = &summary.layering;
    assert_eq!(layering.chains.len(), 2, "the pair at each point");
    let p50 = |one: &&Interaction| one.quantity == Quantity::ResponseP50;
    let all: Vec<_> = layering.interactions.iter().filter(p50).collect();
    let [one] = all[..] else { panic!("the step is the whole, and stands there once: {all:?}") };
    assert_eq!((one.stage.as_str(), one.above.as_str()), ("vxlan", "rust veth"));
    assert_eq!(one.verdict, Additivity::Interaction, "{one:?}");
    assert!((one.difference.point - 22e3).abs() < 1e3, "{one:?}");
    assert!(layering.slopes.iter().any(|slope| slope.quantity == Quantity::ResponseP50));
}

#[test]
fn what_chains_share_is_told_once_and_wholes_are_a_family_of_their_own() {
    let sizes = [64, 16_384];
    let question = with_sizes(
        layered(&[&[], &["veth"], &["veth", "vxlan"], &["veth", "haproxy"], &["veth", "vxlan", "haproxy"]]),
        &sizes,
    );
    let takes = |variant: usize, size: f64| {
        100e3 + [0.0, 4e3, 11e3, 44e3, 51e3][variant] + if variant > 0 { 2.0 * size } else { 0.0 }
    };
    let summary = summarise(&question, &sized(&mut random(43), &sizes, 5, takes));
    let p50: Vec<(&str, &str, &str)> = summary
        .layering
        .interactions
        .iter()
        .filter(|one| one.quantity == Quantity::ResponseP50)
        .map(|one| (&one.above[..], &one.variant[..], &one.stage[..]))
        .collect();
    let (bare, veth, all) = ("rust ", "rust veth", "rust veth vxlan haproxy");
    let expected = [
        (bare, veth, "veth"),
        (veth, "rust veth vxlan", "vxlan"),
        ("rust veth vxlan", all, "haproxy"),
        (veth, "rust veth haproxy", "haproxy"),
        (bare, all, "whole"),
        (bare, "rust veth haproxy", "whole"),
    ];
    assert_eq!(p50, expected);
    let finding = summary.findings.iter().find(|finding| finding.name == LAYERS_INTERACT).expect("a finding");
    assert!(
        finding.evidence.starts_with("what `veth` adds to response p50 of `rust ` depends on"),
        "{finding:?}"
    );
}

#[test]
fn differences_of_rates_and_of_tails_are_not_compared() {
    let sizes = [64, 16_384];
    for headline in [Quantity::Throughput, Quantity::ResponseP99] {
        let question = Question { headline, ..with_sizes(layered(&[&["veth"], &["veth", "vxlan"]]), &sizes) };
        let takes = |variant: usize, size: f64| 100e3 + size + 8e3 * variant as f64;
        let layering = summarise(&question, &sized(&mut random(47), &sizes, 2, takes)).layering;
        assert!(layering.interactions.iter().all(|one| one.quantity != headline));
        assert!(layering.slopes.iter().all(|one| one.quantity != headline));
        assert!(layering.interactions.iter().any(|one| one.quantity == Quantity::ResponseP50));
    }
}

/// A baseline of another family and three variants of a chain, `apart` in a batch of their own.
fn in_batches(apart: &[u16]) -> (Question, Vec<TrialRecord>) {
    let mut question = layered(&[&[], &["veth"], &["veth", "vxlan"], &["veth", "vxlan", "haproxy"]]);
    question.variants[0].stack.family = Some(service("go"));
    let mut trials = Vec::new();
    for trial in blocks(&mut random(53), &TAKES, (6, 10, 60)) {
        match trial.variant.0 {
            0 if !apart.is_empty() => trials.extend([trial.clone(), TrialRecord { batch: 1, ..trial }]),
            id if apart.contains(&id) => trials.push(TrialRecord { batch: 1, ..trial }),
            _ => trials.push(trial),
        }
    }
    trials.sort_by_key(|trial| (trial.block, trial.batch, trial.variant));
    (question, trials)
}

#[test]
fn what_lived_in_one_batch_is_not_compared_through_the_baseline() {
    let chain = |(question, trials): (Question, Vec<TrialRecord>)| {
        let summary = summarise(&question, &trials);
        only_chain(&summary).clone()
    };
    // The whole chain in one batch gives the same as without batches.
    assert_eq!(chain(in_batches(&[1, 2, 3])), chain(in_batches(&[])));
    // Across batches the comparison goes through the baseline, and says so.
    let crossing = chain(in_batches(&[3]));
    let reason =
        |place: usize| quantity_cost(&crossing.stages[place].costs, Quantity::ResponseP50).reason.clone();
    assert_eq!(reason(1), None);
    assert_eq!(reason(2).as_deref(), Some("in different batches, each with `rust `"));
    // If the baseline may not be used, variants of one batch still are.
    let (question, mut trials) = in_batches(&[3]);
    mark_unproved(&mut trials, 0);
    let apart = chain((question, trials));
    let p50 = |place: usize| quantity_cost(&apart.stages[place].costs, Quantity::ResponseP50);
    assert!(p50(1).difference.is_some());
    let why = "in different batches, and `rust ` is invalid";
    assert_eq!((p50(2).difference, p50(2).reason.as_deref()), (None, Some(why)));
}

#[test]
fn a_relay_that_carries_a_delay_is_below_it() {
    let text = r#"
        [workload]
        name = "pingpong"
        [matrix]
        service = ["rust"]
        layers = [["veth"], ["veth", "relay"], ["veth", { layer = "delay", time = "1 ms" }]]
    "#;
    let experiment = Experiment::parse("test.toml", text).expect("a valid experiment");
    let mut question = layered(&[&["veth"], &["veth", "relay"], &["veth", "delay"]]);
    let asked = Question::new(&experiment, Run::default(), question.cores);
    question.variants.iter_mut().zip(asked.variants).for_each(|(variant, asked)| variant.stack = asked.stack);
    let mut trials = blocks(&mut random(59), &[100e3, 140e3, 1_140e3], (6, 10, 60));
    let stages = |trials: &[TrialRecord]| {
        let summary = summarise(&question, trials);
        let kind = |name: &str| name.split(' ').next().expect("a word").to_owned();
        let names = |chain: &Chain| chain.stages.iter().map(|stage| kind(&stage.name)).collect::<Vec<_>>();
        summary.layering.chains.iter().map(names).collect::<Vec<_>>()
    };
    assert_eq!(stages(&trials), [["veth", "relay"], ["veth", "delay"]], "by the kernel");
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 2) {
        let facts = NetworkFacts { relayed: Some(Box::default()), ..NetworkFacts::default() };
        trial.service.network = Some(Box::new(facts));
    }
    assert_eq!(stages(&trials), [["veth", "relay", "delay"]]);
}

#[test]
fn a_cost_that_depends_on_a_setting_of_the_service_is_told_from_one_that_does_not() {
    let mut question = layered(&[&[], &["veth"], &["veth", "vxlan"], &[], &["veth"], &["veth", "vxlan"]]);
    for (at, variant) in question.variants.iter_mut().enumerate() {
        let cores = if at < 3 { 1 } else { 2 };
        variant.stack.elements.push(StackElement::with_value("cores", cores));
        variant.name = format!("{} cores {cores}", variant.name);
    }
    // veth takes 5 µs on one core and on two; vxlan 12 µs on one, and 4 µs on two, where another core does
    // its work.
    let takes = [100e3, 105e3, 117e3, 90e3, 95e3, 99e3];
    let summary = summarise(&question, &blocks(&mut random(37), &takes, (8, 8, 60)));
    let found = |stage: &str| {
        let is_p50_of_stage =
            |one: &&Interaction| one.stage == stage && one.quantity == Quantity::ResponseP50;
        let all: Vec<_> = summary.layering.interactions.iter().filter(is_p50_of_stage).collect();
        let [one] = all[..] else { panic!("{stage}: {all:?}") };
        one
    };
    let (veth, vxlan) = (found("veth"), found("vxlan"));
    assert_eq!((veth.verdict, vxlan.verdict), (Additivity::Agrees, Additivity::Interaction));
    let (lower, upper) = vxlan.difference.interval().expect("an interval");
    assert!(lower < -8e3 && -8e3 < upper, "[{lower}, {upper}]");
    let label = |value: &str| PointLabel::from([("cores".to_owned(), value.to_owned())]);
    assert_eq!((&vxlan.factor[..], &vxlan.from, &vxlan.to), ("cores", &label("1"), &label("2")));
    let finding = summary.findings.iter().find(|finding| finding.name == LAYERS_INTERACT).expect("a finding");
    assert!(
        finding
            .evidence
            .contains("what `vxlan` adds to response p50 of `rust veth cores 2` depends on `cores`: from 1 to 2 it changes by -"),
        "{finding:?}"
    );
    // Chains that also differ in the collector, a second setting, are not compared.
    for variant in &mut question.variants[3..] {
        variant.stack.elements.push(StackElement::setting("GC=none"));
    }
    let summary = summarise(&question, &blocks(&mut random(37), &takes, (8, 8, 60)));
    assert_eq!(summary.layering.interactions, []);
}
