//! The server: replies, routes and connections of every protocol.

use std::io::ErrorKind;
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
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::Signal;
use tokio::time::sleep;
use tonic::service::Routes;

use crate::engine::Engine;
use crate::{Configuration, GRACE, Http, Nagle, VERSION};

/// How long to wait before accepting again where the system could not: it is out of descriptors or memory.
const PAUSE: Duration = Duration::from_secs(1);

// Replies

/// `GET /version`.
async fn version() -> Response {
    ([(CONTENT_TYPE, "text/plain")], VERSION).into_response()
}

/// Every path that the contract does not name. A body is read, or hyper would close the connection before it.
async fn not_found(_body: Bytes) -> Response {
    problem(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// Every other method on a known path; axum adds `Allow`.
async fn method_not_allowed(_body: Bytes) -> Response {
    problem(StatusCode::METHOD_NOT_ALLOWED, "this path takes the methods that `Allow` names")
}

/// A reply that says in JSON what was wrong.
pub fn problem(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "error": text }))).into_response()
}

// Paths

/// Whether each `%` has its two hexadecimal digits.
pub fn escapes_are_whole(path: &str) -> bool {
    path.split('%')
        .skip(1)
        .all(|escape| escape.len() >= 2 && escape.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

// Router

/// The paths of a workload, and what every workload answers. `get` answers HEAD too.
pub fn router(workload: Router) -> Router {
    workload
        .route("/version", get(version))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
}

/// The operations of a workload over gRPC, and reflection of the interface that `description` holds.
pub fn grpc_router(operations: Routes, description: &'static [u8]) -> Router {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(description)
        .build_v1()
        .expect("the description was made by the build");
    operations.add_service(reflection).into_axum_router()
}

// Connections

/// Serves until SIGTERM, then until nothing is outstanding or the grace period is over.
pub async fn serve(
    listener: TcpListener,
    configuration: Configuration,
    engine: Arc<dyn Engine>,
    mut stop: Signal,
) {
    let service = TowerToHyperService::new((configuration.offer.router)(engine));
    let Configuration { offer, nagle, tls, .. } = configuration;
    // One version: the builder would else take both on the same port.
    let builder = match offer.http {
        Http::One => Builder::new(TokioExecutor::new()).http1_only(),
        Http::Two => Builder::new(TokioExecutor::new()).http2_only(),
    };
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
