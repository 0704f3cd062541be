//! The requests of a run by operation, variant and batch.

use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::sizes::{SizeGuide, SizeTime};

use super::{SEGMENT, SEGMENT_HEAD};
use crate::question::{AskedSizes, Point, Question};
use crate::records::{Records, WindowSelection};
use crate::stats::scatter::{Observation, Scatter};

pub(super) struct OperationRequests<'a> {
    pub point: &'a Point,
    pub name: String,
    pub by_variant: Vec<Vec<Request<'a>>>,
    /// The MTU of each variant's innermost link; `None` on the bare host.
    pub mtus: Vec<Option<u32>>,
    /// Requests of the variant through which variants of different batches are compared.
    pub base: Vec<Request<'a>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub batch: BatchId,
    pub sample: &'a Sample,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct TimedRequest<'a> {
    pub request: Request<'a>,
    pub time: Nanoseconds,
}

/// A part of a block in which variants lived at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BatchId {
    pub block: u32,
    pub batch: u32,
}

pub(super) fn operations<'a>(question: &'a Question, records: &Records<'a>) -> Vec<OperationRequests<'a>> {
    let mut operations = Vec::new();
    // Requests with sizes from a list are kept for other reasons, and make no curve.
    for (id, point) in question.points().filter(|(id, _)| question.asked(*id) == AskedSizes::Range) {
        for (at, operation) in point.operations.iter().enumerate() {
            let requests_of_variant = |variant| requests(records, id, variant, OperationId(at as u16));
            let by_variant: Vec<_> =
                question.variants().map(|(variant, _)| requests_of_variant(variant)).collect();
            if by_variant.iter().any(|requests| !requests.is_empty()) {
                operations.push(OperationRequests {
                    point,
                    name: operation.clone(),
                    by_variant,
                    mtus: question.variants().map(|(variant, _)| mtu(records, id, variant)).collect(),
                    base: requests_of_variant(records.bridge.unwrap_or(VariantId(0))),
                });
            }
        }
    }
    operations
}

fn requests<'a>(
    records: &Records<'a>,
    point: PointId,
    variant: VariantId,
    operation: OperationId,
) -> Vec<Request<'a>> {
    let trials =
        records.cells(point, variant, WindowSelection::Measured).into_iter().flat_map(|cell| cell.trials);
    let is_wanted = move |sample: &&Sample| sample.point == point && sample.operation == operation;
    trials
        .flat_map(|trial| {
            let batch = BatchId { block: trial.block, batch: trial.batch };
            trial.samples.iter().filter(is_wanted).map(move |sample| Request { batch, sample })
        })
        .collect()
}

fn mtu(records: &Records<'_>, point: PointId, variant: VariantId) -> Option<u32> {
    let cells = records.cells(point, variant, WindowSelection::Measured);
    let mut trials = cells.into_iter().flat_map(|cell| cell.trials);
    trials.find_map(|trial| trial.service.network.as_ref()?.mtu)
}

pub(super) fn good<'a>(
    requests: &'a [Request<'a>],
    time: SizeTime,
) -> impl Iterator<Item = TimedRequest<'a>> {
    let sample_time = move |sample: &Sample| match time {
        SizeTime::Response => Some(sample.response()),
        SizeTime::Service => Some(sample.service()),
        SizeTime::Relayed => sample.relayed.map(|relayed| relayed.duration),
    };
    requests.iter().filter(|request| request.sample.is_good()).filter_map(move |request| {
        Some(TimedRequest { request: *request, time: sample_time(request.sample)? })
    })
}

impl OperationRequests<'_> {
    pub fn scatters(&self, time: SizeTime) -> Vec<Scatter> {
        self.by_variant.iter().map(|requests| Scatter::new(good(requests, time).map(observation))).collect()
    }

    /// The guides of a variant. Over links of its own, the segment is that of these links, not of loopback.
    pub fn guides(&self, question: &Question, variant: usize) -> Vec<SizeGuide> {
        let own = |guide: &SizeGuide| match self.mtus[variant] {
            Some(mtu) if guide.name.starts_with(SEGMENT) => SizeGuide {
                name: format!("{SEGMENT} (MTU {mtu} of this variant's link, less heads)"),
                bytes: Bytes::new(u64::from(mtu).saturating_sub(SEGMENT_HEAD)),
            },
            _ => guide.clone(),
        };
        question.guides.iter().map(own).collect()
    }
}

pub(super) fn observation(TimedRequest { request, time }: TimedRequest<'_>) -> Observation {
    Observation {
        block: request.batch.block,
        size: request.sample.size.get() as f64,
        time: time.as_nanos() as f64,
    }
}
