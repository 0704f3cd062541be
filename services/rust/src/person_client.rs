//! The workload `person-client`: a relay that calls a service of `person`, by the clients of `person_calls.rs`.

use std::net::SocketAddr;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, response};
use serde_json::json;

use crate::codec::{Avro, Codec, Json, Protobuf};
use crate::person::proto::people_client::PeopleClient as ProtobufClient;
use crate::person::proto::{Person, PersonLinkList, PersonList};
use crate::person_calls::{Rest, channel, labelled};
use crate::person_grpc::avro::people_client::PeopleClient as AvroClient;
use crate::person_grpc::json::people_client::PeopleClient as JsonClient;
use crate::person_http::Id;
use crate::server::problem;
use crate::{Configuration, Http, refusal, variable};

/// A protocol over which the peer is called.
pub struct PeerProtocol {
    name: &'static str,
    /// The paths of the workload, with one client for all.
    routes: fn(SocketAddr) -> Router,
}

/// All of them, the default first.
static PROTOCOLS: [PeerProtocol; 10] = [
    protocol("http1-json", |peer| routes_of(Rest::<Json>::new(peer, Http::One))),
    protocol("http1-protobuf", |peer| routes_of(Rest::<Protobuf>::new(peer, Http::One))),
    protocol("http1-avro", |peer| routes_of(Rest::<Avro>::new(peer, Http::One))),
    protocol("http2-json", |peer| routes_of(Rest::<Json>::new(peer, Http::Two))),
    protocol("http2-protobuf", |peer| routes_of(Rest::<Protobuf>::new(peer, Http::Two))),
    protocol("http2-avro", |peer| routes_of(Rest::<Avro>::new(peer, Http::Two))),
    protocol("grpc", |peer| routes_of(ProtobufClient::new(channel(peer)))),
    protocol("grpc-protobuf", |peer| routes_of(ProtobufClient::new(channel(peer)))),
    protocol("grpc-json", |peer| routes_of(JsonClient::new(labelled::<Json>(peer)))),
    protocol("grpc-avro", |peer| routes_of(AvroClient::new(labelled::<Avro>(peer)))),
];

const fn protocol(name: &'static str, routes: fn(SocketAddr) -> Router) -> PeerProtocol {
    PeerProtocol { name, routes }
}

/// The protocol that `PEER_PROTOCOL` names. The error is the line for stderr.
pub fn read_protocol() -> Result<&'static PeerProtocol, String> {
    let Some(name) = variable("PEER_PROTOCOL") else { return Ok(&PROTOCOLS[0]) };
    PROTOCOLS.iter().find(|protocol| protocol.name == name).ok_or_else(|| {
        let names: Vec<_> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
        refusal("PEER_PROTOCOL", &name, &format!("`{}`", names.join("`, `")))
    })
}

/// The paths of the workload.
pub fn routes(configuration: &Configuration) -> Router {
    let protocol = configuration.peer_protocol.expect("this relay has one");
    (protocol.routes)(configuration.peer.expect("a relay has one"))
}

// Handlers

fn routes_of<C: Client>(client: C) -> Router {
    Router::new()
        .route("/call/listPersons", get(list_persons::<C>))
        .route("/call/getPerson/", get(get_person::<C>))
        .route("/call/getPerson/{id}", get(get_person::<C>))
        .route("/call/getPersonLinks/", get(get_person_links::<C>))
        .route("/call/getPersonLinks/{id}", get(get_person_links::<C>))
        .route("/call/createPerson", post(create_person::<C>))
        .with_state(client)
}

/// `GET /call/listPersons`.
async fn list_persons<C: Client>(State(client): State<C>) -> Response {
    report(&client, Call::ListPersons).await
}

/// `GET /call/getPerson/{id}`.
async fn get_person<C: Client>(State(client): State<C>, Id(id): Id) -> Response {
    report(&client, Call::GetPerson(id)).await
}

/// `GET /call/getPersonLinks/{id}`.
async fn get_person_links<C: Client>(State(client): State<C>, Id(id): Id) -> Response {
    report(&client, Call::GetPersonLinks(id)).await
}

/// `POST /call/createPerson`.
async fn create_person<C: Client>(State(client): State<C>, body: Bytes) -> Response {
    match Json::decode(&body) {
        Ok(person) => report(&client, Call::CreatePerson(person)).await,
        Err(error) => problem(StatusCode::BAD_REQUEST, &format!("the body is no person: {error}")),
    }
}

/// How long the call took, and the digest of what was read of its reply.
async fn report<C: Client>(client: &C, call: Call) -> Response {
    let begin = Instant::now();
    let answer = client.call(call).await.map(|answer| answer.digest());
    let duration = begin.elapsed().as_nanos() as u64;
    match answer {
        Ok(digest) => response::Json(json!({
            "duration_ns": duration,
            "calls": 1,
            "digest": format!("{digest:016x}"),
        }))
        .into_response(),
        Err(error) => problem(StatusCode::BAD_GATEWAY, &format!("the peer did not answer: {error}")),
    }
}

// Calls

/// What is asked of the peer.
#[allow(clippy::large_enum_variant)] // a box would be one more allocation in the time that is reported
pub enum Call {
    ListPersons,
    GetPerson(String),
    GetPersonLinks(String),
    CreatePerson(Person),
}

/// What it answers.
#[allow(clippy::large_enum_variant)] // likewise
pub enum Answer {
    List(PersonList),
    Person(Person),
    Links(PersonLinkList),
    NotFound,
}

/// Calls the peer.
pub trait Client: Clone + Send + Sync + 'static {
    /// The error says what came in place of an answer.
    fn call(&self, call: Call) -> impl Future<Output = Result<Answer, String>> + Send;
}

// Digest

/// FNV-1a of 64 bits, over fields that each end with a line feed.
struct Digest(u64);

impl Answer {
    fn digest(&self) -> u64 {
        let mut digest = Digest(0xcbf2_9ce4_8422_2325);
        match self {
            Self::NotFound => digest.add(&["not found"]),
            Self::Person(person) => digest.add_person(person),
            Self::List(list) => {
                list.persons.iter().for_each(|person| digest.add_person(person));
                digest.add(&[&list.count.to_string()]);
            }
            Self::Links(list) => {
                let sides = list.links.iter().flat_map(|link| [&link.p1, &link.p2]);
                sides.flatten().for_each(|person| digest.add_person(person));
                digest.add(&[&list.count.to_string()]);
            }
        }
        digest.0
    }
}

impl Digest {
    fn add(&mut self, fields: &[&str]) {
        for byte in fields.iter().flat_map(|field| field.bytes().chain([b'\n'])) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_person(&mut self, person: &Person) {
        self.add(&[&person.id]);
        if let Some(name) = &person.name {
            self.add(&[&name.title, &name.first, &name.last]);
        }
        self.add(&[&person.gender]);
        if let Some(place) = &person.location {
            self.add(&[&place.street, &place.city, &place.state, &place.post_code.to_string()]);
        }
        self.add(&[&person.email]);
        match &person.picture {
            Some(urls) => self.add(&[&urls.large, &urls.medium, &urls.thumbnail]),
            None => self.add(&[""]),
        }
    }
}
