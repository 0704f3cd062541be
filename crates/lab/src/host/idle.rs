//! Idle states: how an idle core waits, and keeping idle cores awake.
//!
//! The kernel stops an idle core in one of the states of its cpuidle driver, and waking it takes up to that
//! state's latency. On a virtual machine it also takes an exit to the hypervisor, of unknown length. A
//! process that holds `/dev/cpu_dma_latency` open sets the longest latency of waking for all cores (the
//! kernel's PM QoS, `Documentation/power/pm_qos_interface.rst`); with 0 an idle core polls for work. The
//! kernel drops the request when the descriptor is closed, so nothing is left behind however a run ends.
//! Nothing else on the host is changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use weighbridge_model::environment::{IdleFacts, IdleState};
use weighbridge_model::idle::Idle;
use weighbridge_model::quantity::Nanoseconds;

/// Where the kernel accepts requests for the longest latency of waking.
const DEVICE: &str = "/dev/cpu_dma_latency";

/// The kernel's value for "any": `PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, 2,000 s.
const ANY_LATENCY: i32 = 2_000_000_000;

/// Where the kernel lists drivers, governors and states.
const CPUIDLE: &str = "/sys/devices/system/cpu/cpuidle";

/// The kernel's command line.
const COMMAND_LINE: &str = "/proc/cmdline";

/// Reads the facts by a function that gives a file's text.
pub(crate) fn facts(read: &dyn Fn(&str) -> Option<String>) -> IdleFacts {
    let word = |path: String| read(&path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let known = |path: String| word(path).filter(|text| text != "none");
    let driver = known(format!("{CPUIDLE}/current_driver"));
    let states = (0..).map_while(|number| state(number, &word)).collect();
    let poll = "/sys/module/haltpoll/parameters/guest_halt_poll_ns".to_owned();
    IdleFacts {
        guest_halt_poll: driver
            .as_deref()
            .filter(|driver| *driver == "haltpoll")
            .and_then(|_| word(poll)?.parse().ok())
            .map(Nanoseconds::from_nanos),
        driver,
        governor: known(format!("{CPUIDLE}/current_governor"))
            .or_else(|| known(format!("{CPUIDLE}/current_governor_ro"))),
        states,
        latency_limit: None,
    }
}

fn state(number: usize, word: &dyn Fn(String) -> Option<String>) -> Option<IdleState> {
    let read = |name: &str| word(format!("/sys/devices/system/cpu/cpu0/cpuidle/state{number}/{name}"));
    let time = |name: &str| Some(Nanoseconds::from_micros(read(name)?.parse().ok()?));
    Some(IdleState {
        name: read("name")?,
        latency: time("latency")?,
        residency: time("residency").unwrap_or_default(),
        disabled: read("disable").is_some_and(|text| text != "0"),
    })
}

/// The longest latency of waking that the kernel allows now, over all requests.
pub fn latency_limit() -> Option<Nanoseconds> {
    let mut bytes = [0; 4];
    File::open(DEVICE).and_then(|mut file| file.read_exact(&mut bytes)).ok()?;
    u64::try_from(i32::from_ne_bytes(bytes)).ok().map(Nanoseconds::from_micros)
}

/// Why idle cores cannot be kept awake.
#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    #[error("`{DEVICE}` may not be opened ({0})")]
    Refused(io::Error),
    #[error("there is no `{DEVICE}` here")]
    Missing,
    #[error("the kernel has no cpuidle driver that would heed the request")]
    NoDriver,
    #[error("the kernel was started with `idle=poll`, so that its idle cores always poll")]
    AlwaysPolled,
    #[error("the shallowest idle state is `{0}`, which has to be woken, too")]
    NoPolling(String),
}

impl IdleError {
    /// The reason.
    pub fn why(&self) -> String {
        self.to_string()
    }

    /// What would allow keeping them awake.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Refused(_) => {
                "run as root, or give your group the device (udev: `KERNEL==\"cpu_dma_latency\", GROUP=\"…\", MODE=\"0660\"`), or have the host keep its cores awake (`tuned-adm profile latency-performance`; C-states off in the firmware)"
            }
            Self::Missing => {
                "in a container pass it on (`--device /dev/cpu_dma_latency`), or have the host keep its cores awake (`tuned-adm profile latency-performance`; C-states off in the firmware)"
            }
            Self::NoDriver => {
                "load a cpuidle driver (in a virtual machine `cpuidle_haltpoll` with `force=1`), or take times for those of a host whose cores sleep"
            }
            Self::AlwaysPolled => "start the kernel without `idle=poll`",
            Self::NoPolling(_) => "take times for those of a host whose cores sleep",
        }
    }
}

/// Whether a kernel with this command line has its idle cores poll; the last parameter about idling counts.
fn always_polls(command_line: &str) -> bool {
    command_line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("idle=")).next_back()
        == Some("poll")
}

