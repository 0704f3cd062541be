//! Delayed packets: the layer `delay`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::super::read::positive_time;
use super::super::write::time;
use super::Towards;
use crate::quantity::Nanoseconds;

/// Delays every packet by `time`, plus or minus a uniform jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// Mean delay, above zero and at most a minute.
    pub time: Nanoseconds,
    /// The delay is uniform from `time - jitter` to `time + jitter`; at most `time`.
    pub jitter: Nanoseconds,
    /// Which packets are delayed. With one direction, a round trip takes `time` longer.
    pub towards: Towards,
}

const LONGEST: Nanoseconds = Nanoseconds::from_secs(60);

pub(super) fn read(reader: &Reader<'_>) -> Result<Delay, ExperimentError> {
    let refused =
        |key, message: String| reader.error(reader.line(), format!("`{}`: {message}", reader.full_key(key)));
    let Some(held) = positive_time(reader, "time")? else {
        return Err(refused("time", "`delay` needs its `time`, such as \"1 ms\"".to_owned()));
    };
    if held > LONGEST {
        return Err(refused("time", format!("`{held}` must be at most {LONGEST}")));
    }
    let jitter: Nanoseconds = reader.quantity("jitter")?.unwrap_or_default();
    if jitter > held {
        return Err(refused(
            "jitter",
            format!("{jitter} is more than the {held} that it varies; no packet can be sent before it came"),
        ));
    }
    // With one direction, a round trip has one delay, and the layer costs the time that was asked for.
    let towards = Towards::read(reader)?.unwrap_or(Towards::Server);
    Ok(Delay { time: held, jitter, towards })
}

impl Delay {
    pub(super) fn write(&self, table: &mut Table) {
        table.insert("time".into(), time(self.time));
        table.insert("jitter".into(), time(self.jitter));
        table.insert("towards".into(), self.towards.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.time)?;
        if self.jitter > Nanoseconds::ZERO {
            write!(f, " ± {}", self.jitter)?;
        }
        Ok(())
    }
}
