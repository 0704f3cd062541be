//! Trials made from a seed, for tests: several points, operations and outcomes. Every field of a record is named, without
//! `..Default`, so that a new field cannot be left out of what is stored.

#![allow(dead_code)] // each test file uses its part

use rand::Rng;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use weighbridge_model::id::*;
use weighbridge_model::legs::{KernelStamps, LegFigures, StampFigures};
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::pairing::{Pairing, Preparation, TurnEffect, WarmEnd, WarmUp};
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::steps::{Course, Step, StepEnd, StepFigure, StepKind, StepRecord, Tenth};
use weighbridge_model::record::*;
use weighbridge_store::{Participant, UtcTime};

/// 2026-11-21T21:22:04Z.
pub const STARTED: UtcTime = UtcTime::from_unix_ns(1_795_296_124_000_000_000);

/// Two variants that take part; the variant between them is unavailable.
pub fn participants() -> Vec<Participant> {
    [(0, "http-json"), (2, "grpc, \"with\" odd name")]
        .map(|(variant, name)| Participant { variant: VariantId(variant), name: name.to_owned() })
        .to_vec()
}

/// One trial of each participant.
pub fn block(number: u32) -> Vec<TrialRecord> {
    participants().iter().map(|one| trial(number, one.variant)).collect()
}

fn prepared() -> Preparation {
    let millis = Nanoseconds::from_millis;
    Preparation {
        warm_up: Some(WarmUp { end: WarmEnd::Steady, time: millis(1_234), windows: 20 }),
        window: Some(millis(100)),
        turns: vec![TurnEffect { window: millis(20), change: 0.125, error: 0.0625 }],
    }
}

/// The same trial for the same block and variant.
pub fn trial(block: u32, variant: VariantId) -> TrialRecord {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(block) << 16 | u64::from(variant.0));
    let kinds = [
        WindowKind::WarmUp,
        WindowKind::LeadIn,
        WindowKind::Measured,
        WindowKind::Measured,
        WindowKind::Check,
    ];
    let windows = kinds
        .into_iter()
        .zip(0u32..)
        .map(|(kind, index)| WindowRecord {
            kind,
            block,
            point: PointId((index % 2) as u16),
            round: index / 2,
            position: index % 3,
            variant,
            figures: figures(&mut random, index),
            core_latency: (index % 2 == 0).then(|| nanos(&mut random)),
            restore: (index % 3 == 0).then(|| nanos(&mut random)),
            pauses: (index % 4 == 0).then(|| JvmPauses {
                count: index.into(),
                time: Nanoseconds::from_nanos(7 * u64::from(index)),
            }),
            cpu: ["service", "sidecar"][..random.random_range(0..=2)]
                .iter()
                .map(|role| RoleCpu {
                    role: (*role).to_owned(),
                    cpu: nanos(&mut random),
                    requests: random.random_range(0..500),
                })
                .collect(),
        })
        .collect();
    TrialRecord {
        block,
        batch: 0,
        variant,
        service: service(nanos(&mut random)),
        windows,
        tallies: vec![tallies(&mut random, 2), tallies(&mut random, 0)],
        samples: samples(),
        pairings: vec![Pairing::Requests, Pairing::Windows],
        preparations: vec![Preparation::default(), prepared()],
        memory: vec![RoleMemory {
            role: "service".to_owned(),
            point: PointId(1),
            peak: Bytes::new(random.random_range(0..1 << 30)),
        }],
        failures: vec![FailedReplies {
            point: PointId(1),
            kind: ErrorKind::Check,
            text: "stale: a value".to_owned(),
            example: "k17".to_owned(),
            count: 3,
        }],
        steal: random.random_range(0.0..0.1),
        machine: Some(MachineCpu {
            span: nanos(&mut random),
            busy: nanos(&mut random),
            resolution: nanos(&mut random),
            generator: nanos(&mut random),
            service: nanos(&mut random),
        }),
        void: None,
        steps: vec![Vec::new(), vec![step(0, tallies(&mut random, 2)), step(1, Tallies::default())]],
    }
}

