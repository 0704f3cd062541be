//! Each finding of the doctor on an artificial host, and no finding on a healthy one.

use weighbridge_model::environment::{
    AddressLayout, Frequency, HugePages, KernelSettings, Limit, PacketSteering, PortRange, Switch,
};

use super::*;
use crate::host::cores::CoreId;
use crate::host::parse_interrupts;
use crate::unavailable::Unavailable;

fn core_ids(numbers: &[u32]) -> Vec<CoreId> {
    numbers.iter().copied().map(CoreId::new).collect()
}

/// A host without defects.
fn healthy() -> Observation {
    let all = core_ids(&[0, 1, 2, 3]);
    Observation {
        facts: HostFacts {
            cores: Some(all.clone()),
            siblings: Some(all.iter().map(|core| vec![*core]).collect()),
            frequency: Some(Frequency { governors: vec!["performance".to_owned()], ..Frequency::default() }),
            settings: KernelSettings {
                huge_pages: Some(HugePages { enabled: "madvise".to_owned(), defrag: None }),
                address_layout: Some(AddressLayout::Random),
                packet_steering: Some(PacketSteering { loopback: Vec::new(), new_interfaces: None }),
                ..KernelSettings::default()
            },
            hypervisor: Some(Hypervisor::Absent),
            clock_source: Some("tsc".to_owned()),
            clock_sources: Some(vec!["tsc".to_owned(), "hpet".to_owned()]),
            congestion_control: Some("cubic".to_owned()),
            local_ports: Some(PortRange { first: 32768, last: 60999 }),
            open_files: Some(Limit { soft: 20_000, hard: 20_000 }),
            memory: Some(Bytes::new(8 << 30)),
            ..HostFacts::default()
        },
        layout: CoreLayout::from_allowed(&all).ok(),
        quota: None,
        limits: ["`cpu`", "`memory`"].map(|key| (key, Ok(quota::Version::Second))),
        awake: Ok(()),
        steal_since_boot: Some(Ratio::new(0.001)),
        steal_now: Some(Ratio::new(0.0)),
        load: Some(0.2),
        busy: Vec::new(),
        interrupts: Vec::new(),
        freezing: FreezeMethod::Cgroup,
        others: Others::Ours,
        clock_cost: Nanoseconds::from_nanos(80),
        memory_available: Some(Bytes::new(4 << 30)),
        layers: vec![LayerReport { name: "veth".to_owned(), found: Ok("veth and bridge".to_owned()) }],
        stale: None,
    }
}

fn found(seen: &Observation, subject: Subject) -> Finding {
    let mut all = diagnose(seen).into_iter().filter(|finding| finding.subject == subject);
    let finding = all.next().expect("one finding a subject");
    assert_eq!(all.next(), None);
    finding
}

/// Changes a healthy host, and expects that exactly one subject is no longer fine.
#[track_caller]
fn expect(subject: Subject, level: Level, change: impl FnOnce(&mut Observation)) -> Finding {
    let mut seen = healthy();
    change(&mut seen);
    let unwell: Vec<_> = diagnose(&seen).into_iter().filter(|finding| finding.level > Level::Fine).collect();
    assert_eq!(unwell.len(), 1, "{unwell:?}");
    assert_eq!((unwell[0].subject, unwell[0].level), (subject, level), "{unwell:?}");
    unwell[0].clone()
}

#[test]
fn a_healthy_host_is_fine_in_every_subject() {
    let findings = diagnose(&healthy());
    let subjects: Vec<Subject> = findings.iter().map(|finding| finding.subject).collect();
    let mut sorted = subjects.clone();
    sorted.sort();
    assert_eq!(subjects, sorted);
    assert_eq!(findings.len(), 23);
    assert!(findings.iter().all(|finding| finding.level == Level::Fine && finding.remedy.is_none()));
}

#[test]
fn few_cores_are_noted_and_one_is_a_problem() {
    expect(Subject::Cores, Level::Note, |seen| {
        seen.layout = CoreLayout::from_allowed(&core_ids(&[0, 3])).ok()
    });
    let one = expect(Subject::Cores, Level::Problem, |seen| {
        seen.layout = CoreLayout::from_allowed(&core_ids(&[0])).ok();
    });
    assert!(one.remedy.is_some());
}

#[test]
fn cores_that_cannot_be_kept_awake_are_a_warning_with_what_would_let_them() {
    assert_eq!(
        found(&healthy(), Subject::IdleStates).evidence,
        "kept awake while measured (no cpuidle driver)"
    );
    let warning = expect(Subject::IdleStates, Level::Warning, |seen| {
        seen.awake = Err(("it may not be opened".to_owned(), "run as root".to_owned()));
    });
    assert_eq!(
        (warning.evidence.as_str(), warning.remedy.as_deref()),
        ("idle cores cannot be kept awake: it may not be opened (no cpuidle driver)", Some("run as root"))
    );
}

