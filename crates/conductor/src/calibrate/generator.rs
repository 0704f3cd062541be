//! Measures the generator against probes whose behaviour is known: errors by request, punctuality, ceilings.
//!
//! It interprets no law: the probe's record is the truth.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use weighbridge_judge::calibration::{Replayed, beyond, error_curve, replay};
use weighbridge_lab::cleanup::guardian::{Guardian, GuardianError};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::CoreLayout;
use weighbridge_lab::host::scheduler_jitter;
use weighbridge_lab::process::launch::{Lab, Launch, LaunchError, Ready, Wrapping};
use weighbridge_lab::process::{GRACE, Running};
use weighbridge_load::Framing;
use weighbridge_load::exchange::{ExchangeError, Limits, exchange};
use weighbridge_load::generator::{ConnectError, LoopOptions, RunError, Waiting as LoopWaiting, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::request::{RenderError, Request};
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::calibration::{
    CALIBRATION_VERSION, Ceiling, ErrorCurve, GeneratorCalibration, HostGaps, Pacing, Waiting,
};
use weighbridge_model::experiment::{Arrivals, LoadSpec, PingpongSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::idle::Idle;
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::{Outcome, RequestRecord, Tallies, WindowFigures};
use weighbridge_probe::record::{CsvError, from_csv};
use weighbridge_workload::{Address, UrlScheme, Workload, WorkloadError};

use crate::block::client::{Client, ClientError, waiting};
use crate::control::{Control, ControlRequest};
use crate::prepare::idle::IdleCores;

/// The law without delay, whose errors are those of kernel and wire; the other laws are compared with it.
const NO_DELAY: &str = "constant:time=0ns";

/// The laws with the mean time of a request, which sets the rate of open load; the first is [`NO_DELAY`].
const LAWS: [(&str, Nanoseconds); 7] = [
    (NO_DELAY, Nanoseconds::ZERO),
    ("constant:time=100us", Nanoseconds::from_micros(100)),
    ("constant:time=1ms", Nanoseconds::from_millis(1)),
    ("constant:time=10ms", Nanoseconds::from_millis(10)),
    ("exponential:mean=1ms", Nanoseconds::from_millis(1)),
    ("bimodal:low=100us,high=2ms,share=5%", Nanoseconds::from_micros(195)),
    ("stall", Nanoseconds::from_micros(500)),
];

/// A probe's rough time for a request besides the law's; it only sets the rate of open load.
const OVERHEAD: Nanoseconds = Nanoseconds::from_micros(20);

/// Open load keeps a probe busy for one in this many parts of its time.
const BUSY_TO_ALL: u64 = 2;

/// Rates per second at which punctuality is measured.
const RATES: [u64; 3] = [1_000, 10_000, 40_000];

/// Connections and requests in flight at which the ceiling is measured.
const CEILINGS: [(u32, u32); 4] = [(1, 1), (16, 1), (256, 1), (16, 8)];

const VARIANT: VariantId = VariantId(0);

#[derive(Debug, Clone)]
pub struct Calibration<'a> {
    /// Program and first arguments of a probe; the law's arguments follow.
    pub probe: &'a [String],
    pub guardian: &'a (std::path::PathBuf, String),
    pub logs: &'a Path,
    /// Requests for each law and shape: 2,000 is the fewest that give a 99th percentile.
    pub requests: u64,
    /// Length of each measurement of punctuality and ceiling.
    pub duration: Nanoseconds,
    pub control: Control,
}

#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    #[error("could not read which cores this process may use: {0}")]
    Cores(#[source] std::io::Error),
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the generator failed: {0}")]
    Run(#[from] RunError),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("the probe gave no record: {0}")]
    Exchange(#[from] ExchangeError),
    #[error("the probe's record cannot be read: {0}")]
    Record(#[from] CsvError),
    #[error(
        "`{law}`, {shape}: {requests} requests were answered and the probe recorded {recorded}; run it again"
    )]
    Mismatch {
        law: String,
        shape: String,
        requests: usize,
        /// Requests in the probe's record.
        recorded: usize,
    },
    #[error("interrupted; a calibration keeps nothing of its parts")]
    Interrupted,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    name: &'static str,
    connections: u32,
    model: Option<Arrivals>,
}

const SHAPES: [Shape; 4] = [
    Shape { name: "closed, 1 connection", connections: 1, model: None },
    Shape { name: "closed, 16 connections", connections: 16, model: None },
    Shape { name: "open, constant", connections: 16, model: Some(Arrivals::Constant) },
    Shape { name: "open, Poisson", connections: 16, model: Some(Arrivals::Poisson) },
];

/// Calibrates the generator on this host. `progress` receives each part's name as it begins. After an error
/// nothing keeps running.
pub fn generator(
    calibration: &Calibration<'_>,
    progress: &mut dyn FnMut(&str),
) -> Result<GeneratorCalibration, CalibrateError> {
    let begun = monotonic_now();
    let cores = CoreLayout::detect().map_err(|error| CalibrateError::Cores(std::io::Error::other(error)))?;
    let (program, verb) = calibration.guardian;
    let name = format!("calibrate-{}", std::process::id());
    let lab = Lab::new(&name, Some(Guardian::start(program, verb)?), None)
        .cancelled_by(calibration.control.window.clone());
    let idle = IdleCores::for_load(Idle::Polled, Vec::new());
    if let Some(text) = idle.refused() {
        progress(&text);
    }
    let session = GeneratorSession { calibration, cores: &cores, lab: &lab, idle: &idle };
    progress("what others take of the client's core");
    let gaps = host_gaps(&cores, calibration.duration);
    let mut errors = Vec::new();
    for (law, mean) in LAWS {
        for shape in SHAPES {
            progress(&format!("{law}, {}", shape.name));
            errors.push(session.errors(law, mean, shape)?);
        }
    }
    beyond(&mut errors, NO_DELAY);
    let mut pacing = Vec::new();
    for rate in RATES {
        for waiting in [Waiting::Sleeping, Waiting::Spinning] {
            progress(&format!("open load of {rate}/s, {waiting:?}"));
            let rate = PerSecond::from_count(rate, Nanoseconds::from_secs(1));
            pacing.push(session.pacing(rate, waiting)?);
        }
    }
    let mut ceilings = Vec::new();
    for (connections, in_flight) in CEILINGS {
        progress(&format!("ceiling, {connections} connections × {in_flight}"));
        ceilings.push(session.ceiling(connections, in_flight)?);
    }
    // The guardian ends what the tracker could not.
    let _ = lab.close();
    let took = monotonic_now().since(begun);
    let idle = idle.wait().clone();
    Ok(GeneratorCalibration { schema: CALIBRATION_VERSION, idle, gaps, errors, pacing, ceilings, took })
}

/// Gaps that other programs cause on the client's core. A calibration works without them too.
fn host_gaps(cores: &CoreLayout, time: Nanoseconds) -> Option<HostGaps> {
    let seen = scheduler_jitter::watch(cores, time).ok()?;
    Some(HostGaps {
        watched: seen.watched,
        share: Ratio::new(seen.share()),
        rate: PerSecond::new(seen.per_second())?,
        longest: seen.longest,
    })
}

struct GeneratorSession<'a> {
    calibration: &'a Calibration<'a>,
    cores: &'a CoreLayout,
    lab: &'a Lab,
    idle: &'a IdleCores,
}

#[derive(Debug, Clone)]
struct ProbeLoad<'a> {
    law: &'a str,
    settings: Settings,
    options: LoopOptions,
    load: Load,
    keep: Keep,
}

