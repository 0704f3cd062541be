//! Layers: planted costs of steps are found with intervals that cover them, steps add up to the whole, single layers are
//! held against all together, and costs against the size.

use crate::common;

use common::{Place, add_window, noisy, normal, question, random, trial};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::layering::{LAYERS_INTERACT, Part, Stack, lineup};
use weighbridge_judge::{AskedSizes, Question, summarise, whole};
use weighbridge_model::layering::{Additivity, Chain, StageCost};
use weighbridge_model::network::{Crossed, NetworkFacts};
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::{PointId, TrialRecord};
use weighbridge_model::summary::{PointLabel, Quantity, Summary, Validity};

/// Variants of one family by what they have.
fn layered(stacks: &[&[&str]]) -> Question {
    let names: Vec<String> = stacks.iter().map(|parts| format!("rust {}", parts.join(" "))).collect();
    let mut question = question(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (variant, parts) in question.variants.iter_mut().zip(stacks) {
        variant.stack = Stack {
            family: "service rust".to_owned(),
            name: "rust".to_owned(),
            parts: parts.iter().copied().map(Part::layer).collect(),
        };
    }
    question
}

const CHAIN: [&[&str]; 4] = [&[], &["veth"], &["veth", "vxlan"], &["veth", "vxlan", "haproxy"]];
/// What a request takes in each of them, in nanoseconds.
const TAKES: [f64; 4] = [100_000.0, 104_000.0, 111_000.0, 150_000.0];

/// Blocks of all variants whose requests take so long: blocks differ by 3 % in common, starts by 0.5 %, requests by 5 %.
fn blocks(
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
fn of(costs: &[StageCost], quantity: Quantity) -> &StageCost {
    costs.iter().find(|cost| cost.quantity == quantity).unwrap_or_else(|| panic!("no {quantity}"))
}

#[test]
fn a_chain_goes_from_bare_to_the_whole_stack_and_each_stage_has_its_layers_name() {
    let question = layered(&CHAIN);
    let [line] = &lineup::lines(&question)[..] else { panic!("one") };
    let names: Vec<&str> = line.stages.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!((line.of.as_str(), names), ("rust", vec!["bare", "veth", "vxlan", "haproxy"]));
    // Of two ways that are as long the one that comes first is taken; a lowest variant is named by its layers.
    let question =
        layered(&[&["veth"], &["veth", "haproxy"], &["veth", "vxlan"], &["veth", "vxlan", "haproxy", "tls"]]);
    let [line] = &lineup::lines(&question)[..] else { panic!("one") };
    let stages: Vec<(u16, &str)> = line.stages.iter().map(|(id, name)| (id.0, name.as_str())).collect();
    assert_eq!(stages, [(0, "veth"), (1, "haproxy"), (3, "vxlan + tls")]);
    // One pair says no more than its cost; alternatives are each a chain.
    assert_eq!(lineup::lines(&layered(&[&["veth"], &["veth", "vxlan"]])), []);
    assert_eq!(lineup::lines(&layered(&[&["veth"], &["veth", "vxlan"], &["veth", "geneve"]])).len(), 2);
}

#[test]
fn every_family_has_chains_of_its_own() {
    let mut question = layered(&[&[], &["veth"], &[], &["veth"]]);
    for variant in &mut question.variants[2..] {
        variant.stack.family = "service go".to_owned();
        variant.stack.name = "go".to_owned();
    }
    let lines = lineup::lines(&question);
    assert_eq!(lines.iter().map(|line| line.of.as_str()).collect::<Vec<_>>(), ["rust", "go"]);
    let trials = blocks(&mut random(3), &[100e3, 110e3, 200e3, 230e3], (6, 10, 40));
    let summary = summarise(&question, &trials);
    let [rust, go] = &summary.layering.chains[..] else { panic!("two") };
    for (chain, truth) in [(rust, 10e3), (go, 30e3)] {
        let cost = of(&chain.stages[1].costs, Quantity::ResponseP50).difference.expect("a cost").point;
        assert!((cost / truth - 1.0).abs() < 0.2, "{}: {cost}", chain.of);
    }
}

#[test]
fn steps_add_up_to_the_whole_and_the_whole_is_the_cost_of_the_table() {
    let question = layered(&CHAIN);
    let (summary, detail) = whole(&question, &blocks(&mut random(11), &TAKES, (6, 10, 60)));
    let chain = only_chain(&summary);
    for total in &chain.whole {
        let stages = || chain.stages[1..].iter().map(|stage| of(&stage.costs, total.quantity));
        let sum: f64 = stages().map(|cost| cost.difference.expect("a difference").point).sum();
        let product: f64 = stages().map(|cost| cost.ratio.expect("a ratio").point).product();
        let (difference, ratio) =
            (total.difference.expect("a whole").point, total.ratio.expect("a whole").point);
        let scale = of(&chain.stages[0].costs, total.quantity).figure.expect("a figure").point;
        assert!((sum - difference).abs() < 1e-12 * scale, "{}: {sum} {difference}", total.quantity);
        assert!((product / ratio - 1.0).abs() < 1e-12, "{}: {product} {ratio}", total.quantity);
        let cost = summary
            .costs
            .iter()
            .find(|c| c.variant == "rust veth vxlan haproxy" && c.quantity == total.quantity);
        let cost = cost.expect("a row of the table");
        let (told, interval) =
            (cost.difference.expect("a cost"), total.difference.expect("a whole").interval());
        assert!((told.point - difference).abs() < 1e-9 * scale, "{}", total.quantity);
        assert_eq!(told.blocks, 6);
        assert!((told.lower.expect("bounds") - interval.expect("bounds").0).abs() < 1e-9 * scale);
    }
    // What the chart draws is the same, the headline first.
    let first = &detail.waterfalls[0];
    assert_eq!((first.quantity, first.of.as_str()), (Quantity::ResponseP50, "rust"));
    let names: Vec<&str> = first.layers.iter().map(|level| level.name.as_str()).collect();
    assert_eq!((first.from.name.as_str(), names), ("bare", vec!["veth", "vxlan", "haproxy"]));
    assert_eq!(detail, weighbridge_judge::detail(&question, &blocks(&mut random(11), &TAKES, (6, 10, 60))));
}

/// Two-sided tail of a binomial of `n` at 0.95 is far below 1 in 10,000 outside of these bounds.
fn covers(hits: usize, n: usize) -> bool {
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
            let stages = chain.stages[1..].iter().map(|stage| of(&stage.costs, quantity));
            for (step, cost) in stages.chain([of(&chain.whole, quantity)]).enumerate() {
                // Ratios, since blocks differ in common: they cancel there, and the planted ratio is the truth.
                let truth = if step < 3 { TAKES[step + 1] / TAKES[step] } else { TAKES[3] / TAKES[0] };
                let (lower, upper) = cost.ratio.expect("a ratio").interval().expect("an interval");
                hits[4 * at + step] += usize::from(lower <= truth && truth <= upper);
            }
        }
    }
    assert!(hits.iter().all(|&hits| covers(hits, runs)), "{hits:?} of {runs}");
}

