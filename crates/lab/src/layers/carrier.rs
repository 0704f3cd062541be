//! Our packet relay in the switch: started there before the service, and asked for its counters at the end of
//! a trial.
//!
//! [`crate::layers::frames`] has what it does to frames, [`super::crossing`] which layers need it. Meanwhile
//! both hosts send each packet separately, since a frame made of forty packets would be delayed or lost as
//! one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use weighbridge_model::experiment::Loss;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::relayed::Relayed;

use super::crossing::{DelayAndLoss, Treatment, cut_packets};
use super::site::SiteProgram;
use super::veth::{CLIENT_PORT, SERVER_PORT};
use super::{HostRole, LayerError, Site};
use crate::host::sys::monotonic;
use crate::layers::frames::impairment::{Delay, Distribution, Impairment, ImpairmentError};
use crate::layers::frames::{self, InterfacePair, Settings};
use crate::net::namespace::in_scratch;
use crate::process::launch::{Lab, Ready};
use crate::process::talk::Talk;
use crate::unavailable::Unavailable;

/// Its name among the programs of a variant, and the role of its CPU time.
const ROLE: &str = "relay";
/// It answers within microseconds once it runs.
const ANSWER_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);

/// What the relay does in either direction.
#[derive(Debug)]
pub(super) struct Carrier {
    treatment: Treatment,
    /// Its input and output while it runs. It ends when they are closed.
    talk: Mutex<Option<Talk>>,
}

impl Carrier {
    pub const fn new(treatment: Treatment) -> Self {
        Self { treatment, talk: Mutex::new(None) }
    }

    /// Whether this host has what a relay needs.
    pub fn probe() -> Result<(), Unavailable> {
        let tried = in_scratch(frames::available).and_then(|made| made);
        tried.map_err(|error| {
            Unavailable::new(
                format!("a packet socket cannot be made: {error}"),
                "run as root on a kernel with packet sockets (CONFIG_PACKET)",
            )
        })
    }

    /// Starts the relay between the switch's ports.
    pub fn start(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let Some(hosts) = site.hosts() else { return Ok(()) };
        cut_packets(hosts)?;
        let command = own_command(lab, &self.settings()?)?;
        let (host, ready) = (HostRole::Switch, Ready::Direct);
        site.start(lab, SiteProgram { host, role: ROLE, command, ready, folder: None })?;
        *self.talk() = site.take_talk(ROLE);
        Ok(())
    }

    fn settings(&self) -> Result<Settings, LayerError> {
        let impossible =
            |error: ImpairmentError| Unavailable::new(error.to_string(), "change the layer's settings");
        let ports = InterfacePair::try_new(CLIENT_PORT.to_owned(), SERVER_PORT.to_owned());
        let ports =
            ports.map_err(|error| Unavailable::new(error.to_string(), "name the ports differently"))?;
        Ok(Settings {
            forward: impairment(self.treatment.to_server).map_err(impossible)?,
            reverse: impairment(self.treatment.to_client).map_err(impossible)?,
            // The seed differs between trials, or every block would lose the same packets; the record has it.
            seed: monotonic().as_nanos(),
            ..Settings::null(ports)
        })
    }

    fn talk(&self) -> MutexGuard<'_, Option<Talk>> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has carried so far; `None` if it does not answer. It must not be frozen.
    pub fn ask(&self) -> Option<Relayed> {
        let mut talk = self.talk();
        let talk = talk.as_mut()?;
        talk.say("").ok()?;
        let line = talk.line(ANSWER_PATIENCE).ok()??;
        serde_json::from_slice(&line).ok()
    }

    /// Whether all frames passed it, as they should, when this many requests were answered.
    pub fn prove(&self, requests: u64) -> Result<(), String> {
        let Some(relayed) = self.ask() else {
            return Err("the relay does not say what it carried".to_owned());
        };
        let ways = [&relayed.forth, &relayed.back];
        if requests > 0 && ways.iter().any(|way| way.sent == 0) {
            return Err(format!(
                "{requests} requests were answered, and the relay carried {} frames there and {} back: they took \
                 another way",
                relayed.forth.sent, relayed.back.sent
            ));
        }
        let whole: u64 = ways.iter().map(|way| way.whole).sum();
        if whole > 0 {
            return Err(format!(
                "{whole} frames stood for several packets each, and were held back or lost as one"
            ));
        }
        let overflowed: u64 = ways.iter().map(|way| way.overflowed).sum();
        if overflowed > 0 {
            return Err(format!(
                "{overflowed} packets were lost since the relay had no time to take them; give it a core, or less to do"
            ));
        }
        Ok(())
    }
}

/// What a relay does to packets of one direction.
fn impairment(DelayAndLoss { delay, loss }: DelayAndLoss) -> Result<Impairment, ImpairmentError> {
    let delay = match delay {
        Some(delay) => Delay::try_new(delay.time, delay.jitter, Distribution::Uniform)?,
        None => Delay::default(),
    };
    match loss {
        None => Impairment::try_new(delay, Impairment::default().loss()),
        Some(Loss { bursts: Some(bursts), .. }) => Impairment::with_bursts(delay, bursts),
        Some(Loss { share, .. }) => Impairment::try_new(delay, share),
    }
}

/// Our own program as a relay.
fn own_command(lab: &Lab, settings: &Settings) -> Result<Vec<String>, LayerError> {
    let program = lab.program().and_then(|program| program.to_str()).ok_or_else(|| {
        Unavailable::new("the program `weigh` does not know its own path", "start it by its full path")
    })?;
    Ok(std::iter::once(program.to_owned()).chain(settings.arguments()).collect())
}