struct Measured {
    figures: WindowFigures,
    tallies: Tallies,
    samples: Vec<RequestRecord>,
    occupied: Vec<Nanoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Requests,
    Sums,
}

impl GeneratorSession<'_> {
    fn errors(&self, law: &str, mean: Nanoseconds, shape: Shape) -> Result<ErrorCurve, CalibrateError> {
        // At least a second of requests, since a gap of some milliseconds must stay below the 99th
        // percentile.
        let second = Nanoseconds::from_secs(1).as_nanos() / (mean + OVERHEAD).as_nanos();
        let stop = Stop::Count(self.calibration.requests.max(second));
        let load = match shape.model {
            None => Load::Closed(stop),
            Some(arrivals) => open(PerSecond::from_count(1, (mean + OVERHEAD) * BUSY_TO_ALL), arrivals, stop),
        };
        let settings = Settings { connections: shape.connections, ..Settings::default() };
        // As in compared windows.
        let options =
            LoopOptions { waiting: waiting(Some(self.cores.client()), self.cores), ..LoopOptions::default() };
        let measured = self.measure(&ProbeLoad { law, settings, options, load, keep: Keep::Requests })?;
        let replayed: Option<Vec<Replayed>> = replay(&measured.samples, &measured.occupied);
        replayed.and_then(|replayed| error_curve(law, shape.name, &replayed)).ok_or_else(|| {
            CalibrateError::Mismatch {
                law: law.to_owned(),
                shape: shape.name.to_owned(),
                requests: measured.samples.len(),
                recorded: measured.occupied.len(),
            }
        })
    }

    fn pacing(&self, rate: PerSecond, waiting: Waiting) -> Result<Pacing, CalibrateError> {
        // `--wait asleep` and `--wait awake` of `weigh load`.
        let how = match waiting {
            Waiting::Sleeping => LoopWaiting::Asleep,
            Waiting::Spinning => LoopWaiting::Awake,
        };
        let load = open(rate, Arrivals::Poisson, Stop::Time(self.calibration.duration));
        let settings = Settings { connections: 16, ..Settings::default() };
        let options = LoopOptions { waiting: how, ..LoopOptions::default() };
        let measured = self.measure(&ProbeLoad { law: "null", settings, options, load, keep: Keep::Sums })?;
        let (figures, lag) = (&measured.figures, &measured.tallies.lag);
        let good = figures.good();
        Ok(Pacing {
            rate,
            waiting,
            due: figures.requests,
            achieved: Ratio::new(good as f64 / figures.requests.max(1) as f64),
            lag_p50: Nanoseconds::from_nanos(lag.value_at_quantile(0.5)),
            lag_p99: Nanoseconds::from_nanos(lag.value_at_quantile(0.99)),
        })
    }

    fn ceiling(&self, connections: u32, in_flight: u32) -> Result<Ceiling, CalibrateError> {
        let load = Load::Closed(Stop::Time(self.calibration.duration));
        let settings = Settings { connections, in_flight, ..Settings::default() };
        // The default of `weigh load`.
        let options = LoopOptions { waiting: LoopWaiting::AwakeIfBrief, ..LoopOptions::default() };
        let measured = self.measure(&ProbeLoad { law: "null", settings, options, load, keep: Keep::Sums })?;
        let figures = &measured.figures;
        let good = figures.good();
        let per = |time: Nanoseconds| PerSecond::from_count(good, time);
        Ok(Ceiling {
            connections,
            in_flight,
            throughput: per(figures.ended.since(figures.started)),
            per_cpu_second: per(figures.health.cpu),
        })
    }

    /// Measures on a fresh probe, and again if this process was suspended meanwhile (Ctrl-Z).
    fn measure(&self, asked: &ProbeLoad<'_>) -> Result<Measured, CalibrateError> {
        let control = &self.calibration.control;
        loop {
            // When dropped at the end of an attempt, it suspends this process if that was requested.
            let _engaged = control.engage();
            self.idle.set(Idle::Polled);
            let measured = self.measure_once(asked);
            // Idle cores may sleep while this process is suspended.
            self.idle.set(Idle::Host);
            match control.request() {
                ControlRequest::Suspend => {}
                ControlRequest::Interrupt => return Err(CalibrateError::Interrupted),
                ControlRequest::GoOn => return measured,
            }
        }
    }

    fn measure_once(&self, asked: &ProbeLoad<'_>) -> Result<Measured, CalibrateError> {
        let probe = self.start(asked.law)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, probe.port()));
        let measured = self.drive(address, asked.clone());
        let measured = measured.and_then(|mut measured| {
            if asked.keep == Keep::Requests {
                measured.occupied = fetch_record(address)?;
            }
            Ok(measured)
        });
        probe.stop(GRACE);
        measured
    }

    fn start(&self, law: &str) -> Result<Running, CalibrateError> {
        let at = (self.calibration.requests / 4).to_string();
        let words: Vec<&str> = match law {
            "null" => vec!["null"],
            "stall" => vec!["stall", "--at", &at, "--length", "1s"],
            law => vec!["delay", law],
        };
        let log = self.calibration.logs.join("probe.log");
        let launch = Launch {
            name: "probe".to_owned(),
            command: self
                .calibration
                .probe
                .iter()
                .cloned()
                .chain(words.into_iter().map(str::to_owned))
                .collect(),
            environment: Vec::new(),
            folder: None,
            host: Ipv4Addr::LOCALHOST.into(),
            cores: Some(self.cores.service().to_vec()),
            stdout: log.clone(),
            stderr: log,
            ready: Ready::Line,
            ready_timeout: Nanoseconds::from_secs(20),
            wrapping: Wrapping::None,
        };
        Ok(self.lab.launch(&launch)?)
    }

    fn drive(&self, address: SocketAddr, asked: ProbeLoad<'_>) -> Result<Measured, CalibrateError> {
        let ProbeLoad { settings, options, load, keep, .. } = asked;
        let workload = pong(address)?;
        let cut = self.calibration.control.window.clone();
        let client = Client::start_with(Some(self.cores.client()), LoopOptions { stop: cut, ..options })?;
        client.direct(VARIANT, vec![address]);
        client.call(move |generator| {
            generator.attach(VARIANT, settings, workload.framing(), workload.sessions());
            generator.connect(VARIANT)?;
            let (mut tallies, mut samples) = (Tallies::default(), Vec::new());
            let recording = Recording::Batched;
            let spec = WindowSpec { substream: 1, load, recording };
            let samples_wanted = (keep == Keep::Requests).then_some(&mut samples);
            let report = generator.run(VARIANT, &spec, &mut tallies, samples_wanted, None)?;
            samples.retain(|request| request.outcome == Outcome::Ok);
            Ok(Measured { figures: report.figures, tallies, samples, occupied: Vec::new() })
        })
    }
}

