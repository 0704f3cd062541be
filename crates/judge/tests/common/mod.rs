//! Synthetic trials: records as of a generator, of requests whose times the test chose.

#![allow(dead_code)] // each test file uses its own part

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::{
    AskedSizes, Blocks, Cores, Lifetime, Load, Placement, Point, Question, Run, Transport, Variant,
};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Ratio, Timestamp};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, LoopHealth, OperationFigures, Outcome, RequestRecord, RoleCpu, RoleMemory,
    ServiceFacts, Tallies, Traffic, TrialRecord, WindowFigures, WindowKind, WindowRecord,
};
use weighbridge_model::summary::{Cost, Summary};
use weighbridge_model::table::{ResultTable, TableCell};

#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub operation: u16,
    pub outcome: Outcome,
    /// Due to sent, in nanoseconds.
    pub waited: u64,
    /// Sent to done, in nanoseconds.
    pub service: u64,
}

pub fn good(service: u64) -> Request {
    Request { operation: 0, outcome: Outcome::Ok, waited: 0, service }
}

pub fn failed(kind: ErrorKind, service: u64) -> Request {
    Request { outcome: Outcome::Error(kind), ..good(service) }
}

/// What one window was, besides its requests.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub kind: WindowKind,
    pub round: u32,
    pub position: u32,
    /// Requests outstanding at once: the window takes the sum of service times over this.
    pub connections: u64,
}

impl Place {
    pub fn measured(round: u32, position: u32) -> Self {
        Self { kind: WindowKind::Measured, round, position, connections: 1 }
    }
}

pub fn trial(block: u32, variant: u16) -> TrialRecord {
    TrialRecord {
        block,
        variant: VariantId(variant),
        service: ServiceFacts { version: Some("test 1.0".to_owned()), ..Default::default() },
        tallies: vec![Tallies::default()],
        memory: vec![RoleMemory {
            role: "service".to_owned(),
            point: PointId(0),
            peak: Bytes::new(10 << 20),
        }],
        ..Default::default()
    }
}

pub fn add_window(trial: &mut TrialRecord, place: Place, requests: &[Request]) {
    let started = trial.windows.last().map_or(Timestamp::from_nanos(1_000), |last| last.figures.ended);
    let time = requests.iter().map(|r| r.waited + r.service).sum::<u64>() / place.connections;
    let ended = started + Nanoseconds::from_nanos(time);
    let mut errors = ErrorCounts::default();
    for request in requests {
        if let Outcome::Error(kind) = request.outcome {
            *errors.get_mut(kind) += 1;
        }
        if place.kind == WindowKind::Measured {
            trial.tallies[0].record(&record(request, started));
        }
    }
    let mut operations: Vec<u16> = requests.iter().map(|r| r.operation).collect();
    operations.sort_unstable();
    operations.dedup();
    let operation_figures = |operation: u16| figures(requests, |r| r.operation == operation, operation);
    let count = requests.len() as u64;
    trial.windows.push(WindowRecord {
        kind: place.kind,
        block: trial.block,
        round: place.round,
        position: place.position,
        variant: trial.variant,
        figures: WindowFigures {
            started,
            ended,
            offered: count,
            requests: count,
            errors,
            operations: operations.into_iter().filter_map(operation_figures).collect(),
            all: figures(requests, |_| true, 0),
            traffic: Traffic {
                sent: Bytes::new(100 * count),
                received: Bytes::new(200 * count),
                segments_out: count,
                segments_in: count,
                retransmits: 0,
                payload_sent: Bytes::new(0),
                payload_received: Bytes::new(120 * count),
            },
            health: LoopHealth {
                busy: Nanoseconds::from_nanos(time / 10),
                wall: Nanoseconds::from_nanos(time),
                ..Default::default()
            },
            ..Default::default()
        },
        cpu: vec![RoleCpu {
            role: "service".to_owned(),
            cpu: Nanoseconds::from_nanos(10_000 * count),
            requests: count,
        }],
        ..Default::default()
    });
}

fn record(request: &Request, due: Timestamp) -> RequestRecord {
    let sent = due + Nanoseconds::from_nanos(request.waited);
    RequestRecord {
        due,
        sent,
        done: sent + Nanoseconds::from_nanos(request.service),
        operation: OperationId(request.operation),
        outcome: request.outcome,
    }
}

