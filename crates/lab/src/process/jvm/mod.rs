//! What a Java virtual machine itself takes: CPU time of its collector and compilers, told apart by the names that HotSpot
//! gives its threads, and pauses of its program.
//!
//! The kernel keeps 15 bytes of a name. What a thread used between the last look at it and its end is not known to be
//! its own, so the compilers' time is a lower bound where HotSpot ends some of their threads.

pub mod counters;

use std::collections::BTreeMap;
use std::fs;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::JvmPauses;

use self::counters::PauseCounters;
use crate::host::procfs::{self, Pid};
use crate::process::account::CpuAccount;

/// What a machine's own threads do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Collecting garbage; also other operations while all threads stand still, which `VM Thread` carries out.
    Collecting,
    /// Compiling bytecode, and removing compiled code.
    Compiling,
}

/// The beginnings of names, of HotSpot in JDK 17 to 25: Serial (`VM Thread` alone), Parallel, G1, ZGC and Shenandoah.
const NAMES: [(&str, Work); 15] = [
    ("VM Thread", Work::Collecting),
    ("GC Thread", Work::Collecting),
    ("G1 ", Work::Collecting),
    ("ZDirector", Work::Collecting),
    ("ZDriver", Work::Collecting),
    ("ZStat", Work::Collecting),
    ("ZUncommitter", Work::Collecting),
    ("ZUnmapper", Work::Collecting),
    ("ZWorker", Work::Collecting),
    ("RuntimeWorker", Work::Collecting),
    ("Shenandoah", Work::Collecting),
    ("C1 Compiler", Work::Compiling),
    ("C2 Compiler", Work::Compiling),
    ("JVMCI", Work::Compiling),
    ("Sweeper", Work::Compiling),
];

/// What a machine itself took since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JvmUse {
    /// CPU time of the collector's threads, and of `VM Thread`.
    pub collector: Nanoseconds,
    /// CPU time of the compilers' threads.
    pub compiler: Nanoseconds,
    /// `None` where it does not tell.
    pub pauses: Option<JvmPauses>,
}

/// The machines among a role's processes.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    /// What a process's machine shares; `None` where it runs none.
    known: BTreeMap<Pid, Option<Machine>>,
    /// What a thread of one does; `None` for those that run the program's code.
    works: BTreeMap<Pid, Option<Work>>,
    collector: CpuAccount,
    compiler: CpuAccount,
}

/// One process's.
#[derive(Debug)]
struct Machine {
    pauses: Option<PauseCounters>,
}

impl Machines {
    /// What they have taken until now; `None` where no process is a Java virtual machine, or the kernel does not count.
    pub fn observe(&mut self, processes: &[Pid]) -> Option<JvmUse> {
        let mut works = BTreeMap::new();
        let (mut collecting, mut compiling) = (Vec::new(), Vec::new());
        let mut pauses = Some(JvmPauses::default());
        for &pid in processes {
            let Some(machine) = self.known.entry(pid).or_insert_with(|| Machine::of(pid)) else { continue };
            let told = machine.pauses.as_ref().and_then(PauseCounters::read);
            pauses = pauses.zip(told).map(|(pauses, told)| pauses + told);
            for thread in procfs::threads(pid) {
                let folder = format!("/proc/{pid}/task/{thread}");
                let known = self.works.get(&thread).copied();
                let work = known.unwrap_or_else(|| work_of(&name(&format!("{folder}/comm"))?));
                works.insert(thread, work);
                let clocks = match work {
                    Some(Work::Collecting) => &mut collecting,
                    Some(Work::Compiling) => &mut compiling,
                    None => continue,
                };
                let line = fs::read_to_string(format!("{folder}/schedstat"));
                clocks.extend(line.ok().and_then(|line| time_of(&line)).map(|time| (thread, time)));
            }
        }
        // Threads that have ended are forgotten.
        self.works = works;
        let [collector, compiler] =
            [self.collector.observe(&collecting), self.compiler.observe(&compiling)].map(|read| read.time);
        // Without compilers (`-Xint`) there is still `VM Thread`.
        let has_run = collector + compiler > Nanoseconds::ZERO;
        has_run.then_some(JvmUse { collector, compiler, pauses })
    }
}

impl Machine {
    fn of(pid: Pid) -> Option<Self> {
        let is_one = name(&format!("/proc/{pid}/comm")).as_deref() == Some("java");
        is_one.then(|| Self { pauses: PauseCounters::of(pid) })
    }
}

fn name(file: &str) -> Option<String> {
    Some(fs::read_to_string(file).ok()?.trim_end().to_owned())
}

fn work_of(name: &str) -> Option<Work> {
    NAMES.into_iter().find(|(start, _)| name.starts_with(start)).map(|(_, work)| work)
}

