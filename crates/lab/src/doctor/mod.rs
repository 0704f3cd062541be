//! Conditions on this host that spoil measurements, with evidence and remedies.
//!
//! [`Observation::take`] reads the host. [`diagnose`] judges what it read and is a pure function. Neither
//! changes anything; [`crate::removal::stale::clean`] carries out the one remedy that this program can.

mod idle;
pub mod noise;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::environment::{HostFacts, Hypervisor};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Ratio};
use weighbridge_model::record::{CpuQuota, Throttling};

use crate::cleanup::registry;
use crate::host::cores::{CoreLayout, Sharing, core_list};
use crate::host::cputime::{CpuTimes, steal_share};
use crate::host::idle::can_be_kept_awake;
use crate::host::procfs::{self, Pid};
use crate::host::resource_limits;
use crate::host::sys;
use crate::host::{facts, memory_available};
use crate::layers::{self, LayerReport};
use crate::process::freeze::FreezeMethod;
use crate::process::memory;
use crate::process::quota;
use crate::removal::stale::stale_summary;
use crate::unavailable::Unavailable;

pub use settings::CoreInterrupts;

// Thresholds, each with its reason.

/// Stolen share of CPU time that shows in tail percentiles.
const STEAL_WARNING: f64 = 0.01;
/// Stolen share at which a block is invalid (METHODOLOGY, self-check).
const STEAL_PROBLEM: f64 = 0.10;
/// CPU time, in cores, that the generator alone uses while it polls. A smaller quota leaves nothing for
/// services.
const GENERATOR_CORES: f64 = 1.0;
/// Runnable tasks per core, averaged over a minute, that exceed those of an idle desktop.
const LOAD_WARNING: f64 = 0.25;
/// Share of one core from which a process competes with a measurement.
const BUSY_WARNING: f64 = 0.05;
/// A slower clock read is a system call. At three reads per request that is some percent of a short request.
const CLOCK_WARNING: Nanoseconds = Nanoseconds::from_nanos(250);
/// A slower clock read makes the generator measure its own clock.
const CLOCK_PROBLEM: Nanoseconds = Nanoseconds::from_micros(1);
/// Connections that one process should be able to hold. Too few open files for them make a large load fail.
const CONNECTIONS_WARNING: u64 = 10_000;
/// A closed connection holds its port for a minute; below this 250 new connections a second exhaust them.
const PORTS_WARNING: u32 = 16_384;
/// A few virtual machines of six variants do not fit into less.
const MEMORY_WARNING: Bytes = Bytes::new(1 << 30);
/// A run's own records do not fit into less.
const MEMORY_PROBLEM: Bytes = Bytes::new(256 << 20);

/// How a user without rights gets control groups.
const HAVE_GROUPS: &str = "run `systemd-run --user --scope -p Delegate=yes weigh …` to have control groups";

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Fine,
    /// To be known when reading results.
    Note,
    /// Widens intervals or biases some figures.
    Warning,
    /// Results are not to be trusted before this is mended.
    Problem,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// How many cores there are and who gets which.
    Cores,
    /// CPU time that a control group allows this process and all that it starts.
    CpuQuota,
    /// Whether CPU time and memory of a variant can be limited.
    Limits,
    /// Physical cores shared by client and service.
    Siblings,
    /// What governs the frequency.
    Governor,
    /// How idle cores wait.
    IdleStates,
    /// How often devices interrupt the cores that measure.
    Interrupts,
    /// Cores that the kernel hands packets to.
    PacketSteering,
    /// Transparent huge pages.
    HugePages,
    /// Whether programs are laid out anew with each start.
    AddressLayout,
    /// Time taken by the hypervisor.
    Steal,
    /// The load average.
    Load,
    /// Other programs that use CPU.
    BusyProcesses,
    /// What the clock runs by.
    ClockSource,
    /// What a read of the clock costs.
    ClockCost,
    /// The limit of open files.
    OpenFiles,
    /// Ports for outgoing connections.
    LocalPorts,
    /// TCP congestion control.
    CongestionControl,
    /// How variants that wait are kept still.
    Freezing,
    /// Whether all that a service starts is found when it is to end.
    CleaningUp,
    /// Free memory.
    Memory,
    /// Which layers can be put between client and service.
    Layers,
    /// What earlier runs left behind.
    Leftovers,
    /// Whether measurements on this host have been tried on copies. Not seen from here: whoever keeps
    /// calibrations tells.
    Calibration,
}

