//! The Rust service of the workload `trade`, with axum and tonic on tokio, and SQLite or PostgreSQL behind them: configuration
//! and life. `server.rs` has the server, `engine.rs` the brokerage.
//!
//! It keeps the contract of `services/README.md` and holds nothing that the contract does not ask for: no
//! cache, no log line per request, no tuning. What was decided and why is in `README.md`.

mod canonical;
mod direct;
mod engine;
mod play;
mod population;
mod records;
mod script;
mod server;
mod soap;
mod tally;
mod tls;
mod trade_grpc;
mod trade_http;
mod trade_soap;

use std::env;
use std::fmt::Display;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::engine::Engine;
use crate::population::Population;

/// What `--version` and `/version` answer: language, its version, each library, its version.
const VERSION: &str = concat!(
    "Rust ",
    env!("RUST_VERSION"),
    " axum ",
    env!("AXUM_VERSION"),
    " tonic ",
    env!("TONIC_VERSION"),
    " quick-xml ",
    env!("QUICK_XML_VERSION"),
    " rusqlite ",
    env!("RUSQLITE_VERSION"),
    " tokio-postgres ",
    env!("TOKIO_POSTGRES_VERSION")
);

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
const GRACE: Duration = Duration::from_secs(4);

const EXIT_BROKEN: u8 = 1;
const EXIT_CONFIGURATION: u8 = 2;
const EXIT_PORT_IN_USE: u8 = 3;

/// The workload that is offered.
const WORKLOAD: &str = "trade";

/// A protocol over which it is.
struct Offer {
    protocol: &'static str,
    http: Http,
    /// What it answers.
    router: fn(Arc<dyn Engine>) -> Router,
}

/// The version of HTTP that is spoken.
#[derive(Clone, Copy)]
enum Http {
    One,
    Two,
}

/// All of them, the default first.
static OFFERS: [Offer; 4] = [
    Offer { protocol: "http1-json", http: Http::One, router: json },
    Offer { protocol: "http2-json", http: Http::Two, router: json },
    Offer { protocol: "grpc", http: Http::Two, router: trade_grpc::routes },
    Offer { protocol: "soap", http: Http::One, router: soap },
];

fn json(engine: Arc<dyn Engine>) -> Router {
    server::router(trade_http::routes(Arc::clone(&engine)).merge(trade_http::control(engine)))
}

fn soap(engine: Arc<dyn Engine>) -> Router {
    server::router(trade_soap::routes(Arc::clone(&engine)).merge(trade_http::control(engine)))
}

// Configuration

/// Where to listen, and what to speak there.
struct Configuration {
    host: IpAddr,
    port: u16,
    offer: &'static Offer,
    nagle: Nagle,
    tls: Option<TlsAcceptor>,
    /// Whether there is no listener, and the script is played on request.
    direct: bool,
}

/// Nagle's algorithm on accepted connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nagle {
    Off,
    /// As tokio leaves it: on.
    Default,
}

/// Reads the environment but for `DATA`, `STATE` and `DATABASE`. The error is the line for stderr.
fn read_configuration() -> Result<Configuration, String> {
    let host = variable("HOST").map_or(Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)), |text| {
        text.parse().map_err(|_| refusal("HOST", &text, "an IP address"))
    })?;
    let port = variable("PORT").map_or(Ok(8080), |text| {
        let port = number(&text).and_then(|port| port.try_into().ok());
        port.ok_or_else(|| refusal("PORT", &text, "0 to 65535"))
    })?;
    if let Some(workload) = variable("WORKLOAD").filter(|text| text != WORKLOAD) {
        return Err(refusal("WORKLOAD", &workload, &format!("`{WORKLOAD}`")));
    }
    let protocol = variable("PROTOCOL").unwrap_or_else(|| OFFERS[0].protocol.to_owned());
    let offer = OFFERS.iter().find(|offer| offer.protocol == protocol).ok_or_else(|| {
        let allowed: Vec<_> = OFFERS.iter().map(|offer| offer.protocol).collect();
        refusal("PROTOCOL", &protocol, &format!("`{}`", allowed.join("`, `")))
    })?;
    let nagle = match variable("NAGLE").as_deref() {
        None | Some("off") => Nagle::Off,
        Some("default") => Nagle::Default,
        Some(text) => return Err(refusal("NAGLE", text, "`off`, `default`")),
    };
    Ok(Configuration { host, port, offer, nagle, tls: tls::read(offer.http)?, direct: direct::asked()? })
}

/// The value of an environment variable; an empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// The line that refuses a value.
fn refusal(name: &str, value: &str, allowed: &str) -> String {
    format!("`{name}` is {value:?}, allowed: {allowed}")
}

/// A decimal number as the contract writes it: digits only, no leading zero.
fn number(text: &str) -> Option<usize> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

// Main

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => run().await,
        [argument] if argument == "--version" => {
            println!("{VERSION}");
            ExitCode::SUCCESS
        }
        [argument, ..] => {
            fail(EXIT_CONFIGURATION, format!("argument {argument:?}, allowed: `--version` alone"))
        }
    }
}

/// Configures, listens, fills the database, says so, serves.
async fn run() -> ExitCode {
    let configuration = match read_configuration() {
        Ok(configuration) => configuration,
        Err(line) => return fail(EXIT_CONFIGURATION, line),
    };
    // The signal is caught before `ready` is said: from then on it may come at any time.
    let Ok(stop) = signal(SignalKind::terminate()) else {
        return fail(EXIT_BROKEN, "SIGTERM cannot be caught");
    };
    let served = if configuration.direct { direct(stop).await } else { listen(configuration, stop).await };
    served.unwrap_or_else(|(code, line)| fail(code, line))
}

/// The exit code of what cannot go on, and its line for stderr.
type Failure = (u8, String);

async fn direct(stop: Signal) -> Result<ExitCode, Failure> {
    let (engine, population) = brokerage().await?;
    Ok(direct::serve(engine, population.sessions, stop).await)
}

/// A wrong address is told before the data is read, which takes longer.
async fn listen(configuration: Configuration, stop: Signal) -> Result<ExitCode, Failure> {
    let Configuration { host, port, .. } = configuration;
    let place = format!("`PORT` {port} on `HOST` {host}");
    let bound = TcpListener::bind((host, port)).await.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    });
    let (listener, port) = bound.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => (EXIT_PORT_IN_USE, format!("{place} is in use, choose another")),
        _ => (EXIT_CONFIGURATION, format!("{place} cannot be used: {error}")),
    })?;
    let (engine, _) = brokerage().await?;
    println!("ready {port}");
    server::serve(listener, configuration, engine, stop).await;
    Ok(ExitCode::SUCCESS)
}

/// The database with the population of `DATA`.
async fn brokerage() -> Result<(Arc<dyn Engine>, Population), Failure> {
    let wrong = |line| (EXIT_CONFIGURATION, line);
    let population = Population::read().map_err(wrong)?;
    let engine = engine::open(&population).await.map_err(wrong)?;
    Ok((engine, population))
}

/// One line on stderr, and the exit code.
fn fail(code: u8, line: impl Display) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
