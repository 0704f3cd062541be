//! The arguments of the command line. Each verb's file gives them their meaning.

// By path, since a test of the documents reads this file as its own module.
#[path = "args/frames.rs"]
mod frames;
#[path = "args/grpc.rs"]
mod grpc;
#[path = "args/import.rs"]
mod import;
#[path = "args/init.rs"]
mod init;
#[path = "args/load.rs"]
mod load;
#[path = "args/plot.rs"]
mod plot;
#[path = "args/probe.rs"]
mod probe;
#[path = "args/revisions.rs"]
mod revisions;
#[path = "args/services.rs"]
mod services;
#[path = "args/summary.rs"]
mod summary;
#[path = "args/time.rs"]
mod time;
#[path = "args/trade.rs"]
mod trade;
#[path = "args/waiting.rs"]
mod waiting;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};

#[allow(unused_imports)] // the test of the documents looks into none
pub use frames::Frames;
pub use grpc::Grpc;
#[allow(unused_imports)] // the test of the documents looks into none
pub use import::{Import, ImportFormat};
#[allow(unused_imports)] // the test of the documents parses command lines and looks into none
pub use init::{ForeignLine, Init, TakenAs};
#[allow(unused_imports)] // likewise
pub use load::{ArrivalLaw, Load, TlsFlags};
#[allow(unused_imports)] // likewise
pub use plot::{AxisEnd, EndOf, Over, Plot, PlotFormat, PlotScale, PlotTheme, PlotTime};
#[allow(unused_imports)] // likewise
pub use probe::{Probe, ProbeLaw};
pub use revisions::Revisions;
#[allow(unused_imports)] // likewise
pub use services::{Services, ServicesAction};
#[allow(unused_imports)] // likewise
pub use summary::{Cite, CiteFormat, Summary};
#[allow(unused_imports)] // likewise
pub use trade::{Trade, TradeAction};
pub use waiting::{IdleCores, Wait};

/// Measures what a design decision costs a networked service: runs the alternatives side by side under the same
/// load, interleaved, and answers with the difference, its confidence interval and a verdict.
///
/// Exit codes: 0 fine, 1 a gate failed, 2 could not do it, 3 the figures must not be used.
#[derive(Debug, Parser)]
#[command(name = "weigh", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// When to use colour; `NO_COLOR` and `CLICOLOR_FORCE` are obeyed.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, hide_short_help = true)]
    pub color: Color,
    /// Say nothing of progress: warnings, errors and the result only.
    #[arg(short, long, global = true, hide_short_help = true)]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// At a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// One verb.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Put load on a URL, or weigh two or more URLs against each other.
    Load(Box<Load>),
    /// Find the highest rate that keeps an objective, with its interval, and whose is higher.
    // Here and not at the arguments, since those of `load` among them have examples of their own.
    #[command(
        after_help = "Examples:
  weigh capacity http://127.0.0.1:8080/ --objective 'p99 < 10ms and errors < 0.1%'
  weigh capacity old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/ -O 'mean < 1ms' -c 16
  weigh capacity experiment.toml --quick

