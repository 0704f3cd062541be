//! Noise from the host that affects measurements: stolen time, interrupts, context switches, other processes,
//! frequency, core latency, gaps. Observed while nothing is measured, and over a whole calibration.
//!
//! [`Quiet::watch`] and [`NoiseWatch`] observe; [`sources`] describes what they saw and is a pure function. A
//! source that cannot be read is reported with the reason; nothing is guessed.

use std::fs;
use std::time::Duration;

use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::reliability::NoiseSource;

use crate::doctor::{BusyProcess, busy_processes, cpu_ticks, parse_load};
use crate::host::clock::monotonic_now;
use crate::host::core_latency;
use crate::host::cores::CoreLayout;
use crate::host::cputime::{CpuTimes, steal_share};
use crate::host::scheduler_jitter::{self, SchedulerJitter};

/// Core latencies within this factor count as equal: those of cores that share a cache repeat to some ten
/// percent, others are at least twice as long.
const ALIKE: f64 = 1.6;

/// Share of stolen CPU time, or of gaps, that affects 99th percentiles.
const IN_A_P99: f64 = 0.01;

/// Counts of `/proc/stat` since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Interrupts served.
    pub interrupts: u64,
    /// Switches from one thread to another.
    pub switches: u64,
}

/// Reads the counts from the text of `/proc/stat`; `None` where it is not as expected.
pub fn parse_counts(text: &str) -> Option<Counts> {
    let first = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    };
    Some(Counts { interrupts: first("intr ")?, switches: first("ctxt ")? })
}

/// What was seen while nothing was measured.
#[derive(Debug, Clone, Default)]
pub struct Quiet {
    /// How long it was watched.
    pub watched: Nanoseconds,
    /// Interrupts per second.
    pub interrupts: Option<f64>,
    /// Context switches per second.
    pub switches: Option<f64>,
    /// Other processes that used CPU.
    pub busy: Option<Vec<BusyProcess>>,
    /// Load average over one minute.
    pub load: Option<f64>,
    /// Scheduler jitter of the client's core, with the services' cores kept busy.
    pub jitter: Option<SchedulerJitter>,
}

impl Quiet {
    /// Watches the host for `time`, and then the client's core for as long.
    pub fn watch(cores: &CoreLayout, time: Duration) -> Self {
        let read = || parse_counts(&fs::read_to_string("/proc/stat").ok()?);
        let (before, ticks, began) = (read(), cpu_ticks(), monotonic_now());
        std::thread::sleep(time);
        let (after, watched) = (read(), monotonic_now().since(began));
        let rate = |count: fn(Counts) -> u64| {
            let counted = count(after?).saturating_sub(count(before?));
            Some(counted as f64 / watched.as_secs_f64())
        };
        Self {
            watched,
            interrupts: rate(|counts| counts.interrupts),
            switches: rate(|counts| counts.switches),
            busy: (!ticks.is_empty()).then(|| busy_processes(&ticks, watched)),
            load: fs::read_to_string("/proc/loadavg").ok().and_then(|text| parse_load(&text)),
            jitter: scheduler_jitter::watch(cores, Nanoseconds::from_nanos(time.as_nanos() as u64)).ok(),
        }
    }
}

/// Observations over a whole calibration.
#[derive(Debug)]
pub struct NoiseWatch {
    began: Option<CpuTimes>,
    core_latencies: Vec<Nanoseconds>,
    no_core_latency: Option<String>,
    frequencies: Vec<u64>,
}

impl NoiseWatch {
    /// Begins to watch.
    pub fn start() -> Self {
        Self {
            began: CpuTimes::read(),
            core_latencies: Vec::new(),
            no_core_latency: None,
            frequencies: Vec::new(),
        }
    }

    /// Measures the core latency and reads the frequency. Call it between runs, when nothing is measured.
    pub fn sample(&mut self, cores: &CoreLayout) {
        match core_latency::round_trip(cores.client(), cores.service()[0]) {
            Ok(latency) => self.core_latencies.push(latency),
            Err(error) => self.no_core_latency = Some(error.to_string()),
        }
        let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cores.client());
        self.frequencies
            .extend(fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok()));
    }

    /// What was seen so far.
    pub fn seen(&self, quiet: Quiet) -> Seen {
        let now = CpuTimes::read();
        Seen {
            steal: self.began.as_ref().zip(now.as_ref()).map(|(before, after)| steal_share(before, after)),
            quiet,
            core_latencies: self.core_latencies.clone(),
            no_core_latency: self.no_core_latency.clone(),
            frequencies_khz: self.frequencies.clone(),
        }
    }
}

/// Everything that [`sources`] describes.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Share of CPU time stolen over the calibration.
    pub steal: Option<Ratio>,
    /// Observations while nothing was measured.
    pub quiet: Quiet,
    /// Round trips of a cache line, one per run.
    pub core_latencies: Vec<Nanoseconds>,
    /// Why there is no core latency, if there is none.
    pub no_core_latency: Option<String>,
    /// Frequencies of the client's core, one per run.
    pub frequencies_khz: Vec<u64>,
}

