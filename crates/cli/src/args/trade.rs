//! Arguments of `weigh trade`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `weigh trade`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh trade script --size small --out script
  weigh trade script --sessions 5000 --seed 7 --out script
  weigh trade count script
  weigh trade play suites/trade/seed.toml --only beans -n 10
  weigh trade heap suites/trade/gc.toml --only java-trade/g1/8x
  weigh trade count workload.txt --sessions 512 --format json")]
pub struct Trade {
    /// What to do with scripts.
    #[command(subcommand)]
    pub action: TradeAction,
}

/// What to do with scripts.
#[derive(Debug, Subcommand)]
pub enum TradeAction {
    /// Write a script: stocks, users and sessions in DaCapo's form, and what they follow from.
    Script {
        /// Its size: small (32 sessions), default (256), large (1024) or huge (8192).
        #[arg(long, default_value = "default", value_name = "NAME")]
        size: String,
        /// Its size as a number of sessions, 1 to 1048576; there are half as many users again.
        #[arg(long, value_name = "COUNT", conflicts_with = "size")]
        sessions: Option<u64>,
        /// The number from which all of it follows.
        #[arg(long, default_value_t = 1, value_name = "NUMBER")]
        seed: u64,
        /// Number of stocks, 1 to 10000.
        #[arg(long, default_value_t = 1098, value_name = "COUNT")]
        stocks: u64,
        /// How popular large stocks are: the one of rank r by capitalisation in proportion to r^-SKEW; 0 to 3.
        #[arg(long, default_value_t = 0.55, value_name = "SKEW", allow_negative_numbers = true)]
        skew: f64,
        /// Folder for stocks.txt, users.txt, workload.txt and about.json, none of which may be there.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Count the actions of scripts, as DaCapo prints them.
    Count {
        /// A workload.txt, ours or DaCapo's, or the folder that it is in.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Of each only the first so many sessions.
        #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
        sessions: Option<u32>,
        /// Format: text or json.
        #[arg(long, default_value = "text", value_name = "FORMAT")]
        format: weighbridge_report::Format,
    },
    /// Play whole passages with a variant, and print the lines that DaCapo prints.
    Play {
        /// The experiment file, or a suite's experiment, such as `suites/trade/seed.toml`.
        #[arg(value_name = "EXPERIMENT")]
        experiment: PathBuf,
        /// The variant [default: the first].
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
        /// Number of passages, of which the last counts.
        #[arg(short = 'n', long, default_value_t = 1, value_name = "COUNT",
            value_parser = clap::value_parser!(u32).range(1..=1000))]
        passages: u32,
        /// Instead, until the times of three vary by at most 3 %, 20 at most, and then the one that counts.
        #[arg(long, conflicts_with = "passages")]
        converge: bool,
        /// Write simple and metered latency, against the smoothing window, to this CSV file.
        #[arg(long, value_name = "FILE")]
        latency: Option<PathBuf>,
    },
    /// Find the smallest heap of a Java virtual machine with which a variant carries out whole passages.
    Heap {
        /// The experiment file, or a suite's experiment, such as `suites/trade/gc.toml`.
        #[arg(value_name = "EXPERIMENT")]
        experiment: PathBuf,
        /// The variant [default: the first].
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
        /// Format: text or json.
        #[arg(long, default_value = "text", value_name = "FORMAT")]
        format: weighbridge_report::Format,
    },
}