/// A step of a search for capacity.
fn step(number: u32, tallies: Tallies) -> StepRecord {
    let nanos = Nanoseconds::from_nanos;
    let tenth = |due: u64| Tenth {
        due,
        good: due - 1,
        errors: 1,
        response_sum: nanos(due * 1_000),
        replies: due,
        smallest_backlog: number.into(),
    };
    StepRecord {
        step: Step {
            number,
            kind: if number == 0 { StepKind::Bracket } else { StepKind::Grid },
            course: Course::Falling,
            rate: PerSecond::new(1234.5).expect("a rate"),
            start: Timestamp::from_nanos(5),
            length: nanos(500_000_000),
            end: StepEnd::Complete,
            health: LoopHealth { busy: nanos(1), wall: nanos(2), cpu: nanos(3), ..LoopHealth::default() },
        },
        lead_in: tenth(9),
        tenths: std::array::from_fn(|at| tenth(10 + at as u64)),
        tallies,
        figures: vec![StepFigure { value: 0.1 + 0.2, error: 1e-9 }, StepFigure { value: 2e6, error: 0.0 }],
        achieved: StepFigure { value: 0.995, error: 0.001 },
    }
}

/// A good reply of a relay and a request that was never answered.
fn samples() -> Vec<Sample> {
    let nanos = Nanoseconds::from_nanos;
    let good = Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 1,
        operation: OperationId(0),
        size: Bytes::new(87_380),
        due: nanos(1_000),
        sent: nanos(1_200),
        done: nanos(90_000),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(64),
        relayed: Some(Relayed {
            duration: nanos(80_000),
            status: 200,
            length: Bytes::new(87_380),
            retries: 1,
        }),
    };
    let lost = Sample {
        outcome: Outcome::Error(ErrorKind::Reset),
        status: None,
        length: Bytes::new(0),
        relayed: None,
        ..good
    };
    vec![good, lost]
}

fn service(start: Nanoseconds) -> ServiceFacts {
    ServiceFacts {
        version: Some("go 1.26.8 net/http \"1\"\nsecond line".to_owned()),
        binary_sha256: None,
        start: Some(start),
        quota: Some(QuotaFacts {
            quota: CpuQuota { time: Nanoseconds::from_millis(50), period: Nanoseconds::from_millis(100) },
            origin: QuotaOrigin::Experiment,
            throttling: Some(Throttling {
                periods: 420,
                throttled: 412,
                time: Nanoseconds::from_millis(20_100),
            }),
        }),
        memory: None,
        runtime: Some(RuntimeFacts {
            threads: 17,
            cores: vec![0],
            said: [("gc".to_owned(), "Copy".to_owned())].into(),
        }),
        peer: None,
        database: None,
        network: None,
    }
}

fn figures(random: &mut ChaCha8Rng, index: u32) -> WindowFigures {
    let started = 1_000_000_000 + u64::from(index) * 20_000_000;
    let mut errors = ErrorCounts::default();
    for kind in ErrorKind::ALL {
        *errors.get_mut(kind) = random.random_range(0..3);
    }
    WindowFigures {
        started: Timestamp::from_nanos(started),
        ended: Timestamp::from_nanos(started + random.random_range(15_000_000..20_000_000)),
        end: [WindowEnd::Complete, WindowEnd::Saturated, WindowEnd::Aborted][index as usize % 3],
        offered: random.random_range(200..300),
        requests: random.random_range(200..300),
        not_sent: random.random_range(0..2),
        errors,
        resent: 0,
        held_up: 0,
        connects: random.random_range(0..16),
        handshakes: random.random_range(0..16),
        resumed: random.random_range(0..16),
        operations: (0..index as u16 % 3).map(|operation| operation_figures(random, operation)).collect(),
        all: (index > 0).then(|| operation_figures(random, 0)),
        traffic: Traffic {
            sent: Bytes::new(random.random_range(0..1 << 20)),
            received: Bytes::new(random.random_range(0..1 << 20)),
            segments_out: random.random_range(0..1000),
            segments_in: random.random_range(0..1000),
            retransmits: random.random_range(0..2),
            payload_sent: Bytes::new(random.random_range(0..1 << 20)),
            payload_received: Bytes::new(random.random_range(0..1 << 20)),
        },
        health: LoopHealth {
            busy: nanos(random),
            wall: nanos(random),
            cpu: nanos(random),
            loop_delay_p50: nanos(random),
            lag_p99: nanos(random),
        },
        stamps: match index % 4 {
            0 => None,
            3 => Some(KernelStamps::Unavailable("no, \"never\"".to_owned())),
            _ => Some(KernelStamps::Taken(stamp_figures(index))),
        },
        counts: (index > 1).then(|| counts(index)),
    }
}