fn source(name: &str, unit: &str, value: Option<f64>, evidence: String, effect: &str) -> NoiseSource {
    NoiseSource { source: name.to_owned(), value, unit: unit.to_owned(), evidence, effect: effect.to_owned() }
}

/// The sources of noise with their values and effects.
pub fn sources(seen: &Seen) -> Vec<NoiseSource> {
    vec![
        steal(seen.steal),
        gap_share(seen.quiet.jitter.as_ref()),
        core_latency(seen),
        rate("interrupts", seen.quiet.interrupts),
        rate("context switches", seen.quiet.switches),
        neighbours(&seen.quiet),
        frequency(&seen.frequencies_khz),
    ]
}

fn steal(share: Option<Ratio>) -> NoiseSource {
    let Some(share) = share else {
        let why = "unavailable: `/proc/stat` cannot be read".to_owned();
        return source("steal", "share", None, why, "unknown");
    };
    let effect = match share.get() {
        share if share > IN_A_P99 => {
            "lengthens 99th percentiles and means; a block with more than 10 % is void"
        }
        0.0 => "none seen; some hypervisors do not tell",
        _ => "too little for 99th percentiles; single maxima may be the hypervisor's",
    };
    source(
        "steal",
        "share",
        Some(share.get()),
        format!("{share} of CPU time taken by the hypervisor"),
        effect,
    )
}

fn gap_share(jitter: Option<&SchedulerJitter>) -> NoiseSource {
    let Some(jitter) = jitter else {
        let why = "unavailable: the client's core could not be watched".to_owned();
        return source("gaps", "share", None, why, "unknown");
    };
    let evidence = format!(
        "{} of the client core's time, {:.1} gaps/s of 50 µs or more, the longest {}",
        Ratio::new(jitter.share()),
        jitter.per_second(),
        jitter.longest
    );
    let effect = match jitter.share() {
        share if share >= IN_A_P99 => "in every 99th percentile; medians are hardly touched",
        _ => "below what a 99th percentile shows; maxima are the host's",
    };
    source("gaps", "share", Some(jitter.share()), evidence, effect)
}

fn core_latency(seen: &Seen) -> NoiseSource {
    let mut sorted = seen.core_latencies.clone();
    sorted.sort_unstable();
    let Some(median) = sorted.get(sorted.len() / 2).copied() else {
        let why = seen.no_core_latency.clone().unwrap_or_else(|| "nothing was measured".to_owned());
        return source("core latency", "ns", None, format!("unavailable: {why}"), "unknown");
    };
    let (near, far) = (sorted[0], sorted[sorted.len() - 1]);
    let evidence = format!(
        "a cache line goes to the service's core and back in {median} (median of {}), {near} to {far}",
        sorted.len()
    );
    let changes = flips(&seen.core_latencies);
    let effect = match changes {
        0 => "steady: costs one level",
        _ => {
            "the hypervisor moves the cores: every request's cost changes by dozens of such trips, for seconds at a time; \
              only what alternates within that time is comparable"
        }
    };
    let evidence = match changes {
        0 => evidence,
        1 => format!("{evidence}; it changed once from one run to the next"),
        changes => format!("{evidence}; it changed {changes} times from one run to the next"),
    };
    source("core latency", "ns", Some(median.as_nanos() as f64), evidence, effect)
}

/// How often neighbours in a series differ by more than [`ALIKE`].
fn flips(series: &[Nanoseconds]) -> usize {
    let differ = |pair: &&[Nanoseconds]| {
        let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        high.as_nanos() as f64 > ALIKE * low.as_nanos() as f64
    };
    series.windows(2).filter(differ).count()
}

fn rate(name: &str, per_second: Option<f64>) -> NoiseSource {
    let Some(rate) = per_second else {
        let why = "unavailable: `/proc/stat` cannot be read".to_owned();
        return source(name, "per_s", None, why, "unknown");
    };
    let effect = "each takes some µs of a core: single slow requests, seldom a median";
    source(name, "per_s", Some(rate), format!("{rate:.0}/s while nothing was measured"), effect)
}

fn neighbours(quiet: &Quiet) -> NoiseSource {
    let Some(busy) = &quiet.busy else {
        let why = "unavailable: `/proc` does not list processes".to_owned();
        return source("neighbours", "cores", None, why, "unknown");
    };
    let load = quiet.load.map(|load| format!("; load average {load:.2}")).unwrap_or_default();
    let sum: f64 = busy.iter().map(|process| process.share.get()).sum();
    if busy.is_empty() {
        let evidence = format!("no other process used more than 5 % of a core{load}");
        return source("neighbours", "cores", Some(0.0), evidence, "none");
    }
    let names: Vec<String> =
        busy.iter().take(3).map(|process| format!("`{}` {}", process.name, process.share)).collect();
    let effect = "they take cores and caches from client and service; stop them, or wait";
    source("neighbours", "cores", Some(sum), format!("{} of a core{load}", names.join(", ")), effect)
}