`--help` has all options: rates, bodies, gRPC, Redis, TLS, gates, formats …",
        after_long_help = "Examples:
  weigh capacity http://127.0.0.1:8080/ --objective 'p99 < 10ms and errors < 0.1%'
  weigh capacity old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/ -O 'mean < 1ms' -c 16
  weigh capacity http://127.0.0.1:8080/ -O 'p99 < 5ms' -O 'p99 < 1ms' --curve 4
  weigh capacity http://127.0.0.1:8080/ -O 'p99 < 5ms' --rates 1000/s,2000/s,4000/s
  weigh capacity http://127.0.0.1:8080/ -O 'mean < 1ms' --require 'capacity >= 5000/s'
  weigh capacity experiment.toml --quick"
    )]
    Capacity(Box<Capacity>),
    /// Carry out an experiment, or a folder of them, and print the verdicts.
    Run(Run),
    /// Show what `run` would do: the first block exactly, and the rules for the rest.
    Plan(Plan),
    /// Check that services keep their contract, or that an experiment's variants answer alike.
    Verify(Verify),
    /// Write a commented experiment file.
    Init(Init),
    /// List the experiments that come with the program, and what each asks.
    Suites(Suites),
    /// Compare two variants of one run, or variants of two runs through what they share.
    Compare(Compare),
    /// Judge a run's records again, and show where the result differs from what the run stored.
    Judge(Judge),
    /// Write the report of a run, or of several, as one HTML page.
    Report(Report),
    /// Draw charts of a run: SVG, PNG or PDF.
    Plot(Plot),
    /// Print a run in another format.
    Export(Export),
    /// Make a run of what another program measured: shown like any run, without verdicts.
    Import(Import),
    /// Print the JSON schema of something that is printed or stored as JSON; all names without one.
    Schema(SchemaOf),
    /// Show runs in one line a variant: counts, and figures with their intervals; imported runs too.
    Summary(Summary),
    /// Say how to cite Weighbridge, or what a run measured.
    Cite(Cite),
    /// List the runs in a folder, newest first.
    History(History),
    /// Show the runs of a folder in a browser: reports, a live run, comparisons, downloads. Loopback only, read-only.
    Serve(Serve),
    /// Say how good measurements on this host are: false alarms, the smallest difference found, spread from run to run.
    Calibrate(Calibrate),
    /// Say what spoils measurements on this host; `--clean` removes what dead runs left behind.
    Doctor(Doctor),
    /// List, build, start or stop the reference services.
    Services(Services),
    /// Write scripts of the workload `trade`, a brokerage, count their actions, play them, find the heap that they need.
    Trade(Trade),
    /// Start a server whose truth is known, on loopback.
    Probe(Probe),
    /// Start a server that misbehaves, on loopback, to try a client on.
    Hostile(Hostile),
    /// Print a completion script for a shell.
    Completions(Completions),
    /// Print a manual page, or write all of them.
    Man(Man),
    /// Ends what a run started when the run itself cannot.
    #[command(hide = true)]
    Guardian,
    /// Carries Ethernet frames between two interfaces of this network namespace until its input ends.
    #[command(hide = true)]
    Frames(Frames),
}

/// Arguments of `weigh capacity`.
#[derive(Debug, Args)]
pub struct Capacity {
    /// What must be kept, such as `p99 < 10ms and errors < 0.1%`.
    ///
    /// What must be kept, such as `p99 < 10ms and errors < 0.1%`; repeat for several, each with a capacity of its own.
    /// Statistics: mean, p50, p90, p95, p99, p99.9 of response times (or `service p99`), and errors.
    #[arg(short = 'O', long = "objective", visible_alias = "slo", value_name = "OBJECTIVE")]
    pub objectives: Vec<String>,
    /// Lowest rate to try [default: an eighth of the pace of the warm-up].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub from: Option<PerSecond>,
    /// Highest rate to try [default: what the generator can offer].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub to: Option<PerSecond>,
    /// Further rates below the capacity, for the curve.
    #[arg(long, value_name = "COUNT", conflicts_with = "rates", hide_short_help = true)]
    pub curve: Option<u32>,
    /// Measure just these rates, comma-separated, instead of searching.
    #[arg(long, value_delimiter = ',', value_name = "RATE", conflicts_with_all = ["from", "to"], hide_short_help = true)]
    pub rates: Vec<PerSecond>,
    /// Measure until the interval of the ratio is this narrow on either side, up to 30 blocks.
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
    pub until: Option<Ratio>,
    /// Time in all [default: 300s, or the file's].
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanoseconds>,
    /// An answer within minutes, labelled quick.
    ///
    /// 4 blocks, short warm-up and a small budget; the result is labelled quick.
    #[arg(long)]
    pub quick: bool,
    /// What is sent, and where to. Instead of URLs an experiment file with a table `[capacity]`.
    #[command(flatten)]
    pub load: Load,
}

/// Where and how to print.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Text, json, csv or markdown.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
    /// Write it to this file instead of stdout.
    #[arg(short, long, value_name = "FILE", hide_short_help = true)]
    pub output: Option<PathBuf>,
}