/// Whether idle cores can be kept awake here, or always are.
pub fn can_be_kept_awake() -> Result<(), IdleError> {
    match IdleHold::open() {
        Err(IdleError::AlwaysPolled) => Ok(()),
        opened => opened.map(drop),
    }
}

/// A request to keep idle cores awake, or not, in force until it is dropped.
#[derive(Debug)]
pub struct IdleHold {
    device: File,
    now: Mutex<Idle>,
}

impl IdleHold {
    /// Opens the device without a request.
    pub fn open() -> Result<Self, IdleError> {
        if fs::read_to_string(COMMAND_LINE).is_ok_and(|line| always_polls(&line)) {
            return Err(IdleError::AlwaysPolled);
        }
        // Rust closes it in the programs that we start; a service must not hold it after our end.
        let device = OpenOptions::new().write(true).open(DEVICE).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => IdleError::Missing,
            _ => IdleError::Refused(error),
        })?;
        let driver = fs::read_to_string(Path::new(CPUIDLE).join("current_driver")).unwrap_or_default();
        if matches!(driver.trim(), "" | "none") {
            return Err(IdleError::NoDriver);
        }
        let shallowest = facts(&|path| fs::read_to_string(path).ok()).states.into_iter().next();
        if let Some(state) = shallowest.filter(|state| state.latency > Nanoseconds::ZERO) {
            return Err(IdleError::NoPolling(state.name));
        }
        let hold = Self { device, now: Mutex::new(Idle::Polled) };
        // A newly opened descriptor requests any latency. Writing that shows whether writing is permitted.
        hold.ask(Idle::Host).map_err(IdleError::Refused)?;
        Ok(hold)
    }

    /// Sets how idle cores wait from now on.
    pub fn ask(&self, idle: Idle) -> io::Result<()> {
        let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *now != idle {
            let microseconds: i32 = match idle {
                Idle::Polled => 0,
                Idle::Host => ANY_LATENCY,
            };
            (&self.device).write_all(&microseconds.to_ne_bytes())?;
            *now = idle;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'a>(known: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |path| known.iter().find(|(name, _)| *name == path).map(|(_, text)| format!("{text}\n"))
    }

    #[test]
    fn states_of_a_server_are_read_in_their_order() {
        let cpu = "/sys/devices/system/cpu";
        let names: Vec<String> = [
            "cpuidle/current_driver",
            "cpuidle/current_governor",
            "cpu0/cpuidle/state0/name",
            "cpu0/cpuidle/state0/latency",
            "cpu0/cpuidle/state1/name",
            "cpu0/cpuidle/state1/latency",
            "cpu0/cpuidle/state1/residency",
            "cpu0/cpuidle/state1/disable",
        ]
        .map(|name| format!("{cpu}/{name}"))
        .into();
        let texts = ["intel_idle", "menu", "POLL", "0", "C6", "133", "600", "1"];
        let known: Vec<_> = names.iter().map(String::as_str).zip(texts).collect();
        let facts = facts(&files(&known));
        assert_eq!(facts.in_words(), "intel_idle: POLL 0 ns, C6 133 µs (off)");
        assert_eq!(facts.states[1].residency, Nanoseconds::from_micros(600));
        assert_eq!((facts.governor.as_deref(), facts.guest_halt_poll), (Some("menu"), None));
    }

    #[test]
    fn the_polling_time_of_a_virtual_machine_is_read() {
        let known = [
            ("/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
            ("/sys/devices/system/cpu/cpuidle/current_governor_ro", "haltpoll"),
            ("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000"),
        ];
        let facts = facts(&files(&known));
        assert_eq!(facts.guest_halt_poll, Some(Nanoseconds::from_micros(200)));
        assert_eq!(facts.governor.as_deref(), Some("haltpoll"));
    }

    #[test]
    fn a_kernel_without_a_driver_says_so() {
        let none = facts(&files(&[("/sys/devices/system/cpu/cpuidle/current_driver", "none")]));
        assert_eq!((none.driver.clone(), none.in_words()), (None, "no cpuidle driver".to_owned()));
        assert_eq!(facts(&|_| None), IdleFacts::default());
    }

    #[test]
    fn always_polling_is_recognised_by_the_kernels_command_line() {
        assert!(always_polls("ro quiet idle=poll mitigations=off\n"));
        for other in ["ro quiet", "ro idle=halt", "xidle=poll", "idle=poll idle=nomwait", "ro cpuidle.off=1"]
        {
            assert!(!always_polls(other), "{other}");
        }
    }

    /// Reads back the limit that results from all requests. Other processes may hold some, so only a tighter
    /// limit is expected.
    #[test]
    fn the_kernel_applies_the_request_and_drops_it() {
        let Ok(hold) = IdleHold::open() else { return };
        hold.ask(Idle::Polled).expect("an open device takes it");
        assert_eq!(latency_limit(), Some(Nanoseconds::ZERO));
        hold.ask(Idle::Host).expect("an open device takes it");
        let others = latency_limit();
        drop(hold);
        assert_eq!(latency_limit(), others);
    }
}
