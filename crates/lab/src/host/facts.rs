//! Facts about this host without which results cannot be understood or repeated.
//!
//! A fact that the host does not report is missing; nothing is guessed. Of the host's name only a hash is
//! kept. [`crate::doctor`] says what the facts mean for measurements.

mod frequency;
mod interrupts;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use weighbridge_model::environment::{
    BufferSizes, CgroupFacts, CgroupVersion, GitRevision, HostFacts, Hypervisor, PortRange, WorkingTree,
};
use weighbridge_model::hex;
use weighbridge_model::quantity::Bytes;

use crate::host::ask;
use crate::host::cores::{CoreId, parse_core_list};
use crate::host::idle;
use crate::host::mounts::Cgroup2Mount;
use crate::host::procfs::{self, ProcessStat, kib_field};
use crate::host::sys;

pub use interrupts::{InterruptLine, parse_lines as parse_interrupts};

/// Toolchains report their version at once. A wrapper that downloads a toolchain first is not awaited.
const PATIENCE: Duration = Duration::from_secs(10);

/// Toolchains whose version is recorded.
const TOOLCHAINS: [(&str, &[&str]); 7] = [
    ("rust", &["rustc", "--version"]),
    ("go", &["go", "version"]),
    ("java", &["java", "--version"]),
    ("node", &["node", "--version"]),
    ("python", &["python3", "--version"]),
    ("ruby", &["ruby", "--version"]),
    ("c++", &["g++", "--version"]),
];

/// Reads the facts, asks the toolchains, and asks git about `folder` (the experiment's). Takes up to some
/// seconds where a toolchain is slow to answer.
pub fn collect(folder: Option<&Path>) -> HostFacts {
    let mut facts = read();
    facts.toolchains = toolchains();
    facts.revision = folder.and_then(git_revision);
    facts
}

/// Reads the facts that are in `/proc` and `/sys`, and this process's limits: at once, no program is run.
pub fn read() -> HostFacts {
    let mut facts = from_files(&|path| fs::read_to_string(path).ok());
    facts.architecture = Some(std::env::consts::ARCH.to_owned());
    facts.idle.latency_limit = idle::latency_limit();
    facts.open_files = Some(sys::open_file_limit());
    if let Some(interrupts) = &mut facts.settings.interrupts {
        interrupts.balancer = balancer(&procfs::processes());
    }
    facts
}

/// The facts about local ports alone.
pub(crate) fn ports() -> HostFacts {
    from_files(&|path| path.contains("/ip_local_").then(|| fs::read_to_string(path).ok()).flatten())
}

/// The facts that files tell, by a function that gives a file's text.
fn from_files(read: &dyn Fn(&str) -> Option<String>) -> HostFacts {
    let word = |path: &str| read(path).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let number = |path: &str| word(path)?.parse::<u64>().ok();
    let buffers = |name: &str| parse_buffers(&read(&format!("/proc/sys/net/ipv4/{name}"))?);
    let limit = |name: &str| number(&format!("/proc/sys/net/core/{name}")).map(Bytes::new);
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let cores = read("/sys/devices/system/cpu/online").and_then(|text| parse_core_list(&text));
    let source = "/sys/devices/system/clocksource/clocksource0";
    let local_ports = read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| parse_port_range(&text));
    HostFacts {
        processor: parse_processor(&cpuinfo),
        architecture: None,
        siblings: cores.as_deref().and_then(|cores| siblings(cores, read)),
        idle: idle::facts(read),
        frequency: cores.as_deref().and_then(|cores| frequency::facts(cores, read)),
        cores,
        kernel: kernel(read),
        memory: read("/proc/meminfo").and_then(|text| kib_field(&text, "MemTotal:")),
        hypervisor: parse_hypervisor(&cpuinfo),
        clock_source: word(&format!("{source}/current_clocksource")),
        clock_sources: word(&format!("{source}/available_clocksource"))
            .map(|names| names.split_ascii_whitespace().map(str::to_owned).collect()),
        loopback_mtu: number("/sys/class/net/lo/mtu").map(Bytes::new),
        congestion_control: word("/proc/sys/net/ipv4/tcp_congestion_control"),
        receive_buffer: buffers("tcp_rmem"),
        send_buffer: buffers("tcp_wmem"),
        receive_buffer_limit: limit("rmem_max"),
        send_buffer_limit: limit("wmem_max"),
        listen_queue: number("/proc/sys/net/core/somaxconn"),
        local_ports,
        reserved_ports: local_ports.and_then(|range| {
            parse_reserved_ports(&read("/proc/sys/net/ipv4/ip_local_reserved_ports")?, range)
        }),
        open_files: None,
        boot_id: word("/proc/sys/kernel/random/boot_id"),
        hostname_sha256: word("/proc/sys/kernel/hostname").map(|name| hash_name(&name)),
        cgroup: parse_cgroups(
            &read("/proc/self/mountinfo").unwrap_or_default(),
            &read("/proc/self/cgroup").unwrap_or_default(),
        ),
        settings: settings::facts(read),
        toolchains: BTreeMap::new(),
        revision: None,
    }
}

