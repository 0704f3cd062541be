//! What `/proc` says of processes: their identity, the members of a session, what runs below a process, and
//! whether their threads have stopped.
//!
//! A process is identified by id *and* start time, since ids are reused; only the very process that was read is
//! signalled.

use std::fs;
use std::io;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::{Bytes, Nanoseconds};

use crate::host::sys::{self, Signal};

pub use crate::host::id::Pid;

/// How often `/proc` is read again because a parent ended meanwhile.
const SEARCHES: usize = 5;

/// A process that cannot be mistaken for a later one of the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIdentity {
    /// Its id.
    pub pid: Pid,
    /// When it started, in clock ticks since boot (field 22 of `/proc/<pid>/stat`).
    pub start_time: u64,
}

impl ProcessIdentity {
    /// The current process with id `pid`; `None` if there is none.
    pub fn read(pid: Pid) -> Option<Self> {
        ProcessStat::read(pid).map(|stat| Self { pid, start_time: stat.start_time })
    }
    /// This process.
    pub fn own() -> Option<Self> {
        Self::read(Pid::own())
    }
    /// Sends it a signal, and never to a later process of the same id.
    pub(crate) fn signal(self, signal: Signal) -> io::Result<()> {
        sys::signal_if(self.pid, signal, || Self::read(self.pid) == Some(self))
    }
    /// Whether this very process exists and is not a zombie.
    pub fn is_alive(self) -> bool {
        ProcessStat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.is_gone())
    }
}

/// The fields of `/proc/<pid>/stat` that this crate uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// Process id.
    pub pid: Pid,
    /// Name of the executable, at most 15 bytes.
    pub name: String,
    /// State letter: `R`, `S`, `D`, `T`, `t`, `Z`, `X`, `I`.
    pub state: char,
    /// Parent's id.
    pub parent: Pid,
    /// Process group.
    pub group: Pid,
    pub session: Pid,
    /// Threads, one that has ended last included.
    pub threads: u64,
    /// CPU time in user and kernel mode, in clock ticks.
    pub cpu_ticks: u64,
    /// Start, in clock ticks since boot.
    pub start_time: u64,
}

impl ProcessStat {
    /// Reads a process's line; `None` if it has ended or is unreadable.
    pub fn read(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses one line of `/proc/<pid>/stat`. The name may hold spaces and parentheses, so the last `)` ends
    /// it.
    pub fn parse(line: &str) -> Option<Self> {
        let (open, close) = (line.find('(')?, line.rfind(')')?);
        let pid = line[..open].trim().parse().ok().map(Pid::new)?;
        let name = line.get(open + 1..close)?.to_owned();
        // The fields after the name, so that index 0 is field 3 of proc(5).
        let rest: Vec<&str> = line[close + 1..].split_ascii_whitespace().collect();
        let field = |number: usize| rest.get(number - 3).copied();
        let id = |number: usize| field(number)?.parse().ok().map(Pid::new);
        let ticks = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            pid,
            name,
            state: field(3)?.chars().next()?,
            parent: id(4)?,
            group: id(5)?,
            session: id(6)?,
            cpu_ticks: ticks(14)?.saturating_add(ticks(15)?),
            threads: ticks(20)?,
            start_time: ticks(22)?,
        })
    }

    /// Which process it is.
    pub(crate) const fn identity(&self) -> ProcessIdentity {
        ProcessIdentity { pid: self.pid, start_time: self.start_time }
    }

    /// Whether it has ended: a zombie, or dead. One whose first thread alone has ended looks like a zombie and
    /// runs on.
    pub const fn is_gone(&self) -> bool {
        self.has_stopped_for_good() && self.threads <= 1
    }

    /// Whether the thread that the line is about has ended.
    const fn has_stopped_for_good(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Every visible process, ended ones included.
pub fn processes() -> Vec<ProcessStat> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::new))
        .filter_map(ProcessStat::read)
        .collect()
}

