//! The Rust service, with axum and tonic on tokio: configuration and life. `server.rs` has the server; each workload has
//! its handlers in a file of its own, and its lines in the table below.
//!
//! It keeps the contract of `services/README.md` and holds nothing that the contract does not ask for: no
//! cache of bodies, no log line per request, no tuning. What was decided and why is in `README.md`.

mod cache;
mod cache_http;
mod codec;
mod direct;
mod grpc;
mod person;
mod person_calls;
mod person_client;
mod person_grpc;
mod person_http;
mod ping;
mod pong;
mod server;
mod tls;

use std::env;
use std::fmt::Display;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::cache::Cache;
use crate::codec::{Avro, Codec, Json, Protobuf};
use crate::person::People;
use crate::person_client::PeerProtocol;

/// What `--version` and `/version` answer: language, its version, each library, its version.
const VERSION: &str =
    concat!("Rust ", env!("RUST_VERSION"), " axum ", env!("AXUM_VERSION"), " tonic ", env!("TONIC_VERSION"));

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
const GRACE: Duration = Duration::from_secs(4);

const EXIT_BROKEN: u8 = 1;
const EXIT_CONFIGURATION: u8 = 2;
const EXIT_PORT_IN_USE: u8 = 3;

/// A workload over a protocol.
struct Offer {
    workload: &'static str,
    protocol: &'static str,
    http: Http,
    /// What it answers.
    router: fn(&Configuration) -> Router,
}

/// The version of HTTP that is spoken.
#[derive(Clone, Copy)]
enum Http {
    One,
    Two,
}

/// All of them, the defaults first.
static OFFERS: [Offer; 17] = [
    offer("pingpong", "http1-json", Http::One, |_| server::router(pong::routes())),
    offer("pingpong", "http2-json", Http::Two, |_| server::router(pong::routes())),
    offer("pingpong", "grpc", Http::Two, |_| grpc::routes()),
    offer("ping", "http1-json", Http::One, |configuration| server::router(ping::routes(configuration))),
    offer("person", "http1-json", Http::One, rest::<Json>),
    offer("person", "http1-protobuf", Http::One, rest::<Protobuf>),
    offer("person", "http1-avro", Http::One, rest::<Avro>),
    offer("person", "http2-json", Http::Two, rest::<Json>),
    offer("person", "http2-protobuf", Http::Two, rest::<Protobuf>),
    offer("person", "http2-avro", Http::Two, rest::<Avro>),
    offer("person", "grpc", Http::Two, person_grpc::protobuf_routes),
    offer("person", "grpc-protobuf", Http::Two, person_grpc::protobuf_routes),
    offer("person", "grpc-json", Http::Two, person_grpc::json_routes),
    offer("person", "grpc-avro", Http::Two, person_grpc::avro_routes),
    offer(CALLER, "http1-json", Http::One, |configuration| {
        server::router(person_client::routes(configuration))
    }),
    offer(CACHE, "http1-json", Http::One, |configuration| server::router(cache_http::routes(configuration))),
    offer(CACHE, "http2-json", Http::Two, |configuration| server::router(cache_http::routes(configuration))),
];

const fn offer(
    workload: &'static str,
    protocol: &'static str,
    http: Http,
    router: fn(&Configuration) -> Router,
) -> Offer {
    Offer { workload, protocol, http, router }
}

/// The workload `person` over HTTP with a codec.
fn rest<C: Codec>(configuration: &Configuration) -> Router {
    server::router(person_http::routes::<C>(configuration))
}

/// The workloads that ask `PEER`. They listen, and speak clear text only.
const RELAYS: [&str; 2] = ["ping", CALLER];

/// The one of them that reads `PEER_PROTOCOL`.
const CALLER: &str = "person-client";

/// The workload that reads `DATA`. It listens.
const READER: &str = "person";

/// The workload that reads `CACHE_LIMIT` and what goes with it. It listens.
const CACHE: &str = "cache";

// Configuration

/// Where to listen, and what to speak there.
struct Configuration {
    host: IpAddr,
    port: u16,
    offer: &'static Offer,
    /// `None` where the workload is no relay.
    peer: Option<SocketAddr>,
    peer_protocol: Option<&'static PeerProtocol>,
    nagle: Nagle,
    tls: Option<TlsAcceptor>,
    /// Whether there is no listener, and operations are asked for on stdin.
    direct: bool,
    /// `None` where the workload reads no people file.
    people: Option<Arc<People>>,
    /// `None` where the workload is another.
    cache: Option<Arc<Mutex<Cache>>>,
}

/// Nagle's algorithm on accepted connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nagle {
    Off,
    /// As tokio leaves it: on.
    Default,
}

