//! Synthetic evidence for the synthetic results: a few requests, blocks and windows.

use weighbridge_model::evidence::{
    BlockValue, Evidence, Extent, OperationEvidence, OutcomeTimes, Percentile, SampleEvidence, WindowEvidence,
};
use weighbridge_model::histogram::time_histogram;
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, LoopHealth, OperationFigures, Outcome, Traffic, WindowFigures, WindowKind,
    WindowRecord,
};
use weighbridge_model::summary::{Summary, VariantSummary};

/// Evidence of every variant of a summary; the last block is void.
pub fn evidence(summary: &Summary) -> Evidence {
    let operations = summary.variants.iter().map(operation).collect();
    let mut windows = Vec::new();
    for (at, variant) in summary.variants.iter().enumerate() {
        for (round, kind) in (0..).zip([WindowKind::WarmUp, WindowKind::Measured, WindowKind::Measured]) {
            windows.push(window((at, variant), round, kind));
        }
    }
    let names = summary.variants.iter().map(|variant| &*variant.name);
    Evidence { operations, windows, samples: names.map(samples).collect() }
}

/// Two requests, of which one failed without an answer.
fn samples(variant: &str) -> SampleEvidence {
    let nanos = Nanoseconds::from_nanos;
    let good = Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 2,
        operation: OperationId(0),
        size: Bytes::new(87_380),
        due: nanos(1_000),
        sent: nanos(1_500),
        done: nanos(301_500),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(90),
        relayed: Some(Relayed {
            duration: nanos(250_000),
            status: 200,
            length: Bytes::new(87_380),
            retries: 1,
        }),
    };
    let outcome = Outcome::Error(ErrorKind::Timeout);
    let failed = Sample { outcome, status: None, length: Bytes::new(0), relayed: None, ..good };
    SampleEvidence {
        variant: variant.to_owned(),
        point: Default::default(),
        operation: "mping".to_owned(),
        block: 3,
        void: None,
        samples: vec![good, failed],
    }
}

fn operation(variant: &VariantSummary) -> OperationEvidence {
    let good = times(Outcome::Ok, variant, 400);
    let late = times(Outcome::Error(ErrorKind::Timeout), variant, 2);
    let values = variant.figures.iter().filter_map(|figure| Some((figure.quantity, figure.estimate?.point)));
    let blocks = values.flat_map(|(quantity, point)| {
        (0..6_u32).map(move |block| {
            let value = point * (0.99 + 0.004 * f64::from(block));
            BlockValue { quantity, block, value }
        })
    });
    let percentile = |percent: f64| Percentile {
        percent,
        time: (percent <= 95.0 || percent == 100.0)
            .then(|| Nanoseconds::from_nanos(good.response.value_at_percentile(percent))),
    };
    let percents = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 100.0];
    OperationEvidence {
        variant: variant.name.clone(),
        point: variant.point.clone(),
        operation: "pong".into(),
        extent: Extent::Single,
        percentiles: percents.map(percentile).into(),
        outcomes: vec![good.clone(), late],
        blocks: blocks.collect(),
        measured: Nanoseconds::from_millis(20_400),
        slots: 4,
    }
}

fn times(outcome: Outcome, variant: &VariantSummary, count: u64) -> OutcomeTimes {
    let mut times = OutcomeTimes { outcome, response: time_histogram(), service: time_histogram() };
    let base = 12_000 + 100 * variant.name.len() as u64;
    for request in 0..count {
        let time = base + 37 * (request * request % 101);
        times.response.record(time).unwrap();
        times.service.record(time - 250).unwrap();
    }
    times
}

fn window((at, variant): (usize, &VariantSummary), round: u32, kind: WindowKind) -> WindowEvidence {
    let nanos = |n: u64| Nanoseconds::from_nanos(n * (1 + at as u64));
    let started = Timestamp::from_nanos(1_000_000_000 * u64::from(round + 1));
    let all = OperationFigures {
        operation: OperationId(0),
        ok: 998,
        response_sum: nanos(15_600_000),
        service_sum: nanos(15_500_000),
        response_p50: nanos(15_340),
        service_p50: nanos(15_310),
        response_p90: nanos(19_870),
        service_p90: nanos(19_840),
        response_max: nanos(91_000),
    };
    WindowEvidence {
        variant: variant.name.clone(),
        point: variant.point.clone(),
        batch: 0,
        void: (round == 2).then(|| "the wall clock jumped".to_owned()),
        record: WindowRecord {
            kind,
            block: round,
            round,
            position: at as u32,
            variant: VariantId(at as u16),
            figures: WindowFigures {
                started,
                ended: started + nanos(16_000_000),
                offered: 1_000,
                requests: 1_000,
                errors: ErrorCounts { timeout: 2, ..ErrorCounts::default() },
                connects: 1,
                operations: vec![all],
                all: (round != 1).then_some(all),
                traffic: Traffic {
                    sent: Bytes::new(70_000),
                    received: Bytes::new(144_000),
                    ..Traffic::default()
                },
                health: LoopHealth {
                    busy: nanos(9_000_000),
                    wall: nanos(16_100_000),
                    cpu: nanos(15_900_000),
                    loop_delay_p50: nanos(410),
                    lag_p99: nanos(4_200),
                },
                ..Default::default()
            },
            core_latency: (round > 0).then(|| nanos(320)),
            restore: None,
            pauses: None,
            ..Default::default()
        },
    }
}
