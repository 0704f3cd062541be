//! Which cores the client has and which the variants' roles share, and pinning to them.
//!
//! The last core is the client's alone, so that generator and service do not compete for CPU time. Nothing
//! more is decided here. On one core they share it, and the layout says so.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::id::Pid;
use crate::host::procfs;
use crate::host::sys;

pub use crate::host::id::CoreId;

/// Whether client and services run on cores of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// The client's core is the client's alone.
    Apart,
    /// Clients and services have not a core each, and every measurement on them is suspect.
    Shared,
}

/// Who runs where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CoreLayout {
    client: CoreId,
    service: Vec<CoreId>,
    sharing: Sharing,
}

/// Why cores could not be found or used.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    /// The kernel would not tell this process's affinity (more than 1024 cores, or a sandbox).
    #[error(
        "could not read which cores this process may use; run `weigh` under `taskset` with a list of cores"
    )]
    Unknown(#[source] io::Error),
    #[error("there is no core to run on; give `weigh` at least one core")]
    NoCore,
    #[error("could not pin {what} to {cores}; check that the cores are online and allowed")]
    Pin {
        /// What was to be pinned.
        what: String,
        /// The intended cores.
        cores: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

impl CoreLayout {
    /// The layout of the cores that this process may use. Call it before pinning anything: a pinned process
    /// sees only its own core. The kernel reports no offline cores in an affinity mask.
    pub fn detect() -> Result<Self, CoreError> {
        Self::from_allowed(&sys::affinity(Some(Pid::own())).map_err(CoreError::Unknown)?)
    }

    /// The layout of a given set of cores: the last is the client's, the others are the services'.
    pub fn from_allowed(allowed: &[CoreId]) -> Result<Self, CoreError> {
        let mut service = allowed.to_vec();
        service.sort_unstable();
        service.dedup();
        let client = service.pop().ok_or(CoreError::NoCore)?;
        if service.is_empty() {
            return Ok(Self { client, service: vec![client], sharing: Sharing::Shared });
        }
        Ok(Self { client, service, sharing: Sharing::Apart })
    }

    /// A layout whose client's core is shared.
    pub(crate) const fn shared(client: CoreId, service: Vec<CoreId>) -> Self {
        Self { client, service, sharing: Sharing::Shared }
    }

    /// The generator's core.
    pub const fn client(&self) -> CoreId {
        self.client
    }

    /// The cores that all roles of a variant share, ascending, never empty.
    pub fn service(&self) -> &[CoreId] {
        &self.service
    }

    /// Whether the client's core is its own.
    pub const fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// The service cores that are SMT siblings of the client's core, given all groups of siblings. What runs
    /// there slows the generator.
    pub fn siblings_of_client(&self, groups: &[Vec<CoreId>]) -> Vec<CoreId> {
        let with_client = groups.iter().filter(|group| group.contains(&self.client)).flatten();
        with_client.copied().filter(|core| *core != self.client && self.service.contains(core)).collect()
    }
}

/// The sentence for the report.
impl fmt::Display for CoreLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.sharing, self.service.len()) {
            (Sharing::Shared, _) => f.write_str(
                "one core in all: client and service share it, and costs include the client's work",
            ),
            (Sharing::Apart, 1) => f.write_str("one service core: costs are CPU costs, no parallelism"),
            (Sharing::Apart, count) => {
                write!(f, "{count} service cores ({}), ", core_list(&self.service))?;
                write!(f, "the client alone on core {}", self.client)
            }
        }
    }
}

/// Formats ascending cores as the kernel lists them: `0-2,5`.
pub fn core_list(cores: &[CoreId]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == core.get() => *last = core.get(),
            _ => ranges.push((core.get(), core.get())),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Parses a list such as `0-2,5`; `None` if it is invalid. Ranges end at 65535, far above any machine.
pub fn parse_core_list(text: &str) -> Option<Vec<CoreId>> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n <= u32::from(u16::MAX));
    let mut cores = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend((number(first)?..=number(last)?).map(CoreId::new));
    }
    Some(cores)
}

/// Lets the calling thread run on `core` only.
pub fn pin_current_thread(core: CoreId) -> Result<(), CoreError> {
    sys::set_affinity(None, &[core]).map_err(|source| CoreError::Pin {
        what: "this thread".to_owned(),
        cores: format!("core {core}"),
        source,
    })
}

/// A thread that is pinned as long as this value lives.
#[derive(Debug)]
#[must_use = "the thread is let go when this is dropped"]
pub struct Pinned {
    before: Vec<CoreId>,
}

