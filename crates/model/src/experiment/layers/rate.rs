//! A limit of the link's speed: the layer `rate`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::super::write::time;
use super::Mtu;
use crate::quantity::{BitsPerSecond, Bytes, Nanoseconds};

/// A token bucket at each port of the switch limits the bits of whole frames per second in each direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Rate of the link, 8 kbit/s to 100 Gbit/s; headers of Ethernet, IP and TCP count.
    pub rate: BitsPerSecond,
    /// Bytes that may pass at once after a pause.
    pub burst: Bytes,
    /// How long a packet may wait before it is dropped.
    pub queue: Nanoseconds,
}

/// On slower links one packet takes longer than a window.
const SLOWEST: BitsPerSecond = BitsPerSecond::new(8_000);
/// Above this, tbf does not differ from no limit on any host.
const FASTEST: BitsPerSecond = BitsPerSecond::new(100_000_000_000);
const ETHERNET: u64 = 14;
/// One full Ethernet frame of the usual MTU; a smaller bucket lets none through.
const BURST_LEAST: Bytes = Bytes::new(1_514);
const BURST_MOST: Bytes = Bytes::new(1 << 30);
/// About twenty full frames: enough for what TCP sends at once, and quickly used up.
const BURST: Bytes = Bytes::new(32_000);
/// A queue as long, in time, as those of switches and home routers.
const QUEUE: Nanoseconds = Nanoseconds::from_millis(50);

pub(super) fn read(reader: &Reader<'_>) -> Result<Rate, ExperimentError> {
    let rate = reader.value("rate", |node| {
        let rate: BitsPerSecond = node.show().parse().map_err(|error| format!("{error}"))?;
        match (SLOWEST..=FASTEST).contains(&rate) {
            true => Ok(rate),
            false => Err(format!("`{rate}` must be from {SLOWEST} to {FASTEST}")),
        }
    })?;
    let Some(rate) = rate else {
        let message =
            format!("`{}`: `rate` needs its `rate`, such as \"100 Mbit/s\"", reader.full_key("layer"));
        return Err(reader.error(reader.line(), message));
    };
    let burst = reader.value("burst", |node| {
        let burst: Bytes = node.show().parse().map_err(|error| format!("{error}"))?;
        match (BURST_LEAST..=BURST_MOST).contains(&burst) {
            true => Ok(burst),
            false => {
                Err(format!("`{burst}` must be from {} B, one frame, to {BURST_MOST}", BURST_LEAST.get()))
            }
        }
    })?;
    let queue = super::super::read::positive_time(reader, "queue")?;
    let rate = Rate { rate, burst: burst.unwrap_or(BURST), queue: queue.unwrap_or(QUEUE) };
    match rate.waiting() <= WAITING_MOST {
        true => Ok(rate),
        false => {
            let message = format!(
                "`{}`: at {} more than 4 GiB could wait for {}, which the kernel does not count; give it less",
                reader.full_key("queue"),
                rate.rate,
                rate.queue
            );
            Err(reader.error(reader.line(), message))
        }
    }
}

/// tbf counts bytes in 32 bits.
const WAITING_MOST: f64 = u32::MAX as f64;

impl Rate {
    fn waiting(&self) -> f64 {
        self.rate.get() as f64 / 8.0 * self.queue.as_secs_f64() + self.burst.get() as f64
    }

    /// Refuses a bucket that is smaller than a full frame of the link.
    pub(super) fn check(&self, mtu: Mtu) -> Result<(), String> {
        let frame = Bytes::new(u64::from(mtu.get()) + ETHERNET);
        if self.burst >= frame {
            return Ok(());
        }
        Err(format!(
            "`rate` with a `burst` of {} B lets no full frame of this link through, which has {} B; give it that or more",
            self.burst.get(),
            frame.get()
        ))
    }

    /// Time to fill an empty bucket: the longest time in which more than the rate may pass.
    pub fn period(&self) -> Nanoseconds {
        self.rate.transfer_time(self.burst)
    }

    pub(super) fn write(&self, table: &mut Table) {
        table.insert("rate".into(), format!("{} bit/s", self.rate.get()).into());
        table.insert("burst".into(), format!("{} B", self.burst.get()).into());
        table.insert("queue".into(), time(self.queue));
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}", self.rate)
    }
}
