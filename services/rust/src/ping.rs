//! The workload `ping`: a relay that asks its peer with reqwest.

use std::error::Error;
use std::io::ErrorKind;
use std::iter::successors;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, RequestBuilder};
use serde_json::json;

use crate::server::problem;
use crate::{Configuration, pong};

/// How often a request is repeated whose connection ended before a byte of the reply came.
const MOST_RETRIES: u32 = 3;

// Handlers

/// The paths of the workload, with one client for all.
pub fn routes(configuration: &Configuration) -> Router {
    let peer = configuration.peer.expect("a relay has one");
    Router::new()
        .route("/ping/{n}", get(ping))
        .route("/ping/", get(ping))
        .route("/mping/{n}", get(mping))
        .route("/mping/", get(mping))
        .with_state(Client::new(peer))
}

/// `GET /ping/{n}`: the body of the peer's reply.
async fn ping(State(client): State<Client>, n: Result<Path<String>, PathRejection>) -> Response {
    match relay(&client, n).await {
        Ok(Answer { code: StatusCode::OK, body, .. }) => {
            ([(CONTENT_TYPE, "text/plain")], body).into_response()
        }
        Ok(Answer { code, .. }) => {
            problem(StatusCode::BAD_GATEWAY, &format!("the peer answered with status {code}"))
        }
        Err(response) => response,
    }
}

/// `GET /mping/{n}`: how long the peer's reply took, and what it was.
async fn mping(State(client): State<Client>, n: Result<Path<String>, PathRejection>) -> Response {
    match relay(&client, n).await {
        Ok(Answer { code, body, duration, retries }) => Json(json!({
            "duration_ns": duration.as_nanos() as u64,
            "length": body.len(),
            "code": code.as_u16(),
            "retries": retries,
        }))
        .into_response(),
        Err(response) => response,
    }
}

/// Asks the peer for the size that the path names. The error is the reply where there is no answer.
async fn relay(client: &Client, n: Result<Path<String>, PathRejection>) -> Result<Answer, Response> {
    let size = pong::size(n).ok_or_else(|| problem(StatusCode::BAD_REQUEST, &pong::wrong_size()))?;
    let answer = client.ask(size).await;
    answer.map_err(|error| problem(StatusCode::BAD_GATEWAY, &format!("the peer did not answer: {error}")))
}

// Client

/// Asks the peer.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    peer: SocketAddr,
}

/// A whole reply of the peer.
struct Answer {
    code: StatusCode,
    body: Bytes,
    duration: Duration,
    retries: u32,
}

impl Client {
    fn new(peer: SocketAddr) -> Self {
        let http = builder().build().expect("a client without TLS has nothing that could fail");
        Self { http, peer }
    }

    /// Asks the peer for `size` bytes, and repeats the request where its connection ended without a reply.
    async fn ask(&self, size: usize) -> reqwest::Result<Answer> {
        let url = format!("http://{}/pong/{size}", self.peer);
        let begin = Instant::now();
        let (reply, retries) = send(|| self.http.get(&url)).await?;
        let (code, body) = (reply.status(), reply.bytes().await?);
        Ok(Answer { code, body, duration: begin.elapsed(), retries })
    }
}

/// reqwest's client with the connection policy of the contract.
pub fn builder() -> ClientBuilder {
    reqwest::Client::builder().no_proxy().redirect(Policy::none()).pool_idle_timeout(None)
}

/// Sends a request, and repeats it where its connection ended without a reply; tells how often.
pub async fn send(request: impl Fn() -> RequestBuilder) -> reqwest::Result<(reqwest::Response, u32)> {
    let mut retries = 0;
    loop {
        match request().send().await {
            Err(error) if retries < MOST_RETRIES && ended(&error) => retries += 1,
            reply => return reply.map(|reply| (reply, retries)),
        }
    }
}

/// Whether a connection ended before the head of the reply came.
fn ended(error: &reqwest::Error) -> bool {
    let mut causes = successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
    causes.any(|cause| {
        let hyper = cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message);
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        hyper || matches!(io, Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe))
    })
}