/// The processes below `root` that still run: its children, their children and so on.
///
/// A parent may end while `/proc` is read and its id be taken by a stranger. So a child counts only if its parent
/// was still the same process after the child was read; otherwise `/proc` is read again. Of processes that end
/// all the time some may be missing.
pub(crate) fn descendants(root: ProcessIdentity) -> Vec<ProcessStat> {
    let mut found = Vec::new();
    for _ in 0..SEARCHES {
        let all = processes();
        let is_same = |parent: ProcessIdentity| ProcessIdentity::read(parent.pid) == Some(parent);
        let whole = below(root, &all, |_| true).len();
        found = below(root, &all, is_same);
        if found.len() == whole {
            break;
        }
    }
    found.retain(|stat| !stat.is_gone());
    found
}

/// The processes below `root` by the parents that they name, as far as `is_same` confirms these.
fn below(
    root: ProcessIdentity,
    all: &[ProcessStat],
    is_same: impl Fn(ProcessIdentity) -> bool,
) -> Vec<ProcessStat> {
    let mut found: Vec<ProcessStat> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        // Nothing starts before its parent.
        let is_child =
            |stat: &&ProcessStat| stat.parent == parent.pid && stat.start_time >= parent.start_time;
        let children: Vec<&ProcessStat> = all.iter().filter(is_child).collect();
        if !children.is_empty() && is_same(parent) {
            parents.extend(children.iter().map(|stat| stat.identity()));
            found.extend(children.into_iter().cloned());
        }
    }
    found
}

/// The user that a process acts as; `None` if it has ended.
pub(crate) fn user(pid: Pid) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether processes of other users are hidden from this one (`hidepid` of `proc(5)`).
pub fn others_are_hidden() -> bool {
    // The first process is root's, and always there.
    ProcessStat::read(Pid::new(1)).is_none()
}

/// The processes of a session or process group that still run. A session includes its groups, so children of
/// a shell with job control are found; only a child that calls `setsid` itself is not.
pub fn session_members(session: Pid) -> Vec<ProcessStat> {
    let belongs = |stat: &ProcessStat| stat.session == session || stat.group == session;
    processes().into_iter().filter(|stat| belongs(stat) && !stat.is_gone()).collect()
}

/// How long ago a process started; `None` if the kernel does not report the time since boot.
pub(crate) fn age(stat: &ProcessStat) -> Option<Nanoseconds> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = uptime.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Nanoseconds::from_secs_f64(seconds).saturating_sub(sys::tick() * stat.start_time))
}

/// The threads of a process; empty if it has ended.
pub(crate) fn threads(pid: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::new)).collect()
}

/// Whether no thread of a process can run before it, or one of `others`, is continued: each is stopped, has ended, or
/// waits for a stopped child to execute its program.
///
/// Such a wait (`vfork`; `posix_spawn` uses it) does not end for a stop signal, so that the parent never looks stopped.
/// `cgroup.freeze` counts it as frozen too.
pub(crate) fn stands_still(pid: Pid, others: &[Pid]) -> bool {
    threads(pid).into_iter().all(|thread| {
        let line = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).unwrap_or_default();
        ProcessStat::parse(&line).is_none_or(|stat| match stat.state {
            'T' | 't' => true,
            'D' => is_making_a_process(pid, thread) && has_stopped_child(pid, others),
            _ => stat.has_stopped_for_good(),
        })
    })
}

/// Whether a thread is in a system call that makes a process; no where the kernel does not say.
fn is_making_a_process(pid: Pid, thread: Pid) -> bool {
    let making = [
        libc::SYS_clone,
        libc::SYS_clone3,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
    ];
    let line = fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).unwrap_or_default();
    let number = line.split_ascii_whitespace().next().and_then(|number| number.parse().ok());
    number.is_some_and(|number| making.contains(&number))
}

fn has_stopped_child(parent: Pid, among: &[Pid]) -> bool {
    let mut stats = among.iter().filter_map(|pid| ProcessStat::read(*pid));
    stats.any(|stat| stat.parent == parent && matches!(stat.state, 'T' | 't'))
}