/// The first number of `schedstat`: time on a core.
fn time_of(line: &str) -> Option<Nanoseconds> {
    line.split_ascii_whitespace().next()?.parse().ok().map(Nanoseconds::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;
    use crate::host::sys;

    #[test]
    fn threads_are_known_by_the_names_that_the_kernel_keeps() {
        let work = |names: &[&str]| names.iter().map(|name| work_of(name)).collect::<Vec<_>>();
        let collecting = [
            "VM Thread",
            "GC Thread#0",
            "G1 Main Marker",
            "G1 Conc#0",
            "G1 Refine#0",
            "G1 Service",
            "ZWorker#0",
            "ZWorkerYoung#0",
            "ZDriverMinor",
            "Shenandoah GC T",
        ];
        assert_eq!(work(&collecting), [Some(Work::Collecting); 10]);
        assert_eq!(work(&["C1 CompilerThre", "C2 CompilerThre"]), [Some(Work::Compiling); 2]);
        assert_eq!(
            work(&["java", "main", "HTTP-Dispatcher", "VM Periodic Tas", "Reference Handl"]),
            [None; 5]
        );
    }

    #[test]
    fn the_first_number_is_the_time() {
        assert_eq!(time_of("55659 67064 1\n"), Some(Nanoseconds::from_nanos(55_659)));
        assert_eq!((time_of(""), time_of("x 1")), (None, None));
    }

    #[test]
    fn what_is_no_machine_has_no_such_threads() {
        assert_eq!(Machines::default().observe(&[Pid::new(std::process::id() as i32)]), None);
    }

    /// User and system time of each collection by the machine's log: the whole process's while its program stands still.
    fn logged(line: &str) -> Option<f64> {
        let (_, times) = line.split_once("User=")?;
        let (user, rest) = times.split_once("s Sys=")?;
        let (system, _) = rest.split_once("s Real=")?;
        Some(user.parse::<f64>().ok()? + system.parse::<f64>().ok()?)
    }

    /// What a machine took that holds and collects garbage, what its process used by then, and its output until then.
    struct Held {
        seen: JvmUse,
        whole: Nanoseconds,
        lines: Vec<String>,
    }

    fn hold(options: [&str; 2]) -> Held {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/Hold.java");
        let mut machine = Command::new("java")
            .args(options)
            .args(["-Xmx1g", source])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Java virtual machine is there");
        let pid = Pid::new(machine.id() as i32);
        let output = BufReader::new(machine.stdout.take().expect("its output"));
        let lines = output.lines().map(|line| line.expect("text")).take_while(|line| line != "done");
        let lines = lines.collect();
        let seen = Machines::default().observe(&[pid]).expect("a Java virtual machine");
        let whole = sys::process_cpu_clock(pid).expect("it runs");
        drop(machine.stdin.take());
        assert!(machine.wait().expect("it ends").success());
        Held { seen, whole, lines }
    }

    /// The time of each pause by the machine's log, in nanoseconds.
    fn paused(line: &str) -> Option<f64> {
        let (_, time) = line.split_once("Safepoint \"")?.1.split_once("Total: ")?;
        time.split_once(" ns")?.0.parse().ok()
    }

    /// Oracles: the log has the time of collections to 10 ms each, and of pauses exactly; what the process used is more than its
    /// parts.
    #[test]
    fn the_collectors_threads_used_and_pauses_took_what_its_own_log_says() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC"] {
            let held = hold([collector, "-Xlog:gc+cpu=info,safepoint=info:stdout"]);
            let Held { seen: cpu, whole, lines } = held;
            let collections: Vec<f64> = lines.iter().filter_map(|line| logged(line)).collect();
            let logged: Vec<f64> = lines.iter().filter_map(|line| paused(line)).collect();
            let (said, found): (f64, f64) = (collections.iter().sum(), cpu.collector.as_secs_f64());
            assert!(collections.len() >= 10, "{collector}: {collections:?}");
            assert!((found / said - 1.0).abs() < 0.1, "{collector}: {found} s, by the log {said} s");
            assert!(
                cpu.compiler > Nanoseconds::ZERO && cpu.collector + cpu.compiler < whole,
                "{cpu:?}, {whole}"
            );
            // A pause for other reasons may come at any time.
            let pauses = cpu.pauses.expect("it shares its counters");
            let more = pauses.count - logged.len() as u64;
            assert!(logged.len() >= 10 && more <= 3, "{collector}: {pauses:?}, by the log {logged:?}");
            let (said, found) = (logged.iter().sum::<f64>(), pauses.time.as_nanos() as f64);
            assert!((found / said - 1.0).abs() < 0.05, "{collector}: {found} ns, by the log {said} ns");
            assert!(hold([collector, "-XX:-UsePerfData"]).seen.pauses.is_none());
        }
    }
}
