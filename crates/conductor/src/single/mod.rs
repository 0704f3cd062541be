//! One server under one load, without blocks or variants: what `weigh load URL` measures.

mod watch;

use std::path::PathBuf;

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::{CoreId, CoreLayout, pin_current_thread};
use weighbridge_lab::host::resource_limits::ResourceLimitError;
use weighbridge_load::dial::{Endpoint, ResolveError, SocketDial};
use weighbridge_load::failures::Failures;
use weighbridge_load::generator::{self, ConnectError, Generator, Trouble, Waiting, WindowSpec};
use weighbridge_load::pace::Part;
use weighbridge_load::window::{OpenEnd, Stop};
use weighbridge_load::{Recording, Settings, Stack, TlsClient};
use weighbridge_model::experiment::{LoadSpec, Protocol, TlsSpec, Url, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::idle::{Idle, IdleWait};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{Handshakes, Tallies, WindowEnd, WindowFigures};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::{Address, Workload, WorkloadError};

use crate::block::client::settings;
use crate::block::common_start::CommonStart;
use crate::control::{Control, ControlRequest};
use crate::failures::{self, FailureText};
use crate::prepare::connections;
use crate::prepare::cores::client_cores;
use crate::prepare::idle::IdleCores;
use crate::prepare::launch_spec::endpoints;
use crate::prepare::secrets;
use crate::prepare::shapes::{Shape, Slice};
use crate::tls::{self, TlsError, scheme};
pub use watch::Seen;
use watch::{ThreadProgress, Watcher};

/// The problem where servers leave the client no core.
const SHARING: &str = "client and server share a core";

const SHARING_AWAKE: &str =
    "the generator waits awake on a core that is not its own; leave `--wait` out, or use fewer threads";

/// The last part of the time between two arrivals that a thread with a core of its own waits awake: a core that sleeps, or
/// does something else, is not back at once. A quarter leaves the rest of its core to others.
const AWAKE_SHARE: f64 = 0.25;
/// The most of that, in open load at low rates.
const AWAKE_MOST: Nanoseconds = Nanoseconds::from_micros(500);

/// Threads that share a flow begin this long after the last of them is ready.
const HEAD_START: Nanoseconds = Nanoseconds::from_millis(2);

const VARIANT: VariantId = VariantId(0);

#[derive(Debug, Clone)]
pub struct LoadJob {
    pub url: Url,
    /// `None` for plain text.
    pub tls: Option<TlsSpec>,
    /// Host and port to connect to in place of the URL's.
    pub connect_to: Option<(String, u16)>,
    pub unix: Option<PathBuf>,
    pub protocol: Protocol,
    pub workload: WorkloadSpec,
    /// Its warm-up is time of load before measuring.
    pub load: LoadSpec,
    /// The same load, ready to be cut into windows.
    pub shape: Shape,
    pub stop: Stop,
    /// Each has its share of connections, rate and count.
    pub threads: u32,
    /// How each thread waits for replies and arrivals.
    pub waiting: Waiting,
    pub idle: Idle,
    /// Seed of the request stream and the arrivals.
    pub seed: u64,
    pub control: Control,
}

#[derive(Debug)]
pub struct SingleRecord {
    pub windows: Vec<WindowFigures>,
    /// Merged from all threads.
    pub tallies: Tallies,
    /// What made a thread give up.
    pub trouble: Option<Trouble>,
    /// All connections that were opened, before and while measuring.
    pub connects: u64,
    /// Requests that were in flight when the user stopped it; they are errors of kind `reset`.
    pub given_up: u64,
    /// The problem where client and server share a core.
    pub sharing: Option<String>,
    pub idle: IdleWait,
    pub ending: Ending,
    /// Texts of failed requests, the most frequent first.
    pub failures: Vec<FailureText>,
    /// Failures with other texts than those.
    pub failures_unlisted: u64,
    /// How often the load started again because this process was suspended.
    pub restarts: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// The user asked to stop; the figures cover what was answered until then.
    Interrupted,
}

#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Room(#[from] ResourceLimitError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the generator failed: {0}")]
    Run(#[from] generator::RunError),
    #[error("could not start the generator: {0}; check the limits of open files and threads")]
    Start(#[from] std::io::Error),
    #[error("interrupted before anything was sent")]
    Interrupted,
    #[error(
        "{threads} threads need at least as many connections, not {connections}; give more connections or fewer threads"
    )]
    Threads { threads: u32, connections: u32 },
}