impl Subject {
    /// Whether the finding is printed even where all is as it should be.
    pub const fn is_shown_when_fine(self) -> bool {
        !matches!(self, Self::Interrupts | Self::PacketSteering | Self::HugePages | Self::AddressLayout)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cores => "cores",
            Self::CpuQuota => "CPU quota",
            Self::Limits => "limits",
            Self::Siblings => "SMT siblings",
            Self::Governor => "frequency governor",
            Self::IdleStates => "idle states",
            Self::Interrupts => "interrupts",
            Self::PacketSteering => "packet steering",
            Self::HugePages => "huge pages",
            Self::AddressLayout => "address layout",
            Self::Steal => "steal",
            Self::Load => "load average",
            Self::BusyProcesses => "busy processes",
            Self::ClockSource => "clock source",
            Self::ClockCost => "clock cost",
            Self::OpenFiles => "open files",
            Self::LocalPorts => "local ports",
            Self::CongestionControl => "congestion control",
            Self::Freezing => "freezing",
            Self::CleaningUp => "cleaning up",
            Self::Memory => "memory",
            Self::Layers => "layers",
            Self::Leftovers => "leftovers",
            Self::Calibration => "calibration",
        })
    }
}

/// One thing found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What it is about.
    pub subject: Subject,
    /// What was seen.
    pub evidence: String,
    /// What to do; `None` where nothing needs doing or nothing can be done.
    pub remedy: Option<String>,
}

impl Finding {
    fn new(level: Level, subject: Subject, evidence: impl Into<String>) -> Self {
        Self { level, subject, evidence: evidence.into(), remedy: None }
    }

    fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// A process that used CPU while we looked.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyProcess {
    pub pid: Pid,
    pub name: String,
    /// Share of one core.
    pub share: Ratio,
}

/// Whether processes of other users can be seen and ended, such as those of a setuid program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They can be ended too.
    Ours,
    /// They are seen, and only named.
    Named,
    /// `/proc` hides them.
    Hidden,
}

impl Others {
    fn detect() -> Self {
        match (sys::may_end_others(), procfs::others_are_hidden()) {
            (true, _) => Self::Ours,
            (false, false) => Self::Named,
            (false, true) => Self::Hidden,
        }
    }
}

