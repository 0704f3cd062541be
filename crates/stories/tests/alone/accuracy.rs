//! Whether measurements are right: planted truths, found again on this machine.
//!
//! They need a machine that does nothing else: `make accuracy` tells them.
//!
//! An interval at 95 % misses its truth one time in twenty. So a truth must lie within twice its interval, which it misses
//! one time in some hundred where blocks are as few as here, and how wide an interval may be is asserted apart.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use weighbridge_lab::host::cores::{CoreLayout, pin_current_thread};
use weighbridge_lab::process::launch::{Lab, Launch, Ready, Wrapping};
use weighbridge_lab::process::quota::Controller;
use weighbridge_lab::process::{GRACE, Running};
use weighbridge_load::dial::{SocketDial, resolve};
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::window::{Load, OpenEnd, QUEUE};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Arrivals, Experiment, Protocol};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{
    Outcome, QuotaOrigin, RequestRecord, Tallies, TrialRecord, WindowEnd, WindowKind, WindowRecord,
};
use weighbridge_probe::record::{Served, from_csv};
use weighbridge_store::RunFolder;
use weighbridge_workload::{Address, UrlScheme, Workload};

use crate::support::{WEIGH, measuring, note_disturbance};

/// A run of one experiment in a folder of its own. In its text `WEIGH` stands for the program, `DIR` for the folder.
pub struct Run {
    folder: TempDir,
    pub summary: Value,
}

/// The middle of an estimate and its interval at 95 %.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub point: f64,
    pub lower: f64,
    pub upper: f64,
}

impl Estimate {
    pub fn of(value: &Value) -> Self {
        let figure = |key: &str| value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"));
        Self { point: figure("point"), lower: figure("lower"), upper: figure("upper") }
    }

    pub fn width(self) -> f64 {
        self.upper - self.lower
    }

    /// Whether `truth` lies within twice this interval, with a tolerance at both ends.
    fn allows(self, truth: f64, tolerance: f64) -> bool {
        let (below, above) = (2.0 * (self.point - self.lower), 2.0 * (self.upper - self.point));
        self.point - below - tolerance <= truth && truth <= self.point + above + tolerance
    }
}

