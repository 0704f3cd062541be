//! The processes of a variant by role: its service, the peer of a relay, and the programs of its layers.
//!
//! Every action applies to all of them: they are frozen, thawed, moved and stopped together, and a variant is
//! alive while all are. Their resource use is reported separately. How they are started is decided elsewhere.

use weighbridge_lab::host::cores::{CoreError, CoreId};
use weighbridge_lab::layers;
use weighbridge_lab::process::freeze::FreezeError;
use weighbridge_lab::process::{Exit, GRACE, Running};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{QuotaFacts, RoleCpu};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// Receives the client's requests.
    Service,
    /// Receives the service's requests.
    Peer,
    /// Started by a layer, under this name.
    Layer(String),
}

impl Role {
    /// The program that started the service's container and waits for its end.
    fn wrapper() -> Self {
        Self::Layer("container-runtime".to_owned())
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Service => "service",
            Self::Peer => "peer",
            Self::Layer(name) => name,
        }
    }
}

/// CPU time by role at one moment; empty where no process is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clocks(Vec<(Role, Nanoseconds)>);

impl Clocks {
    pub fn of_service(time: Nanoseconds) -> Self {
        Self(vec![(Role::Service, time)])
    }

    pub fn total(&self) -> Option<Nanoseconds> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(_, time)| *time).sum())
    }

    /// The use of each role since `before`, for so many requests.
    pub fn since(&self, before: &Self, requests: u64) -> impl Iterator<Item = RoleCpu> {
        self.0.iter().filter_map(move |(role, now)| {
            let (_, then) = before.0.iter().find(|(other, _)| other == role)?;
            Some(RoleCpu { role: role.name().to_owned(), cpu: now.saturating_sub(*then), requests })
        })
    }
}

/// The processes of a running variant. Dropping them kills them.
#[derive(Debug)]
pub(crate) struct Roles {
    pub service: Running,
    pub peer: Option<Running>,
    /// The programs of layers by name, each before those to which it passes requests on.
    pub layers: Vec<(String, Running)>,
}

impl Roles {
    fn each(&mut self) -> impl DoubleEndedIterator<Item = (Role, &mut Running)> {
        let layers = self.layers.iter_mut().map(|(name, running)| (Role::Layer(name.clone()), running));
        let own = std::iter::once((Role::Service, &mut self.service));
        layers.chain(own).chain(self.peer.iter_mut().map(|peer| (Role::Peer, peer)))
    }

    /// Freezes all, clients before their servers.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        self.each().try_for_each(|(_, running)| running.freeze())
    }

    /// Thaws all, servers before their clients.
    pub fn thaw(&mut self) -> Result<(), FreezeError> {
        self.each().rev().try_for_each(|(_, running)| running.thaw())
    }

    pub fn pin(&mut self, cores: &[CoreId]) -> Result<(), CoreError> {
        self.each().try_for_each(|(_, running)| running.pin(cores))
    }

    pub fn clocks(&mut self) -> Clocks {
        let mut clocks: Vec<_> = self.each().map(|(role, running)| (role, running.cpu_time().time)).collect();
        clocks.extend(self.service.wrapper_use().map(|(time, _)| (Role::wrapper(), time)));
        Clocks(clocks)
    }

    pub fn memory_peaks(&mut self) -> Vec<(Role, Bytes)> {
        let mut peaks: Vec<_> = self.each().map(|(role, running)| (role, running.memory_peak())).collect();
        peaks.extend(self.service.wrapper_use().map(|(_, peak)| (Role::wrapper(), peak)));
        peaks
    }

    pub fn members(&mut self) -> Vec<i32> {
        self.each().flat_map(|(_, running)| running.members()).map(|pid| pid.get()).collect()
    }

    /// The tightest CPU quota of any.
    pub fn quota(&mut self) -> Option<QuotaFacts> {
        let quotas = self.each().filter_map(|(_, running)| running.quota());
        quotas.min_by(|a, b| a.quota.cores().get().total_cmp(&b.quota.cores().get()))
    }

    pub fn exit(&mut self) -> Option<(Role, Exit)> {
        self.each().find_map(|(role, running)| Some((role, running.exit()?)))
    }

    /// Stops all as the contract of services says: clients before servers, a container engine last.
    pub fn stop(self) {
        let (mut engines, others): (Vec<_>, Vec<_>) =
            self.layers.into_iter().partition(|(name, _)| name == layers::ENGINE);
        for (_, engine) in &mut engines {
            // It must see its container end. If it cannot be thawed, it is killed below.
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