/// Everything that [`diagnose`] judges.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub facts: HostFacts,
    /// Which cores client and services would use; `None` where the cores are unknown.
    pub layout: Option<CoreLayout>,
    /// The tightest quota of CPU time on this process, and how often it throttled so far.
    pub quota: Option<(CpuQuota, Option<Throttling>)>,
    /// Which version of control groups can limit a variant's CPU time and memory, or why none can.
    pub limits: [(&'static str, Result<quota::Version, String>); 2],
    /// Whether idle cores can be kept awake; otherwise the reason and the remedy.
    pub awake: Result<(), (String, String)>,
    /// Share of CPU time stolen since boot.
    pub steal_since_boot: Option<Ratio>,
    /// Share of CPU time stolen during the observation.
    pub steal_now: Option<Ratio>,
    /// Load average over one minute.
    pub load: Option<f64>,
    /// Other processes that used CPU during the observation, the busiest first.
    pub busy: Vec<BusyProcess>,
    /// How often devices interrupted each core during the observation.
    pub interrupts: Vec<CoreInterrupts>,
    /// How a lab would freeze variants.
    pub freezing: FreezeMethod,
    /// What could be done about processes of other users.
    pub others: Others,
    /// Cost of one read of the monotonic clock.
    pub clock_cost: Nanoseconds,
    /// Memory available without swapping.
    pub memory_available: Option<Bytes>,
    /// Which layers can run here.
    pub layers: Vec<LayerReport>,
    /// Number of registries whose owners are dead, and a description of what they list that still exists.
    pub stale: Option<(usize, String)>,
}

impl Observation {
    /// Observes the host for `interval` (half a second is enough for counters in 10 ms ticks) and reads the
    /// registries in `base`. Call it before pinning any thread.
    pub fn take(interval: Duration, base: Option<&Path>) -> Self {
        let boot = CpuTimes::default();
        let before = CpuTimes::read();
        let first = cpu_ticks();
        let quiet = settings::read_interrupts();
        let start = sys::monotonic();
        std::thread::sleep(interval);
        let passed = sys::monotonic().since(start);
        let interrupts =
            settings::interrupts_between(&quiet, &settings::read_interrupts(), passed.as_secs_f64());
        let busy = busy_processes(&first, passed);
        let after = CpuTimes::read();
        let stale: Vec<_> = base
            .and_then(|base| registry::list(base).ok())
            .into_iter()
            .flatten()
            .filter(registry::Listed::is_stale)
            .collect();
        Self {
            facts: facts::read(),
            layout: CoreLayout::detect().ok(),
            quota: quota::own_quota(),
            limits: [
                (
                    "`cpu`",
                    quota::Controller::detect().map(|found| found.version()).map_err(|why| why.to_string()),
                ),
                (
                    "`memory`",
                    memory::Controller::detect().map(|found| found.version()).map_err(|why| why.to_string()),
                ),
            ],
            awake: can_be_kept_awake().map_err(|error| (error.why(), error.remedy().to_owned())),
            steal_since_boot: after.as_ref().map(|after| steal_share(&boot, after)),
            steal_now: before.as_ref().zip(after.as_ref()).map(|(before, after)| steal_share(before, after)),
            load: fs::read_to_string("/proc/loadavg").ok().and_then(|text| parse_load(&text)),
            busy,
            interrupts,
            freezing: FreezeMethod::detect(),
            others: Others::detect(),
            clock_cost: clock_cost(),
            memory_available: memory_available(),
            layers: layers::report(),
            stale: (!stale.is_empty()).then(|| (stale.len(), stale_summary(&stale))),
        }
    }
}

pub(crate) fn parse_load(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

pub(crate) type Ticks = HashMap<(Pid, u64), u64>;

pub(crate) fn cpu_ticks() -> Ticks {
    procfs::processes().into_iter().map(|stat| ((stat.pid, stat.start_time), stat.cpu_ticks)).collect()
}

pub(crate) fn busy_processes(first: &Ticks, passed: Nanoseconds) -> Vec<BusyProcess> {
    let mut busy = Vec::new();
    for stat in procfs::processes().into_iter().filter(|stat| stat.pid != Pid::own()) {
        let before = first.get(&(stat.pid, stat.start_time)).copied().unwrap_or(0);
        let share = (sys::tick() * stat.cpu_ticks.saturating_sub(before)).share_of(passed);
        if share.get() > BUSY_WARNING {
            busy.push(BusyProcess { pid: stat.pid, name: stat.name, share });
        }
    }
    busy.sort_by(|a, b| b.share.get().total_cmp(&a.share.get()));
    busy
}

/// The cheapest of several series, since an interruption only makes a series slower.
fn clock_cost() -> Nanoseconds {
    const READS: u64 = 1_000;
    let series = || {
        let start = sys::monotonic();
        let last = (0..READS).fold(start, |_, _| sys::monotonic());
        last.since(start) / READS
    };
    (0..20).map(|_| series()).min().unwrap_or_default()
}

/// Judges the observation: at most one finding per subject, in the order of [`Subject`].
pub fn diagnose(seen: &Observation) -> Vec<Finding> {
    let judges = [
        cores,
        cpu_quota,
        limits,
        siblings,
        governor,
        idle::idle_states,
        settings::interrupts,
        settings::packet_steering,
        settings::huge_pages,
        settings::address_layout,
        steal,
        load,
        busy,
        clock_source,
        clock,
        open_files,
        local_ports,
        congestion_control,
        freezing,
        cleaning_up,
        memory,
        runnable_layers,
        leftovers,
    ];
    judges.iter().filter_map(|judge: &fn(&Observation) -> Option<Finding>| judge(seen)).collect()
}

fn cores(seen: &Observation) -> Option<Finding> {
    let layout = seen.layout.as_ref()?;
    let level = match (layout.sharing(), layout.service().len()) {
        (Sharing::Shared, _) => Level::Problem,
        (Sharing::Apart, 1) => Level::Note,
        (Sharing::Apart, _) => Level::Fine,
    };
    let finding = Finding::new(level, Subject::Cores, layout.to_string());
    let remedy = "use a host with at least two cores, or allow this process more than one";
    Some(if level == Level::Problem { finding.with_remedy(remedy) } else { finding })
}

/// Services inherit this process's quota, and the generator polls through windows and so uses a whole core of
/// it.
fn cpu_quota(seen: &Observation) -> Option<Finding> {
    let layout = seen.layout.as_ref()?;
    let cores = match layout.sharing() {
        Sharing::Shared => 1,
        Sharing::Apart => layout.service().len() + 1,
    };
    let Some((quota, throttling)) = seen.quota else {
        return Some(Finding::new(Level::Fine, Subject::CpuQuota, "none on this process"));
    };
    let allowed = quota.cores().get();
    let held_up = throttling.filter(|seen| seen.throttled > 0).map(|seen| {
        format!("; held up in {} of {} periods so far, {} in all", seen.throttled, seen.periods, seen.time)
    });
    let evidence = format!(
        "{} in every {}, the time of {allowed:.2} of {cores} cores{}",
        quota.time,
        quota.period,
        held_up.unwrap_or_default()
    );
    let level = match allowed {
        enough if enough >= cores as f64 => Level::Fine,
        alone if alone <= GENERATOR_CORES => Level::Problem,
        _ => Level::Warning,
    };
    let finding = Finding::new(level, Subject::CpuQuota, evidence);
    let remedy = "run `weigh` where CPU time is not limited (a container without `--cpus`, a unit without `CPUQuota=`): \
                  generator and services share the quota";
    Some(if level > Level::Fine { finding.with_remedy(remedy) } else { finding })
}

fn siblings(seen: &Observation) -> Option<Finding> {
    let (layout, groups) = (seen.layout.as_ref()?, seen.facts.siblings.as_ref()?);
    let shared = layout.siblings_of_client(groups);
    let client = layout.client();
    if shared.is_empty() {
        let evidence = format!("no service core shares a physical core with the client's core {client}");
        return Some(Finding::new(Level::Fine, Subject::Siblings, evidence));
    }
    let list = core_list(&shared);
    let evidence = format!("service cores {list} share a physical core with the client's core {client}");
    let mut apart: Vec<_> = layout.service().iter().copied().filter(|core| !shared.contains(core)).collect();
    apart.push(client);
    let finding = Finding::new(Level::Warning, Subject::Siblings, evidence);
    Some(if apart.len() > 1 {
        finding.with_remedy(format!("run `weigh` under `taskset -c {}`", core_list(&apart)))
    } else {
        finding.with_remedy("switch SMT off in the firmware, or use a host with more physical cores")
    })
}

fn governor(seen: &Observation) -> Option<Finding> {
    let Some(frequency) = &seen.facts.frequency else {
        let evidence = "the host does not tell how its frequency is governed";
        return Some(Finding::new(Level::Note, Subject::Governor, evidence));
    };
    let boost = frequency.boost.map(|boost| format!("; boost {}", boost.word())).unwrap_or_default();
    let evidence = format!("{}{boost}", frequency.governors.join(", "));
    if frequency.governors.iter().all(|name| name == "performance") {
        return Some(Finding::new(Level::Fine, Subject::Governor, evidence));
    }
    let remedy = "run `cpupower frequency-set -g performance`";
    Some(Finding::new(Level::Warning, Subject::Governor, evidence).with_remedy(remedy))
}

fn steal(seen: &Observation) -> Option<Finding> {
    let since_boot = seen.steal_since_boot?;
    let worst = seen.steal_now.map_or(since_boot.get(), |now| now.get().max(since_boot.get()));
    let level = match worst {
        share if share > STEAL_PROBLEM => Level::Problem,
        share if share > STEAL_WARNING => Level::Warning,
        _ => Level::Fine,
    };
    let now = seen.steal_now.map(|now| format!(", {now} now")).unwrap_or_default();
    let host = if seen.facts.hypervisor == Some(Hypervisor::Present) { "; a virtual machine" } else { "" };
    let evidence = format!("{since_boot} of CPU time stolen since boot{now}{host}");
    let finding = Finding::new(level, Subject::Steal, evidence);
    let remedy = "use a host of your own or dedicated cores, or measure at a quieter hour";
    Some(if level > Level::Fine { finding.with_remedy(remedy) } else { finding })
}

fn load(seen: &Observation) -> Option<Finding> {
    let load = seen.load?;
    let cores = seen.facts.cores.as_ref().map_or(1, |cores| cores.len().max(1));
    let evidence = format!("{load:.2} over one minute on {cores} cores");
    if load <= LOAD_WARNING * cores as f64 {
        return Some(Finding::new(Level::Fine, Subject::Load, evidence));
    }
    let remedy = "wait until other work is done, or stop it";
    Some(Finding::new(Level::Warning, Subject::Load, evidence).with_remedy(remedy))
}

fn busy(seen: &Observation) -> Option<Finding> {
    if seen.busy.is_empty() {
        let evidence = "no other process uses more than 5 % of a core";
        return Some(Finding::new(Level::Fine, Subject::BusyProcesses, evidence));
    }
    let names: Vec<String> = seen
        .busy
        .iter()
        .take(5)
        .map(|process| format!("`{}` (process {}) {}", process.name, process.pid, process.share))
        .collect();
    let more = seen.busy.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let evidence = format!("{}{more} of a core", names.join(", "));
    Some(Finding::new(Level::Warning, Subject::BusyProcesses, evidence).with_remedy("stop them, or wait"))
}

fn clock_source(seen: &Observation) -> Option<Finding> {
    let source = seen.facts.clock_source.as_deref()?;
    let level = match source {
        "tsc" | "arch_sys_counter" => Level::Fine,
        "hpet" | "acpi_pm" | "jiffies" | "pit" | "refined-jiffies" => Level::Problem,
        _ => Level::Warning,
    };
    let finding = Finding::new(level, Subject::ClockSource, format!("`{source}`"));
    let offered = seen.facts.clock_sources.iter().flatten().any(|name| name == "tsc");
    Some(match (level, offered) {
        (Level::Fine, _) => finding,
        (_, true) => finding.with_remedy(
            "write `tsc` to /sys/devices/system/clocksource/clocksource0/current_clocksource as root",
        ),
        (_, false) => finding.with_remedy("use a host whose kernel trusts the processor's own counter"),
    })
}

fn clock(seen: &Observation) -> Option<Finding> {
    let level = match seen.clock_cost {
        cost if cost > CLOCK_PROBLEM => Level::Problem,
        cost if cost > CLOCK_WARNING => Level::Warning,
        _ => Level::Fine,
    };
    let finding = Finding::new(level, Subject::ClockCost, format!("{} a read", seen.clock_cost));
    let remedy = "change the clock source, or leave the tracer or sandbox that intercepts the call";
    Some(if level > Level::Fine { finding.with_remedy(remedy) } else { finding })
}

fn open_files(seen: &Observation) -> Option<Finding> {
    let limit = seen.facts.open_files?;
    let connections = resource_limits::connections_with(limit);
    let evidence =
        format!("{} (may be raised to {}): up to {connections} connections", limit.soft, limit.hard);
    if connections >= CONNECTIONS_WARNING {
        return Some(Finding::new(Level::Fine, Subject::OpenFiles, evidence));
    }
    let needed = CONNECTIONS_WARNING + resource_limits::SERVICE_FILES;
    let remedy = format!(
        "for {CONNECTIONS_WARNING} connections raise the hard limit: `ulimit -Hn {needed}` as root, or `LimitNOFILE={needed}` of the unit"
    );
    Some(Finding::new(Level::Warning, Subject::OpenFiles, evidence).with_remedy(remedy))
}

fn local_ports(seen: &Observation) -> Option<Finding> {
    let range = seen.facts.local_ports?;
    let reserved = seen.facts.reserved_ports.unwrap_or(0);
    let connections = resource_limits::connections_over(range, reserved);
    let evidence = format!(
        "{} ports ({}): up to {connections} connections to one address",
        range.count(),
        resource_limits::range_text(range, reserved)
    );
    if connections >= PORTS_WARNING {
        return Some(Finding::new(Level::Fine, Subject::LocalPorts, evidence));
    }
    let remedy = "run `sysctl net.ipv4.ip_local_port_range='32768 60999'` as root";
    Some(Finding::new(Level::Warning, Subject::LocalPorts, evidence).with_remedy(remedy))
}

fn congestion_control(seen: &Observation) -> Option<Finding> {
    let name = seen.facts.congestion_control.as_deref()?;
    // Only a value other than the kernel's default needs an explanation beside results.
    let level = if name == "cubic" { Level::Fine } else { Level::Note };
    Some(Finding::new(level, Subject::CongestionControl, format!("`{name}`")))
}

fn freezing(seen: &Observation) -> Option<Finding> {
    let evidence = format!("variants that wait are kept still by {}", seen.freezing);
    let finding = |level| Finding::new(level, Subject::Freezing, evidence.as_str());
    Some(match seen.freezing {
        FreezeMethod::Cgroup => finding(Level::Fine),
        FreezeMethod::Stop => finding(Level::Note).with_remedy(HAVE_GROUPS),
    })
}

/// What the record of a run promises about what it leaves behind, and to whom.
fn cleaning_up(seen: &Observation) -> Option<Finding> {
    let finding = |level, evidence| Finding::new(level, Subject::CleaningUp, evidence);
    let by_keeper = "what a service starts is found by its parents";
    Some(match (seen.freezing, seen.others) {
        (FreezeMethod::Cgroup, _) => finding(Level::Fine, "what a service starts ends with its control group".to_owned()),
        (FreezeMethod::Stop, Others::Ours) => finding(Level::Fine, format!("{by_keeper} and ended")),
        (FreezeMethod::Stop, Others::Named) => finding(
            Level::Note,
            format!("{by_keeper} and ended, or named where it runs as another user (setuid)"),
        )
        .with_remedy(HAVE_GROUPS),
        (FreezeMethod::Stop, Others::Hidden) => finding(
            Level::Warning,
            format!("{by_keeper} and ended, but not where it runs as another user (setuid), which `/proc` hides here"),
        )
        .with_remedy(HAVE_GROUPS),
    })
}

/// A missing limit is not a defect of the host: an experiment that needs it reports that itself.
fn limits(seen: &Observation) -> Option<Finding> {
    let kinds = seen.limits.iter().map(|(key, found)| match found {
        Ok(quota::Version::First) => format!("{key} by version 1 of control groups"),
        Ok(quota::Version::Second) => format!("{key} by version 2 of control groups"),
        Err(why) => format!("not {key}: {why}"),
    });
    let all = seen.limits.iter().all(|(_, found)| found.is_ok());
    let level = if all { Level::Fine } else { Level::Note };
    Some(Finding::new(level, Subject::Limits, kinds.collect::<Vec<_>>().join("; ")))
}

fn memory(seen: &Observation) -> Option<Finding> {
    let available = seen.memory_available?;
    let level = match available {
        bytes if bytes < MEMORY_PROBLEM => Level::Problem,
        bytes if bytes < MEMORY_WARNING => Level::Warning,
        _ => Level::Fine,
    };
    let whole = seen.facts.memory.map(|whole| format!(" of {whole}")).unwrap_or_default();
    let finding = Finding::new(level, Subject::Memory, format!("{available}{whole} available"));
    let remedy = "free memory, or give `together` a smaller number of variants";
    Some(if level > Level::Fine { finding.with_remedy(remedy) } else { finding })
}

/// A missing layer is not a defect of the host: an experiment that needs it reports that itself.
fn runnable_layers(seen: &Observation) -> Option<Finding> {
    let named = |names: &[&str]| names.join(", ");
    let runnable: Vec<&str> =
        seen.layers.iter().filter(|one| one.found.is_ok()).map(|one| one.name.as_str()).collect();
    let mut missing: Vec<(&Unavailable, Vec<&str>)> = Vec::new();
    for LayerReport { name, found } in &seen.layers {
        let Err(why) = found else { continue };
        match missing.iter_mut().find(|(other, _)| *other == why) {
            Some((_, names)) => names.push(name),
            None => missing.push((why, vec![name])),
        }
    }
    if seen.layers.is_empty() {
        return None;
    }
    if missing.is_empty() {
        return Some(Finding::new(Level::Fine, Subject::Layers, named(&runnable)));
    }
    let not = missing.iter().map(|(why, names)| format!("not {}: {}", named(names), why.reason));
    let can = (!runnable.is_empty()).then(|| named(&runnable));
    let evidence = can.into_iter().chain(not).collect::<Vec<_>>().join("; ");
    let remedies: Vec<&str> = missing.iter().map(|(why, _)| why.remedy.as_str()).collect();
    Some(Finding::new(Level::Note, Subject::Layers, evidence).with_remedy(remedies.join("; ")))
}

fn leftovers(seen: &Observation) -> Option<Finding> {
    let Some((count, things)) = &seen.stale else {
        return Some(Finding::new(Level::Fine, Subject::Leftovers, "no run left anything behind"));
    };
    let runs = if *count == 1 { "run" } else { "runs" };
    let evidence = format!("{count} {runs} ended without cleaning up: {things}");
    Some(Finding::new(Level::Warning, Subject::Leftovers, evidence).with_remedy("run `weigh doctor --clean`"))
}

#[cfg(test)]
mod tests;