fn figures(
    requests: &[Request],
    is_counted: impl Fn(&Request) -> bool,
    operation: u16,
) -> Option<OperationFigures> {
    let good: Vec<_> = requests.iter().filter(|r| r.outcome == Outcome::Ok && is_counted(r)).collect();
    let sorted = |time: fn(&Request) -> u64| {
        let mut times: Vec<u64> = good.iter().map(|r| time(r)).collect();
        times.sort_unstable();
        times
    };
    let (response, service) = (sorted(|r| r.waited + r.service), sorted(|r| r.service));
    let rank = |times: &[u64], percent: usize| {
        Nanoseconds::from_nanos(times[(times.len() * percent).div_ceil(100).max(1) - 1])
    };
    let sum = |times: &[u64]| Nanoseconds::from_nanos(times.iter().sum());
    (!good.is_empty()).then(|| OperationFigures {
        operation: OperationId(operation),
        ok: good.len() as u64,
        response_sum: sum(&response),
        service_sum: sum(&service),
        response_p50: rank(&response, 50),
        service_p50: rank(&service, 50),
        response_p90: rank(&response, 90),
        service_p90: rank(&service, 90),
        response_max: Nanoseconds::from_nanos(*response.last().expect("not empty")),
    })
}

/// A closed-load question about these variants with one operation `get`.
pub fn question(variants: &[&str]) -> Question {
    Question {
        run: Run { title: "a test".to_owned(), ..Default::default() },
        headline: Quantity::ResponseP50,
        margin: Ratio::new(0.02),
        share_margin: Ratio::new(0.01),
        gated: Vec::new(),
        until: None,
        blocks: Blocks { min: 6, max: 30 },
        variants: variants
            .iter()
            .map(|name| Variant {
                name: (*name).to_owned(),
                transport: Transport::Tcp,
                lifetime: Lifetime::Restarted,
                relay: None,
                stack: Default::default(),
            })
            .collect(),
        points: vec![Point {
            label: Default::default(),
            load: Load::Closed,
            slots: 1,
            own_slots: Vec::new(),
            session_length: 1,
            operations: vec!["get".to_owned()],
            script: None,
        }],
        cores: Cores { service: Some(1), placement: Placement::Apart },
        idle: None,
        guides: Vec::new(),
        sizes: vec![AskedSizes::Range],
        directs: Vec::new(),
        compositions: Vec::new(),
        objectives: Vec::new(),
        highest_rate: None,
        listed_rates: Vec::new(),
        workload: "",
        absent: Vec::new(),
    }
}

/// Blocks of rounds of two variants, AB and BA in turn; `requests(variant, block, round)` gives the requests
/// of a window.
pub fn run(
    blocks: u32,
    rounds: u32,
    mut requests: impl FnMut(u16, u32, u32) -> Vec<Request>,
) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..blocks {
        let mut pair = [trial(block, 0), trial(block, 1)];
        for round in 0..rounds {
            for position in 0..2 {
                let variant = (round + position) % 2;
                let carried = requests(variant as u16, block, round);
                add_window(&mut pair[variant as usize], Place::measured(round, position), &carried);
            }
        }
        trials.extend(pair);
    }
    trials
}

/// The row of a quantity; panics and prints the rows if there is none.
pub fn cost<'a>(summary: &'a Summary, operation: &str, quantity: Quantity) -> &'a Cost {
    let row = summary.costs.iter().find(|c| c.operation == operation && c.quantity == quantity);
    row.unwrap_or_else(|| panic!("no row `{operation}` {quantity}"))
}

pub fn ratio(summary: &Summary, quantity: Quantity) -> f64 {
    cost(summary, "get", quantity).ratio.expect("a ratio").point
}

/// The summary's tables of this name, point by point.
pub fn tables<'a>(summary: &'a Summary, name: &str) -> Vec<&'a ResultTable> {
    summary.tables.iter().filter(|table| table.name == name).collect()
}

/// The names of the variants that a table's rows are about.
pub fn named(table: &ResultTable) -> Vec<&str> {
    table.rows.iter().filter_map(|row| ResultTable::variant_of(row)).collect()
}

/// The cell of a row in the column of this name.
pub fn cell<'a>(table: &'a ResultTable, row: usize, column: &str) -> &'a TableCell {
    let at = table.columns.iter().position(|one| one.name == column);
    &table.rows[row][at.unwrap_or_else(|| panic!("no column `{column}`"))]
}

pub fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Standard normal by Box and Muller (1958).
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

/// Times around `middle` with a relative spread.
pub fn noisy(random: &mut ChaCha8Rng, middle: f64, spread: f64, count: usize) -> Vec<Request> {
    (0..count).map(|_| good((middle * (1.0 + spread * normal(random))).max(1.0) as u64)).collect()
}
