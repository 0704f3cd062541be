//! The workload `pingpong` over HTTP: handlers only.

use std::ops::RangeInclusive;

use axum::Router;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::number;
use crate::server::problem;

/// Sizes of a body that the contract allows, in bytes.
pub const SIZES: RangeInclusive<usize> = 4..=100_000_000;

/// The paths of the workload.
pub fn routes() -> Router {
    Router::new().route("/pong/{n}", get(pong)).route("/pong/", get(pong))
}

/// `GET /pong/{n}`. The body is made anew for each request.
async fn pong(n: Result<Path<String>, PathRejection>) -> Response {
    match size(n) {
        Some(size) => ([(CONTENT_TYPE, "text/plain")], body(size)).into_response(),
        None => problem(StatusCode::BAD_REQUEST, &wrong_size()),
    }
}

/// The size that a path names.
pub fn size(n: Result<Path<String>, PathRejection>) -> Option<usize> {
    n.ok().and_then(|Path(text)| number(&text)).filter(|size| SIZES.contains(size))
}

/// `p`, `size` − 3 times `o`, `ng`.
pub fn body(size: usize) -> Vec<u8> {
    let mut body = vec![b'o'; size];
    body[0] = b'p';
    body[size - 2..].copy_from_slice(b"ng");
    body
}

/// What is said of any other size.
pub fn wrong_size() -> String {
    format!("the size must be a whole number from {} to {}", SIZES.start(), SIZES.end())
}
