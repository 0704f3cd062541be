//! The Rust service: the workload `pingpong` over the protocol `http1-json`, with axum on tokio.
//!
//! It keeps the contract of `services/README.md` and holds nothing that the contract does not ask for: no
//! cache of bodies, no log line per request, no tuning. What was decided and why is in `README.md`.

use std::env;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// What `--version` and `/version` answer: language, its version, library, its version.
const VERSION: &str = concat!("Rust ", env!("RUST_VERSION"), " axum ", env!("AXUM_VERSION"));

/// Sizes of a body that the contract allows, in bytes.
const SMALLEST_BODY: usize = 4;
const LARGEST_BODY: usize = 100_000_000;

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
const GRACE: Duration = Duration::from_secs(4);

const EXIT_BROKEN: u8 = 1;
const EXIT_CONFIGURATION: u8 = 2;
const EXIT_PORT_IN_USE: u8 = 3;

// Configuration

/// Where to listen; everything else that the environment may say has only one allowed value.
struct Configuration {
    host: IpAddr,
    port: u16,
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
    for (name, only) in [("WORKLOAD", "pingpong"), ("PROTOCOL", "http1-json")] {
        if let Some(text) = variable(name).filter(|text| text != only) {
            return Err(refusal(name, &text, &format!("`{only}`")));
        }
    }
    for name in ["TLS_CERT", "TLS_KEY", "DIRECT"] {
        if let Some(text) = variable(name) {
            return Err(refusal(name, &text, "nothing (not supported by this service)"));
        }
    }
    Ok(Configuration { host, port })
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

/// `GET /pong/{n}`: `p`, `n` − 3 times `o`, `ng`. The body is made anew for each request.
async fn pong(n: Result<Path<String>, PathRejection>) -> Response {
    let size = n.ok().and_then(|Path(text)| number(&text));
    let Some(size) = size.filter(|size| (SMALLEST_BODY..=LARGEST_BODY).contains(size)) else {
        return problem(
            StatusCode::BAD_REQUEST,
            &format!("the size must be a whole number from {SMALLEST_BODY} to {LARGEST_BODY}"),
        );
    };
    let mut body = vec![b'o'; size];
    body[0] = b'p';
    body[size - 2..].copy_from_slice(b"ng");
    ([(CONTENT_TYPE, "text/plain")], body).into_response()
}

/// `GET /version`.
async fn version() -> Response {
    ([(CONTENT_TYPE, "text/plain")], VERSION).into_response()
}

/// Every path that the contract does not name.
async fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// Every method but GET and HEAD on a known path; axum adds `Allow`.
async fn method_not_allowed() -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, "allowed here: GET and HEAD")
}

/// A reply that says in JSON what was wrong.
fn problem(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

// Server

/// The paths of the contract. `get` answers HEAD too.
fn router() -> Router {
    Router::new()
        .route("/pong/{n}", get(pong))
        .route("/pong/", get(pong))
        .route("/version", get(version))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
}

/// Serves until SIGTERM, then until nothing is outstanding or the grace period is over.
async fn serve(listener: TcpListener, mut stop: Signal, mut expire: Signal) -> io::Result<()> {
    // axum leaves Nagle's algorithm on, the contract wants it off.
    let listener = listener.tap_io(|stream| {
        // This fails only on a connection that is gone, which reading will tell.
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, router()).with_graceful_shutdown(async move {
        stop.recv().await;
    });
    let grace = async {
        expire.recv().await;
        sleep(GRACE).await;
    };
    tokio::select! {
        finished = async { server.await } => finished,
        () = grace => Ok(()),
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
    let Configuration { host, port } = match read_configuration() {
        Ok(configuration) => configuration,
        Err(line) => return fail(EXIT_CONFIGURATION, line),
    };
    // The signal is caught before `ready` is said: from then on it may come at any time.
    let (Ok(stop), Ok(expire)) = (signal(SignalKind::terminate()), signal(SignalKind::terminate())) else {
        return fail(EXIT_BROKEN, "SIGTERM cannot be caught");
    };
    let bound = TcpListener::bind((host, port)).await.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    });
    let (listener, port) = match bound {
        Ok(bound) => bound,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            return fail(
                EXIT_PORT_IN_USE,
                format!("`PORT` {port} on `HOST` {host} is in use, choose another"),
            );
        }
        Err(error) => {
            return fail(
                EXIT_CONFIGURATION,
                format!("`PORT` {port} on `HOST` {host} cannot be used: {error}"),
            );
        }
    };
    println!("ready {port}");
    match serve(listener, stop, expire).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(EXIT_BROKEN, error),
    }
}

/// One line on stderr, and the exit code.
fn fail(code: u8, line: impl Display) -> ExitCode {
    eprintln!("{line}");
    ExitCode::from(code)
}
