//! The workload `person` over HTTP: handlers only, for any codec.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::Configuration;
use crate::codec::{Codec, Message};
use crate::person::proto::Person;
use crate::person::{People, not_found, people};
use crate::server::{escapes_are_whole, problem};

/// The longest body that is taken, in bytes: that of gRPC's libraries.
const LONGEST_BODY: usize = 4 * 1024 * 1024;

/// The paths of the workload.
pub fn routes<C: Codec>(configuration: &Configuration) -> Router {
    C::prepare();
    Router::new()
        .route("/person", get(list_persons::<C>).post(create_person::<C>))
        .route("/person/", get(get_person::<C>))
        .route("/person/{id}", get(get_person::<C>))
        .route("/person/{id}/links", get(get_person_links::<C>))
        .with_state(Arc::clone(people(configuration)))
}

// Handlers

/// `GET /person`.
async fn list_persons<C: Codec>(State(people): State<Arc<People>>) -> Response {
    reply::<C>(&people.list_persons())
}

/// `GET /person/{id}`.
async fn get_person<C: Codec>(State(people): State<Arc<People>>, Id(id): Id) -> Response {
    match people.get_person(&id) {
        Some(person) => reply::<C>(&person),
        None => problem(StatusCode::NOT_FOUND, &not_found(&id)),
    }
}

/// `GET /person/{id}/links`.
async fn get_person_links<C: Codec>(State(people): State<Arc<People>>, Id(id): Id) -> Response {
    reply::<C>(&people.get_person_links(&id))
}

/// `POST /person`: the person that was sent, decoded and encoded again.
async fn create_person<C: Codec>(headers: HeaderMap, body: Body) -> Response {
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        let text = format!("the body must have at most {LONGEST_BODY} bytes");
        return problem(StatusCode::PAYLOAD_TOO_LARGE, &text);
    };
    if !is_media_type(&headers, C::MEDIA_TYPE) {
        let text = format!("the `Content-Type` must be `{}`", C::MEDIA_TYPE);
        return problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, &text);
    }
    match C::decode::<Person>(&body) {
        Ok(person) => reply::<C>(&person),
        Err(error) => problem(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")),
    }
}

/// A message, encoded anew.
fn reply<C: Codec>(message: &impl Message) -> Response {
    ([(CONTENT_TYPE, C::MEDIA_TYPE)], C::encode(message)).into_response()
}

/// Whether the `Content-Type` is `expected`, with any parameters.
fn is_media_type(headers: &HeaderMap, expected: &str) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(expected)
}

// Ids

/// The decoded id of a path; empty where nothing is behind its last slash.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        if parts.uri.path().ends_with('/') {
            return Ok(Self(String::new()));
        }
        match Path::from_request_parts(parts, state).await {
            // axum passes a broken escape on as it is.
            Ok(Path(id)) if escapes_are_whole(parts.uri.path()) => Ok(Self(id)),
            _ => Err(problem(StatusCode::BAD_REQUEST, "the path has a broken escape")),
        }
    }
}
