//! How often and how long HotSpot stopped all threads of its program, by the counters that it shares with other processes.
//!
//! They lie in `/tmp/hsperfdata_<user>/<pid>`, which it maps (`perfMemory.hpp`, version 2.0; alike in JDK 17 and 25);
//! `-XX:-UsePerfData` and `-XX:+PerfDisableSharedMem` leave them out. They tell what `-Xlog:safepoint` tells, and nothing
//! is written for each pause.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::JvmPauses;

use crate::host::procfs::Pid;

/// Part of the path of the file.
const FOLDER: &str = "/hsperfdata_";
/// It is 32 KiB unless `-XX:PerfDataMemorySize` says otherwise.
const LARGEST: u64 = 1 << 20;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;
const MAJOR_VERSION: u8 = 2;
/// Type and number of values of a counter.
const ONE_LONG: (u8, u32) = (b'J', 0);

/// Where the counters of one machine are.
#[derive(Debug)]
pub(super) struct PauseCounters {
    file: File,
    places: Places,
}

/// Offsets of 8 bytes each in the file, within what was read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub count: u64,
    /// Times in the pauses, and before them until all threads stood still.
    pub times: [u64; 2],
}

impl PauseCounters {
    /// `None` where the process shares none, or others than expected.
    pub fn of(pid: Pid) -> Option<Self> {
        let path = mapped(&fs::read_to_string(format!("/proc/{pid}/maps")).ok()?)?;
        // In the process's own view of the file system.
        let file = File::open(format!("/proc/{pid}/root{}", path.display())).ok()?;
        let length = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
        let mut bytes = vec![0; usize::try_from(length.min(LARGEST)).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        let places = Places::find(&bytes)?;
        Some(Self { file, places })
    }

    /// Since the machine started.
    pub fn read(&self) -> Option<JvmPauses> {
        let long = |at: u64| {
            let mut bytes = [0; 8];
            self.file.read_exact_at(&mut bytes, at).ok()?;
            u64::try_from(i64::from_le_bytes(bytes)).ok()
        };
        let [inside, before] = self.places.times.map(long);
        Some(JvmPauses {
            count: long(self.places.count)?,
            time: Nanoseconds::from_nanos(inside?.checked_add(before?)?),
        })
    }
}

/// The file of counters in a process's table of memory.
fn mapped(maps: &str) -> Option<PathBuf> {
    let lines = maps.lines().filter(|line| line.contains(FOLDER) && !line.ends_with(" (deleted)"));
    lines.filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..]))).next()
}

impl Places {
    /// Finds the counters by their names; `None` if a needed one is missing, or its unit is not the nanosecond.
    pub fn find(bytes: &[u8]) -> Option<Self> {
        let [byte_order, major] = [*bytes.get(4)?, *bytes.get(5)?];
        if bytes[..4] != MAGIC || byte_order != LITTLE_ENDIAN || major != MAJOR_VERSION {
            return None;
        }
        let (mut entry, entries) = (int(bytes, 24)?, int(bytes, 28)?);
        let (mut count, mut inside, mut before, mut frequency) = (None, None, None, None);
        for _ in 0..entries {
            let field = |at: u32| int(bytes, entry.checked_add(at)?);
            let place = |at: u32| entry.checked_add(field(at)?);
            let kind = (*bytes.get(entry.checked_add(12)? as usize)?, field(8)?);
            let value =
                Some(u64::from(place(16)?)).filter(|at| kind == ONE_LONG && long(bytes, *at).is_some());
            match text(bytes, place(4)?)? {
                b"sun.rt.safepoints" => count = value,
                b"sun.rt.safepointTime" => inside = value,
                b"sun.rt.safepointSyncTime" => before = value,
                b"sun.os.hrt.frequency" => frequency = value.and_then(|at| long(bytes, at)),
                _ => {}
            }
            // One of length 0 would never end.
            entry = entry.checked_add(field(0)?.max(1))?;
        }
        (frequency? == 1_000_000_000).then_some(Self { count: count?, times: [inside?, before?] })
    }
}

fn int(bytes: &[u8], at: u32) -> Option<u32> {
    let bytes = bytes.get(at as usize..)?.first_chunk()?;
    u32::try_from(i32::from_le_bytes(*bytes)).ok()
}

fn long(bytes: &[u8], at: u64) -> Option<i64> {
    let bytes = bytes.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    Some(i64::from_le_bytes(*bytes))
}

/// Up to its end by a byte 0.
fn text(bytes: &[u8], at: u32) -> Option<&[u8]> {
    bytes.get(at as usize..)?.split(|byte| *byte == 0).next()
}
