//! Which cores the variants of a run and their clients use: one set by turns, or one for each of two.

use weighbridge_lab::host::cores::{CoreId, CoreLayout, parse_core_list};
use weighbridge_lab::host::lanes::{Lane, LaneError, Lanes};
use weighbridge_lab::host::ports::listener_of;
use weighbridge_lab::host::procfs::Pid;
use weighbridge_load::dial::Endpoint;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::pairing::PairingChoice;

use crate::options::Options;
use crate::prepare::error::PrepareError;

#[derive(Debug, Clone)]
pub(crate) enum CorePlacement {
    One(CoreLayout),
    Duet(Lanes),
}

impl CorePlacement {
    /// The placement for an experiment. Call it before pinning anything.
    pub fn detect(experiment: &Experiment, options: &Options) -> Result<Self, PrepareError> {
        Ok(match (experiment.plan.pairing, &options.lanes) {
            (PairingChoice::Duet, Some(lanes)) => Self::Duet(lanes.clone()),
            (PairingChoice::Duet, None) => Self::Duet(Lanes::detect().map_err(|error| match error {
                LaneError::Few { cores } => PrepareError::FewCores { cores },
                LaneError::Cores(error) => PrepareError::Cores(error),
            })?),
            _ => Self::One(CoreLayout::detect()?),
        })
    }

    pub const fn at(&self, lane: Lane) -> &CoreLayout {
        match self {
            Self::One(layout) => layout,
            Self::Duet(lanes) => lanes.get(lane),
        }
    }

    /// The layout of any variant, as far as numbers of cores matter.
    pub const fn usual(&self) -> &CoreLayout {
        self.at(Lane::First)
    }

    /// The core of everything of ours that is not measured.
    pub const fn own(&self) -> CoreId {
        match self {
            Self::One(layout) => layout.client(),
            Self::Duet(lanes) => lanes.own(),
        }
    }
}

pub(crate) fn layout(experiment: &Experiment) -> Option<CoreLayout> {
    match experiment.plan.pairing {
        PairingChoice::Duet => Lanes::detect().ok().map(|lanes| lanes.get(Lane::First).clone()),
        _ => CoreLayout::detect().ok(),
    }
}

/// The last core to which no server at these addresses is bound, for the client's thread. A server that may
/// run on every core is ignored: the scheduler will move it away.
pub(crate) fn client_core(layout: &CoreLayout, addresses: &[Endpoint]) -> Option<CoreId> {
    let (all, bound) = cores_and_bound(layout, addresses);
    free_core(&all, &bound)
}

fn cores_and_bound(layout: &CoreLayout, addresses: &[Endpoint]) -> (Vec<CoreId>, Vec<Vec<CoreId>>) {
    let all: Vec<CoreId> = layout.service().iter().copied().chain([layout.client()]).collect();
    let local = addresses.iter().filter_map(Endpoint::tcp).filter(|address| address.ip().is_loopback());
    let bound = local.filter_map(|address| allowed_cores(listener_of(address.port()).pid()?));
    let bound = bound.filter(|cores| !all.iter().all(|core| cores.contains(core))).collect();
    (all, bound)
}

/// A core for each thread of the client, under the same rule, with at least one core left for servers. Empty
/// where there are too few.
pub(crate) fn client_cores(layout: &CoreLayout, addresses: &[Endpoint], threads: usize) -> Vec<CoreId> {
    if threads == 1 {
        return client_core(layout, addresses).into_iter().collect();
    }
    let (all, bound) = cores_and_bound(layout, addresses);
    free_cores(&all, &bound, threads)
}

fn free_cores(all: &[CoreId], bound: &[Vec<CoreId>], threads: usize) -> Vec<CoreId> {
    let taken = |core: &CoreId| bound.iter().any(|cores| cores.contains(core));
    let free: Vec<CoreId> = all.iter().rev().copied().filter(|core| !taken(core)).take(threads).collect();
    if free.len() == threads && all.len() > threads { free } else { Vec::new() }
}

fn free_core(all: &[CoreId], bound: &[Vec<CoreId>]) -> Option<CoreId> {
    all.iter().rev().copied().find(|core| !bound.iter().any(|cores| cores.contains(core)))
}

fn allowed_cores(pid: Pid) -> Option<Vec<CoreId>> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.get())).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    parse_core_list(list.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_keeps_off_the_cores_of_bound_servers() {
        let cores = |numbers: &[u32]| numbers.iter().map(|n| CoreId::new(*n)).collect::<Vec<_>>();
        let free = |bound: &[&[u32]]| {
            let bound: Vec<_> = bound.iter().map(|list| cores(list)).collect();
            free_core(&cores(&[0, 1]), &bound).map(CoreId::get)
        };
        assert_eq!(free(&[]), Some(1));
        assert_eq!(free(&[&[0]]), Some(1));
        assert_eq!(free(&[&[1]]), Some(0), "the last core is the server's");
        assert_eq!(free(&[&[0], &[1]]), None, "two servers hold one core each");
    }

    #[test]
    fn threads_are_pinned_where_a_core_is_left_for_servers() {
        let cores = |numbers: &[u32]| numbers.iter().map(|n| CoreId::new(*n)).collect::<Vec<_>>();
        let free = |all: &[u32], bound: &[&[u32]], threads| {
            let bound: Vec<_> = bound.iter().map(|list| cores(list)).collect();
            free_cores(&cores(all), &bound, threads).into_iter().map(CoreId::get).collect::<Vec<_>>()
        };
        assert_eq!(free(&[0, 1, 2, 3], &[], 2), [3, 2]);
        assert_eq!(free(&[0, 1, 2, 3], &[&[3]], 2), [2, 1]);
        assert_eq!(free(&[0, 1], &[], 2), [] as [u32; 0], "none would be left");
        assert_eq!(free(&[0, 1, 2, 3], &[&[0, 1]], 3), [] as [u32; 0], "the server's are not ours");
    }
}
