//! Windows over the time of the run: one dot each, and quartiles over spans of them.
//!
//! A span never crosses from one trial to the next. Spans are only drawn; `checks::drift` tests for drift and
//! steps.

use weighbridge_model::detail::{Course, DotKind, Samples, Span};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{WindowKind, WindowRecord};

use crate::question::Question;
use crate::records::{Cell, Records, WindowSelection};
use crate::stats::sample::quantile_nearest_rank;

const MOST_SPANS: usize = 12;
/// A trial with enough windows has this many in a span.
const SPAN_WINDOWS: usize = 8;
/// The kinds of windows that get dots. Lead-ins are too short.
const DOTS: [(WindowKind, DotKind); 3] = [
    (WindowKind::WarmUp, DotKind::WarmUp),
    (WindowKind::Measured, DotKind::Window),
    (WindowKind::Check, DotKind::Check),
];

pub fn courses(question: &Question, records: &Records<'_>) -> Vec<Course> {
    let Some(start) = start(records) else { return Vec::new() };
    let mut courses = Vec::new();
    for (point, facts) in question.points() {
        for (variant, variant_facts) in question.variants() {
            let trials = records.trial_cells(point, variant, WindowSelection::Measured);
            let mut spans: Vec<Span> = trials.iter().flat_map(|trial| spans_of_trial(trial, start)).collect();
            spans.sort_by_key(|span| span.from);
            if !spans.is_empty() {
                courses.push(Course {
                    variant: variant_facts.name.clone(),
                    point: facts.label.clone(),
                    spans,
                });
            }
        }
    }
    courses
}

fn spans_of_trial(trial: &Cell<'_>, start: Timestamp) -> Vec<Span> {
    let mut windows: Vec<&WindowRecord> =
        trial.windows.iter().copied().filter(|window| window.figures.all.is_some()).collect();
    windows.sort_by_key(|window| window.figures.started);
    let spans = (windows.len() / SPAN_WINDOWS).clamp(1, MOST_SPANS);
    let bounds = |at: usize| at * windows.len() / spans;
    (0..spans).filter_map(|at| span(trial.block, &windows[bounds(at)..bounds(at + 1)], start)).collect()
}

fn span(block: u32, windows: &[&WindowRecord], start: Timestamp) -> Option<Span> {
    let times: Vec<f64> = windows.iter().filter_map(|window| p50(window)).map(|time| time as f64).collect();
    let quartile = |q| Some(Nanoseconds::from_nanos(quantile_nearest_rank(&times, q)? as u64));
    Some(Span {
        block,
        from: windows.first()?.figures.started.since(start),
        to: windows.last()?.figures.ended.since(start),
        windows: times.len() as u32,
        lower: quartile(0.25)?,
        median: quartile(0.5)?,
        upper: quartile(0.75)?,
    })
}

pub fn samples(question: &Question, records: &Records<'_>) -> Vec<Samples> {
    let Some(start) = start(records) else { return Vec::new() };
    let mut samples = Vec::new();
    for (point, facts) in question.points() {
        for (variant, variant_facts) in question.variants() {
            for (window, kind) in DOTS {
                let dots = dots(records, point, variant, window, start);
                if !dots.is_empty() {
                    samples.push(Samples {
                        variant: variant_facts.name.clone(),
                        point: facts.label.clone(),
                        operation: facts
                            .scopes()
                            .first()
                            .map_or("all", |scope| facts.name(*scope))
                            .to_owned(),
                        kind,
                        at_ns: dots.iter().map(|dot| dot.0).collect(),
                        time_ns: dots.iter().map(|dot| dot.1).collect(),
                    });
                }
            }
        }
    }
    samples
}

fn dots(
    records: &Records<'_>,
    point: PointId,
    variant: VariantId,
    kind: WindowKind,
    start: Timestamp,
) -> Vec<(u64, u64)> {
    let mine = |window: &&WindowRecord| (window.point, window.variant, window.kind) == (point, variant, kind);
    let dot = |window: &WindowRecord| Some((window.figures.started.since(start).as_nanos(), p50(window)?));
    let mut dots: Vec<_> = windows(records).filter(mine).filter_map(dot).collect();
    dots.sort_unstable();
    dots
}

fn p50(window: &WindowRecord) -> Option<u64> {
    Some(window.figures.all.as_ref()?.response_p50.as_nanos())
}

fn windows<'a>(records: &'a Records<'_>) -> impl Iterator<Item = &'a WindowRecord> {
    records.used.iter().flat_map(|block| &block.trials).flat_map(|trial| &trial.windows)
}

fn start(records: &Records<'_>) -> Option<Timestamp> {
    windows(records).map(|window| window.figures.started).min()
}