/// Reads the environment. The error is the line for stderr.
fn read_configuration() -> Result<Configuration, String> {
    let host = variable("HOST").map_or(Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)), |text| {
        text.parse().map_err(|_| refusal("HOST", &text, "an IP address"))
    })?;
    let port = variable("PORT").map_or(Ok(8080), |text| {
        let port = number(&text).and_then(|port| port.try_into().ok());
        port.ok_or_else(|| refusal("PORT", &text, "0 to 65535"))
    })?;
    let offer = read_offer()?;
    let peer = RELAYS.contains(&offer.workload).then(read_peer).transpose()?;
    let peer_protocol = (offer.workload == CALLER).then(person_client::read_protocol).transpose()?;
    let nagle = match variable("NAGLE").as_deref() {
        None | Some("off") => Nagle::Off,
        Some("default") => Nagle::Default,
        Some(text) => return Err(refusal("NAGLE", text, "`off`, `default`")),
    };
    let (tls, direct) = match offer.workload {
        relay if RELAYS.contains(&relay) => {
            refuse(offer, &["TLS_CERT", "TLS_KEY", "DIRECT"]).map(|()| (None, false))?
        }
        READER | CACHE => (tls::read(offer.http)?, refuse(offer, &["DIRECT"]).map(|()| false)?),
        _ => (tls::read(offer.http)?, direct::asked()?),
    };
    let people = (offer.workload == READER).then(People::read).transpose()?.map(Arc::new);
    let cache = (offer.workload == CACHE).then(Cache::read).transpose()?;
    let cache = cache.map(|cache| Arc::new(Mutex::new(cache)));
    Ok(Configuration { host, port, offer, peer, peer_protocol, nagle, tls, direct, people, cache })
}

/// Which workload is asked for, and over which protocol.
fn read_offer() -> Result<&'static Offer, String> {
    let workload = variable("WORKLOAD").unwrap_or_else(|| OFFERS[0].workload.to_owned());
    let protocol = variable("PROTOCOL").unwrap_or_else(|| OFFERS[0].protocol.to_owned());
    let mut offers = OFFERS.iter().filter(|offer| offer.workload == workload).peekable();
    if offers.peek().is_none() {
        let mut workloads = OFFERS.iter().map(|offer| offer.workload).collect::<Vec<_>>();
        workloads.dedup();
        return Err(refusal("WORKLOAD", &workload, &format!("`{}`", workloads.join("`, `"))));
    }
    let allowed = offers.clone().map(|offer| offer.protocol).collect::<Vec<_>>().join("`, `");
    let chosen = offers.find(|offer| offer.protocol == protocol);
    chosen.ok_or_else(|| {
        refusal("PROTOCOL", &protocol, &format!("`{allowed}`, since `WORKLOAD` is `{workload}`"))
    })
}

/// The address of the service to which requests are passed on.
fn read_peer() -> Result<SocketAddr, String> {
    let text = variable("PEER").unwrap_or_default();
    let peer = text.parse().ok().filter(|peer: &SocketAddr| peer.port() != 0);
    peer.ok_or_else(|| {
        refusal("PEER", &text, "an address and a port from 1 to 65535, such as `127.0.0.1:8080`")
    })
}

/// Refuses the variables that a workload does not take.
fn refuse(offer: &Offer, names: &[&str]) -> Result<(), String> {
    let set = names.iter().find_map(|name| Some((name, variable(name)?)));
    set.map_or(Ok(()), |(name, value)| {
        Err(refusal(name, &value, &format!("nothing, since `WORKLOAD` is `{}`", offer.workload)))
    })
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

/// Configures, listens, says so, serves.
async fn run() -> ExitCode {
    let configuration = match read_configuration() {
        Ok(configuration) => configuration,
        Err(line) => return fail(EXIT_CONFIGURATION, line),
    };
    let Configuration { host, port, direct, .. } = configuration;
    // The signal is caught before `ready` is said: from then on it may come at any time.
    let Ok(stop) = signal(SignalKind::terminate()) else {
        return fail(EXIT_BROKEN, "SIGTERM cannot be caught");
    };
    if direct {
        return direct::serve(stop).await;
    }
    let place = format!("`PORT` {port} on `HOST` {host}");
    let bound = TcpListener::bind((host, port)).await.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    });
    let (listener, port) = match bound {
        Ok(bound) => bound,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            return fail(EXIT_PORT_IN_USE, format!("{place} is in use, choose another"));
        }
        Err(error) => return fail(EXIT_CONFIGURATION, format!("{place} cannot be used: {error}")),
    };
    println!("ready {port}");
    server::serve(listener, configuration, stop).await;
    ExitCode::SUCCESS
}

/// One line on stderr, and the exit code.
fn fail(code: u8, line: impl Display) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