impl Pinned {
    /// Pins the calling thread to `core` until the value is dropped on the same thread. Until then, code that
    /// lists the available cores sees only this one.
    pub fn current_thread(core: CoreId) -> Result<Self, CoreError> {
        let before = sys::affinity(None).map_err(CoreError::Unknown)?;
        pin_current_thread(core)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If a core went offline meanwhile, the rest of the list still applies.
        let _ = sys::set_affinity(None, &self.before);
    }
}

/// Pins every thread of a process to `cores`. New threads inherit from threads that may not be pinned yet, so
/// the list is read again until it shows no new one.
pub fn pin_process(pid: Pid, cores: &[CoreId]) -> Result<(), CoreError> {
    let fail = |source| CoreError::Pin {
        what: format!("process {pid}"),
        cores: format!("cores {}", core_list(cores)),
        source,
    };
    let mut pinned: Vec<Pid> = Vec::new();
    loop {
        let threads = procfs::threads(pid);
        let fresh: Vec<Pid> = threads.into_iter().filter(|thread| !pinned.contains(thread)).collect();
        if fresh.is_empty() && pinned.is_empty() {
            return Err(fail(io::ErrorKind::NotFound.into()));
        }
        if fresh.is_empty() {
            return Ok(());
        }
        for thread in fresh {
            match sys::set_affinity(Some(thread), cores) {
                // A thread that has ended meanwhile needs no pinning.
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(fail(error)),
                _ => pinned.push(thread),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(numbers: &[u32]) -> Vec<CoreId> {
        numbers.iter().copied().map(CoreId::new).collect()
    }

    #[test]
    fn the_last_allowed_core_is_the_clients() {
        let layout = CoreLayout::from_allowed(&cores(&[6, 2, 0, 3])).expect("cores");
        assert_eq!(layout.client(), CoreId::new(6));
        assert_eq!(layout.service(), cores(&[0, 2, 3]));
        assert_eq!(layout.sharing(), Sharing::Apart);
        assert_eq!(layout.to_string(), "3 service cores (0,2-3), the client alone on core 6");
    }

    #[test]
    fn two_cores_say_that_costs_are_cpu_costs() {
        let layout = CoreLayout::from_allowed(&cores(&[0, 1])).expect("cores");
        assert_eq!(layout.service(), cores(&[0]));
        assert_eq!(layout.to_string(), "one service core: costs are CPU costs, no parallelism");
    }

    #[test]
    fn one_core_is_shared_and_flagged() {
        let layout = CoreLayout::from_allowed(&cores(&[4])).expect("cores");
        assert_eq!((layout.client(), layout.service()), (CoreId::new(4), &cores(&[4])[..]));
        assert_eq!(layout.sharing(), Sharing::Shared);
        assert!(layout.to_string().starts_with("one core in all"));
    }

    #[test]
    fn no_core_is_an_error() {
        assert!(matches!(CoreLayout::from_allowed(&[]), Err(CoreError::NoCore)));
    }

    #[test]
    fn siblings_of_the_clients_core_are_found_among_the_service_cores_only() {
        let layout = CoreLayout::from_allowed(&cores(&[0, 1, 3])).expect("cores");
        let groups = [cores(&[0, 2]), cores(&[1, 3])];
        assert_eq!(layout.siblings_of_client(&groups), cores(&[1]));
        assert_eq!(layout.siblings_of_client(&[cores(&[2, 3])]), []);
    }

    #[test]
    fn lists_of_cores_are_read_and_written() {
        for text in ["0", "0-1", "0-2,5", "1,3,5-7"] {
            assert_eq!(core_list(&parse_core_list(text).expect("a list")), text);
        }
        assert_eq!(parse_core_list("\n"), Some(Vec::new()));
        for text in ["x", "1-", "-", "0-99999999"] {
            assert_eq!(parse_core_list(text), None, "{text}");
        }
    }

    #[test]
    fn a_pinned_thread_runs_on_its_core() {
        let allowed = sys::affinity(None).expect("affinity");
        let core = *allowed.last().expect("a core");
        std::thread::spawn(move || {
            pin_current_thread(core).expect("an allowed core");
            assert_eq!(sys::affinity(None).expect("affinity"), [core]);
        })
        .join()
        .expect("the thread's assertions hold");
    }

    #[test]
    fn a_thread_is_let_go_again() {
        let allowed = sys::affinity(None).expect("affinity");
        let pinned = Pinned::current_thread(allowed[0]).expect("an allowed core");
        assert_eq!(sys::affinity(None).expect("affinity"), [allowed[0]]);
        drop(pinned);
        assert_eq!(sys::affinity(None).expect("affinity"), allowed);
    }

    #[test]
    fn pinning_a_process_that_is_not_there_is_an_error() {
        let error = pin_process(Pid::new(i32::MAX), &cores(&[0])).expect_err("no such process");
        assert!(error.to_string().contains("process 2147483647"), "{error}");
    }
}