/// A base, two single layers on it, and both: `both` nanoseconds more than the sum of the two.
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
            let (lower, upper) = row.interaction.interval().expect("an interval");
            hits += usize::from(lower <= planted && planted <= upper);
            said += usize::from(row.verdict == Additivity::Interaction);
        }
        assert!(covers(hits, runs), "{planted}: {hits} of {runs}");
        // Holm over the rows keeps false ones rare; what is planted is eight standard errors.
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

#[test]
fn an_invalid_stage_has_no_cost_and_neither_has_the_next() {
    let question = layered(&CHAIN);
    let mut trials = blocks(&mut random(23), &TAKES, (6, 10, 60));
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        let facts = NetworkFacts { unproved: Some("no packets".to_owned()), ..NetworkFacts::default() };
        trial.service.network = Some(Box::new(facts));
    }
    let summary = summarise(&question, &trials);
    let chain = only_chain(&summary);
    assert_eq!(chain.stages[1].validity, Validity::Invalid);
    for place in [1, 2] {
        let cost = of(&chain.stages[place].costs, Quantity::ResponseP50);
        assert_eq!((cost.difference, cost.reason.as_deref()), (None, Some("`rust veth` is invalid")));
    }
    assert!(of(&chain.stages[3].costs, Quantity::ResponseP50).difference.is_some());
    assert!(of(&chain.whole, Quantity::ResponseP50).difference.is_some(), "neither of its ends is");
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
    let wire = |place: usize| of(&chain.stages[place].costs, Quantity::WireBytesPerOperation);
    assert_eq!(wire(0).figure, None);
    assert_eq!((wire(1).figure.expect("a figure").point, wire(1).difference), (400.0, None));
    assert_eq!(wire(2).difference.expect("a cost").point, 100.0);
    assert!((wire(3).difference.expect("a cost").point - 20.0).abs() < 1e-9);
    let reason = wire(1).reason.as_deref().expect("why");
    assert_eq!(reason, "`rust ` has no such figure");
    assert_eq!(of(&chain.whole, Quantity::WireBytesPerOperation).difference, None);
    let told = wire(0).reason.as_deref().expect("why");
    assert!(told.contains("which the layer `veth` makes"), "{told}");
    // Segments are of the generator's sockets, one out and one in for each request here.
    let segments = of(&chain.stages[0].costs, Quantity::SegmentsPerOperation).figure.expect("a figure");
    assert_eq!(segments.point, 2.0);
    // Without any link nobody asks for them.
    let plain = summarise(&question, &blocks(&mut random(29), &TAKES, (6, 10, 60)));
    assert!(plain.costs.iter().all(|cost| cost.quantity != Quantity::WireBytesPerOperation));
}