/// Whether what is read of a run folder must be as it was written.
#[derive(Debug, Clone, Copy, Args)]
pub struct Verification {
    /// Show stored results even if files of the run were changed or removed since.
    #[arg(long)]
    pub unverified: bool,
}

/// Arguments of `weigh run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  weigh run quickstart --quick
  weigh run experiment.toml --fail-if 'p50 > +2%'
  weigh run --command './old {port}' --command './new {port}' --url-path /items
  weigh run --revisions main,HEAD --build make --command './server {port}'",
    after_long_help = "Examples:
  weigh run suites/quickstart.toml
  weigh run experiment.toml --quick --format json
  weigh run --resume runs/20260101-120000-pong
  weigh run --command './old --port {port}' --command './new --port {port}' --url-path /items
  weigh run --revisions main,HEAD --build make --command './server --port {port}' --url-path /items
  weigh run experiment.toml --revisions main,worktree --build make"
)]
pub struct Run {
    /// A file, a folder of files, or one that `weigh suites` lists.
    ///
    /// Experiment file, `-` for stdin, or a folder of experiments; or one that `weigh suites` lists.
    #[arg(value_name = "EXPERIMENT", required_unless_present_any = ["resume", "commands", "revisions"])]
    pub experiment: Option<PathBuf>,
    /// Revisions of one program, each checked out and built.
    #[command(flatten)]
    pub revisions: Revisions,
    /// Folder for run folders.
    #[arg(long, default_value = "runs", value_name = "DIR", hide_short_help = true)]
    pub out: PathBuf,
    /// An answer within minutes, labelled quick.
    ///
    /// 4 blocks, short warm-up and a small budget; the result is labelled quick.
    #[arg(long)]
    pub quick: bool,
    /// Time for it, instead of the file's.
    ///
    /// Time for each experiment, instead of its `plan.budget`.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanoseconds>,
    /// Only these variants, comma-separated; the first named is the baseline.
    #[arg(long, value_delimiter = ',', value_name = "VARIANT", hide_short_help = true)]
    pub only: Vec<String>,
    /// A word to find the run by later, such as `machine=m3.large`; repeat for several. Goes before the file's.
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = weighbridge_model::tags::parse, hide_short_help = true)]
    pub tags: Vec<(String, String)>,
    /// Go on with an interrupted run.
    #[arg(long, value_name = "RUN", hide_short_help = true, conflicts_with_all = ["experiment", "quick", "budget", "only", "out", "tags", "revisions"])]
    pub resume: Option<PathBuf>,
    /// Exit code 1 when shown, such as `p50 > +2%`.
    ///
    /// Fail (exit code 1) when this is shown to hold, such as `p50 > +2%`; added to the file's gates.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Pass only when this is shown to hold; added to the file's gates.
    #[arg(long, value_name = "CONDITION", hide_short_help = true)]
    pub require: Vec<String>,
    /// Allow closed load, and rates above 1,000/s, against an address that is neither loopback nor private.
    #[arg(long, hide_short_help = true)]
    pub allow_remote: bool,
    /// Print every quantity and note.
    ///
    /// Print every quantity, operation and note of a comparison, not only what is asked most.
    #[arg(long)]
    pub details: bool,
    /// Where and how to print.
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `weigh plan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh plan suites/quickstart.toml
  weigh plan experiment.toml --quick --format json")]
pub struct Plan {
    /// Experiment file, `-` for stdin; or one that `weigh suites` lists.
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// As `run --quick` would do it.
    #[arg(long)]
    pub quick: bool,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
    /// Of the workload `cache`: print the sets that fill it and then N requests instead, in the seven columns of Twitter's
    /// traces, which simulators of caches read.
    #[arg(long, value_name = "N", conflicts_with = "format", value_parser = clap::value_parser!(u64).range(1..))]
    pub stream: Option<u64>,
}

/// Arguments of `weigh verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh verify rust go                 # two services against their contract
  weigh verify experiment.toml         # do its variants answer alike?")]