/// Another number for each count.
fn counts(index: u32) -> Counts {
    let mut counts = Counts::default();
    for (count, n) in Count::ALL.into_iter().zip(1..) {
        counts.add(count, n * 100 + u64::from(index));
    }
    counts
}

fn stamp_figures(index: u32) -> StampFigures {
    let time = |n: u64| Nanoseconds::from_nanos(n * 1_000 + u64::from(index));
    let leg = |n: u64| LegFigures { sum: time(n * 200), p50: time(n), p90: time(n * 2), p99: time(n * 5) };
    StampFigures {
        requests: 200,
        unmatched: u64::from(index / 2),
        clock_error: Nanoseconds::from_nanos(80),
        round_trip: (index > 1).then(|| time(3)),
        legs: [leg(5), leg(40), leg(7)],
    }
}

fn operation_figures(random: &mut ChaCha8Rng, operation: u16) -> OperationFigures {
    OperationFigures {
        operation: OperationId(operation),
        ok: random.random_range(1..200),
        response_sum: nanos(random),
        service_sum: nanos(random),
        response_p50: nanos(random),
        service_p50: nanos(random),
        response_p90: nanos(random),
        service_p90: nanos(random),
        response_max: nanos(random),
    }
}

fn tallies(random: &mut ChaCha8Rng, operations: u16) -> Tallies {
    let mut tallies = Tallies::default();
    for operation in 0..operations {
        for outcome in [Outcome::Ok, Outcome::Error(ErrorKind::Timeout), Outcome::Error(ErrorKind::Check)] {
            for _ in 0..random.random_range(1..40) {
                let due = random.random_range(0..1_000_000);
                let sent = due + random.random_range(0..10_000);
                tallies.record(&RequestRecord {
                    due: Timestamp::from_nanos(due),
                    sent: Timestamp::from_nanos(sent),
                    done: Timestamp::from_nanos(sent + random.random_range(1..5_000_000_000)),
                    operation: OperationId(operation),
                    outcome,
                });
                tallies.lag.saturating_record(random.random_range(1..10_000));
                tallies.loop_delay.saturating_record(random.random_range(1..1_000));
                tallies.record_message(OperationId(operations), Outcome::Ok, Nanoseconds::from_nanos(sent));
                tallies.legs.record([due, sent, sent - due].map(Nanoseconds::from_nanos));
            }
        }
    }
    tallies
}

fn nanos(random: &mut ChaCha8Rng) -> Nanoseconds {
    Nanoseconds::from_nanos(random.random_range(1..20_000_000))
}

/// Fails where the blocks differ, without printing histograms of 30,000 counts each.
#[track_caller]
pub fn assert_blocks(found: &[Vec<TrialRecord>], expected: &[Vec<TrialRecord>], context: &str) {
    let places = |blocks: &[Vec<TrialRecord>]| -> Vec<Vec<(u32, u16)>> {
        blocks
            .iter()
            .map(|trials| trials.iter().map(|trial| (trial.block, trial.variant.0)).collect())
            .collect()
    };
    assert_eq!(places(found), places(expected), "{context}");
    assert!(found == expected, "{context}: the right trials, with other contents");
}
