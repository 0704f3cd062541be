//! The Rust service, with axum and tonic on tokio: the workload `pingpong` over `http1-json`, `http2-json` and `grpc`
//! (`pong.rs`, `grpc.rs`) and without a protocol (`direct.rs`), and the workload `ping` over `http1-json` (`ping.rs`).
//!
//! It keeps the contract of `services/README.md` and holds nothing that the contract does not ask for: no
//! cache of bodies, no log line per request, no tuning. What was decided and why is in `README.md`.

mod direct;
mod grpc;
mod ping;
mod pong;

use std::env;
use std::fmt::Display;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::crypto::ring::Ticketer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// What `--version` and `/version` answer: language, its version, each library, its version.
const VERSION: &str =
    concat!("Rust ", env!("RUST_VERSION"), " axum ", env!("AXUM_VERSION"), " tonic ", env!("TONIC_VERSION"));

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
const GRACE: Duration = Duration::from_secs(4);

/// How long to wait before accepting again where the system could not: it is out of descriptors or memory.
const PAUSE: Duration = Duration::from_secs(1);

const EXIT_BROKEN: u8 = 1;
const EXIT_CONFIGURATION: u8 = 2;
const EXIT_PORT_IN_USE: u8 = 3;

// Configuration

/// Where to listen, and what to speak there.
struct Configuration {
    host: IpAddr,
    port: u16,
    protocol: Protocol,
    /// `None` where the workload is `pingpong`.
    peer: Option<SocketAddr>,
    nagle: Nagle,
    tls: Option<TlsAcceptor>,
    /// Whether there is no listener, and operations are asked for on stdin.
    direct: bool,
}

#[derive(Clone, Copy)]
enum Protocol {
    Http1Json,
    Http2Json,
    Grpc,
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
    let relays = match variable("WORKLOAD").as_deref() {
        None | Some("pingpong") => false,
        Some("ping") => true,
        Some(text) => return Err(refusal("WORKLOAD", text, "`pingpong`, `ping`")),
    };
    let protocol = match variable("PROTOCOL").as_deref() {
        None | Some("http1-json") => Protocol::Http1Json,
        Some(text) if relays => return Err(refusal("PROTOCOL", text, "`http1-json`, since it is `ping`")),
        Some("http2-json") => Protocol::Http2Json,
        Some("grpc") => Protocol::Grpc,
        Some(text) => return Err(refusal("PROTOCOL", text, "`http1-json`, `http2-json`, `grpc`")),
    };
    let peer = relays.then(ping::read_peer).transpose()?;
    let nagle = match variable("NAGLE").as_deref() {
        None | Some("off") => Nagle::Off,
        Some("default") => Nagle::Default,
        Some(text) => return Err(refusal("NAGLE", text, "`off`, `default`")),
    };
    let (tls, direct) = match relays {
        true => ping::refuse_others().map(|()| (None, false))?,
        false => (read_tls(protocol)?, direct::asked()?),
    };
    Ok(Configuration { host, port, protocol, peer, nagle, tls, direct })
}

/// TLS 1.3 and 1.2 with the certificate and key that the environment names, or `None` where it names none.
fn read_tls(protocol: Protocol) -> Result<Option<TlsAcceptor>, String> {
    let (certificate, key) = match (variable("TLS_CERT"), variable("TLS_KEY")) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return Err(refusal("TLS_KEY", "", "a PEM file, since `TLS_CERT` is set")),
        (None, Some(_)) => return Err(refusal("TLS_CERT", "", "a PEM file, since `TLS_KEY` is set")),
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect)
        .map_err(|error| refusal("TLS_CERT", &certificate, &format!("a PEM file ({error})")))?;
    if chain.is_empty() {
        return Err(refusal("TLS_CERT", &certificate, "a PEM file with a certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| refusal("TLS_KEY", &key, &format!("a PEM file with a private key ({error})")))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| refusal("TLS_KEY", &key, &format!("the key of `TLS_CERT` ({error})")))?;
    config.ticketer = Ticketer::new().map_err(|error| format!("no key for session tickets: {error}"))?;
    config.alpn_protocols = vec![match protocol {
        Protocol::Http1Json => b"http/1.1".to_vec(),
        Protocol::Http2Json | Protocol::Grpc => b"h2".to_vec(),
    }];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
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

// Handlers

/// `GET /version`.
async fn version() -> Response {
    ([(CONTENT_TYPE, "text/plain")], VERSION).into_response()
}

/// Every path that the contract does not name. A body is read, or hyper would close the connection before it.
async fn not_found(_body: Bytes) -> Response {
    problem(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// Every method but GET and HEAD on a known path; axum adds `Allow`.
async fn method_not_allowed(_body: Bytes) -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, "allowed here: GET and HEAD")
}

/// A reply that says in JSON what was wrong.
fn problem(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

// Server

/// The paths of a workload, and what every workload answers. `get` answers HEAD too.
fn router(workload: Router) -> Router {
    workload
        .route("/version", get(version))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
}

/// Serves until SIGTERM, then until nothing is outstanding or the grace period is over.
async fn serve(listener: TcpListener, configuration: Configuration, mut stop: Signal) {
    let Configuration { protocol, peer, nagle, tls, .. } = configuration;
    let json = || router(peer.map_or_else(pong::router, ping::router));
    // One protocol each: the builder would else take HTTP/1 and HTTP/2 on the same port.
    let (builder, router) = match protocol {
        Protocol::Http1Json => (Builder::new(TokioExecutor::new()).http1_only(), json()),
        Protocol::Http2Json => (Builder::new(TokioExecutor::new()).http2_only(), json()),
        Protocol::Grpc => (Builder::new(TokioExecutor::new()).http2_only(), grpc::router()),
    };
    let service = TowerToHyperService::new(router);
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
            _ = stop.recv() => break,
        };
        let (builder, service, tls, watcher) =
            (builder.clone(), service.clone(), tls.clone(), graceful.watcher());
        // Whatever goes wrong on a connection is the client's affair and ends it.
        tokio::spawn(async move {
            if nagle == Nagle::Off {
                // tokio leaves it on. This fails only on a connection that is gone, which reading will tell.
                let _ = stream.set_nodelay(true);
            }
            if let Some(tls) = tls {
                let Ok(stream) = tls.accept(stream).await else { return };
                let _ = watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await;
            } else {
                let _ = watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await;
            }
        });
    }
    drop(listener);
    tokio::select! {
        () = graceful.shutdown() => {}
        () = sleep(GRACE) => {}
    }
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
    serve(listener, configuration, stop).await;
    ExitCode::SUCCESS
}

/// One line on stderr, and the exit code.
fn fail(code: u8, line: impl Display) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
