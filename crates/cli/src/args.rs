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
#[path = "args/plot.rs"]
mod plot;
#[path = "args/revisions.rs"]
mod revisions;
#[path = "args/services.rs"]
mod services;
#[path = "args/summary.rs"]
mod summary;
#[path = "args/waiting.rs"]
mod waiting;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use weighbridge_model::experiment::{Profile, SessionLength, Think, speed};
use weighbridge_model::quantity::{Bytes, Nanoseconds, PerSecond, Ratio};
use weighbridge_probe::law::NanosecondsPerByte;

#[allow(unused_imports)] // the test of the documents looks into none
pub use frames::Frames;
pub use grpc::Grpc;
#[allow(unused_imports)] // the test of the documents looks into none
pub use import::{Import, ImportFormat};
#[allow(unused_imports)] // the test of the documents parses command lines and looks into none
pub use init::{Curl, Init, TakenAs};
#[allow(unused_imports)] // likewise
pub use plot::{AxisEnd, EndOf, Over, Plot, PlotFormat, PlotScale, PlotTheme, PlotTime};
pub use revisions::Revisions;
#[allow(unused_imports)] // likewise
pub use services::{Services, ServicesAction};
#[allow(unused_imports)] // likewise
pub use summary::{Cite, CiteFormat, Summary};
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
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Say nothing of progress: warnings, errors and the result only.
    #[arg(short, long, global = true)]
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
    /// Carry out an experiment, or a folder of them, and print the verdicts.
    Run(Run),
    /// Show what `run` would do: the first block exactly, and the rules for the rest.
    Plan(Plan),
    /// Check that services keep their contract, or that an experiment's variants answer alike.
    Verify(Verify),
    /// Write a commented experiment file.
    Init(Init),
    /// Compare two variants of one run, or variants of two runs through what they share.
    Compare(Compare),
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

/// Arguments of `weigh load`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh load http://127.0.0.1:8080/
  weigh load -c 16 -d 30s -r 5000 http://127.0.0.1:8080/
  weigh load --streams 32 --proto greet.proto --data '{\"name\": \"x\"}' grpc://127.0.0.1:50051/greet.Greeter/Hello
  weigh load --profile 'ramp:1000/s..5000/s over 30s' http://127.0.0.1:8080/
  weigh load --sessions 50 --length geometric:mean=10 --think 20ms http://127.0.0.1:8080/
  weigh load http://127.0.0.1:8080/ http://127.0.0.1:8081/   # the second against the first
  weigh load redis://127.0.0.1 -X 'SET k v' -X 'GET k' --pipeline 16
  weigh load memcached://127.0.0.1 -X 'get k'")]
