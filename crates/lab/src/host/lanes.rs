//! Two sets of cores for two variants that run at the same time, each with a client's core and services'
//! cores.
//!
//! Both lanes have equally many cores, so that neither variant has an advantage. SMT siblings stay in one
//! lane where possible, so that the lanes do not compete. A lane needs two cores. Other modules decide which
//! variant is in which lane, and when.

use std::fs;

use crate::host;
use crate::host::cores::{CoreError, CoreId, CoreLayout};
use crate::host::procfs::Pid;
use crate::host::sys;

/// Fewest cores of a lane: one for the client, one for a service.
const LEAST: usize = 2;

/// One of the two lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The lane with the lowest core.
    First,
    /// The other lane.
    Second,
}

impl Lane {
    /// Both, in order.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// Its position in that order.
    pub const fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// Why there are no lanes.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    #[error(
        "two lanes need 4 cores, two for services and two for clients, and there are {cores}; use more cores"
    )]
    Few {
        /// Cores that this process may use.
        cores: usize,
    },
    #[error(transparent)]
    Cores(#[from] CoreError),
}

/// Which cores each lane has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes {
    lanes: [CoreLayout; 2],
    own: CoreId,
}

impl Lanes {
    /// The lanes of the cores that this process may use. Call it before pinning anything.
    pub fn detect() -> Result<Self, LaneError> {
        let allowed = sys::affinity(Some(Pid::own())).map_err(CoreError::Unknown)?;
        let siblings = host::siblings(&allowed, &|path| fs::read_to_string(path).ok());
        Self::split(&allowed, &siblings.unwrap_or_default())
    }

    /// The lanes of a given set of cores with these SMT siblings: the lower half and the upper half, siblings
    /// next to each other. The last core of each is the client's. A left-over core is in neither lane.
    pub fn split(allowed: &[CoreId], siblings: &[Vec<CoreId>]) -> Result<Self, LaneError> {
        let first_sibling = |core: CoreId| {
            let group = siblings.iter().find(|group| group.contains(&core));
            group.and_then(|group| group.iter().min().copied()).unwrap_or(core)
        };
        let mut cores = allowed.to_vec();
        cores.sort_unstable_by_key(|core| (first_sibling(*core), *core));
        cores.dedup();
        let each = cores.len() / 2;
        if each < LEAST {
            return Err(LaneError::Few { cores: cores.len() });
        }
        let lanes =
            [CoreLayout::from_allowed(&cores[..each])?, CoreLayout::from_allowed(&cores[each..2 * each])?];
        let own = cores.get(2 * each).copied().unwrap_or(lanes[1].client());
        Ok(Self { lanes, own })
    }

    /// Lanes of any cores, even shared ones: client and services of each. Measurements in them are worthless,
    /// and the layouts say so, but a duet can run on a machine that is too small for it. For tests; users
    /// cannot ask for it.
    pub fn sharing(lanes: [(CoreId, Vec<CoreId>); 2]) -> Self {
        let lanes = lanes.map(|(client, service)| CoreLayout::shared(client, service));
        Self { own: lanes[1].client(), lanes }
    }

    pub const fn get(&self, lane: Lane) -> &CoreLayout {
        &self.lanes[lane.index()]
    }

    /// The core of everything that is not measured: a left-over core, or else a client's.
    pub const fn own(&self) -> CoreId {
        self.own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cores::{Sharing, parse_core_list};

    fn cores(list: &str) -> Vec<CoreId> {
        parse_core_list(list).expect("a list of cores")
    }

    fn lanes(allowed: &str, siblings: &[&str]) -> Result<Lanes, LaneError> {
        Lanes::split(&cores(allowed), &siblings.iter().map(|group| cores(group)).collect::<Vec<_>>())
    }

    /// Client and services of both lanes, and the core of the rest.
    fn placed(lanes: &Lanes) -> ([(u32, Vec<u32>); 2], u32) {
        let cores_of_lane = |lane| {
            let layout = lanes.get(lane);
            (layout.client().get(), layout.service().iter().map(|core| core.get()).collect())
        };
        (Lane::BOTH.map(cores_of_lane), lanes.own().get())
    }

    #[test]
    fn each_lane_has_a_clients_core_and_as_many_service_cores() {
        assert_eq!(placed(&lanes("0-3", &[]).unwrap()), ([(1, vec![0]), (3, vec![2])], 3));
        assert_eq!(
            placed(&lanes("0-7", &[]).unwrap()),
            ([(3, vec![0, 1, 2]), (7, vec![4, 5, 6])], 7),
            "halves"
        );
        let odd = lanes("1,3,5,7,9", &[]).unwrap();
        assert_eq!(placed(&odd), ([(3, vec![1]), (7, vec![5])], 9), "the last is left over");
        assert!(Lane::BOTH.iter().all(|lane| odd.get(*lane).sharing() == Sharing::Apart));
    }

    #[test]
    fn siblings_stay_in_one_lane() {
        let lanes = lanes("0-7", &["0,4", "1,5", "2,6", "3,7"]).unwrap();
        assert_eq!(placed(&lanes).0, [(5, vec![0, 1, 4]), (7, vec![2, 3, 6])]);
    }

    #[test]
    fn fewer_than_four_cores_make_no_lanes() {
        for (list, count) in [("0", 1), ("0-1", 2), ("0-2", 3)] {
            let error = lanes(list, &[]).expect_err("too few");
            assert!(matches!(error, LaneError::Few { cores } if cores == count), "{error}");
            assert!(error.to_string().contains(&format!("there are {count}")), "{error}");
        }
    }

    #[test]
    fn lanes_that_share_cores_say_so() {
        let lanes = Lanes::sharing([(CoreId::new(1), cores("0")), (CoreId::new(0), cores("1"))]);
        assert_eq!(placed(&lanes), ([(1, vec![0]), (0, vec![1])], 0));
        assert!(Lane::BOTH.iter().all(|lane| lanes.get(*lane).sharing() == Sharing::Shared));
    }
}
