//! Limits of a variant: the keys `cpu`, `memory` and `cores`, read and written. Whether the host can provide
//! and enforce them is checked elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{ExperimentError, Node, Reader, Value};
use crate::quantity::{Bytes, Nanoseconds, Ratio};
use crate::record::CpuQuota;

/// CPU time that a variant may use, in cores: 0.01 to 1,000, in steps of a thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuLimit {
    thousandths: u32,
}

impl CpuLimit {
    /// The period of the quota: the kernel's default.
    pub const PERIOD: Nanoseconds = Nanoseconds::from_millis(100);

    /// `None` outside of 0.01 to 1,000.
    pub fn from_cores(cores: f64) -> Option<Self> {
        // The kernel's smallest quota is 1 ms in a period.
        let thousandths = (cores * 1_000.0).round();
        (10.0..=1_000_000.0).contains(&thousandths).then_some(Self { thousandths: thousandths as u32 })
    }

    pub fn cores(self) -> Ratio {
        Ratio::new(f64::from(self.thousandths) / 1_000.0)
    }

    /// The limit as the kernel's quota.
    pub fn quota(self) -> CpuQuota {
        CpuQuota { time: Self::PERIOD * u64::from(self.thousandths) / 1_000, period: Self::PERIOD }
    }
}

impl fmt::Display for CpuLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cores().get())
    }
}

/// The limits of a variant; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    #[serde(default)]
    pub cpu: Option<CpuLimit>,
    /// Memory of its processes, including the page cache of files that they read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// How many of the cores for services it uses, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
}

/// No program starts with less.
const MEMORY_LEAST: Bytes = Bytes::new(1_000_000);
/// More than any machine has.
const CORES_MOST: u64 = 4_096;

impl Limits {
    /// Whether there is no limit.
    pub const fn is_none(&self) -> bool {
        self.named().is_none()
    }

    /// The first key that is set.
    pub const fn named(&self) -> Option<&'static str> {
        match self {
            Self { cpu: Some(_), .. } => Some("cpu"),
            Self { memory: Some(_), .. } => Some("memory"),
            Self { cores: Some(_), .. } => Some("cores"),
            _ => None,
        }
    }

    /// Reads `cpu = "0.5"`, `memory = "256 MB"` and `cores = 1`.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Self, ExperimentError> {
        let cpu = read_cpu(reader)?;
        let memory = reader.value("memory", |node| {
            let memory: Bytes = node.show().parse().map_err(|error| format!("{error}"))?;
            match memory >= MEMORY_LEAST {
                true => Ok(memory),
                false => Err(format!("`{}` must be {MEMORY_LEAST} or more, such as \"256 MB\"", node.show())),
            }
        })?;
        let line = reader.node("cores").map_or(reader.line(), |node| node.line);
        let cores = reader.integer("cores", 1, CORES_MOST)?.map(|cores| cores as u32);
        if let (Some(cpu), Some(cores)) = (cpu, cores)
            && cpu.cores().get() > f64::from(cores)
        {
            let message = format!(
                "`cpu = \"{cpu}\"` beside `cores = {cores}`: so many cores never have that much time; leave one out"
            );
            return Err(reader.error(line, message));
        }
        Ok(Self { cpu, memory, cores })
    }

    pub(super) fn write(&self, table: &mut Table) {
        if let Some(cpu) = self.cpu {
            table.insert("cpu".into(), cpu.to_string().into());
        }
        if let Some(memory) = self.memory {
            table.insert("memory".into(), format!("{} B", memory.get()).into());
        }
        if let Some(cores) = self.cores {
            table.insert("cores".into(), i64::from(cores).into());
        }
    }
}

impl fmt::Display for Limits {
    /// `, 0.5 of a core's time, 256 MB of memory, 1 core`; empty without a limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpu) = self.cpu {
            write!(f, ", {cpu} of a core's time")?;
        }
        if let Some(memory) = self.memory {
            write!(f, ", {memory} of memory")?;
        }
        match self.cores {
            Some(1) => f.write_str(", one core"),
            Some(cores) => write!(f, ", {cores} cores"),
            None => Ok(()),
        }
    }
}

fn read_cpu(reader: &Reader<'_>) -> Result<Option<CpuLimit>, ExperimentError> {
    reader.value("cpu", |node: &Node| {
        let number = match &node.value {
            Value::Text(text) => text.trim().parse().ok(),
            Value::Integer(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        };
        number.and_then(CpuLimit::from_cores).ok_or_else(|| {
            format!(
                "`{}` must be a number of cores from 0.01 to 1000, such as \"0.5\" for half of one",
                node.show()
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_core_is_50_ms_of_every_100() {
        let limit = CpuLimit::from_cores(0.5).expect("within bounds");
        let millis = Nanoseconds::from_millis;
        assert_eq!(limit.quota(), CpuQuota { time: millis(50), period: millis(100) });
        assert_eq!(limit.to_string(), "0.5");
        assert_eq!(CpuLimit::from_cores(2.0).expect("within bounds").quota().time, millis(200));
    }

    #[test]
    fn limits_are_named_in_words() {
        let limits =
            Limits { cpu: CpuLimit::from_cores(0.5), memory: Some(Bytes::new(256_000_000)), cores: Some(1) };
        assert_eq!(limits.to_string(), ", 0.5 of a core's time, 256 MB of memory, one core");
        assert_eq!((Limits::default().to_string(), Limits::default().named()), (String::new(), None));
        assert_eq!(Limits { cpu: None, ..limits }.named(), Some("memory"));
    }

    #[test]
    fn what_the_kernel_would_not_take_is_no_limit() {
        for cores in [0.0, -1.0, 0.009, 1_000.1, f64::NAN, f64::INFINITY] {
            assert_eq!(CpuLimit::from_cores(cores), None, "{cores}");
        }
    }
}
