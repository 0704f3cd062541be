//! Parsers of foreign text never panic, and what is written reads back as the same.

use std::path::Path;

use proptest::prelude::*;
use weighbridge_lab::host::cores::{CoreId, core_list, parse_core_list};
use weighbridge_lab::host::cputime::{CpuTimes, machine_busy, steal_share};
use weighbridge_lab::host::procfs::{Pid, ProcessStat};
use weighbridge_lab::process::cgroup::Hierarchy;
use weighbridge_lab::process::quota;
use weighbridge_lab::service::Service;
use weighbridge_lab::service::runtime;
use weighbridge_model::quantity::Nanoseconds;

const TICK: Nanoseconds = Nanoseconds::from_millis(10);

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "(\\PC|\n|\t){0,200}") {
        // The test is that these return.
        let _ = ProcessStat::parse(&text);
        let _ = parse_core_list(&text);
        let _ = CpuTimes::parse(&text, TICK);
        let _ = Hierarchy::locate(&text, &text);
        let _ = (quota::CgroupLocation::locate(quota::ControllerKind::Memory, &text, &text), quota::parse_max(&text), quota::parse_throttling(&text));
        let _ = (quota::parse_cfs(&text, &text), runtime::parse(&text));
        let refused = Service::parse(Path::new("/s/go"), &text);
        prop_assert!(refused.is_err());
    }

    #[test]
    fn any_process_name_is_read_whole(name in "\\PC{0,15}", pid in 1..4_194_304_i32, start in any::<u64>()) {
        let line = format!("{pid} ({name}) R 1 2 3 0 -1 0 0 0 0 0 7 8 0 0 20 0 1 0 {start} 0 0\n");
        let stat = ProcessStat::parse(&line).expect("a whole line");
        prop_assert_eq!((stat.pid, stat.name, stat.start_time), (Pid::new(pid), name, start));
        prop_assert_eq!((stat.parent, stat.group, stat.session), (Pid::new(1), Pid::new(2), Pid::new(3)));
        prop_assert_eq!(stat.cpu_ticks, 15);
    }

    #[test]
    fn a_list_of_cores_is_read_as_it_was_written(numbers in proptest::collection::btree_set(0..1024_u32, 0..40)) {
        let cores: Vec<CoreId> = numbers.into_iter().map(CoreId::new).collect();
        prop_assert_eq!(parse_core_list(&core_list(&cores)), Some(cores));
    }

    #[test]
    fn shares_of_cpu_time_are_shares(before in proptest::array::uniform8(any::<u32>()), after in proptest::array::uniform8(any::<u32>())) {
        let times = |ticks: [u32; 8]| {
            let line: Vec<String> = ticks.iter().map(u32::to_string).collect();
            CpuTimes::parse(&format!("cpu  {} 0 0\n", line.join(" ")), TICK).expect("a whole line")
        };
        let (before, after) = (times(before), times(after));
        let passed = after.machine.since(&before.machine);
        let share = steal_share(&before, &after).get();
        prop_assert!((0.0..=1.0).contains(&share));
        prop_assert!(machine_busy(&before, &after) <= passed.total());
    }
}