#[test]
fn what_cannot_be_limited_is_said_with_its_remedy() {
    let fine = found(&healthy(), Subject::Limits);
    assert_eq!(
        fine.evidence,
        "`cpu` by version 2 of control groups; `memory` by version 2 of control groups"
    );
    let note = expect(Subject::Limits, Level::Note, |seen| {
        seen.limits[1].1 = Err("memory cannot be limited here: none; run as root".to_owned());
    });
    assert!(note.evidence.contains("not `memory`: memory cannot be limited here"), "{note:?}");
}

#[test]
fn a_quota_below_all_cores_is_a_warning_and_one_that_leaves_services_nothing_a_problem() {
    let millis = Nanoseconds::from_millis;
    let quota = |time: u64, throttled: Option<u64>| {
        let did = |throttled| Throttling { periods: 40, throttled, time: millis(300) };
        Some((CpuQuota { time: millis(time), period: millis(100) }, throttled.map(did)))
    };
    let some = expect(Subject::CpuQuota, Level::Warning, |seen| seen.quota = quota(150, Some(12)));
    assert_eq!(
        some.evidence,
        "150 ms in every 100 ms, the time of 1.50 of 4 cores; held up in 12 of 40 periods so far, 300 ms in all"
    );
    assert!(some.remedy.is_some_and(|remedy| remedy.contains("`CPUQuota=`")));
    expect(Subject::CpuQuota, Level::Problem, |seen| seen.quota = quota(100, None));
    let enough = Observation { quota: quota(400, Some(0)), ..healthy() };
    let fine = found(&enough, Subject::CpuQuota);
    assert_eq!((fine.level, fine.remedy), (Level::Fine, None));
    assert_eq!(fine.evidence, "400 ms in every 100 ms, the time of 4.00 of 4 cores");
}

#[test]
fn siblings_of_the_client_are_named_with_the_cores_to_use_instead() {
    let finding = expect(Subject::Siblings, Level::Warning, |seen| {
        seen.facts.siblings = Some(vec![core_ids(&[0, 1]), core_ids(&[2, 3])]);
    });
    assert!(finding.evidence.starts_with("service cores 2 share"), "{}", finding.evidence);
    assert_eq!(finding.remedy.as_deref(), Some("run `weigh` under `taskset -c 0-1,3`"));
}

#[test]
fn steal_is_judged_at_one_and_ten_percent_whichever_is_worse() {
    expect(Subject::Steal, Level::Warning, |seen| seen.steal_now = Some(Ratio::new(0.02)));
    expect(Subject::Steal, Level::Problem, |seen| seen.steal_since_boot = Some(Ratio::new(0.11)));
    let fine = found(&healthy(), Subject::Steal);
    assert_eq!(fine.evidence, "0.10 % of CPU time stolen since boot, 0 % now");
}

#[test]
fn a_governor_other_than_performance_is_a_warning() {
    let powersave = |seen: &mut Observation| {
        seen.facts.frequency.as_mut().expect("healthy").governors.push("powersave".to_owned());
    };
    let finding = expect(Subject::Governor, Level::Warning, powersave);
    assert_eq!(finding.evidence, "performance, powersave");
    expect(Subject::Governor, Level::Note, |seen| seen.facts.frequency = None);
    let mut boosted = healthy();
    boosted.facts.frequency.as_mut().expect("healthy").boost = Some(Switch::On);
    assert_eq!(found(&boosted, Subject::Governor).evidence, "performance; boost on");
}

#[test]
fn many_interrupts_on_a_core_that_measures_are_noted() {
    let interrupts = |core: u32, per_second: f64| CoreInterrupts {
        core: CoreId::new(core),
        per_second,
        device: "disk".to_owned(),
    };
    let finding = expect(Subject::Interrupts, Level::Note, |seen| {
        seen.interrupts = vec![interrupts(0, 12.0), interrupts(1, 1_000.0), interrupts(3, 2_345.6)];
    });
    let evidence = "1000 a second on service core 1, most by `disk`; 2346 a second on the client's core 3, most by `disk`";
    assert_eq!(finding.evidence, evidence);
    assert!(finding.remedy.is_some_and(|remedy| remedy.contains("`IRQBALANCE_BANNED_CPULIST=1,3`")));
    // Core 9 belongs neither to the client nor to services.
    let fine = Observation { interrupts: vec![interrupts(9, 1e5), interrupts(2, 999.0)], ..healthy() };
    let finding = found(&fine, Subject::Interrupts);
    assert_eq!(
        (finding.level, finding.evidence.as_str()),
        (Level::Fine, "999 a second on service core 2, most by `disk`")
    );
}