impl Run {
    pub fn measure(experiment: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("experiment.toml");
        let text = experiment.replace("WEIGH", WEIGH).replace("DIR", &folder.path().display().to_string());
        std::fs::write(&file, text).unwrap();
        let output = Command::new(WEIGH)
            .args(["run", "--format", "json"])
            .arg(&file)
            .arg("--out")
            .arg(folder.path().join("runs"))
            .env("WEIGH_SERVICES", concat!(env!("CARGO_MANIFEST_DIR"), "/../../services"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        note_disturbance(&errors);
        assert!(output.status.success(), "{}: {errors}", output.status);
        let summary = serde_json::from_slice(&output.stdout).unwrap();
        Self { folder, summary }
    }

    fn cost(&self, quantity: &str) -> &Value {
        let costs = self.summary["costs"].as_array().unwrap();
        costs.iter().find(|cost| cost["quantity"] == quantity).unwrap()
    }

    fn difference(&self, quantity: &str) -> Estimate {
        Estimate::of(&self.cost(quantity)["difference"])
    }

    fn ratio(&self, quantity: &str) -> Estimate {
        Estimate::of(&self.cost(quantity)["ratio"])
    }

    fn headline(&self) -> &Value {
        &self.summary["costs"][0]
    }

    fn stored(&self) -> RunFolder {
        RunFolder::latest(self.folder.path().join("runs")).unwrap().unwrap()
    }

    /// What a probe recorded of every request, over all its lives.
    pub fn probe_records(&self) -> Vec<Served> {
        let folder = self.folder.path().join("record");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.flat_map(|path| from_csv(&std::fs::read_to_string(path).unwrap()).unwrap()).collect()
    }
}

pub fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2] as f64
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn two_copies_of_one_service_do_not_differ_relevantly() {
    measuring(|| {
        let run = Run::measure(
            "title = 'copies'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [plan]\nblocks = { min = 6, max = 6 }\nbudget = '40 s'\nmargin = '3 %'\n\
         [[variant]]\nname = 'one'\nservice = 'rust'\n[[variant]]\nname = 'other'\nservice = 'rust'\n",
        );
        let verdict = run.headline()["verdict"].as_str().unwrap().to_owned();
        assert_eq!(verdict, "no relevant difference", "{}", run.headline());
    });
}

/// A probe with a delay beside one without; returns what the probe says that it spent, as the median.
fn planted_delay(delay: &str) -> (Run, f64) {
    let run = Run::measure(&format!(
        "title = 'planted {delay}'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [plan]\nblocks = {{ min = 6, max = 6 }}\nbudget = '50 s'\n\
         [[variant]]\nname = 'null'\ncommand = ['WEIGH', 'probe', 'null']\n\
         [[variant]]\nname = 'busy'\ncommand = ['WEIGH', 'probe', 'delay', '{delay}', '--record', 'DIR/record']\n",
    ));
    let spent: Vec<u64> = run.probe_records().iter().map(|served| served.spent().as_nanos()).collect();
    (run, median(spent))
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn twenty_microseconds_of_busy_wait_are_found_to_a_microsecond() {
    measuring(|| {
        let (run, spent) = planted_delay("20us");
        let found = run.difference("response_p50");
        assert!(found.allows(spent, 1_000.0), "{found:?} against {spent} ns spent");
        assert!(found.width() < 3_000.0, "{found:?} is wider than 3 µs");
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn three_hundred_nanoseconds_are_seen() {
    measuring(|| {
        let (run, spent) = planted_delay("300ns");
        let found = run.difference("response_p50");
        assert!(found.lower > 0.0, "{found:?} does not exclude 0; the probe spent {spent} ns");
        assert!((found.point - spent).abs() < 300.0, "{found:?} against {spent} ns spent");
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_server_that_stops_100_ms_in_every_2_s_costs_5_percent_and_its_median_nothing() {
    measuring(|| {
        // A probe's running time counts each freeze as one gap, here of 1 ms in 100. The baseline is the same probe with
        // a period that never ends.
        let run = Run::measure(
            "title = 'stalls'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [plan]\nblocks = { min = 8, max = 8 }\nbudget = '2 min'\nwindow = '100 ms'\nheadline = 'response mean'\n\
         [[variant]]\nname = 'steady'\n\
         command = ['WEIGH', 'probe', 'periodic-stall', '--gap', '1ms', '--every', '10h']\n\
         [[variant]]\nname = 'stalls'\n\
         command = ['WEIGH', 'probe', 'periodic-stall', '--gap', '1ms', '--record', 'DIR/record']\n",
        );
        let long = Nanoseconds::from_millis(50);
        let stalls = run.probe_records().iter().filter(|served| served.spent() > long).count();
        assert!(stalls >= 15, "only {stalls} stalls");
        for (quantity, truth, tolerance) in
            [("response_mean", 1.053, 0.0), ("throughput", 0.95, 0.0), ("response_p50", 1.0, 0.002)]
        {
            let found = run.ratio(quantity);
            assert!(found.allows(truth, tolerance), "{quantity}: {found:?} against {truth}");
            assert!((found.point - truth).abs() < 0.02, "{quantity}: {found:?} against {truth}");
        }
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_one_second_stall_under_open_load_is_charged_to_everyone_who_waited() {
    measuring(|| {
        let bench = TestBench::new();
        let probe = bench.start("stall", &["probe", "stall", "--at", "3s", "--length", "1s"]);
        let url = format!("http://127.0.0.1:{}/pong/64", probe.port());
        let output = Command::new(WEIGH)
            .args(["load", &url, "--rate", "1000/s", "--duration", "6s", "--format", "json"])
            .output()
            .unwrap();
        probe.stop(GRACE);
        bench.close();
        let load: Value = serde_json::from_slice(&output.stdout).unwrap();
        let nanos = |kind: &str, key: &str| load[kind][key].as_u64().unwrap_or_else(|| panic!("{load}"));
        assert!(nanos("response", "p99_ns") > 500_000_000, "{load}");
        assert!(nanos("service", "p50_ns") < 2_000_000, "{load}");
        assert!((5_500..6_500).contains(&load["requests"].as_u64().unwrap()), "{load}");
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn windows_lose_none_of_a_stall_under_open_load() {
    measuring(|| {
        // Each life of the probe stalls once, three seconds after its first request: among its windows.
        let run = Run::measure(
            "title = 'stall in windows'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [load]\nmodel = 'open'\nrate = '1000/s'\narrivals = 'constant'\n\
         [plan]\nblocks = { min = 4, max = 4 }\nbudget = '24 s'\n\
         [[variant]]\nname = 'stalls'\ncommand = ['WEIGH', 'probe', 'stall', '--at', '3s', '--length', '1s']\n",
        );
        let late = |trial: &TrialRecord| trial.tallies[0].ok().0.count_between(100_000_000, u64::MAX);
        let blocks: Vec<u64> = run.stored().load_blocks().unwrap().iter().flatten().map(late).collect();
        // A stall may fall into a lead-in, which is recorded apart: in one block of hundreds, not in two of four.
        let whole = blocks.iter().filter(|late| **late >= 850).count();
        assert!(blocks.len() == 4 && whole >= 3, "responses above 100 ms by block: {blocks:?}");
    });
}

/// The trap of a quota with short windows: 20 ms fall into the running half of a period or into the standing half.
#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_cpu_quota_with_short_windows_lengthens_them_and_halves_the_throughput() {
    if Controller::detect().is_err() {
        return; // this host cannot limit CPU time, and then the variant is unavailable
    }
    measuring(|| {
        // Full load: while one request is served the next waits at the probe, however slow the client is.
        let run = Run::measure(
            "title = 'half'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n[load]\nconnections = 2\n\
         [plan]\nblocks = { min = 1, max = 1 }\nbudget = '10 s'\nwindow = '20 ms'\n\
         [[variant]]\nname = 'whole'\ncommand = ['WEIGH', 'probe', 'delay', '100us']\n\
         [[variant]]\nname = 'half'\ncpu = 0.5\ncommand = ['WEIGH', 'probe', 'delay', '100us']\n",
        );
        let events = std::fs::read_to_string(run.stored().path().join("events.jsonl")).unwrap();
        assert!(events.contains("`window = 20.0 ms` is lengthened to 2.00 s"), "{events}");
        let trials: Vec<TrialRecord> = run.stored().load_blocks().unwrap().into_iter().flatten().collect();
        // The same requests take the whole core half the time; by the pace that was told from whole periods.
        let shortest = measured(&trials[1]).map(took).min().unwrap();
        assert!(shortest > Nanoseconds::from_millis(1_800), "a window of {shortest}");
        assert!(!events.contains("fewer than 20"), "{events}");
        let facts = trials[1].service.quota.unwrap();
        let held = facts.throttling.unwrap();
        assert!(facts.origin == QuotaOrigin::Experiment && held.throttled > 100, "{facts:?}");
        assert_eq!(trials[0].service.quota.map(|facts| facts.origin == QuotaOrigin::Experiment), None);
        let lead_in = |window: &WindowRecord| window.kind == WindowKind::LeadIn;
        let first = trials[1].windows.iter().find(|window| lead_in(window)).unwrap();
        assert!(
            took(first) > Nanoseconds::from_millis(40),
            "the first period is lead-in, and it took {}",
            took(first)
        );
        // A probe that spins by the clock goes on with the request that was held up at the end of its share.
        let (half, whole) = (Speed::reached_in(&trials[1]), Speed::reached_in(&trials[0]));
        let ratio = half.rate / whole.rate;
        assert!((ratio - 0.5).abs() < 0.1, "throughput is {ratio} of the whole");
        // What a host takes away from a whole core is not taken from the half that the quota leaves.
        assert!((half.cores - 0.5).abs() < 0.03, "{} cores, where 0.5 are left", half.cores);
        let expected = half.cores / whole.cores;
        assert!((ratio - expected).abs() < 0.02, "throughput is {ratio} of the whole, CPU time {expected}");
    });
}

fn measured(trial: &TrialRecord) -> impl Iterator<Item = &WindowRecord> {
    trial.windows.iter().filter(|window| window.kind == WindowKind::Measured)
}

fn took(window: &WindowRecord) -> Nanoseconds {
    window.figures.ended.since(window.figures.started)
}

/// How fast a variant was over all its measured windows.
struct Speed {
    /// Requests a second.
    rate: f64,
    /// CPU time a second.
    cores: f64,
}

impl Speed {
    fn reached_in(trial: &TrialRecord) -> Self {
        let requests: u64 = measured(trial).map(|window| window.figures.requests).sum();
        let rate = requests as f64 / measured(trial).map(took).sum::<Nanoseconds>().as_secs_f64();
        // Told with the lead-ins.
        let roles = || measured(trial).flat_map(|window| &window.cpu);
        let cpu = roles().map(|role| role.cpu).sum::<Nanoseconds>().as_secs_f64();
        Self { rate, cores: rate * cpu / roles().map(|role| role.requests).sum::<u64>() as f64 }
    }
}

/// Starts probes pinned away from the client's core.
pub struct TestBench {
    lab: Lab,
    cores: CoreLayout,
    logs: TempDir,
}

impl TestBench {
    pub fn new() -> Self {
        let cores = CoreLayout::detect().unwrap();
        Self { lab: Lab::new("accuracy", None, None), cores, logs: TempDir::new().unwrap() }
    }

    pub fn start(&self, name: &str, arguments: &[&str]) -> Running {
        let log = |stream: &str| self.logs.path().join(format!("{name}.{stream}"));
        let launch = Launch {
            name: name.to_owned(),
            command: [&[WEIGH], arguments].concat().into_iter().map(str::to_owned).collect(),
            environment: Vec::new(),
            folder: None,
            host: std::net::Ipv4Addr::LOCALHOST.into(),
            cores: Some(self.cores.service().to_vec()),
            stdout: log("out"),
            stderr: log("err"),
            ready: Ready::Line,
            ready_timeout: Nanoseconds::from_secs(20),
            wrapping: Wrapping::None,
        };
        self.lab.launch(&launch).unwrap()
    }

    pub fn close(self) {
        self.lab.close().unwrap();
    }
}

/// Open Poisson load in windows of whole busy cycles on a server at `port`: every request of every window.
pub fn open_windows(port: u16, rate: f64, windows: u64) -> Vec<Vec<RequestRecord>> {
    let text = "[workload]\nname='pingpong'\nsize='64 B'\n[[variant]]\nservice='x'";
    let point = Experiment::parse("open", text).unwrap().points.remove(0);
    let address = Address {
        authority: format!("127.0.0.1:{port}"),
        base: "/".to_owned(),
        scheme: UrlScheme::default(),
    };
    let workload =
        Workload::new(&point.workload, &point.load, Protocol::HTTP1_JSON, &address, &|_| None).unwrap();
    let dial = SocketDial::to(VariantId(0), resolve("127.0.0.1", port).unwrap());
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).unwrap();
    let settings = Settings { connections: 64, ..Settings::default() };
    generator.attach(VariantId(0), settings, workload.framing(), workload.sessions());
    generator.connect(VariantId(0)).unwrap();
    let mut window = |substream: u64| {
        let end = OpenEnd::BusyCycles(Nanoseconds::from_millis(100));
        let rate = PerSecond::new(rate).unwrap();
        let load = Load::Open { flow: Flow::steady(rate, Arrivals::Poisson), queue: QUEUE, end };
        let spec = WindowSpec { substream, load, recording: Recording::Exact };
        let mut samples = Vec::new();
        let report =
            generator.run(VariantId(0), &spec, &mut Tallies::default(), Some(&mut samples), None).unwrap();
        assert_eq!(report.figures.end, WindowEnd::Complete);
        assert!(samples.iter().all(|sample| sample.outcome == Outcome::Ok));
        samples.sort_by_key(|sample| sample.due);
        samples
    };
    (0..windows).map(&mut window).collect()
}

/// Mean response by the Lindley recursion over each window's schedule and the time each request occupied the server.
fn lindley(windows: &[Vec<RequestRecord>], served: &[Served]) -> f64 {
    let (mut next, mut sum, mut count) = (served.iter(), 0.0, 0u64);
    for window in windows {
        let mut free = 0;
        for request in window {
            let due = request.due.as_nanos();
            let occupied = next.next().expect("every request was served").occupied().as_nanos();
            free = free.max(due) + occupied;
            sum += (free - due) as f64;
            count += 1;
        }
    }
    sum / count as f64
}

/// A probe that takes `mean` milliseconds, exponentially, at this share of what it can serve.
fn queue_is_as_the_recursion_says(utilisation: f64, mean: u32) {
    pin_current_thread(CoreLayout::detect().unwrap().client()).unwrap();
    let bench = TestBench::new();
    let null = bench.start("null", &["probe", "null"]);
    let base = open_windows(null.port(), 500.0, 20);
    let base = median(base.iter().flatten().map(|r| r.done.since(r.due).as_nanos()).collect());
    null.stop(GRACE);
    let record = bench.logs.path().join("record");
    let folder = record.display().to_string();
    let probe =
        bench.start("queue", &["probe", "delay", &format!("exponential:mean={mean}ms"), "--record", &folder]);
    let windows = open_windows(probe.port(), utilisation * 1_000.0 / f64::from(mean), 150);
    probe.stop(GRACE);
    let served = read_record(&record);
    bench.close();
    let requests: usize = windows.iter().map(Vec::len).sum();
    assert_eq!(served.len(), requests, "the probe recorded every request");
    let sum: u64 = windows.iter().flatten().map(|r| r.done.since(r.due).as_nanos()).sum();
    let measured = sum as f64 / requests as f64;
    let expected = lindley(&windows, &served) + base;
    let error = (measured / expected - 1.0) * 100.0;
    let said = format!("measured {measured:.0} ns, recursion + null {expected:.0} ns ({error:+.2} %)");
    assert!(error.abs() < 3.0, "{said}");
}

fn read_record(folder: &Path) -> Vec<Served> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    from_csv(&std::fs::read_to_string(&files[0]).unwrap()).unwrap()
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_real_queue_at_half_load_is_as_the_recursion_says() {
    measuring(|| queue_is_as_the_recursion_says(0.5, 1));
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_real_queue_at_nine_tenths_load_is_as_the_recursion_says() {
    // What the probe does between two requests is in no record of its own, and near saturation it counts ten times: with
    // longer requests it is a smaller share.
    measuring(|| queue_is_as_the_recursion_says(0.9, 4));
}

/// A probe with a delay beside one without, in open load at a low rate; returns the run and the median of what the probe
/// says that it spent. The rule finds by itself that variants are to be sent to in turn, request by request.
fn planted_delay_at(rate: &str, delay: &str, budget: &str) -> (Run, f64) {
    let run = Run::measure(&format!(
        "title = 'planted {delay} at {rate}'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [load]\nmodel = 'open'\nrate = '{rate}'\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = '{budget}'\n\
         [[variant]]\nname = 'null'\ncommand = ['WEIGH', 'probe', 'null']\n\
         [[variant]]\nname = 'busy'\ncommand = ['WEIGH', 'probe', 'delay', '{delay}', '--record', 'DIR/record']\n",
    ));
    assert_eq!(run.summary["pairings"][0]["pairing"], "requests");
    let spent: Vec<u64> = run.probe_records().iter().map(|served| served.spent().as_nanos()).collect();
    (run, median(spent))
}

/// The cost of a planted delay in p50, within its interval and a tolerance (in nanoseconds).
fn low_rate_gives_valid_costs(rate: &str, delay: &str, budget: &str, tolerance: f64) {
    let (run, spent) = planted_delay_at(rate, delay, budget);
    let validity = run.summary["validity"].as_str().unwrap().to_owned();
    assert!(validity == "valid", "{validity}: {}", run.summary["findings"]);
    let found = run.difference("response_p50");
    assert!(found.allows(spent, tolerance), "{found:?} against {spent} ns spent");
    assert!((found.point - spent).abs() < 2.0 * tolerance, "{found:?} against {spent} ns spent");
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn two_milliseconds_at_10_a_second_are_found_request_by_request() {
    measuring(|| low_rate_gives_valid_costs("10/s", "2ms", "36 s", 40_000.0));
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn two_hundred_microseconds_at_100_a_second_are_found_request_by_request() {
    measuring(|| low_rate_gives_valid_costs("100/s", "200us", "30 s", 10_000.0));
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_real_queue_at_four_fifths_load_is_as_the_recursion_says() {
    measuring(|| queue_is_as_the_recursion_says(0.8, 1));
}
