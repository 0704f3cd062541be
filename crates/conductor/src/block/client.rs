//! The client: a thread on the client's core that owns the generator and receives jobs. Two variants that run
//! at the same time have a client each.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use weighbridge_lab::host::cores::{CoreId, CoreLayout, Sharing, pin_current_thread};
use weighbridge_lab::host::lanes::{Lane, Lanes};
use weighbridge_lab::net::Connector;
use weighbridge_load::dial::{AfterFailure, Dial, Endpoint, SocketDial, Sockets};
use weighbridge_load::generator::{Generator, LoopOptions, Waiting};
use weighbridge_load::{KeepAlive, Settings};
use weighbridge_model::experiment::LoadSpec;
use weighbridge_model::id::VariantId;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("could not start the generator: {0}; check the limits of open files and threads")]
    Start(#[from] io::Error),
}

type Job = Box<dyn FnOnce(&mut Generator) + Send>;

pub(crate) fn settings(load: &LoadSpec) -> Settings {
    Settings {
        connections: load.connections,
        in_flight: load.in_flight,
        timeout: load.timeout,
        keep_alive: load.churn.map_or(KeepAlive::Reuse, KeepAlive::Every),
        stamps: load.stamps,
        ..Settings::default()
    }
}

/// The handle of the client's thread. Dropping it ends the thread and closes every connection.
#[derive(Debug)]
pub(crate) struct Client {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    dial: SharedDial,
}

impl Client {
    /// Starts the thread for compared windows, pinned to `core` where one is given. `cut` ends the running
    /// window.
    pub fn start(
        core: Option<CoreId>,
        cores: &CoreLayout,
        cut: Arc<AtomicBool>,
    ) -> Result<Self, ClientError> {
        Self::start_with(
            core,
            LoopOptions { waiting: waiting(core, cores), stop: cut, ..LoopOptions::default() },
        )
    }

    /// [`start`](Self::start) with the loop's options.
    pub fn start_with(core: Option<CoreId>, options: LoopOptions) -> Result<Self, ClientError> {
        let dial = SharedDial::default();
        let (jobs, inbox) = channel::<Job>();
        let (ready, started) = channel();
        let own_dial = dial.clone();
        let thread = std::thread::Builder::new().name("generator".to_owned()).spawn(move || {
            weighbridge_load::own_files();
            // A thread that cannot be pinned still measures; the self-check detects the effect.
            let _ = core.map(pin_current_thread);
            let made = Generator::new(Box::new(own_dial), options);
            match made {
                Err(error) => drop(ready.send(Err(error))),
                Ok(mut generator) => {
                    drop(ready.send(Ok(())));
                    for job in inbox {
                        job(&mut generator);
                    }
                }
            }
        })?;
        started.recv().unwrap_or_else(|_| Err(io::Error::other("the thread ended")))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), dial })
    }

    /// Sets the addresses of a variant's connections.
    pub fn direct(&self, variant: VariantId, addresses: impl IntoIterator<Item: Into<Endpoint>>) {
        self.dial.lock().set(variant, addresses);
    }

    /// Makes a variant's sockets inside a network of its own, until its addresses change.
    pub fn connect_by(&self, variant: VariantId, connector: Connector) {
        self.dial.lock().make_by(variant, Box::new(Inside(connector)));
    }

    /// Runs `job` on the generator's thread and sleeps until it returns. Panics if that thread has panicked.
    pub fn call<R: Send + 'static>(&self, job: impl FnOnce(&mut Generator) -> R + Send + 'static) -> R {
        self.ask(job).wait()
    }

    /// Sends `job` to the generator's thread without waiting for it. Panics if that thread has panicked.
    pub fn ask<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Generator) -> R + Send + 'static,
    ) -> PendingAnswer<R> {
        let (answer, result) = channel();
        let boxed: Job = Box::new(move |generator| drop(answer.send(job(generator))));
        let jobs = self.jobs.as_ref().expect("present until dropped");
        jobs.send(boxed).expect("the generator's thread lives as long as its handle");
        PendingAnswer(result)
    }
}

#[derive(Debug)]
#[must_use = "the generator is at it until it is waited for"]
pub(crate) struct PendingAnswer<R>(Receiver<R>);

impl<R> PendingAnswer<R> {
    /// Sleeps until the job has returned. Panics if the generator's thread has panicked.
    pub fn wait(self) -> R {
        self.0.recv().expect("the generator answers every job")
    }
}

/// The clients of a run: one for all variants, or one for each of two.
#[derive(Debug)]
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    pub fn one(core: Option<CoreId>, cores: &CoreLayout, cut: Arc<AtomicBool>) -> Result<Self, ClientError> {
        Ok(Self(vec![Client::start(core, cores, cut)?]))
    }

    pub fn in_lanes(lanes: &Lanes, cut: &Arc<AtomicBool>) -> Result<Self, ClientError> {
        let client = |lane: Lane| {
            let cores = lanes.get(lane);
            Client::start(Some(cores.client()), cores, Arc::clone(cut))
        };
        Lane::BOTH.into_iter().map(client).collect::<Result<_, _>>().map(Self)
    }

    pub fn get(&self, variant: VariantId) -> &Client {
        &self.0[variant.index() % self.0.len()]
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Whoever waited for an answer has already seen its panic.
            let _ = thread.join();
        }
    }
}

/// How compared windows wait. Where the client has a core of its own, it busy-waits: otherwise the measured
/// times would contain its wake-ups, which take longer the slower a server is. Elsewhere it sleeps, so as not
/// to occupy the server's core.
pub(crate) fn waiting(core: Option<CoreId>, cores: &CoreLayout) -> Waiting {
    match (core, cores.sharing()) {
        (Some(_), Sharing::Apart) => Waiting::Awake,
        _ => Waiting::Asleep,
    }
}

#[derive(Debug)]
struct Inside(Connector);

impl Sockets for Inside {
    fn socket(&mut self) -> io::Result<OwnedFd> {
        self.0.socket()
    }
}

/// One dialler, shared by the generator and by the conductor, which sets new addresses with every block.
#[derive(Debug, Clone, Default)]
struct SharedDial(Arc<Mutex<SocketDial>>);

impl SharedDial {
    fn lock(&self) -> MutexGuard<'_, SocketDial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dial for SharedDial {
    fn dial(&mut self, variant: VariantId) -> io::Result<OwnedFd> {
        self.lock().dial(variant)
    }
    fn failed(&mut self, variant: VariantId, socket: BorrowedFd<'_>) -> AfterFailure {
        self.lock().failed(variant, socket)
    }
    fn succeeded(&mut self, variant: VariantId, socket: BorrowedFd<'_>) {
        self.lock().succeeded(variant, socket);
    }
    fn peer(&self, variant: VariantId) -> String {
        self.lock().peer(variant)
    }
}