fn open(rate: PerSecond, arrivals: Arrivals, stop: Stop) -> Load {
    let end = OpenEnd::Drain { stop, limit: Nanoseconds::from_secs(10) };
    Load::Open { flow: Flow::steady(rate, arrivals), queue: QUEUE, end }
}

fn pong(address: SocketAddr) -> Result<Workload, WorkloadError> {
    let spec = WorkloadSpec::Pingpong(PingpongSpec::new(vec![Bytes::new(64)]));
    let load =
        LoadSpec { timeout: Nanoseconds::from_secs(10), warmup: Nanoseconds::ZERO, ..LoadSpec::default() };
    let address =
        Address { authority: address.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    Workload::new(&spec, &load, Protocol::HTTP1_JSON, &address, &|_| None)
}

/// How long requests occupied the probe, in the order of service.
fn fetch_record(address: SocketAddr) -> Result<Vec<Nanoseconds>, CalibrateError> {
    let request = Request {
        method: "GET".to_owned(),
        target: "/probe/record".to_owned(),
        authority: address.to_string(),
        ..Request::default()
    };
    let rendered = Framing::Http1.render(OperationId(0), &request)?;
    let limits = Limits { timeout: Nanoseconds::from_secs(30), body: Bytes::new(1 << 30), stop: None };
    let reply = exchange(&[address], Framing::Http1, &rendered, limits)?;
    let served = from_csv(&String::from_utf8_lossy(&reply.body))?;
    Ok(served.iter().map(|served| served.occupied()).collect())
}