pub struct Load {
    /// `http://`, `grpc://`, `redis://` or `memcached://`; over TLS `https://`, `grpcs://` or `rediss://`. One URL: closed or open load on it. Two or more: alternated in short windows, the first is the baseline.
    #[arg(required = true, value_name = "URL")]
    pub urls: Vec<String>,
    /// Connections [default: 1; where requests or sessions arrive 16].
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: Option<u32>,
    /// Threads, each with its share of the connections.
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// One URL: how the generator waits for replies and arrivals [default: brief]. Being woken takes some µs, which are
    /// in every time; whoever waits awake needs a core of its own.
    #[arg(long, value_enum, value_name = "HOW")]
    pub wait: Option<Wait>,
    /// How idle cores of this machine wait [default: polled]. Waking one takes some µs or more, which are in every time.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = IdleCores::Polled, hide_default_value = true)]
    pub idle: IdleCores,
    /// How long to send (one URL), or measured time in all (several) [default: 10s; of steps, a ramp or a trace once
    /// through].
    #[arg(short, long, conflicts_with = "requests", allow_hyphen_values = true)]
    pub duration: Option<Nanoseconds>,
    /// How many requests to send in all.
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Open load: requests due per second, such as `5000` or `20k/s`. Without it the load is closed.
    #[arg(short, long, allow_hyphen_values = true)]
    pub rate: Option<PerSecond>,
    /// Rate over time instead of --rate: `steps:1000/s for 10s, 2000/s for 10s`, `ramp:1000/s..5000/s over 30s`,
    /// `sine:3000/s +- 1000/s every 10s` or `burst:1000/s..5000/s for 200ms every 2s`. Over, it starts again.
    #[arg(long, value_name = "PROFILE", conflicts_with = "rate")]
    pub profile: Option<Profile>,
    /// Open load: arrival times from a file, one a line in seconds, instead of --rate; over, they start again. Behind a
    /// comma a line may name the operation that is sent then: `1.25,GET /a`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "profile", "sessions", "arrivals"])]
    pub trace: Option<String>,
    /// Play the trace so many times as fast.
    #[arg(long, value_name = "FACTOR", value_parser = speed, allow_hyphen_values = true)]
    pub speed: Option<f64>,
    /// Partly open load: sessions due per second. Inside a session the next request is due when the reply came.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["rate", "profile"], allow_hyphen_values = true)]
    pub sessions: Option<PerSecond>,
    /// Requests of a session: `10`, `geometric:mean=10` or `workload`. With --profile, that is of sessions.
    #[arg(long, value_name = "LENGTH")]
    pub length: Option<SessionLength>,
    /// Law of the gaps between arrivals [default: poisson; with --jitter jitter].
    #[arg(long, value_enum)]
    pub arrivals: Option<ArrivalLaw>,
    /// Equal gaps, and each arrival moved by up to this share of a gap to either side, at most 50%.
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub jitter: Option<Ratio>,
    /// Time between a reply and the next request of the same connection or session: `10ms`, `exponential:mean=10ms` or
    /// `uniform:low=5ms,high=15ms`. Not in open load.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub think: Option<Think>,
    /// A new connection after so many requests on one.
    #[arg(long, value_name = "REQUESTS", conflicts_with = "no_keepalive",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub churn: Option<u32>,
    /// Say where the service time went, by the kernel's time stamps: client, wire and server, client. One request in
    /// flight on each TCP connection.
    #[arg(long, conflicts_with = "unix")]
    pub kernel_timestamps: bool,
    /// One of several kinds of request, `[WEIGHT] METHOD PATH`, such as `9 GET /items/1`; once for each. PATH is added
    /// to the URL's; a body goes with POST, PUT and PATCH.
    #[arg(long = "mix", value_name = "REQUEST", conflicts_with = "method")]
    pub mix: Vec<String>,
    /// Method [default: GET; with a body POST].
    #[arg(short, long)]
    pub method: Option<String>,
    /// Header, `Name: value`; a value `env:NAME` is read from the environment.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// Body of each request.
    #[arg(long, conflicts_with = "body_file")]
    pub body: Option<String>,
    /// File that holds the body of each request; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// After this a request has failed.
    #[arg(long, default_value = "10s", allow_hyphen_values = true)]
    pub timeout: Nanoseconds,
    /// Time of load before measuring [default: none for one URL, 200ms for several].
    #[arg(long)]
    pub warmup: Option<Nanoseconds>,
    /// Command for `redis://`, `rediss://` or `memcached://`, words quoted as for `redis-cli`; repeated: drawn with equal shares.
    #[arg(short = 'X', long = "command", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Version of Redis' protocol; 3 is chosen by `HELLO 3`.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub resp: u8,
    /// User at Redis.
    #[arg(long)]
    pub username: Option<String>,
    /// Password at Redis; `env:NAME` is read from the environment.
    #[arg(long)]
    pub password: Option<String>,
    /// Requests outstanding per connection (pipelining).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub pipeline: u32,
    /// HTTP/2 by prior knowledge instead of HTTP/1.1.
    #[arg(long)]
    pub http2: bool,
    /// Requests outstanding per connection (streams of HTTP/2 and gRPC).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub streams: Option<u32>,
    /// A call over gRPC.
    #[command(flatten)]
    pub grpc: Grpc,
    /// A new connection for each request.
    #[arg(long)]
    pub no_keepalive: bool,
    /// Connect to this address instead of the URL's, `host:port`.
    #[arg(long, value_name = "ADDRESS")]
    pub connect_to: Option<String>,
    /// How TLS is spoken.
    #[command(flatten)]
    pub tls: TlsFlags,
    /// Connect to this Unix socket instead of the URL's host and port.
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to")]
    pub unix: Option<PathBuf>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Several URLs: differences within this share are not relevant.
    #[arg(long, default_value = "2%")]
    pub margin: Ratio,
    /// Several URLs: folder for the run.
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// Fail (exit code 1) when this is shown to hold, such as `p99 > 5ms`, `errors > 0`, or with several URLs
    /// `p50 > +2%`.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Pass only when this is shown to hold.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Allow rates above 1,000/s against an address that is neither loopback nor private.
    #[arg(long)]
    pub allow_remote: bool,
    /// Where and how to print.
    #[command(flatten)]
    pub output: Output,
}