/// Applies the load to the server. `watch` receives a few times a second what all threads have seen. It runs
/// on the calling thread, which stays off the generator's cores if there are others.
///
/// Where this process is suspended (Ctrl-Z), the attempt is discarded and starts again once continued: a load
/// with a pause is not the load that was asked for. Failed requests are figures, not errors.
pub fn run(job: &LoadJob, mut watch: Option<&mut dyn FnMut(&Seen)>) -> Result<SingleRecord, SingleError> {
    let (threads, connections) = (job.threads, job.load.connections);
    if threads > connections {
        return Err(SingleError::Threads { threads, connections });
    }
    let mut target = job.url.clone();
    if let Some((host, port)) = job.connect_to.clone() {
        (target.host, target.port) = (host, port);
    }
    let addresses = endpoints(&target, job.unix.as_deref())?;
    connections::ensure_for_threads(&addresses, connections, threads)?;
    let layout = CoreLayout::detect().ok();
    let cores = layout.as_ref().map(|layout| client_cores(layout, &addresses, threads as usize));
    let sharing = cores.as_ref().and_then(|cores| sharing(cores, threads, job.waiting)).map(str::to_owned);
    let cores = cores.unwrap_or_default();
    let spare = layout.as_ref().and_then(|layout| watch::spare_core(layout, &cores));
    let address = Address {
        authority: job.url.authority(),
        base: job.url.path.clone(),
        scheme: scheme(job.tls.as_ref()),
    };
    let environment = |name: &str| std::env::var(name).ok();
    let workload = Workload::new(&job.workload, &job.load, job.protocol, &address, &environment)?;
    let tls = job.tls.as_ref().map(|spec| tls::client(spec, &job.url.host, None)).transpose()?;
    let idle = IdleCores::for_load(job.idle, Vec::new());
    let mut restarts = 0;
    loop {
        // When dropped at the end of an attempt, it suspends this process if that was requested.
        let _engaged = job.control.engage();
        idle.set(job.idle);
        let watcher = watch.as_deref_mut().map(|report| Watcher { report, core: spare });
        let context = ThreadContext { workload: &workload, tls: tls.as_ref() };
        let shares = attempt(job, &cores, &addresses, context, watcher);
        // Idle cores may sleep while this process is suspended.
        idle.set(Idle::Host);
        let cut = shares.as_ref().map_or(true, |shares| shares.iter().any(ThreadResult::is_cut));
        match job.control.request() {
            ControlRequest::Suspend if cut => {
                restarts += 1;
                continue;
            }
            ControlRequest::Interrupt if shares.is_err() => return Err(SingleError::Interrupted),
            _ => {}
        }
        let ending = if cut && job.control.is_interrupted() { Ending::Interrupted } else { Ending::Complete };
        let mut record = SingleRecord {
            windows: Vec::new(),
            tallies: Tallies::default(),
            trouble: None,
            connects: 0,
            given_up: 0,
            sharing,
            idle: idle.wait().clone(),
            ending,
            failures: Vec::new(),
            failures_unlisted: 0,
            restarts,
        };
        let mut said = Failures::default();
        for share in shares? {
            said.merge(&share.failures);
            record.add(share);
        }
        let secrets = Secrets::new(secrets::workload_secrets(&job.workload, &environment));
        record.failures = failures::shown(&said, &secrets);
        record.failures_unlisted = said.unlisted();
        return Ok(record);
    }
}

impl SingleRecord {
    fn add(&mut self, share: ThreadResult) {
        self.windows.push(share.figures);
        self.tallies.merge(&share.tallies);
        self.trouble = self.trouble.take().or(share.trouble);
        self.connects += share.connects;
        self.given_up += share.given_up;
    }
}