/// The last id that the kernel assigned: while it stays the same, no process or thread has started.
pub(crate) fn last_pid() -> Option<Pid> {
    parse_last_pid(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn parse_last_pid(loadavg: &str) -> Option<Pid> {
    loadavg.split_ascii_whitespace().nth(4)?.parse().ok().map(Pid::new)
}

/// The largest resident size that a process ever had (`VmHWM`); `None` if it has ended or has no memory of
/// its own.
pub(crate) fn peak_memory(pid: Pid) -> Option<Bytes> {
    parse_peak_memory(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn parse_peak_memory(status: &str) -> Option<Bytes> {
    kib_field(status, "VmHWM:")
}

/// A `Name:   123 kB` line of `/proc/meminfo` or `/proc/<pid>/status`.
pub(crate) fn kib_field(text: &str, name: &str) -> Option<Bytes> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(Bytes::new(kib.checked_mul(1024)?))
}

/// The inodes of the sockets that a process has open; an error if its descriptors are not visible.
pub(crate) fn socket_inodes(pid: Pid) -> io::Result<Vec<u64>> {
    let inode = |path: PathBuf| {
        let link = fs::read_link(path).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.filter_map(|entry| inode(entry.ok()?.path())).collect())
}

/// The namespace of a process's id: processes of the same namespace see each other by the same ids. `None` if
/// it has ended.
pub fn numbering(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "5216 (a) b (c) S 1 5216 77 34816 5216 4194304 94 0 0 0 12 30 0 0 20 0 3 0 98765 2637824 231 \
                        18446744073709551615 1 1 0 0 0 0 0 0 17 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let stat = ProcessStat::parse(LINE).expect("a whole line");
        let wanted = ProcessStat {
            pid: Pid::new(5216),
            name: "a) b (c".to_owned(),
            state: 'S',
            parent: Pid::new(1),
            group: Pid::new(5216),
            session: Pid::new(77),
            threads: 3,
            cpu_ticks: 42,
            start_time: 98765,
        };
        assert_eq!(stat, wanted);
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_is_not_gone() {
        let stat = |state, threads| {
            ProcessStat { state, threads, ..ProcessStat::parse(LINE).expect("a whole line") }.is_gone()
        };
        assert_eq!([stat('Z', 1), stat('Z', 0), stat('Z', 2), stat('S', 1)], [true, true, false, false]);
    }

    #[test]
    fn a_torn_line_is_no_process() {
        for end in [0, 4, 5, 9, 20, 60] {
            assert_eq!(ProcessStat::parse(&LINE[..end]), None, "first {end} bytes");
        }
        assert_eq!(ProcessStat::parse(")x("), None);
    }

    /// A line of `/proc/<pid>/stat` of this process.
    fn process(pid: i32, parent: i32, start_time: u64) -> ProcessStat {
        let line = format!("{pid} (x) S {parent} 1 1 {}{start_time}", "0 ".repeat(15));
        ProcessStat::parse(&line).expect("a whole line")
    }

    #[test]
    fn children_of_children_are_below_and_whoever_took_a_parents_id_is_not() {
        let root = ProcessIdentity { pid: Pid::new(10), start_time: 100 };
        let all = [process(10, 1, 100), process(11, 10, 101), process(12, 11, 102), process(13, 1, 103)];
        let ids = |found: Vec<ProcessStat>| found.iter().map(|stat| stat.pid.get()).collect::<Vec<_>>();
        assert_eq!(ids(below(root, &all, |_| true)), [11, 12]);
        // 11 has ended and 12 is a stranger's child, or cannot be told from one.
        assert_eq!(ids(below(root, &all, |parent| parent.pid.get() == 10)), [11]);
        // It started before what would be its parent.
        assert_eq!(ids(below(root, &[process(11, 10, 99)], |_| true)), [0; 0]);
    }

    #[test]
    fn this_process_is_found_alive_and_a_later_namesake_is_not() {
        let own = ProcessIdentity::own().expect("/proc is mounted");
        assert!(own.is_alive());
        assert!(!ProcessIdentity { start_time: own.start_time + 1, ..own }.is_alive());
    }

    #[test]
    fn literal_samples_of_loadavg_and_status_are_read() {
        assert_eq!(parse_last_pid("0.31 0.12 0.04 1/88 5216\n"), Some(Pid::new(5216)));
        assert_eq!(parse_last_pid("0.31 0.12"), None);
        let status = "Name:\tsleep\nVmPeak:\t    5568 kB\nVmHWM:\t    1804 kB\nVmRSS:\t 1804 kB\n";
        assert_eq!(parse_peak_memory(status), Some(Bytes::new(1804 * 1024)));
        assert_eq!(parse_peak_memory("Name:\tkthreadd\n"), None);
    }
}
