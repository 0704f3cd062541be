//! The window state machine on a virtual clock against queueing theory: pooled over windows of whole busy cycles, the
//! response times of an M/M/1 queue have the closed form's mean and quantiles, however short the windows.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::pace::Flow;
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Slots, Window};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::histogram::time_histogram;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::WindowEnd;

const SERVICE_MEAN: f64 = 20_000.0;

/// Results of many windows, pooled.
struct Pooled {
    responses: hdrhistogram::Histogram<u64>,
    sum: f64,
    windows: u64,
}

/// Runs one window on a virtual clock against a server that takes one request at a time, first come first served;
/// `service` draws its service times in nanoseconds. Returns when the window ended.
fn run_window(
    window: &mut Window,
    start: Timestamp,
    service: &mut impl FnMut() -> f64,
    pooled: &mut Pooled,
) -> Timestamp {
    let mut now = start;
    loop {
        if let Some(end) = window.end(now) {
            assert_eq!(end, WindowEnd::Complete);
            return now;
        }
        match window.take(now, now) {
            Some(due) => {
                now = now + Nanoseconds::from_nanos(service().round() as u64);
                window.completed();
                let response = now.since(due).as_nanos();
                pooled.sum += response as f64;
                pooled.responses.record(response.max(1)).expect("within bounds");
            }
            None => {
                now =
                    window.wake(now, Slots::SomeFree, None).expect("an arrival or the window's end is ahead")
            }
        }
    }
}

/// Pools windows until `requests` requests were answered.
fn simulate(load: f64, nominal_services: u64, requests: u64, seed: u64) -> Pooled {
    let rate = PerSecond::new(load / SERVICE_MEAN * 1e9).expect("a rate");
    let nominal = Nanoseconds::from_nanos(nominal_services * SERVICE_MEAN as u64);
    let spec = Load::Open {
        flow: Flow::steady(rate, Arrivals::Poisson),
        queue: QUEUE,
        end: OpenEnd::BusyCycles(nominal),
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut service = move || {
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -uniform.ln() * SERVICE_MEAN
    };
    let mut pooled = Pooled { responses: time_histogram(), sum: 0.0, windows: 0 };
    let mut now = Timestamp::from_nanos(0);
    while pooled.responses.len() < requests {
        let mut window = Window::new(&spec, seed.wrapping_mul(1_000_003) ^ pooled.windows, now);
        now = run_window(&mut window, now, &mut service, &mut pooled);
        assert_eq!((window.offered(), window.not_sent()), (window.requests(), 0));
        pooled.windows += 1;
    }
    pooled
}

#[test]
fn pooled_windows_of_busy_cycles_have_the_steady_state_of_mm1() {
    let mut total = 0;
    // Load, nominal length in mean service times (from barely a request to long), requests.
    // The relative standard error of the mean at load 0.9 and n requests is about 19/√n (Blomqvist 1967): 0.7 % here.
    let plan = [
        (0.5, 2, 2_000_000),
        (0.5, 20, 2_000_000),
        (0.5, 1_000, 2_000_000),
        (0.8, 2, 4_000_000),
        (0.8, 20, 4_000_000),
        (0.8, 1_000, 4_000_000),
        (0.9, 2, 8_000_000),
        (0.9, 20, 8_000_000),
        (0.9, 1_000, 8_000_000),
    ];
    for (seed, (load, nominal, requests)) in plan.into_iter().enumerate() {
        let pooled = simulate(load, nominal, requests, seed as u64 + 1);
        total += pooled.responses.len();
        // The response time of M/M/1 is exponential with rate μ − λ (Kleinrock 1975, section 5.6).
        let expected_mean = SERVICE_MEAN / (1.0 - load);
        let figures = [
            ("mean", pooled.sum / pooled.responses.len() as f64, expected_mean),
            ("p50", pooled.responses.value_at_quantile(0.5) as f64, expected_mean * 2f64.ln()),
            ("p90", pooled.responses.value_at_quantile(0.9) as f64, expected_mean * 10f64.ln()),
            ("p99", pooled.responses.value_at_quantile(0.99) as f64, expected_mean * 100f64.ln()),
        ];
        for (name, measured, expected) in figures {
            let ratio = measured / expected;
            let context = format!("load {load}, nominal {nominal} services, {} windows", pooled.windows);
            assert!((ratio - 1.0).abs() < 0.03, "{name} is {ratio:.4} of the closed form ({context})");
        }
    }
    assert!(total >= 10_000_000, "{total} requests");
}

#[test]
fn windows_cut_at_their_nominal_length_would_be_biased() {
    // Shows why the rule is needed: counting only requests complete at the nominal length leaves out the slow ones, so
    // the same oracle would detect a window that ends too early.
    let load = 0.9;
    let whole = simulate(load, 20, 200_000, 77);
    let mut cut_sum = 0.0;
    let mut cut_count = 0u64;
    let mut random = ChaCha8Rng::seed_from_u64(78);
    for substream in 0..20_000 {
        let rate = PerSecond::new(load / SERVICE_MEAN * 1e9).expect("a rate");
        let flow = Flow::steady(rate, Arrivals::Poisson);
        let mut schedule = weighbridge_load::pace::Schedule::new(&flow, substream, Timestamp::from_nanos(0));
        let mut free = 0.0f64;
        while let Some(due) = schedule.next_arrival() {
            let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            free = free.max(due.as_nanos() as f64) - uniform.ln() * SERVICE_MEAN;
            if free > 20.0 * SERVICE_MEAN {
                break;
            }
            cut_sum += free - due.as_nanos() as f64;
            cut_count += 1;
        }
    }
    let expected = SERVICE_MEAN / (1.0 - load);
    let cut = cut_sum / cut_count as f64;
    assert!(cut < 0.7 * expected, "cut windows give {:.3} of the closed form", cut / expected);
    let pooled = whole.sum / whole.responses.len() as f64;
    assert!(pooled > 0.8 * expected, "whole cycles give {:.3} of the closed form", pooled / expected);
}
