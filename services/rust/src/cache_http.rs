//! The workload `cache` over HTTP: handlers only.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use percent_encoding::percent_decode_str;
use rustix::process::{Signal, getpid, kill_process};
use serde::Serialize;

use crate::Configuration;
use crate::cache::{Cache, Put};
use crate::server::{escapes_are_whole, problem};

/// Bodies up to this length leave the connection open, whatever the limit of the cache.
const READ_AT_LEAST: usize = 64 << 10;

const BYTES: &str = "application/octet-stream";

type Shared = Arc<Mutex<Cache>>;

/// The paths of the workload.
pub fn routes(configuration: &Configuration) -> Router {
    let cache = configuration.cache.clone().expect("the workload is `cache`, which has one");
    let longest = locked(&cache).limit().max(READ_AT_LEAST);
    let value = || get(get_value).put(put_body).delete(delete_value);
    Router::new()
        .route("/key/", value())
        .route("/key/{k}", value())
        .route("/key/{k}/", put(put_path))
        .route("/key/{k}/{v}", put(put_path))
        .route("/memsize", get(memsize))
        .route("/reset", post(reset))
        .route("/shutdown", post(shutdown))
        .layer(DefaultBodyLimit::max(longest))
        .with_state(cache)
}

// Handlers

/// `GET /key/{k}`.
async fn get_value(State(cache): State<Shared>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(key) = key(&uri) else { return wrong_path() };
    let found = locked(&cache).get(&key);
    let Some(value) = found else { return not_found() };
    if wants_bytes(&headers) {
        return ([(CONTENT_TYPE, BYTES)], value).into_response();
    }
    match (str::from_utf8(&key), str::from_utf8(&value)) {
        (Ok(key), Ok(value)) => Json(Pair { key, value }).into_response(),
        _ => problem(
            StatusCode::NOT_ACCEPTABLE,
            "key or value is not UTF-8, so it has no JSON; ask with `Accept: application/octet-stream`",
        ),
    }
}

/// `PUT /key/{k}` with the value as its body. It is copied, since it may lie in a larger buffer.
async fn put_body(State(cache): State<Shared>, uri: Uri, body: Result<Bytes, BytesRejection>) -> Response {
    match (key(&uri), body) {
        (None, _) => wrong_path(),
        (Some(key), Ok(body)) => put_value(&cache, &key, Bytes::copy_from_slice(&body)),
        (Some(_), Err(BytesRejection::FailedToBufferBody(error))) => {
            problem(error.status(), &error.body_text())
        }
        (Some(_), Err(error)) => problem(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// `PUT /key/{k}/{v}`.
async fn put_path(State(cache): State<Shared>, uri: Uri, _body: Bytes) -> Response {
    match (key(&uri), segment(&uri, VALUE)) {
        (Some(key), Some(value)) => put_value(&cache, &key, value.into()),
        _ => wrong_path(),
    }
}

/// `DELETE /key/{k}`.
async fn delete_value(State(cache): State<Shared>, uri: Uri, _body: Bytes) -> Response {
    let Some(key) = key(&uri) else { return wrong_path() };
    let was_there = locked(&cache).remove(&key);
    if was_there { StatusCode::OK.into_response() } else { not_found() }
}

/// `GET /memsize`.
async fn memsize(State(cache): State<Shared>) -> Response {
    let size = locked(&cache).size();
    Json(MemSize { memused: size.used, items: size.items, evictions: size.evictions, limit: size.limit })
        .into_response()
}

/// `POST /reset`.
async fn reset(State(cache): State<Shared>, _body: Bytes) -> StatusCode {
    locked(&cache).reset();
    StatusCode::NO_CONTENT
}

/// `POST /shutdown`: the end that SIGTERM asks for.
async fn shutdown(_body: Bytes) -> Response {
    match kill_process(getpid(), Signal::TERM) {
        Ok(()) => StatusCode::ACCEPTED.into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

// Replies

/// A key and its value, where both are text.
#[derive(Serialize)]
struct Pair<'a> {
    key: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct MemSize {
    memused: usize,
    items: usize,
    evictions: u64,
    limit: usize,
}

fn put_value(cache: &Shared, key: &[u8], value: Bytes) -> Response {
    let outcome = locked(cache).put(key, value);
    match outcome {
        Put::Created => StatusCode::CREATED.into_response(),
        Put::Replaced => StatusCode::OK.into_response(),
        Put::TooLarge => problem(StatusCode::PAYLOAD_TOO_LARGE, "the value is larger than the limit"),
        Put::Full => {
            problem(StatusCode::INSUFFICIENT_STORAGE, "the value does not fit, and nothing is evicted")
        }
    }
}

fn not_found() -> Response {
    problem(StatusCode::NOT_FOUND, "there is no value under this key")
}

fn wrong_path() -> Response {
    problem(StatusCode::BAD_REQUEST, "the key is empty, or the path has a broken escape")
}

// Requests

/// Where a path has the key and the value.
const KEY: usize = 2;
const VALUE: usize = 3;

/// The decoded key of a path; none where it is empty or has a broken escape.
fn key(uri: &Uri) -> Option<Vec<u8>> {
    segment(uri, KEY).filter(|key| !key.is_empty())
}

/// A decoded segment of a path, any bytes; none where it has a broken escape. (axum's `Path` takes UTF-8 only.)
fn segment(uri: &Uri, index: usize) -> Option<Vec<u8>> {
    let text = uri.path().split('/').nth(index)?;
    escapes_are_whole(text).then(|| percent_decode_str(text).collect())
}

/// Whether the value alone is asked for, instead of JSON.
fn wants_bytes(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|range| {
        let media_type = range.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case(BYTES)
    })
}

/// The cache; a handler that panicked has left it whole.
fn locked(cache: &Shared) -> MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