#[test]
fn bytes_on_the_wire_are_compared_across_batches_though_the_baseline_has_none() {
    let question = layered(&CHAIN);
    let mut trials = Vec::new();
    for trial in crossed(blocks(&mut random(29), &TAKES, (6, 10, 60))) {
        // HAProxy lives in a batch of its own, beside the baseline like the others.
        match trial.variant.0 {
            0 => trials.extend([trial.clone(), TrialRecord { batch: 1, ..trial }]),
            3 => trials.push(TrialRecord { batch: 1, ..trial }),
            _ => trials.push(trial),
        }
    }
    trials.sort_by_key(|trial| (trial.block, trial.batch, trial.variant));
    let summary = summarise(&question, &trials);
    let chain = only_chain(&summary);
    let wire = |place: usize| of(&chain.stages[place].costs, Quantity::WireBytesPerOperation);
    assert_eq!(wire(1).difference, None);
    for (place, planted) in [(2, 100.0), (3, 20.0)] {
        let found = wire(place).difference.expect("a cost").point;
        assert!((found - planted).abs() < 1e-9, "{found}");
    }
    // What drifts with the host is still against the baseline of its own batch.
    assert!(of(&chain.stages[3].costs, Quantity::ResponseP50).difference.is_some());
}

/// The same at several sizes: what every variant takes is `takes(variant, size)`.
fn sized(
    random: &mut ChaCha8Rng,
    sizes: &[u64],
    variants: usize,
    takes: impl Fn(usize, f64) -> f64,
) -> Vec<TrialRecord> {
    let mut all: Vec<TrialRecord> = Vec::new();
    for (at, size) in (0_u16..).zip(sizes) {
        let middles: Vec<f64> = (0..variants).map(|variant| takes(variant, *size as f64)).collect();
        for mut one in blocks(random, &middles, (6, 6, 60)) {
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
    // veth: 5 µs whatever the size; vxlan: 4 µs and 1 ns a byte.
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
            // Wider than 95 %, of which one in twenty misses: twice the interval.
            let (lower, upper) = estimate.interval().expect("an interval");
            let room = 0.5 * (upper - lower);
            assert!(lower - room <= truth && truth <= upper + room, "{stage}: {estimate:?} holds no {truth}");
        }
    }
    let verdicts = |stage: &str| {
        let of = |one: &&weighbridge_model::layering::Interaction| {
            one.stage == stage && one.quantity == Quantity::ResponseP50
        };
        layering.interactions.iter().filter(of).map(|one| one.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("veth"), [Additivity::Agrees; 2]);
    assert_eq!(verdicts("vxlan"), [Additivity::Interaction; 2]);
    let finding = summary.findings.iter().find(|finding| finding.name == LAYERS_INTERACT).expect("a finding");
    assert!(
        finding.evidence.contains("what `vxlan` adds to response p50 depends on `workload.size`"),
        "{finding:?}"
    );
}

#[test]
fn a_cost_that_depends_on_a_setting_of_the_service_is_told_from_one_that_does_not() {
    let mut question = layered(&[&[], &["veth"], &["veth", "vxlan"], &[], &["veth"], &["veth", "vxlan"]]);
    for (at, variant) in question.variants.iter_mut().enumerate() {
        let cores = if at < 3 { 1 } else { 2 };
        variant.stack.parts.push(Part::with_value("cores", cores));
        variant.name = format!("{} cores {cores}", variant.name);
    }
    // veth takes 5 µs on one core and on two; vxlan 12 µs on one, and 4 µs on two, where another core does its work.
    let takes = [100e3, 105e3, 117e3, 90e3, 95e3, 99e3];
    let summary = summarise(&question, &blocks(&mut random(37), &takes, (8, 8, 60)));
    let found = |stage: &str| {
        let of = |one: &&weighbridge_model::layering::Interaction| {
            one.stage == stage && one.quantity == Quantity::ResponseP50
        };
        let all: Vec<_> = summary.layering.interactions.iter().filter(of).collect();
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
            .contains("what `vxlan` adds to response p50 depends on `cores`: from 1 to 2 it changes by -"),
        "{finding:?}"
    );
    // Another collector too is another thing: chains that differ in two settings are not held against each other.
    for variant in &mut question.variants[3..] {
        variant.stack.parts.push(Part::setting("GC=none"));
    }
    let summary = summarise(&question, &blocks(&mut random(37), &takes, (8, 8, 60)));
    assert_eq!(summary.layering.interactions, []);
}
