//! Intervals cover what they state, and false alarms are as rare as stated: the fast form.
//! `peers/trust/coverage` is the long form, with its table in docs/STUDY.md.

use crate::simulation;

use simulation::laws::{LAWS, Law, Shape, Truth};
use simulation::{Bootstrap, Look, Share, simulate};

const LOOK: Look = Look { blocks: 10, bootstrap: Bootstrap::LeftOut, flag_every: 8 };
const RUNS: u64 = 500;

fn laws_of_shape(shape: Shape) -> impl Iterator<Item = &'static Law> {
    LAWS.iter().filter(move |law| law.shape == shape)
}

/// Within four binomial standard deviations of `wanted`.
fn assert_near(share: Share, wanted: f64, what: &str) {
    let within = 4.0 * (wanted * (1.0 - wanted) / f64::from(share.of)).sqrt();
    assert!((share.get() - wanted).abs() < within, "{what}: {share:?} is {:.4}", share.get());
}

#[test]
fn intervals_cover_95_percent_under_every_law_whose_blocks_are_near_normal() {
    for law in laws_of_shape(Shape::NearNormal) {
        let outcome = simulate(law, Truth::Cost, 0..RUNS, LOOK);
        for (blocks, share) in &outcome.covered {
            assert_near(*share, 0.95, &format!("{} over {blocks} blocks", law.name));
        }
        assert_near(outcome.stopped, 0.95, &format!("{} after the stopping rule", law.name));
        let blocks = outcome.blocks as f64 / RUNS as f64;
        assert!(
            blocks > 7.0 && blocks < 25.0,
            "{}: the rule must have something to decide: {blocks}",
            law.name
        );
        let flagged = outcome.flagged;
        assert!(flagged.get() <= 0.05, "{}: {flagged:?} flagged for few tail events", law.name);
    }
}

#[test]
fn a_variant_against_itself_excludes_zero_one_time_in_twenty_with_and_without_the_stopping_rule() {
    let look = Look { blocks: 6, ..LOOK };
    let law = &LAWS[0];
    let outcome = simulate(law, Truth::Same, 0..2_000, look);
    for (share, what) in outcome.excludes_zero.iter().zip(["six blocks", "the stopping rule"]) {
        assert_near(*share, 0.05, &format!("{} with {what}", law.name));
    }
    let [fixed, stopped] = [0, 1].map(|at| outcome.verdicts[at].hits <= outcome.excludes_zero[at].hits);
    assert!(fixed && stopped, "a verdict needs an interval without 0");
}

#[test]
fn heavy_tails_and_stalls_cover_less_and_are_flagged() {
    for law in laws_of_shape(Shape::HeavyTail) {
        let runs = if law.name.starts_with("stalls") { 200 } else { 600 };
        let outcome = simulate(law, Truth::Cost, 0..runs, LOOK);
        let six = outcome.covered[&6].get();
        assert!(six >= 0.85, "{}: {six}", law.name);
        let (flagged, name) = (outcome.flagged.get(), law.name);
        // A tail can be flagged only if some of it was seen: rarely in 60 windows with exponent 3, mostly
        // with 2.1, always if the server stalls.
        let wanted = match name {
            _ if name.contains("Pareto 3") => 0.01,
            _ if name.contains("Pareto 2.1") => 0.35,
            _ => 1.0,
        };
        assert!(flagged >= wanted, "{name}: {flagged}");
    }
}
