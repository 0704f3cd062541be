//! The processes of a variant by role: its service, the peer that answers what the service passes on, and the programs of
//! its layers.
//!
//! Whatever is done is done to all: they stand still, go on, move and end together, and a variant is alive while all
//! are. What they use is told apart. Who is started with what environment is decided elsewhere.

use weighbridge_lab::host::cores::{CoreError, CoreId};
use weighbridge_lab::layers;
use weighbridge_lab::process::freeze::FreezeError;
use weighbridge_lab::process::{Exit, GRACE, Running};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{QuotaFacts, RoleCpu};

/// What a process is to its variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one that the client asks.
    Service,
    /// The one that the service asks.
    Peer,
    /// One that a layer started, by the name that the layer gave it.
    Layer(String),
}

impl Role {
    /// What started the service's container and waits for its end.
    fn wrapper() -> Self {
        Self::Layer("container-runtime".to_owned())
    }

    /// Its name in records.
    pub fn name(&self) -> &str {
        match self {
            Self::Service => "service",
            Self::Peer => "peer",
            Self::Layer(name) => name,
        }
    }
}

/// CPU time by role at one moment; nothing where there is no such process of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clocks(Vec<(Role, Nanoseconds)>);

impl Clocks {
    /// Of a service alone.
    pub fn of_service(time: Nanoseconds) -> Self {
        Self(vec![(Role::Service, time)])
    }

    /// All roles together.
    pub fn total(&self) -> Option<Nanoseconds> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(_, time)| *time).sum())
    }

    /// What each role used since `before`, for so many requests.
    pub fn since(&self, before: &Self, requests: u64) -> impl Iterator<Item = RoleCpu> {
        self.0.iter().filter_map(move |(role, now)| {
            let (_, then) = before.0.iter().find(|(other, _)| other == role)?;
            Some(RoleCpu { role: role.name().to_owned(), cpu: now.saturating_sub(*then), requests })
        })
    }
}

/// The processes of a variant that runs. Dropping them kills them.
#[derive(Debug)]
pub(crate) struct Roles {
    pub service: Running,
    pub peer: Option<Running>,
    /// The programs of layers by their names, each before those that it passes requests on to.
    pub layers: Vec<(String, Running)>,
}

impl Roles {
    fn each(&mut self) -> impl DoubleEndedIterator<Item = (Role, &mut Running)> {
        let layers = self.layers.iter_mut().map(|(name, running)| (Role::Layer(name.clone()), running));
        let own = std::iter::once((Role::Service, &mut self.service));
        layers.chain(own).chain(self.peer.iter_mut().map(|peer| (Role::Peer, peer)))
    }

    /// Stops all in their tracks, who asks before who is asked.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        self.each().try_for_each(|(_, running)| running.freeze())
    }

    /// Lets all run again, who is asked before who asks.
    pub fn thaw(&mut self) -> Result<(), FreezeError> {
        self.each().rev().try_for_each(|(_, running)| running.thaw())
    }

    /// Moves all to these cores.
    pub fn pin(&mut self, cores: &[CoreId]) -> Result<(), CoreError> {
        self.each().try_for_each(|(_, running)| running.pin(cores))
    }

    /// CPU time so far.
    pub fn clocks(&mut self) -> Clocks {
        let mut clocks: Vec<_> = self.each().map(|(role, running)| (role, running.cpu_time().time)).collect();
        clocks.extend(self.service.wrapper_use().map(|(time, _)| (Role::wrapper(), time)));
        Clocks(clocks)
    }

    /// Peak of resident memory by role.
    pub fn memory_peaks(&mut self) -> Vec<(Role, Bytes)> {
        let mut peaks: Vec<_> = self.each().map(|(role, running)| (role, running.memory_peak())).collect();
        peaks.extend(self.service.wrapper_use().map(|(_, peak)| (Role::wrapper(), peak)));
        peaks
    }

    /// Numbers of all processes.
    pub fn members(&mut self) -> Vec<i32> {
        self.each().flat_map(|(_, running)| running.members()).map(|pid| pid.get()).collect()
    }

    /// The tightest quota of CPU time that any is under.
    pub fn quota(&mut self) -> Option<QuotaFacts> {
        let quotas = self.each().filter_map(|(_, running)| running.quota());
        quotas.min_by(|a, b| a.quota.cores().get().total_cmp(&b.quota.cores().get()))
    }

    /// The role that has ended, and how.
    pub fn exit(&mut self) -> Option<(Role, Exit)> {
        self.each().find_map(|(role, running)| Some((role, running.exit()?)))
    }

    /// Ends all as the contract says, who asks before who is asked; an engine after the container that it holds.
    pub fn stop(self) {
        let (mut engines, others): (Vec<_>, Vec<_>) =
            self.layers.into_iter().partition(|(name, _)| name == layers::ENGINE);
        for (_, engine) in &mut engines {
            // It has to see its container's end. One that cannot be thawed is killed below.
            let _ = engine.thaw();
        }
        for (_, layer) in others {
            layer.stop(GRACE);
        }
        self.service.stop(GRACE);
        for (_, engine) in engines {
            engine.stop(GRACE);
        }
        if let Some(peer) = self.peer {
            peer.stop(GRACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_told_apart_by_role_and_summed() {
        let nanos = Nanoseconds::from_nanos;
        let two = |service, peer| Clocks(vec![(Role::Service, nanos(service)), (Role::Peer, nanos(peer))]);
        let (before, after) = (two(10, 5), two(40, 7));
        assert_eq!(after.total(), Some(nanos(47)));
        let used: Vec<_> =
            after.since(&before, 3).map(|one| (one.role, one.cpu.as_nanos(), one.requests)).collect();
        assert_eq!(used, [("service".to_owned(), 30, 3), ("peer".to_owned(), 2, 3)]);
        let alone = Clocks::of_service(nanos(40));
        assert_eq!((alone.total(), alone.since(&before, 1).count()), (Some(nanos(40)), 1));
        assert_eq!((Clocks::default().total(), Clocks::default().since(&before, 1).count()), (None, 0));
    }
}
