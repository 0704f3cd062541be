//! Arguments of `weigh probe`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_probe::law::NanosecondsPerByte;

/// Arguments of `weigh probe`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh probe null
  weigh probe delay exponential:mean=1ms --port 8080
  weigh probe delay exponential:mean=10ms --servers 4
  weigh probe crowded --time 1ms --above 8 --factor 3
  weigh probe stall --at 3s --length 1s
  weigh probe cliff --step 5ms --above 87380 --slope 10ns/B --corner 250kB --slope-above 30ns/B")]
pub struct Probe {
    /// The law by which it answers.
    #[command(subcommand)]
    pub law: ProbeLaw,
    /// Requests in service at once, each asleep for its time; others wait in order of arrival [default: the
    /// environment's SERVERS, or one, whose CPU is busy].
    #[arg(long, global = true, value_name = "COUNT", value_parser = from_one_on::<NonZeroUsize>)]
    pub servers: Option<NonZeroUsize>,
    /// Port; 0 for any free one [default: the environment's PORT, or 8080].
    #[arg(long, global = true)]
    pub port: Option<u16>,
    /// What it answers: replies of a workload as a service gives them [default: the environment's WORKLOAD, or
    /// `pingpong`].
    #[arg(long, global = true, value_parser = ["pingpong", "person"])]
    pub workload: Option<String>,
    /// How it is spoken to: `http1-json`; for `person` also `grpc`, `thrift-compact` and so on [default: the
    /// environment's PROTOCOL, or `http1-json`].
    #[arg(long, global = true)]
    pub protocol: Option<String>,
    /// Folder into which the record of every request is written at the end.
    #[arg(long, global = true, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Close a connection, without a word, on which nothing has come for this long.
    #[arg(long, global = true, value_name = "TIME")]
    pub close_idle: Option<Nanoseconds>,
    /// Close a connection after so many requests, as the last reply announces.
    #[arg(long, global = true, value_name = "REQUESTS", value_parser = from_one_on::<NonZeroU64>)]
    pub close_after: Option<NonZeroU64>,
}

fn from_one_on<T: FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "it must be a whole number from 1 on")
}

/// The laws of probes.
#[derive(Debug, Subcommand)]
pub enum ProbeLaw {
    /// Answers at once.
    Null,
    /// Keeps its CPU busy before each answer: `20us`, `exponential:mean=1ms`, `uniform:low=10us,high=30us`,
    /// `bimodal:low=10us,high=1ms,share=5%`.
    Delay {
        /// The law of the delay, or just a time.
        law: String,
        /// Seed of the draws.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Stops once.
    Stall {
        /// When: a time after the first request, or a count of requests.
        #[arg(long, default_value = "3s")]
        at: String,
        /// For how long.
        #[arg(long, default_value = "1s")]
        length: Nanoseconds,
    },
    /// Stops again and again, by its running time (gaps between requests count up to 10 ms each).
    PeriodicStall {
        /// Running time from stop to stop.
        #[arg(long, default_value = "2s")]
        every: Nanoseconds,
        /// For how long.
        #[arg(long, default_value = "100ms")]
        length: Nanoseconds,
        /// Most that a gap between two requests counts (time in which it was frozen, for one).
        #[arg(long, default_value = "10ms")]
        gap: Nanoseconds,
    },
    /// Takes longer for larger answers: keeps its CPU busy for a time with a step and a corner over their size.
    Cliff {
        /// Size above which the step applies.
        #[arg(long, default_value = "87380")]
        above: Bytes,
        /// The step; `0ms` for none.
        #[arg(long, default_value = "5ms")]
        step: Nanoseconds,
        /// Busy time of every answer.
        #[arg(long, default_value = "0ms")]
        base: Nanoseconds,
        /// Further busy time for each byte, such as `10ns/B`.
        #[arg(long, default_value = "0ns/B")]
        slope: NanosecondsPerByte,
        /// Size from which each byte takes `--slope-above` instead [default: that of `--above`].
        #[arg(long)]
        corner: Option<Bytes>,
        /// Busy time for each byte beyond the corner [default: as below it].
        #[arg(long)]
        slope_above: Option<NanosecondsPerByte>,
    },
    /// Becomes faster or slower through its life: keeps its CPU busy for `from` at first, for `to` in the end.
    Trend {
        /// Busy time of the first request.
        #[arg(long)]
        from: Nanoseconds,
        /// Busy time in the end.
        #[arg(long)]
        to: Nanoseconds,
        /// Until when: a time after the first request, or a count of requests.
        #[arg(long, default_value = "10s")]
        over: String,
    },
    /// Is slow at first and after each pause: keeps its CPU busy for `cold` while it is cold, else for `warm`.
    Cold {
        /// The pause between two requests after which it is cold again.
        #[arg(long, default_value = "5ms")]
        idle: Nanoseconds,
        /// Requests until it is warm.
        #[arg(long, default_value = "100")]
        requests: u64,
        /// Busy time of a request while it is cold.
        #[arg(long, default_value = "300us")]
        cold: Nanoseconds,
        /// Busy time of a request while it is warm.
        #[arg(long, default_value = "0us")]
        warm: Nanoseconds,
    },
    /// Is slower while many wait: a server that collapses under load, and stays so until fewer wait.
    Crowded {
        /// Time of a request while it is not crowded.
        #[arg(long, default_value = "100us")]
        time: Nanoseconds,
        /// It is crowded while more than so many wait.
        #[arg(long, default_value = "8")]
        above: u64,
        /// By how much it is slower then.
        #[arg(long, default_value = "3")]
        factor: f64,
        /// It stays crowded until fewer than so many wait [default: one more than `--above`].
        #[arg(long)]
        below: Option<u64>,
    },
}