/// How TLS is spoken, by whichever scheme means it.
#[derive(Debug, Args)]
pub struct TlsFlags {
    /// TLS: accept any certificate.
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// TLS: trust the certificates in this file (PEM) instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<String>,
    /// TLS: the client's certificate (PEM).
    #[arg(long, value_name = "FILE")]
    pub cert: Option<String>,
    /// TLS: the private key of the client's certificate (PEM).
    #[arg(long, value_name = "FILE")]
    pub key: Option<String>,
    /// TLS: the name that the certificate must hold, and that is sent (SNI) [default: the URL's host].
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// TLS: every handshake is a full one; no session is taken up again.
    #[arg(long)]
    pub no_resumption: bool,
    /// Oldest version of TLS [default: 1.2].
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub tls_min: Option<String>,
    /// Newest version of TLS [default: 1.3].
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub tls_max: Option<String>,
}

/// Law of the gaps between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalLaw {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
    /// Equal gaps, each arrival moved a little.
    Jitter,
}

/// Where and how to print.
#[derive(Debug, Args)]
pub struct Output {
    /// Format of what is printed: text, json, csv, markdown.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
    /// Write it to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `weigh run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh run suites/quickstart.toml
  weigh run experiment.toml --quick --format json
  weigh run --resume runs/20260101-120000-pong
  weigh run --revisions main,HEAD --build make --command './server --port {port}' --url-path /items
  weigh run experiment.toml --revisions main,worktree --build make")]
pub struct Run {
    /// Experiment file, `-` for stdin, or a folder of experiments.
    #[arg(value_name = "EXPERIMENT", required_unless_present_any = ["resume", "command", "revisions"])]
    pub experiment: Option<PathBuf>,
    /// Revisions of one program, each checked out and built.
    #[command(flatten)]
    pub revisions: Revisions,
    /// Folder for run folders.
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// 4 blocks, short warm-up and a small budget; the result is labelled quick.
    #[arg(long)]
    pub quick: bool,
    /// Time for each experiment, instead of its `plan.budget`.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanoseconds>,
    /// Only these variants, comma-separated; the first named is the baseline.
    #[arg(long, value_delimiter = ',', value_name = "VARIANT")]
    pub only: Vec<String>,
    /// A word to find the run by later, such as `machine=m3.large`; repeat for several. Goes before the file's.
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = weighbridge_model::tags::parse)]
    pub tags: Vec<(String, String)>,
    /// Go on with an interrupted run.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["experiment", "quick", "budget", "only", "out", "tags", "revisions"])]
    pub resume: Option<PathBuf>,
    /// Fail (exit code 1) when this is shown to hold, such as `p50 > +2%`; added to the file's gates.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Pass only when this is shown to hold; added to the file's gates.
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// Allow rates above 1,000/s against an address that is neither loopback nor private.
    #[arg(long)]
    pub allow_remote: bool,
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
    /// Experiment file, `-` for stdin.
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: PathBuf,
    /// As `run --quick` would do it.
    #[arg(long)]
    pub quick: bool,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
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
    /// Which table, of csv and parquet: costs, figures, blocks, windows, samples, waterfall, sums, interactions, slopes
    /// [default: costs].
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

/// Arguments of `weigh history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh history
  weigh history /srv/runs --format json")]
pub struct History {
    /// Folder of run folders.
    #[arg(default_value = "runs", value_name = "DIR")]
    pub folder: PathBuf,
    /// Format: text or json.
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub format: weighbridge_report::Format,
}

/// Arguments of `weigh serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh serve
  weigh serve --out runs --port 0 --open")]
pub struct Serve {
    /// Folder of run folders.
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
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
    /// Allow rates above 1,000/s against an address that is neither loopback nor private.
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

/// Arguments of `weigh probe`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh probe null
  weigh probe delay exponential:mean=1ms --port 8080
  weigh probe stall --at 3s --length 1s
  weigh probe cliff --step 5ms --above 87380 --slope 10ns/B --corner 250kB --slope-above 30ns/B")]
pub struct Probe {
    /// The law by which it answers.
    #[command(subcommand)]
    pub law: ProbeLaw,
    /// Port; 0 for any free one [default: the environment's PORT, or 8080].
    #[arg(long, global = true)]
    pub port: Option<u16>,
    /// Folder into which the record of every request is written at the end.
    #[arg(long, global = true, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Close a connection, without a word, on which nothing has come for this long.
    #[arg(long, global = true, value_name = "TIME")]
    pub close_idle: Option<Nanoseconds>,
    /// Close a connection after so many requests, as the last reply announces.
    #[arg(long, global = true, value_name = "REQUESTS")]
    pub close_after: Option<std::num::NonZeroU64>,
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