/// How long before an arrival a thread with a core of its own stops sleeping; zero in closed load.
fn awake_before(arrivals_per_second: Option<f64>) -> Nanoseconds {
    let gap = arrivals_per_second.filter(|rate| *rate > 0.0).map(f64::recip);
    gap.map_or(Nanoseconds::ZERO, |gap| Nanoseconds::from_secs_f64(gap * AWAKE_SHARE).min(AWAKE_MOST))
}

fn sharing(cores: &[CoreId], threads: u32, waiting: Waiting) -> Option<&'static str> {
    match (cores.is_empty(), threads, waiting) {
        (true, _, Waiting::Awake) => Some(SHARING_AWAKE),
        (true, 1, _) => Some(SHARING),
        // Several threads without enough cores are left to the scheduler without a warning.
        _ => None,
    }
}

#[derive(Debug, Clone, Copy)]
struct ThreadContext<'a> {
    workload: &'a Workload,
    tls: Option<&'a TlsClient>,
}

fn attempt(
    job: &LoadJob,
    cores: &[CoreId],
    addresses: &[Endpoint],
    context: ThreadContext<'_>,
    watcher: Option<Watcher<'_>>,
) -> Result<Vec<ThreadResult>, SingleError> {
    let watched = watcher.is_some();
    let progress: Vec<ThreadProgress> = (0..job.threads).map(|_| ThreadProgress::new(watched)).collect();
    let start = CommonStart::new(job.threads as usize, HEAD_START);
    let own = std::thread::current();
    std::thread::scope(|scope| {
        let spawn = |thread: u32| {
            let (progress, start, own) = (&progress[thread as usize], &start, own.clone());
            let core = cores.get(thread as usize).copied();
            scope.spawn(move || {
                let share = ThreadShare { job, thread, start, progress };
                let shared = share.run(core, addresses.to_vec(), context);
                own.unpark();
                shared
            })
        };
        let handles: Vec<_> = (0..job.threads).map(spawn).collect();
        if let Some(watcher) = watcher {
            watcher.watch(&progress, &|| handles.iter().all(std::thread::ScopedJoinHandle::is_finished));
        }
        // Wait for all, so that no thread still sends when the first error is returned.
        let results: Vec<_> =
            handles.into_iter().map(|handle| handle.join().expect("the generator does not panic")).collect();
        results.into_iter().collect()
    })
}

struct ThreadShare<'a> {
    job: &'a LoadJob,
    thread: u32,
    /// The common start of all threads, so that their parts of a flow fit together.
    start: &'a CommonStart,
    progress: &'a ThreadProgress,
}

#[derive(Debug)]
struct ThreadResult {
    figures: WindowFigures,
    tallies: Tallies,
    trouble: Option<Trouble>,
    connects: u64,
    given_up: u64,
    failures: Failures,
}

impl ThreadResult {
    fn is_cut(&self) -> bool {
        self.figures.end == WindowEnd::Aborted && self.trouble.is_none()
    }
}

