//! The processes of a variant by role: its service, the peer of a relay, the server of its database, and the programs
//! of its layers.
//!
//! Every action applies to all of them: they are frozen, thawed, moved and stopped together, and a variant is
//! alive while all are. Their resource use is reported separately. How they are started is decided elsewhere.

use weighbridge_lab::host::cores::{CoreError, CoreId};
use weighbridge_lab::layers;
use weighbridge_lab::process::freeze::FreezeError;
use weighbridge_lab::process::jvm::JvmUse;
use weighbridge_lab::process::{Exit, GRACE, Running};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{JvmPauses, QuotaFacts, RoleCpu};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// Receives the client's requests.
    Service,
    /// Receives the service's requests.
    Peer,
    /// Keeps the service's records.
    Database,
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
            Self::Database => "database",
            Self::Layer(name) => name,
        }
    }
}

/// CPU time by role at one moment; empty where no process is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// The service's with what its virtual machine's own threads use.
    roles: Vec<(Role, Nanoseconds)>,
    /// What that takes itself, where it is one of Java.
    jvm: Option<JvmUse>,
}

impl Clocks {
    pub fn of_service(time: Nanoseconds) -> Self {
        Self { roles: vec![(Role::Service, time)], jvm: None }
    }

    pub fn total(&self) -> Option<Nanoseconds> {
        (!self.roles.is_empty()).then(|| self.roles.iter().map(|(_, time)| *time).sum())
    }

    pub fn with_jvm(self, jvm: Option<JvmUse>) -> Self {
        Self { jvm, ..self }
    }

    /// The same with the server of its database, if it has one.
    pub fn with_database(mut self, database: Option<&mut Running>) -> Self {
        self.roles.extend(database.map(|running| (Role::Database, running.cpu_time().time)));
        self
    }

    /// The use of each role since `before`, for so many requests. Of a service on a Java virtual machine the collector and the
    /// compilers are roles of their own, and the service's is what is left.
    pub fn since(&self, before: &Self, requests: u64) -> Vec<RoleCpu> {
        let used = |role: &str, cpu| RoleCpu { role: role.to_owned(), cpu, requests };
        let mut parts = Vec::new();
        if let (Some(now), Some(then)) = (self.jvm, before.jvm) {
            parts.push(used("collector", now.collector.saturating_sub(then.collector)));
            parts.push(used("compiler", now.compiler.saturating_sub(then.compiler)));
        }
        let own: Nanoseconds = parts.iter().map(|part| part.cpu).sum();
        let whole = self.roles.iter().filter_map(|(role, now)| {
            let (_, then) = before.roles.iter().find(|(other, _)| other == role)?;
            let parts = if *role == Role::Service { own } else { Nanoseconds::ZERO };
            Some(used(role.name(), now.saturating_sub(*then).saturating_sub(parts)))
        });
        whole.collect::<Vec<_>>().into_iter().chain(parts).collect()
    }

    /// Pauses of the service's Java virtual machine since `before`; `None` where none tells.
    pub fn pauses_since(&self, before: &Self) -> Option<JvmPauses> {
        Some(self.jvm?.pauses?.since(before.jvm?.pauses?))
    }
}

/// The processes of a running variant. Dropping them kills them.
#[derive(Debug)]
pub(crate) struct Roles {
    pub service: Running,
    pub peer: Option<Running>,
    pub database: Option<Running>,
    /// The programs of layers by name, each before those to which it passes requests on.
    pub layers: Vec<(String, Running)>,
}

impl Roles {
    fn each(&mut self) -> impl DoubleEndedIterator<Item = (Role, &mut Running)> {
        let layers = self.layers.iter_mut().map(|(name, running)| (Role::Layer(name.clone()), running));
        let own = std::iter::once((Role::Service, &mut self.service));
        let peer = self.peer.iter_mut().map(|peer| (Role::Peer, peer));
        let database = self.database.iter_mut().map(|database| (Role::Database, database));
        layers.chain(own).chain(peer).chain(database)
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
        // The parts are read before the whole, so that they are not more than it.
        let jvm = self.service.jvm_use();
        let mut roles: Vec<_> = self.each().map(|(role, running)| (role, running.cpu_time().time)).collect();
        roles.extend(self.service.wrapper_use().map(|(time, _)| (Role::wrapper(), time)));
        Clocks { roles, jvm }
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
    pub fn stop(mut self) {
        let (mut engines, others): (Vec<_>, Vec<_>) =
            self.layers.into_iter().partition(|(name, _)| name == layers::ENGINE);
        for (_, engine) in &mut engines {
            // It must see its container end. If it cannot be thawed, it is killed below.
            let _ = engine.thaw();
        }
        if let Some(database) = &mut self.database {
            // It must answer while its service ends.
            let _ = database.thaw();
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
        if let Some(database) = self.database {
            database.interrupt(GRACE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_told_apart_by_role_and_summed() {
        let nanos = Nanoseconds::from_nanos;
        let two = |service, peer| Clocks {
            roles: vec![(Role::Service, nanos(service)), (Role::Peer, nanos(peer))],
            jvm: None,
        };
        let (before, after) = (two(10, 5), two(40, 7));
        assert_eq!(after.total(), Some(nanos(47)));
        let used = |after: &Clocks, before: &Clocks| -> Vec<_> {
            let used = after.since(before, 3).into_iter();
            used.map(|one| (one.role, one.cpu.as_nanos(), one.requests)).collect()
        };
        let of = |role: &str, cpu| (role.to_owned(), cpu, 3);
        assert_eq!(used(&after, &before), [of("service", 30), of("peer", 2)]);
        let alone = Clocks::of_service(nanos(40));
        assert_eq!((alone.total(), used(&alone, &before).len()), (Some(nanos(40)), 1));
        assert_eq!((Clocks::default().total(), used(&Clocks::default(), &before).len()), (None, 0));

        // What a virtual machine's own threads used is not the service's.
        let jvm = |collector, compiler| JvmUse {
            collector: nanos(collector),
            compiler: nanos(compiler),
            pauses: Some(JvmPauses { count: collector, time: nanos(3 * collector) }),
        };
        let then = before.clone().with_jvm(Some(jvm(100, 1_000)));
        let now = after.clone().with_jvm(Some(jvm(107, 1_001)));
        let parts = [of("service", 22), of("peer", 2), of("collector", 7), of("compiler", 1)];
        assert_eq!(used(&now, &then), parts);
        assert_eq!(now.pauses_since(&then), Some(JvmPauses { count: 7, time: nanos(21) }));
        assert_eq!((now.pauses_since(&before), after.pauses_since(&then)), (None, None));
    }
}
