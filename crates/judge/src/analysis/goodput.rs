//! Goodput: bytes carried by good replies over the whole time of their windows. It is not the inverse of a
//! time: it falls while connections are idle and rises with requests in flight.
//!
//! Where single requests are kept, only windows count of which every good request was kept, so that bytes and
//! time belong to the same requests. Where one size is asked for, the bytes are good replies times that size.
//! Otherwise sizes are unknown, and there is no figure.

use std::collections::BTreeMap;

use weighbridge_model::id::PointId;
use weighbridge_model::parts::{Carried, SizedCarried};
use weighbridge_model::record::samples::Sample;

use crate::analysis::latency_parts::{SizeClass, classes};
use crate::estimate::estimate_if_all;
use crate::question::{AskedSizes, Question, Scope};
use crate::records::{Cell, Records, WindowSelection};

/// Leaves out variants of which neither bytes nor sizes are known, and points at which rates are tried.
pub fn goodput(question: &Question, records: &Records<'_>) -> Vec<Carried> {
    let mut all = Vec::new();
    for (id, point) in question.points().filter(|(id, _)| question.objectives(*id).is_none()) {
        for (variant, variant_facts) in question.variants() {
            let cells = records.cells(id, variant, WindowSelection::Measured);
            let kept: Vec<Kept<'_>> = cells.iter().map(|cell| Kept::new(cell, id)).collect();
            let first_stage = question.blocks.min as usize;
            let bytes_per_s = match question.asked(id) {
                AskedSizes::Unknown => None,
                AskedSizes::One(size) => {
                    let rate = |cell: &Cell<'_>| {
                        let bytes = cell.good(Scope::All) as f64 * size.get() as f64;
                        per_second(bytes, cell.time().as_secs_f64())
                    };
                    estimate_if_all(cells.iter().map(rate), first_stage)
                }
                AskedSizes::Listed | AskedSizes::Range => {
                    estimate_if_all(kept.iter().map(|kept| kept.rate(SizeClass::ALL)), first_stage)
                }
            };
            let sockets_rate = |cell: &Cell<'_>| {
                let traffic = cell.traffic();
                let bytes = traffic.sent.get() + traffic.received.get();
                (bytes > 0)
                    .then_some(bytes as f64)
                    .and_then(|bytes| per_second(bytes, cell.time().as_secs_f64()))
            };
            let sockets_bytes_per_s = estimate_if_all(cells.iter().map(sockets_rate), first_stage);
            if bytes_per_s.is_some() || sockets_bytes_per_s.is_some() {
                let known = bytes_per_s.is_some() && !matches!(question.asked(id), AskedSizes::One(_));
                let sizes = if known { sized(&kept, first_stage) } else { Vec::new() };
                let (variant, point) = (variant_facts.name.clone(), point.label.clone());
                all.push(Carried { variant, point, bytes_per_s, sockets_bytes_per_s, sizes });
            }
        }
    }
    all
}

/// The share of each class of sizes; empty if there is a single class.
fn sized(kept: &[Kept<'_>], first_stage: usize) -> Vec<SizedCarried> {
    let classes = classes(kept.iter().flat_map(|block| &block.good).map(|sample| sample.size.get()));
    let goodput_of_class = |class: &SizeClass| {
        let requests = kept.iter().flat_map(|block| &block.good).filter(|sample| class.holds(sample));
        Some(SizedCarried {
            from_bytes: class.from_bytes,
            to_bytes: class.to_bytes,
            requests: requests.count() as u64,
            bytes_per_s: estimate_if_all(kept.iter().map(|block| block.rate(*class)), first_stage)?,
        })
    };
    if classes.len() > 1 { classes.iter().filter_map(goodput_of_class).collect() } else { Vec::new() }
}

fn per_second(bytes: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| bytes / seconds)
}

/// The requests of a block's completely kept windows, and the time of these windows.
struct Kept<'a> {
    good: Vec<&'a Sample>,
    seconds: f64,
}

impl<'a> Kept<'a> {
    fn new(cell: &Cell<'a>, point: PointId) -> Self {
        let mut kept = Self { good: Vec::new(), seconds: 0.0 };
        // The baseline has one trial in each batch, and round numbers repeat from trial to trial.
        for trial in &cell.trials {
            let mut rounds: BTreeMap<u32, Vec<&'a Sample>> = BTreeMap::new();
            for sample in trial.samples.iter().filter(|sample| sample.is_measured(point)) {
                rounds.entry(sample.round).or_default().push(sample);
            }
            for (round, samples) in rounds {
                let windows = cell.windows.iter().filter(|w| w.round == round);
                let own: Vec<_> = windows
                    .copied()
                    .filter(|w| trial.windows.iter().any(|one| std::ptr::eq(one, *w)))
                    .collect();
                let asked: u64 = own.iter().map(|window| window.figures.begun()).sum();
                if samples.len() as u64 >= asked {
                    kept.good.extend(samples.into_iter().filter(|sample| sample.is_good()));
                    kept.seconds += cell.with(own).time().as_secs_f64();
                }
            }
        }
        kept
    }

    fn rate(&self, class: SizeClass) -> Option<f64> {
        let bytes: u64 =
            self.good.iter().filter(|sample| class.holds(sample)).map(|sample| sample.size.get()).sum();
        per_second(bytes as f64, self.seconds)
    }
}