fn balancer(processes: &[ProcessStat]) -> Option<String> {
    processes.iter().map(|process| &process.name).find(|name| *name == "irqbalance").cloned()
}

fn kernel(read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let parts: Vec<String> = ["ostype", "osrelease", "version"]
        .iter()
        .filter_map(|name| read(&format!("/proc/sys/kernel/{name}")))
        .map(|text| text.trim().to_owned())
        .collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn hash_name(name: &str) -> String {
    hex::encode(&Sha256::digest(name.as_bytes())[..8])
}

/// The value of the first line `key : value` of `/proc/cpuinfo`.
fn cpuinfo_field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let field = |line: &'a str| line.split_once(':').filter(|(name, _)| name.trim() == key);
    cpuinfo.lines().find_map(field).map(|(_, value)| value.trim())
}

fn parse_processor(cpuinfo: &str) -> Option<String> {
    // x86 has the first key. Others have one of the rest, or only a number that would need a table.
    ["model name", "Processor", "cpu model", "cpu", "uarch"]
        .iter()
        .find_map(|key| cpuinfo_field(cpuinfo, key))
        .map(str::to_owned)
}

fn parse_hypervisor(cpuinfo: &str) -> Option<Hypervisor> {
    // Only x86 has this flag; elsewhere its absence means nothing.
    let flags = cpuinfo_field(cpuinfo, "flags")?;
    let present = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    Some(if present { Hypervisor::Present } else { Hypervisor::Absent })
}

fn parse_buffers(text: &str) -> Option<BufferSizes> {
    let sizes: Vec<u64> = text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [least, initial, most] = sizes[..] else { return None };
    Some(BufferSizes { least: Bytes::new(least), initial: Bytes::new(initial), most: Bytes::new(most) })
}

fn parse_port_range(text: &str) -> Option<PortRange> {
    let (first, last) = text.trim().split_once(|c: char| c.is_ascii_whitespace())?;
    Some(PortRange { first: first.parse().ok()?, last: last.trim().parse().ok()? })
}

/// How many ports of `range` are in a list such as `8080,32768-32800`.
fn parse_reserved_ports(text: &str, range: PortRange) -> Option<u32> {
    let mut count = 0;
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let part = PortRange { first: first.parse().ok()?, last: last.parse().ok()? };
        count += part.both(range).count();
    }
    Some(count)
}

fn parse_cgroups(mountinfo: &str, own: &str) -> Option<CgroupFacts> {
    let mounted = |kind: &str| {
        let is_kind = |line: &str| line.split_once(" - ").is_some_and(|(_, right)| right.starts_with(kind));
        mountinfo.lines().any(is_kind)
    };
    let version = match (mounted("cgroup "), mounted("cgroup2 ")) {
        (true, true) => CgroupVersion::Hybrid,
        (true, false) => CgroupVersion::One,
        (false, true) => CgroupVersion::Two,
        (false, false) => return None,
    };
    // A process that is in no group of version 2 cannot use the mounted hierarchy.
    let in_group = own.lines().any(|line| line.starts_with("0::"));
    let mount = Cgroup2Mount::find(mountinfo).filter(|_| in_group).map(|found| found.at);
    Some(CgroupFacts { version, mount })
}