#[test]
fn interrupts_are_counted_between_two_readings_by_core() {
    let text = |disk: [u64; 2], net: [u64; 2]| {
        let line = |number: u32, counts: [u64; 2], name: &str| {
            format!("{number}: {} {} PCI-MSI 1-edge {name}\n", counts[0], counts[1])
        };
        let all = format!(
            " CPU0 CPU1\n{}{}LOC: 5 6 Local timer interrupts\n",
            line(3, disk, "disk"),
            line(4, net, "net")
        );
        parse_interrupts(&all).expect("such a file")
    };
    let found = settings::interrupts_between(&text([5, 100], [5, 0]), &text([5, 150], [5, 200]), 0.5);
    assert_eq!(found, [CoreInterrupts { core: CoreId::new(1), per_second: 500.0, device: "net".to_owned() }]);
    assert_eq!(settings::interrupts_between(&[], &[], 0.5), []);
    // A line that is new in the second reading counts from zero.
    let fresh = settings::interrupts_between(&[], &text([1, 0], [0, 0]), 1.0);
    assert_eq!(fresh, [CoreInterrupts { core: CoreId::new(0), per_second: 1.0, device: "disk".to_owned() }]);
}

#[test]
fn packets_that_are_handed_to_other_cores_are_a_warning_with_the_file_to_write() {
    let steer = |loopback: &[u32], fresh: &[u32]| {
        let steering = PacketSteering { loopback: core_ids(loopback), new_interfaces: Some(core_ids(fresh)) };
        move |seen: &mut Observation| seen.facts.settings.packet_steering = Some(steering)
    };
    let finding = expect(Subject::PacketSteering, Level::Warning, steer(&[0, 1], &[3]));
    assert_eq!(
        finding.evidence,
        "packets of `lo` are handed to cores 0-1; packets of new interfaces are handed to core 3"
    );
    assert_eq!(
        finding.remedy.as_deref(),
        Some("write `0` to /sys/class/net/lo/queues/rx-0/rps_cpus as root")
    );
    let fresh = expect(Subject::PacketSteering, Level::Warning, steer(&[], &[3]));
    assert_eq!(fresh.remedy.as_deref(), Some("write `0` to /proc/sys/net/core/rps_default_mask as root"));
}

#[test]
fn settings_that_change_what_is_measured_are_noted() {
    let pages = expect(Subject::HugePages, Level::Note, |seen| {
        seen.facts.settings.huge_pages.as_mut().expect("healthy").enabled = "always".to_owned();
    });
    assert!(pages.evidence.starts_with("`always`: some programs hold more memory"), "{pages:?}");
    let layout = |layout| move |seen: &mut Observation| seen.facts.settings.address_layout = Some(layout);
    let fixed = expect(Subject::AddressLayout, Level::Note, layout(AddressLayout::Fixed));
    assert!(fixed.evidence.starts_with("the same with each start"), "{fixed:?}");
    expect(Subject::AddressLayout, Level::Note, layout(AddressLayout::RandomButHeap));
}

#[test]
fn only_what_is_usual_to_ask_is_told_where_it_is_fine() {
    let silent: Vec<Subject> = diagnose(&healthy())
        .iter()
        .map(|finding| finding.subject)
        .filter(|subject| !subject.is_shown_when_fine())
        .collect();
    let settings = [Subject::Interrupts, Subject::PacketSteering, Subject::HugePages, Subject::AddressLayout];
    assert_eq!(silent, settings);
}

#[test]
fn load_and_busy_processes_are_warnings() {
    // 0.25 a core is the limit: 1.0 on four cores is fine, a little more is not.
    expect(Subject::Load, Level::Warning, |seen| seen.load = Some(1.01));
    let mut edge = healthy();
    edge.load = Some(1.0);
    assert_eq!(found(&edge, Subject::Load).level, Level::Fine);
    let compiler = BusyProcess { pid: Pid::new(7), name: "cc".to_owned(), share: Ratio::new(0.5) };
    let finding = expect(Subject::BusyProcesses, Level::Warning, |seen| seen.busy = vec![compiler]);
    assert_eq!(finding.evidence, "`cc` (process 7) 50 % of a core");
}