pub struct Verify {
    /// Names of services, or an experiment file; every available service without any.
    #[arg(value_name = "SERVICE|EXPERIMENT")]
    pub subjects: Vec<String>,
    /// Leave out the slow rows.
    #[arg(long)]
    pub quick: bool,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh compare runs/20260101-120000-pong go rust     # go as the baseline
  weigh compare runs/A runs/B new                     # `new` of both runs, through the baseline that both hold")]
pub struct Compare {
    /// A run folder and two of its variants, or two run folders and the variant of each that is meant (once where it is
    /// named alike).
    #[arg(required = true, value_name = "RUN|VARIANT", num_args = 1..=4)]
    pub subjects: Vec<String>,
    /// Fail (exit code 1) when this is shown to hold.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Pass only when this is shown to hold.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Where and how to print.
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub verification: Verification,
}

/// Arguments of `weigh judge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh judge
  weigh judge runs/20260101-120000-pong --format json")]
pub struct Judge {
    /// A run folder; the newest in `runs` without one.
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub verification: Verification,
}

/// Arguments of `weigh report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh report
  weigh report runs/20260101-120000-pong -o pong.html")]
pub struct Report {
    /// Run folders, shown side by side in one page; the newest in `runs` without any.
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// File to write; `-` is stdout [default: report.html in the run folder; of several runs, here].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub verification: Verification,
}

/// Arguments of `weigh export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh export runs/20260101-120000-pong --format json
  weigh export --format csv --table windows -o windows.csv
  weigh export --format junit --fail-if 'p50 > +2%' -o weigh.xml
  weigh export --format hdr-log -o weigh.hlog")]
pub struct Export {
    /// Run folder; the newest in `runs` without one.
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Format: text, json, detail, csv, parquet, markdown, html, hdr-log, jmh, jmh-text, openmetrics, junit, ppbench-csv.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::ExportFormat,
    /// Which table, of csv and parquet: costs, figures, blocks, windows, samples, waterfall, sums, interactions, slopes,
    /// tables [default: costs].
    #[arg(long, value_name = "TABLE")]
    pub table: Option<weighbridge_report::TableName>,
    /// Of jmh and jmh-text: what a class is; `variant` makes each variant one, as harnesses of several stacks have it
    /// [default: response times in one, throughput in another].
    #[arg(long, value_name = "WHAT", value_parser = ["variant"])]
    pub class: Option<String>,
    /// A gate beside the experiment's own, as a test case of junit: fails when this is shown to hold.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// A gate likewise: passes only when this is shown to hold.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Write it to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub verification: Verification,
}

/// Arguments of `weigh schema`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh schema
  weigh schema summary > summary.schema.json")]
pub struct SchemaOf {
    /// summary, detail, event, load or calibration.
    #[arg(value_name = "NAME")]
    pub name: Option<weighbridge_report::Schema>,
}

/// A folder of run folders.
#[derive(Debug, Args)]
pub struct RunsFolder {
    /// Folder of run folders [default: runs].
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The same, as `run` names it.
    #[arg(long, value_name = "DIR", conflicts_with = "folder")]
    out: Option<PathBuf>,
}

impl RunsFolder {
    #[allow(dead_code)] // the test of the documents looks into none
    pub fn path(&self) -> &Path {
        self.folder.as_deref().or(self.out.as_deref()).unwrap_or(Path::new("runs"))
    }
}

/// Arguments of `weigh suites`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh suites
  weigh suites pingpong
  weigh run pingpong/languages --quick")]
pub struct Suites {
    /// Print the whole questions of these, each a name or a folder; without any, a line of each.
    #[arg(value_name = "SUITE")]
    pub names: Vec<String>,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh history
  weigh history /srv/runs --format json")]
pub struct History {
    /// Folder of run folders.
    #[command(flatten)]
    pub folder: RunsFolder,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh serve
  weigh serve /srv/runs --port 0 --open")]
pub struct Serve {
    /// Folder of run folders.
    #[command(flatten)]
    pub folder: RunsFolder,
    /// Port on 127.0.0.1; 0 for any free one.
    #[arg(long, default_value_t = 7878)]
    pub port: u16,
    /// Open it in the browser.
    #[arg(long)]
    pub open: bool,
}

/// Arguments of `weigh doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh doctor
  weigh doctor --clean --dry-run")]
pub struct Doctor {
    /// Remove what runs left behind whose owner is dead, and nothing else.
    #[arg(long)]
    pub clean: bool,
    /// With --clean: only say what would be removed.
    #[arg(long, requires = "clean")]
    pub dry_run: bool,
    /// Print everything that was looked at, also what is fine.
    #[arg(long, conflicts_with = "clean")]
    pub details: bool,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh calibrate
  weigh calibrate --experiment suites/quickstart.toml --budget 20min
  weigh calibrate --generator --requests 20000 --format json")]
pub struct Calibrate {
    /// Experiment file whose first variant is run beside copies of itself [default: a probe of ours].
    #[arg(long, value_name = "EXPERIMENT")]
    pub experiment: Option<PathBuf>,
    /// Only these variants of the experiment, comma-separated, each beside copies of itself [default: the baseline].
    #[arg(long, value_delimiter = ',', value_name = "VARIANT", requires = "experiment")]
    pub only: Vec<String>,
    /// Point of the experiment, by its number in the order of `weigh plan`.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "experiment")]
    pub point: usize,
    /// Time for all of it; one run of each kind is made however long that takes.
    #[arg(long, default_value = "5min", value_name = "TIME")]
    pub budget: Nanoseconds,
    /// By how much a copy is made slower, to see whether that is found [default: 2 % of the median response].
    #[arg(long, value_name = "TIME")]
    pub delta: Option<Nanoseconds>,
    /// Print what is found and keep nothing of it for later reports.
    #[arg(long)]
    pub no_keep: bool,
    /// Allow closed load, and rates above 1,000/s, against an address that is neither loopback nor private.
    #[arg(long)]
    pub allow_remote: bool,
    /// Calibrate the generator instead, against probes whose truth is known.
    #[arg(long, conflicts_with_all = ["experiment", "only", "point", "budget", "delta", "no_keep", "allow_remote"])]
    pub generator: bool,
    /// With --generator: requests for each law and shape of load; 2,000 is the fewest that give a 99th percentile.
    #[arg(long, default_value_t = 2_000, requires = "generator",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub requests: u64,
    /// With --generator: length of each measurement of punctuality and ceiling.
    #[arg(long, default_value = "2s", requires = "generator")]
    pub duration: Nanoseconds,
    /// Where and how to print (text or json).
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `weigh hostile`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh hostile --list
  weigh hostile close-mid-body --port 8080
  weigh hostile tls-expired --authority authority.pem")]
pub struct Hostile {
    /// What it does wrong, by name; every misbehaviour without one, each on a port of its own.
    #[arg(value_name = "MISBEHAVIOUR")]
    pub misbehaviour: Option<String>,
    /// Port; 0 for any free one; of several the first [default: the environment's PORT, or 8080; of several any].
    #[arg(long)]
    pub port: Option<u16>,
    /// File into which the certificate is written that vouches for those of the TLS servers, in PEM.
    #[arg(long, value_name = "FILE")]
    pub authority: Option<PathBuf>,
    /// List the misbehaviours, and what a good client reports, instead.
    #[arg(long, conflicts_with_all = ["misbehaviour", "port", "authority"])]
    pub list: bool,
    /// Format of the list: text, json or markdown.
    #[arg(long, default_value = "text", value_name = "FORMAT", requires = "list")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh completions`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh completions bash > ~/.local/share/bash-completion/completions/weigh
  weigh completions zsh > ~/.zfunc/_weigh
  weigh completions fish > ~/.config/fish/completions/weigh.fish")]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
    /// A script that stands alone and never asks `weigh`: it knows verbs and flags, but no runs and no services.
    #[arg(long = "static")]
    pub alone: bool,
}

/// Arguments of `weigh man`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh man | man -l -
  weigh man run | man -l -
  weigh man --out ~/.local/share/man/man1")]
pub struct Man {
    /// The verb whose page is printed; without one that of `weigh` itself.
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
    /// Write every page into this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    pub out: Option<PathBuf>,
}
