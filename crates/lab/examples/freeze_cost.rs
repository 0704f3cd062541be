//! The cost of freezing on this host, by both methods: the measurement behind the table in
//! `weighbridge_lab::process::freeze`.
//!
//! `cargo run --release -p weighbridge-lab --example freeze_cost`. It starts itself again as the role that is
//! frozen.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use weighbridge_lab::host::cores::{CoreLayout, pin_current_thread};
use weighbridge_lab::process::freeze::FreezeMethod;
use weighbridge_lab::process::launch::{Lab, Launch, Ready, Wrapping};
use weighbridge_model::quantity::Nanoseconds;

/// Freezes per row.
const COUNT: usize = 200;

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    match arguments[..] {
        [busy, waiting] => role(busy, waiting),
        _ => measure(),
    }
}

/// A process with `busy` threads that compute and `waiting` threads that wait for input, the main thread
/// included.
fn role(busy: usize, waiting: usize) {
    for _ in 0..busy {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop()
            }
        });
    }
    let wait = || {
        let (reader, _writer) = io::pipe().expect("a pipe");
        // Input never arrives, since the writer lives as long.
        let _ = io::copy(&mut &reader, &mut io::sink());
    };
    for _ in 1..waiting {
        std::thread::spawn(wait);
    }
    writeln!(io::stdout(), "ready 1").expect("stdout");
    wait();
}

fn measure() {
    let layout = CoreLayout::detect().expect("cores");
    pin_current_thread(layout.client()).expect("an allowed core");
    let mut out = io::stdout();
    writeln!(out, "{layout}; µs as median / 90th percentile of {COUNT}").expect("stdout");
    for (busy, waiting) in [(0, 1), (1, 1), (0, 8), (1, 8), (0, 40)] {
        for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
            let (freeze, thaw) = one(&layout, method, busy, waiting);
            let [a, b] = [freeze, thaw]
                .map(|times| format!("{:.0} / {:.0}", quantile(&times, 0.5), quantile(&times, 0.9)));
            writeln!(out, "{busy} busy, {waiting} waiting, {method}: freeze {a}, thaw {b}").expect("stdout");
        }
    }
}

fn one(layout: &CoreLayout, method: FreezeMethod, busy: usize, waiting: usize) -> (Vec<f64>, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::with_method("freeze_cost", None, None, method);
    let program = std::env::current_exe().expect("our own program").display().to_string();
    let mut role = lab
        .launch(&Launch {
            name: "role".to_owned(),
            command: vec![program, busy.to_string(), waiting.to_string()],
            environment: Vec::new(),
            folder: None,
            host: std::net::Ipv4Addr::LOCALHOST.into(),
            cores: Some(layout.service().to_vec()),
            stdout: folder.path().join("out"),
            stderr: folder.path().join("err"),
            ready: Ready::Line,
            ready_timeout: Nanoseconds::from_secs(10),
            wrapping: Wrapping::None,
        })
        .expect("it starts");
    let micros = |start: Instant| start.elapsed().as_secs_f64() * 1e6;
    let (mut freezes, mut thaws) = (Vec::new(), Vec::new());
    for _ in 0..COUNT {
        std::thread::sleep(Duration::from_millis(5));
        let start = Instant::now();
        role.freeze().expect("it can be frozen");
        freezes.push(micros(start));
        std::thread::sleep(Duration::from_millis(2));
        let start = Instant::now();
        role.thaw().expect("it can be thawed");
        thaws.push(micros(start));
    }
    role.stop(Nanoseconds::ZERO);
    (freezes, thaws)
}

/// The nearest-rank quantile.
fn quantile(times: &[f64], share: f64) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len()) - 1]
}