/// Cores grouped by physical core; `None` unless the kernel reports it for all of them.
pub(crate) fn siblings(cores: &[CoreId], read: &dyn Fn(&str) -> Option<String>) -> Option<Vec<Vec<CoreId>>> {
    let mut groups = Vec::new();
    for core in cores {
        let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        groups.push(parse_core_list(&read(&path)?)?);
    }
    groups.sort();
    groups.dedup();
    Some(groups)
}

/// Versions of the toolchains that answer, by language.
pub fn toolchains() -> BTreeMap<String, String> {
    let version = |(language, command): &(&str, &[&str])| {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let answer = ask::ask(&command, None, PATIENCE).ok()?;
        Some(((*language).to_owned(), answer.lines().next()?.to_owned()))
    };
    TOOLCHAINS.iter().filter_map(version).collect()
}

/// The revision of a folder; `None` if it is not under git or git is not installed.
pub fn git_revision(folder: &Path) -> Option<GitRevision> {
    let git = |arguments: &[&str]| {
        let command: Vec<String> = ["git"].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        ask::ask(&command, Some(folder), PATIENCE).ok()
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let tree = if changes.is_empty() { WorkingTree::Clean } else { WorkingTree::Changed };
    Some(GitRevision { commit, tree })
}

/// Memory available without swapping (`MemAvailable`); `None` if the kernel does not report it.
pub fn memory_available() -> Option<Bytes> {
    kib_field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// All memory that the kernel manages; `None` if it does not report it.
pub fn memory_total() -> Option<Bytes> {
    kib_field(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n\
        flags\t\t: fpu vme de hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: other\n";
    const MOUNTS: &str = "25 24 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        34 24 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn sample(path: &str) -> Option<String> {
        let cpu = "/sys/devices/system/cpu/";
        let text = match path {
            "/proc/cpuinfo" => CPUINFO,
            "/proc/meminfo" => "MemTotal:       24684096 kB\nMemFree:        24231908 kB\n",
            "/proc/self/mountinfo" => MOUNTS,
            "/proc/self/cgroup" => "0::/\n",
            "/proc/sys/kernel/ostype" => "Linux\n",
            "/proc/sys/kernel/osrelease" => "6.1.0\n",
            "/proc/sys/kernel/version" => "#1 SMP\n",
            "/proc/sys/kernel/hostname" => "abc\n",
            "/proc/sys/kernel/random/boot_id" => "ceb1681c-7a3c-40c9-8e73-95c4b0289792\n",
            "/proc/sys/net/core/somaxconn" => "4096\n",
            "/proc/sys/net/core/rmem_max" => "4194304\n",
            "/proc/sys/net/ipv4/ip_local_port_range" => "32768\t60999\n",
            "/proc/sys/net/ipv4/ip_local_reserved_ports" => "80,32760-32769,40000,60999-61005\n",
            "/proc/sys/net/ipv4/tcp_congestion_control" => "cubic\n",
            "/proc/sys/net/ipv4/tcp_rmem" => "4096\t131072\t33554432\n",
            "/proc/sys/net/ipv4/tcp_wmem" => "nonsense\n",
            "/sys/class/net/lo/mtu" => "65536\n",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource" => "tsc\n",
            "/sys/devices/system/clocksource/clocksource0/available_clocksource" => "tsc kvm-clock \n",
            _ => match path.strip_prefix(cpu)? {
                "online" => "0-3\n",
                "cpu0/topology/thread_siblings_list" | "cpu2/topology/thread_siblings_list" => "0,2\n",
                "cpu1/topology/thread_siblings_list" | "cpu3/topology/thread_siblings_list" => "1,3\n",
                "cpu3/cpufreq/scaling_governor" => "powersave\n",
                "cpu0/cpufreq/scaling_governor" | "cpu1/cpufreq/scaling_governor" => "performance\n",
                "cpu0/cpufreq/scaling_driver" => "acpi-cpufreq\n",
                "cpu0/cpufreq/cpuinfo_max_freq" => "3600000\n",
                _ => return None,
            },
        };
        Some(text.to_owned())
    }

    fn cores(numbers: &[u32]) -> Vec<CoreId> {
        numbers.iter().copied().map(CoreId::new).collect()
    }

    #[test]
    fn a_literal_host_is_read_fact_by_fact() {
        let facts = from_files(&sample);
        assert_eq!(facts.processor.as_deref(), Some("AMD EPYC"));
        assert_eq!(facts.hypervisor, Some(Hypervisor::Present));
        assert_eq!(facts.cores, Some(cores(&[0, 1, 2, 3])));
        assert_eq!(facts.siblings, Some(vec![cores(&[0, 2]), cores(&[1, 3])]));
        assert_eq!(facts.kernel.as_deref(), Some("Linux 6.1.0 #1 SMP"));
        assert_eq!(facts.memory, Some(Bytes::new(24_684_096 * 1024)));
        assert_eq!(facts.clock_sources, Some(vec!["tsc".to_owned(), "kvm-clock".to_owned()]));
        assert_eq!(facts.loopback_mtu, Some(Bytes::new(65536)));
        assert_eq!(facts.local_ports.map(PortRange::count), Some(28_232));
        // 32768, 32769, 40000 and 60999; the others are outside the range.
        assert_eq!(facts.reserved_ports, Some(4));
        assert_eq!(facts.receive_buffer.map(|sizes| sizes.most), Some(Bytes::new(33_554_432)));
        assert_eq!(facts.receive_buffer_limit, Some(Bytes::new(4_194_304)));
        assert_eq!(facts.cgroup.as_ref().map(|group| group.version), Some(CgroupVersion::Hybrid));
        let frequency = facts.frequency.expect("governors");
        assert_eq!(frequency.governors, ["performance", "powersave"]);
        assert_eq!((frequency.lowest_khz, frequency.highest_khz), (None, Some(3_600_000)));
    }

    #[test]
    fn the_hosts_name_is_hashed() {
        let facts = from_files(&sample);
        // The beginning of the SHA-256 test vector of FIPS 180-2 for "abc".
        assert_eq!(facts.hostname_sha256.as_deref(), Some("ba7816bf8f01cfea"));
    }

    #[test]
    fn what_is_missing_or_foreign_is_missing_and_nothing_else() {
        assert_eq!(from_files(&|_| None), HostFacts::default());
        assert_eq!(from_files(&sample).send_buffer, None);
        let silly = from_files(&|_| Some("\u{0}\n,-: x -".to_owned()));
        assert_eq!((silly.cores, silly.memory, silly.local_ports), (None, None, None));
        let range = PortRange { first: 32_768, last: 60_999 };
        assert_eq!(
            (parse_reserved_ports("\n", range), parse_reserved_ports("1-x\n", range)),
            (Some(0), None)
        );
    }

    #[test]
    fn without_flags_of_the_processor_the_hypervisor_is_unknown() {
        assert_eq!(parse_hypervisor("processor: 0\nFeatures: fp asimd\n"), None);
        assert_eq!(parse_hypervisor("flags : fpu vme\n"), Some(Hypervisor::Absent));
    }

    #[test]
    fn this_host_can_be_read_and_stored_and_read_again() {
        let facts = read();
        assert!(facts.cores.as_ref().is_some_and(|cores| !cores.is_empty()));
        assert!(facts.memory.is_some_and(|memory| memory.get() > 1 << 20));
        let json = serde_json::to_string(&facts).expect("plain data");
        assert_eq!(serde_json::from_str::<HostFacts>(&json).expect("our own"), facts);
        let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
        assert!(name.trim().len() < 4 || !json.contains(name.trim()), "the host's name is stored in clear");
    }

    #[test]
    fn a_folder_outside_of_git_has_no_revision_and_one_inside_has() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(git_revision(folder.path()), None);
        let git = |arguments: &str| {
            let command = format!("git -c user.name=a -c user.email=a@b.c {arguments}");
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            ask::ask(&words, Some(folder.path()), PATIENCE).is_ok()
        };
        fs::write(folder.path().join("file"), "one").expect("a file");
        // Without git there is nothing to test.
        if git("init -q .") && git("add file") && git("commit -q -m one") {
            let clean = git_revision(folder.path()).expect("a commit");
            assert_eq!((clean.commit.len(), clean.tree), (40, WorkingTree::Clean));
            fs::write(folder.path().join("file"), "two").expect("a file");
            let changed = git_revision(folder.path()).expect("a commit");
            assert_eq!((changed.commit, changed.tree), (clean.commit, WorkingTree::Changed));
        }
    }
}