#[test]
fn clocks_are_judged_by_source_and_by_cost() {
    let source = |name: &str| {
        let name = name.to_owned();
        move |seen: &mut Observation| seen.facts.clock_source = Some(name)
    };
    expect(Subject::ClockSource, Level::Problem, source("hpet"));
    let finding = expect(Subject::ClockSource, Level::Warning, source("kvm-clock"));
    assert!(finding.remedy.is_some_and(|remedy| remedy.starts_with("write `tsc`")));
    expect(Subject::ClockCost, Level::Warning, |seen| seen.clock_cost = Nanoseconds::from_nanos(251));
    expect(Subject::ClockCost, Level::Problem, |seen| seen.clock_cost = Nanoseconds::from_nanos(1_001));
}

#[test]
fn limits_are_judged() {
    let files = expect(Subject::OpenFiles, Level::Warning, |seen| {
        seen.facts.open_files = Some(Limit { soft: 1024, hard: 4096 });
    });
    assert_eq!(files.evidence, "1024 (may be raised to 4096): up to 4032 connections");
    assert!(files.remedy.is_some_and(|remedy| remedy.contains("`ulimit -Hn 10512`")));
    expect(Subject::LocalPorts, Level::Warning, |seen| {
        seen.facts.local_ports = Some(PortRange { first: 50_000, last: 50_999 });
    });
    let reserved = expect(Subject::LocalPorts, Level::Warning, |seen| {
        seen.facts.local_ports = Some(PortRange { first: 32_768, last: 49_151 });
        seen.facts.reserved_ports = Some(1);
    });
    let evidence = "16384 ports (32768 to 49151, 1 of them reserved): up to 16383 connections to one address";
    assert_eq!(reserved.evidence, evidence);
    expect(Subject::CongestionControl, Level::Note, |seen| {
        seen.facts.congestion_control = Some("bbr".to_owned());
    });
    // Without a control group processes of other users are named at most, unless all may be ended.
    let stopped = |others| {
        let mut seen = healthy();
        (seen.freezing, seen.others) = (FreezeMethod::Stop, others);
        let findings = diagnose(&seen);
        let of = |subject| findings.iter().find(|finding| finding.subject == subject).expect("a row").level;
        assert_eq!(of(Subject::Freezing), Level::Note, "{findings:?}");
        of(Subject::CleaningUp)
    };
    assert_eq!(stopped(Others::Ours), Level::Fine);
    assert_eq!(stopped(Others::Named), Level::Note);
    assert_eq!(stopped(Others::Hidden), Level::Warning);
    expect(Subject::Memory, Level::Warning, |seen| seen.memory_available = Some(Bytes::new(1 << 29)));
    expect(Subject::Memory, Level::Problem, |seen| seen.memory_available = Some(Bytes::new(1 << 20)));
}

#[test]
fn leftovers_point_to_the_remedy() {
    let finding = expect(Subject::Leftovers, Level::Warning, |seen| {
        seen.stale = Some((2, "process 7".to_owned()));
    });
    assert_eq!(finding.evidence, "2 runs ended without cleaning up: process 7");
    assert_eq!(finding.remedy.as_deref(), Some("run `weigh doctor --clean`"));
}

#[test]
fn layers_that_cannot_be_run_are_named_with_the_reason_and_what_to_do() {
    let report = |name: &str, found| LayerReport { name: name.to_owned(), found };
    let lacking = || Err(Unavailable::new("this process lacks CAP_NET_ADMIN", "run as root"));
    let finding = expect(Subject::Layers, Level::Note, |seen| {
        seen.layers = vec![
            report("veth", Ok("veth and bridge".to_owned())),
            report("rate", lacking()),
            report("vxlan", lacking()),
        ];
    });
    assert_eq!(finding.evidence, "veth; not rate, vxlan: this process lacks CAP_NET_ADMIN");
    assert_eq!(finding.remedy.as_deref(), Some("run as root"));
}

#[test]
fn what_could_not_be_seen_is_not_judged() {
    let blind = Observation { facts: HostFacts::default(), layout: None, ..healthy() };
    let subjects: Vec<Subject> = diagnose(&blind).iter().map(|finding| finding.subject).collect();
    assert!(!subjects.contains(&Subject::Cores) && !subjects.contains(&Subject::ClockSource));
    assert!(!subjects.contains(&Subject::Interrupts) && !subjects.contains(&Subject::HugePages));
}

#[test]
fn this_host_can_be_observed_and_a_busy_process_is_seen() {
    let mut busy =
        std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
    let pid = Pid::new(busy.id() as i32);
    // On a loaded machine the loop may wait long for its first tick of CPU time.
    let seen = (0..100).any(|_| {
        let seen = Observation::take(Duration::from_millis(200), None);
        seen.clock_cost > Nanoseconds::ZERO && seen.busy.iter().any(|process| process.pid == pid)
    });
    busy.kill().expect("it is ours");
    busy.wait().expect("it is ours");
    assert!(seen, "a busy loop was not among the busy processes");
}