fn frequency(khz: &[u64]) -> NoiseSource {
    let (Some(low), Some(high)) = (khz.iter().min(), khz.iter().max()) else {
        let why = "unavailable: the kernel has no cpufreq for the client's core (usual on virtual machines)";
        return source("frequency", "kHz", None, why.to_owned(), "unknown: turbo and throttling go unseen");
    };
    let evidence = format!("client's core {:.2} to {:.2} GHz", *low as f64 / 1e6, *high as f64 / 1e6);
    let effect = match *high as f64 > 1.05 * *low as f64 {
        true => "times go with it; variants that alternate share it, separate runs do not",
        false => "steady",
    };
    source("frequency", "kHz", Some((low + high) as f64 / 2.0), evidence, effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(times: &[u64]) -> Vec<Nanoseconds> {
        times.iter().copied().map(Nanoseconds::from_nanos).collect()
    }

    #[test]
    fn counts_are_the_first_numbers_of_their_lines() {
        let text = "cpu  1 2 3\nintr 133318 0 7 0\nctxt 990\nbtime 1\n";
        assert_eq!(parse_counts(text), Some(Counts { interrupts: 133_318, switches: 990 }));
        for text in ["", "intr 1 2\n", "ctxt 5\n", "intr x\nctxt 1\n"] {
            assert_eq!(parse_counts(text), None, "{text:?}");
        }
    }

    #[test]
    fn large_changes_of_core_latency_are_distinguished_from_small_ones() {
        assert_eq!(flips(&nanos(&[60, 65, 70, 66])), 0);
        assert_eq!(flips(&nanos(&[60, 400, 420, 61, 60])), 2);
        assert_eq!(flips(&nanos(&[60])), 0);
        let seen = Seen { core_latencies: nanos(&[60, 400, 62]), ..Seen::default() };
        let found = core_latency(&seen);
        assert_eq!(found.value, Some(62.0));
        assert!(
            found.evidence.contains("changed 2 times") && found.effect.contains("hypervisor"),
            "{found:?}"
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let seen = Seen { no_core_latency: Some("one core".to_owned()), ..Seen::default() };
        let all = sources(&seen);
        assert_eq!(all.len(), 7);
        for found in &all {
            assert!(found.value.is_none() && found.evidence.starts_with("unavailable: "), "{found:?}");
        }
        assert!(all.iter().any(|found| found.evidence.ends_with("one core")));
    }

    #[test]
    fn sources_describe_their_effect() {
        let busy = |share| BusyProcess {
            pid: crate::host::procfs::Pid::own(),
            name: "cc".into(),
            share: Ratio::new(share),
        };
        let seen = Seen {
            steal: Some(Ratio::new(0.03)),
            quiet: Quiet {
                interrupts: Some(250.4),
                switches: Some(99.6),
                busy: Some(vec![busy(0.5), busy(0.25)]),
                load: Some(1.25),
                jitter: Some(SchedulerJitter {
                    watched: Nanoseconds::from_secs(1),
                    away: Nanoseconds::from_millis(20),
                    count: 40,
                    longest: Nanoseconds::from_millis(3),
                }),
                watched: Nanoseconds::from_secs(1),
            },
            frequencies_khz: vec![2_000_000, 3_000_000],
            ..Seen::default()
        };
        let all = sources(&seen);
        let noise = |name: &str| all.iter().find(|found| found.source == name).unwrap();
        assert!(noise("steal").effect.contains("99th"), "{:?}", noise("steal"));
        assert_eq!(noise("gaps").value, Some(0.02));
        assert!(noise("gaps").effect.starts_with("in every 99th"));
        assert_eq!(noise("interrupts").evidence, "250/s while nothing was measured");
        assert_eq!(noise("neighbours").value, Some(0.75));
        assert!(
            noise("neighbours").evidence.contains("`cc` 50 %")
                && noise("neighbours").evidence.contains("1.25")
        );
        assert!(noise("frequency").effect.contains("separate runs do not"));
    }

    #[test]
    fn this_host_can_be_watched() {
        let cores = CoreLayout::detect().expect("cores");
        let quiet = Quiet::watch(&cores, Duration::from_millis(20));
        assert!(quiet.interrupts.is_some() && quiet.switches.is_some());
        let mut watch = NoiseWatch::start();
        watch.sample(&cores);
        let seen = watch.seen(quiet);
        assert!(seen.core_latencies.len() == 1 || seen.no_core_latency.is_some());
        assert!(sources(&seen).iter().all(|found| !found.evidence.is_empty()));
    }
}
