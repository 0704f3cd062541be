//! Arguments of `weigh load`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weighbridge_model::experiment::{Profile, SessionLength, Think, speed};
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};

use super::time::seconds;
use super::{Grpc, IdleCores, Output, Wait};

/// Arguments of `weigh load`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:
  weigh load http://127.0.0.1:8080/
  weigh load -c 16 -d 30s -r 5000 http://127.0.0.1:8080/
  weigh load old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/

`--help` has all options: bodies, arrivals, gRPC, Redis, TLS, gates, formats …",
    after_long_help = "Examples:
  weigh load http://127.0.0.1:8080/
  weigh load -c 16 -d 30s -r 5000 http://127.0.0.1:8080/
  weigh load --streams 32 --proto greet.proto --data '{\"name\": \"x\"}' grpc://127.0.0.1:50051/greet.Greeter/Hello
  weigh load --profile 'ramp:1000/s..5000/s over 30s' http://127.0.0.1:8080/
  weigh load --sessions 50 --length geometric:mean=10 --think 20ms http://127.0.0.1:8080/
  weigh load http://127.0.0.1:8080/ http://127.0.0.1:8081/   # the second against the first
  weigh load old=http://127.0.0.1:8080/ new=http://127.0.0.1:8081/
  weigh load -X POST --json '{\"id\": 1}' --latency http://127.0.0.1:8080/items
  weigh load redis://127.0.0.1 -X 'SET k v' -X 'GET k' --pipeline 16
  weigh load memcached://127.0.0.1 -X 'get k'"
)]
pub struct Load {
    /// One URL: load on it. Several: each against the first, with verdicts.
    ///
    /// `http://`, `grpc://`, `redis://` or `memcached://`; over TLS `https://`, `grpcs://` or `rediss://`. One URL: closed or open load on it. Two or more: alternated in short windows, the first is the baseline; `old=URL new=URL` names them.
    #[arg(required = true, value_name = "URL", hide_short_help = true)]
    pub urls: Vec<String>,
    /// Connections [default: 1; with --rate 16].
    ///
    /// Connections [default: 1; where requests or sessions arrive 16].
    #[arg(short, long, value_name = "COUNT", short_alias = 'u', aliases = ["concurrency", "clients", "vus"],
        value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: Option<u32>,
    /// Threads, each with its share of the connections.
    #[arg(short, long, value_name = "COUNT", hide_short_help = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// How long: `30`, `30s`, `1m30s` [default: 10s].
    ///
    /// How long to send (one URL), or measured time in all (several): `30s`, `1m30s`, seconds without a unit
    /// [default: 10s; of steps, a ramp or a trace once through].
    #[arg(short, long, value_name = "TIME", short_alias = 'z', aliases = ["test-time", "time"], conflicts_with = "requests",
        allow_hyphen_values = true, value_parser = seconds)]
    pub duration: Option<Nanoseconds>,
    /// How many requests to send in all.
    #[arg(short = 'n', long, value_name = "COUNT", aliases = ["total", "iterations"], value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Open load: requests due per second, such as `5000`.
    ///
    /// Open load: requests due per second, such as `5000` or `20k/s`. Without it the load is closed.
    #[arg(short, long, short_alias = 'R', aliases = ["rps", "qps"], allow_hyphen_values = true)]
    pub rate: Option<PerSecond>,
    /// Allow closed load, and rates above 1,000/s, against an address that is neither loopback nor private.
    #[arg(long, hide_short_help = true)]
    pub allow_remote: bool,
    /// One of several kinds of request, `[WEIGHT] METHOD PATH`, such as `9 GET /items/1`; once for each. PATH is added
    /// to the URL's; a body goes with POST, PUT and PATCH.
    #[arg(
        long = "mix",
        value_name = "REQUEST",
        conflicts_with = "method",
        help_heading = "Request",
        hide_short_help = true
    )]
    pub mix: Vec<String>,
    /// Method [default: GET; with a body POST].
    #[arg(short, long, help_heading = "Request")]
    pub method: Option<String>,
    /// Header, `Name: value`.
    ///
    /// Header, `Name: value`; a value `env:NAME` is read from the environment.
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    pub headers: Vec<String>,
    /// Body of each request; `@FILE` is the content of a file.
    #[arg(long, conflicts_with = "body_file", help_heading = "Request", hide_short_help = true)]
    pub body: Option<String>,
    /// Body in JSON; `@FILE` is the content of a file.
    ///
    /// Body in JSON, with its `Content-Type` and `Accept`; `@FILE` is the content of a file.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["body", "body_file"], help_heading = "Request")]
    pub json: Option<String>,
    /// File that holds the body of each request; `-` is stdin.
    #[arg(long, short_alias = 'D', value_name = "FILE", help_heading = "Request", hide_short_help = true)]
    pub body_file: Option<PathBuf>,
    /// After this a request has failed.
    #[arg(long, default_value = "10s", allow_hyphen_values = true, value_parser = seconds, help_heading = "Request", hide_short_help = true)]
    pub timeout: Nanoseconds,
    /// Rate over time instead of --rate: `steps:1000/s for 10s, 2000/s for 10s`, `ramp:1000/s..5000/s over 30s`,
    /// `sine:3000/s +- 1000/s every 10s` or `burst:1000/s..5000/s for 200ms every 2s`. Over, it starts again.
    #[arg(
        long,
        value_name = "PROFILE",
        conflicts_with = "rate",
        help_heading = "Arrivals",
        hide_short_help = true
    )]
    pub profile: Option<Profile>,
    /// Open load: arrival times from a file, one a line in seconds, instead of --rate; over, they start again. Behind a
    /// comma a line may name the operation that is sent then: `1.25,GET /a`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "profile", "sessions", "arrivals"], help_heading = "Arrivals", hide_short_help = true)]
    pub trace: Option<String>,
    /// Play the trace so many times as fast.
    #[arg(long, value_name = "FACTOR", value_parser = speed, allow_hyphen_values = true, help_heading = "Arrivals", hide_short_help = true)]
    pub speed: Option<f64>,
    /// Partly open load: sessions due per second. Inside a session the next request is due when the reply came.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["rate", "profile"], allow_hyphen_values = true, help_heading = "Arrivals", hide_short_help = true)]
    pub sessions: Option<PerSecond>,
    /// Requests of a session: `10`, `geometric:mean=10` or `workload`. With --profile, that is of sessions.
    #[arg(long, value_name = "LENGTH", help_heading = "Arrivals", hide_short_help = true)]
    pub length: Option<SessionLength>,
    /// Law of the gaps between arrivals [default: poisson; with --jitter jitter].
    #[arg(long, value_enum, help_heading = "Arrivals", hide_short_help = true)]
    pub arrivals: Option<ArrivalLaw>,
    /// Equal gaps, and each arrival moved by up to this share of a gap to either side, at most 50%.
    #[arg(
        long,
        value_name = "SHARE",
        allow_hyphen_values = true,
        help_heading = "Arrivals",
        hide_short_help = true
    )]
    pub jitter: Option<Ratio>,
    /// Time between a reply and the next request of the same connection or session: `10ms`, `exponential:mean=10ms` or
    /// `uniform:low=5ms,high=15ms`. Not in open load.
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Arrivals",
        hide_short_help = true
    )]
    pub think: Option<Think>,
    /// A new connection after so many requests on one.
    #[arg(long, value_name = "REQUESTS", conflicts_with = "no_keepalive",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Connections", hide_short_help = true)]
    pub churn: Option<u32>,
    /// Requests outstanding per connection (pipelining).
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Connections", hide_short_help = true)]
    pub pipeline: u32,
    /// HTTP/2 by prior knowledge instead of HTTP/1.1.
    #[arg(long, help_heading = "Connections", hide_short_help = true)]
    pub http2: bool,
    /// Requests outstanding per connection (streams of HTTP/2 and gRPC).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Connections", hide_short_help = true)]
    pub streams: Option<u32>,
    /// A new connection for each request.
    #[arg(long, alias = "disable-keepalive", help_heading = "Connections", hide_short_help = true)]
    pub no_keepalive: bool,
    /// Connect to this address instead of the URL's, `host:port`.
    #[arg(long, value_name = "ADDRESS", help_heading = "Connections", hide_short_help = true)]
    pub connect_to: Option<String>,
    /// Connect to this Unix socket instead of the URL's host and port.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "connect_to",
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub unix: Option<PathBuf>,
    /// Command for `redis://`, `rediss://` or `memcached://`, words quoted as for `redis-cli`; repeated: drawn with equal shares. `-X POST` is the method of an HTTP request.
    #[arg(
        short = 'X',
        long = "command",
        value_name = "COMMAND",
        help_heading = "Redis and memcached",
        hide_short_help = true
    )]
    pub commands: Vec<String>,
    /// Version of Redis' protocol; 3 is chosen by `HELLO 3`.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3), help_heading = "Redis and memcached", hide_short_help = true)]
    pub resp: u8,
    /// User at Redis.
    #[arg(long, help_heading = "Redis and memcached", hide_short_help = true)]
    pub username: Option<String>,
    /// Password at Redis; `env:NAME` is read from the environment.
    #[arg(long, help_heading = "Redis and memcached", hide_short_help = true)]
    pub password: Option<String>,
    /// One URL: how the generator waits for replies and arrivals [default: brief]. Being woken takes some µs, which are
    /// in every time; whoever waits awake needs a core of its own.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Measurement", hide_short_help = true)]
    pub wait: Option<Wait>,
    /// How idle cores of this machine wait [default: polled]. Waking one takes some µs or more, which are in every time.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = IdleCores::Polled, hide_default_value = true, help_heading = "Measurement", hide_short_help = true)]
    pub idle: IdleCores,
    /// Say where the service time went, by the kernel's time stamps: client, wire and server, client. One request in
    /// flight on each TCP connection.
    #[arg(long, conflicts_with = "unix", help_heading = "Measurement", hide_short_help = true)]
    pub kernel_timestamps: bool,
    /// Time of load before measuring [default: none for one URL, 200ms for several].
    #[arg(long, value_parser = seconds, help_heading = "Measurement", hide_short_help = true)]
    pub warmup: Option<Nanoseconds>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1, help_heading = "Measurement", hide_short_help = true)]
    pub seed: u64,
    /// Several URLs: differences within this share are not relevant.
    #[arg(long, default_value = "2%", help_heading = "Measurement", hide_short_help = true)]
    pub margin: Ratio,
    /// Several URLs: folder for the run.
    #[arg(long, default_value = "runs", value_name = "DIR", help_heading = "Result", hide_short_help = true)]
    pub out: PathBuf,
    /// Fail (exit code 1) when this is shown to hold, such as `p99 > 5ms`, `errors > 0`, or with several URLs
    /// `p50 > +2%`.
    #[arg(long, value_name = "CONDITION", help_heading = "Result", hide_short_help = true)]
    pub fail_if: Vec<String>,
    /// Pass only when this is shown to hold.
    #[arg(long, value_name = "CONDITION", help_heading = "Result", hide_short_help = true)]
    pub require: Vec<String>,
    /// One URL: percentiles from p50 to p99.999, a histogram of response times, and replies by status.
    #[arg(short_alias = 'L', long, help_heading = "Result", hide_short_help = true)]
    pub latency: bool,
    /// Print every quantity, operation and note of a comparison, not only what is asked most.
    #[arg(long, help_heading = "Result", hide_short_help = true)]
    pub details: bool,
    /// Where and how to print.
    #[command(flatten)]
    pub output: Output,
    // The heading of a group holds for all that follows it, so groups come last.
    /// How TLS is spoken.
    #[command(flatten)]
    pub tls: TlsFlags,
    /// A call over gRPC.
    #[command(flatten)]
    pub grpc: Grpc,
}

/// How TLS is spoken, by whichever scheme means it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsFlags {
    /// Accept any certificate.
    #[arg(short = 'k', long, conflicts_with = "cacert", hide_short_help = true)]
    pub insecure: bool,
    /// Trust the certificates in this file (PEM) instead of the system's.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub cacert: Option<String>,
    /// The client's certificate (PEM).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub cert: Option<String>,
    /// The private key of the client's certificate (PEM).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub key: Option<String>,
    /// The name that the certificate must hold, and that is sent (SNI) [default: the URL's host].
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub server_name: Option<String>,
    /// Every handshake is a full one; no session is taken up again.
    #[arg(long, hide_short_help = true)]
    pub no_resumption: bool,
    /// Oldest version [default: 1.2].
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"], hide_short_help = true)]
    pub tls_min: Option<String>,
    /// Newest version [default: 1.3].
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"], hide_short_help = true)]
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
