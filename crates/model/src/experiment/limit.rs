//! How much CPU time a variant may have: the key `cpu`, read and written. Whether the host has that much, and can see
//! to it, is for others to say.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::node::{ExperimentError, Node, Reader, Value};
use crate::quantity::{Nanoseconds, Ratio};
use crate::record::CpuQuota;

/// CPU time that a variant may have, in cores' worth: 0.01 to 1,000, in steps of a thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuLimit {
    thousandths: u32,
}

impl CpuLimit {
    /// The period in which the time is given out: the kernel's default.
    pub const PERIOD: Nanoseconds = Nanoseconds::from_millis(100);

    /// A limit of so many cores; `None` outside of 0.01 to 1,000.
    pub fn from_cores(cores: f64) -> Option<Self> {
        // The kernel gives out no less than 1 ms in a period.
        let thousandths = (cores * 1_000.0).round();
        (10.0..=1_000_000.0).contains(&thousandths).then_some(Self { thousandths: thousandths as u32 })
    }

    /// Cores' worth.
    pub fn cores(self) -> Ratio {
        Ratio::new(f64::from(self.thousandths) / 1_000.0)
    }

    /// The limit as the kernel has it.
    pub fn quota(self) -> CpuQuota {
        CpuQuota { time: Self::PERIOD * u64::from(self.thousandths) / 1_000, period: Self::PERIOD }
    }
}

impl fmt::Display for CpuLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cores().get())
    }
}

/// Reads `cpu = "0.5"`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<CpuLimit>, ExperimentError> {
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
    fn what_the_kernel_would_not_take_is_no_limit() {
        for cores in [0.0, -1.0, 0.009, 1_000.1, f64::NAN, f64::INFINITY] {
            assert_eq!(CpuLimit::from_cores(cores), None, "{cores}");
        }
    }
}