impl ThreadShare<'_> {
    fn run(
        &self,
        core: Option<CoreId>,
        addresses: Vec<Endpoint>,
        context: ThreadContext<'_>,
    ) -> Result<ThreadResult, SingleError> {
        weighbridge_load::own_files();
        // A thread that cannot be pinned still measures; the self-check detects the effect.
        let _ = core.map(pin_current_thread);
        let prepared = self.prepare(addresses, core, context);
        // A single thread starts at once.
        let origin = (self.job.threads > 1).then(|| self.start.meet());
        let (mut generator, handshakes) = prepared?;
        let stop = match self.job.stop {
            Stop::Count(count) => Stop::Count(self.part(count)),
            time @ Stop::Time(_) => time,
        };
        let mut tallies = Tallies { handshakes, ..Tallies::default() };
        let window = self.window(stop, 1, origin);
        let mut show = |progress| self.progress.show(progress);
        let watched = self.progress.is_watched().then_some(&mut show as &mut dyn FnMut(_));
        let mut report = generator.run(VARIANT, &window, &mut tallies, None, watched)?;
        if report.figures.end == WindowEnd::Aborted && report.figures.ended < report.figures.started {
            report.figures.ended = monotonic_now();
        }
        let generator::WindowReport { figures, trouble, given_up, failures, .. } = report;
        let connects = generator.connects(VARIANT);
        Ok(ThreadResult { figures, tallies, trouble, connects, given_up, failures })
    }

    /// Opens the connections and warms the server up. Returns the handshakes too.
    fn prepare(
        &self,
        addresses: Vec<Endpoint>,
        core: Option<CoreId>,
        context: ThreadContext<'_>,
    ) -> Result<(Generator, Handshakes), SingleError> {
        let usual = generator::LoopOptions::default();
        let rate = self.job.shape.request_rate().map(|rate| rate.get() / f64::from(self.job.threads));
        let options = generator::LoopOptions {
            waiting: self.job.waiting,
            spin: match core {
                Some(_) if self.job.waiting != Waiting::Asleep => awake_before(rate).max(usual.spin),
                _ => usual.spin,
            },
            stop: self.job.control.window.clone(),
            times: self.progress.times(),
        };
        let mut generator = Generator::new(Box::new(SocketDial::to(VARIANT, addresses)), options)?;
        let load = &self.job.load;
        let settings =
            Settings { connections: self.part(u64::from(load.connections)) as u32, ..settings(load) };
        let stack = Stack { framing: context.workload.framing(), tls: context.tls.cloned() };
        generator.attach(VARIANT, settings, stack, context.workload.sessions());
        let connected = generator.connect(VARIANT)?;
        if load.warmup > Nanoseconds::ZERO {
            let spec = self.window(Stop::Time(load.warmup), 0, None);
            generator.run(VARIANT, &spec, &mut Tallies::default(), None, None)?;
        }
        Ok((generator, connected.handshakes))
    }

    fn window(&self, stop: Stop, stream: u64, origin: Option<Timestamp>) -> WindowSpec {
        let end = OpenEnd::Drain { stop, limit: self.job.load.timeout };
        let part = Part { index: self.thread, of: self.job.threads };
        let slice = Slice { offset: Nanoseconds::ZERO, part, origin };
        let load = self.job.shape.window(stop, end, slice);
        // Each thread reads streams of its own.
        let substream = self.job.seed.wrapping_add((u64::from(self.thread) * 2 + stream) << 32);
        WindowSpec { substream, load, recording: Recording::Batched }
    }

    fn part(&self, whole: u64) -> u64 {
        part(whole, self.thread, self.job.threads)
    }
}

/// A thread's part of `whole`; the first threads take the remainder.
fn part(whole: u64, thread: u32, threads: u32) -> u64 {
    let threads = u64::from(threads);
    whole / threads + u64::from(u64::from(thread) < whole % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_awake_for_a_quarter_of_the_time_at_most() {
        let micros = |rate: Option<f64>| awake_before(rate).as_nanos() / 1_000;
        assert_eq!([100.0, 500.0, 2_000.0, 20_000.0].map(|rate| micros(Some(rate))), [500, 500, 125, 12]);
        assert_eq!((micros(None), micros(Some(0.0))), (0, 0));
    }

    #[test]
    fn parts_add_up_and_differ_by_one_at_most() {
        for threads in [1, 2, 3, 7, 64] {
            for whole in [64, 65, 127, 10_000, 10_001, u64::MAX] {
                let parts: Vec<u64> = (0..threads).map(|thread| part(whole, thread, threads)).collect();
                assert_eq!(parts.iter().sum::<u64>(), whole, "{whole} on {threads}");
                assert!(parts[0] - parts[parts.len() - 1] <= 1, "{parts:?}");
                assert!(parts.is_sorted_by(|a, b| a >= b), "{parts:?}");
            }
        }
        assert_eq!((0..3).map(|thread| part(2, thread, 3)).collect::<Vec<_>>(), [1, 1, 0]);
    }
}
