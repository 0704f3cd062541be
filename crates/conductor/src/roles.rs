//! The processes of a variant by role: its service and, where that passes requests on, the peer that answers them.
//!
//! Whatever is done is done to both: they stand still, go on, move and end together, and a variant is alive while both
//! are. What they use is told apart. Who is started with what environment is decided elsewhere.

use weighbridge_lab::cores::{CoreError, CoreId};
use weighbridge_lab::freeze::FreezeError;
use weighbridge_lab::process::{Exit, GRACE, Running};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{QuotaFacts, RoleCpu};

/// What a process is to its variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one that the client asks.
    Service,
    /// The one that the service asks.
    Peer,
}

impl Role {
    pub const ALL: [Self; 2] = [Self::Service, Self::Peer];

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Peer => "peer",
        }
    }
}

/// CPU time by role at one moment; nothing where there is no such process of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Clocks([Option<Nanoseconds>; 2]);

impl Clocks {
    /// Of a service alone.
    pub const fn of_service(time: Nanoseconds) -> Self {
        Self([Some(time), None])
    }

    /// All roles together.
    pub fn total(self) -> Option<Nanoseconds> {
        self.0[0].map(|service| service + self.0[1].unwrap_or_default())
    }

    /// What each role used since `before`, for so many requests.
    pub fn since(self, before: Self, requests: u64) -> impl Iterator<Item = RoleCpu> {
        Role::ALL.into_iter().zip(self.0.into_iter().zip(before.0)).filter_map(
            move |(role, (now, before))| {
                let cpu = now?.saturating_sub(before?);
                Some(RoleCpu { role: role.name().to_owned(), cpu, requests })
            },
        )
    }
}

/// The processes of a variant that runs. Dropping them kills them.
#[derive(Debug)]
pub(crate) struct Roles {
    pub service: Running,
    pub peer: Option<Running>,
}

impl Roles {
    fn each(&mut self) -> impl Iterator<Item = (Role, &mut Running)> {
        std::iter::once((Role::Service, &mut self.service))
            .chain(self.peer.iter_mut().map(|peer| (Role::Peer, peer)))
    }

    /// Stops all in their tracks, who asks before who is asked.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        self.each().try_for_each(|(_, running)| running.freeze())
    }

    /// Lets all run again, who is asked before who asks.
    pub fn thaw(&mut self) -> Result<(), FreezeError> {
        self.peer.as_mut().map_or(Ok(()), Running::thaw)?;
        self.service.thaw()
    }

    /// Moves all to these cores.
    pub fn pin(&mut self, cores: &[CoreId]) -> Result<(), CoreError> {
        self.each().try_for_each(|(_, running)| running.pin(cores))
    }

    /// CPU time so far.
    pub fn clocks(&mut self) -> Clocks {
        let peer = self.peer.as_mut().map(|peer| peer.cpu_time().time);
        Clocks([Some(self.service.cpu_time().time), peer])
    }

    /// Peak of resident memory by role.
    pub fn memory_peaks(&mut self) -> Vec<(Role, Bytes)> {
        self.each().map(|(role, running)| (role, running.memory_peak())).collect()
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

    /// Ends all as the contract says, who asks before who is asked.
    pub fn stop(self) {
        self.service.stop(GRACE);
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
        let nanos = |n| Some(Nanoseconds::from_nanos(n));
        let (before, after) = (Clocks([nanos(10), nanos(5)]), Clocks([nanos(40), nanos(7)]));
        assert_eq!(after.total(), nanos(47));
        let used: Vec<_> =
            after.since(before, 3).map(|one| (one.role, one.cpu.as_nanos(), one.requests)).collect();
        assert_eq!(used, [("service".to_owned(), 30, 3), ("peer".to_owned(), 2, 3)]);
        let alone = Clocks([nanos(40), None]);
        assert_eq!((alone.total(), alone.since(before, 1).count()), (nanos(40), 1));
        assert_eq!((Clocks::default().total(), Clocks::default().since(before, 1).count()), (None, 0));
    }
}
