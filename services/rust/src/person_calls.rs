//! The clients of the workload `person-client`: reqwest over HTTP, tonic over gRPC.

use std::marker::PhantomData;
use std::net::SocketAddr;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Request, StatusCode};
use reqwest::{Client as HttpClient, Method, Url};
use tonic::Code;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tower::util::MapRequest;

use crate::codec::{Codec, GrpcCodec, Message};
use crate::person::proto::people_client::PeopleClient as ProtobufClient;
use crate::person::proto::{ListPersonsRequest, Person, PersonId};
use crate::person_client::{Answer, Call, Client};
use crate::person_grpc::avro::people_client::PeopleClient as AvroClient;
use crate::person_grpc::json::people_client::PeopleClient as JsonClient;
use crate::{Http, ping};

// Over HTTP

/// reqwest's client, with a codec.
pub struct Rest<C> {
    http: HttpClient,
    peer: Url,
    codec: PhantomData<C>,
}

impl<C> Clone for Rest<C> {
    fn clone(&self) -> Self {
        Self { http: self.http.clone(), peer: self.peer.clone(), codec: PhantomData }
    }
}

impl<C: Codec> Rest<C> {
    pub fn new(peer: SocketAddr, http: Http) -> Self {
        C::prepare();
        let builder = match http {
            Http::One => ping::builder().http1_only(),
            Http::Two => ping::builder().http2_prior_knowledge(),
        };
        let http = builder.build().expect("a client without TLS has nothing that could fail");
        let peer = Url::parse(&format!("http://{peer}/person")).expect("an address makes a URL");
        Self { http, peer, codec: PhantomData }
    }

    /// The message with which the peer answers; `None` where nothing is found.
    async fn ask<M: Message>(
        &self,
        method: Method,
        below: &[&str],
        person: Option<&Person>,
    ) -> Result<Option<M>, String> {
        let mut url = self.peer.clone();
        url.path_segments_mut().expect("HTTP has paths").extend(below);
        let request = || {
            let request = self.http.request(method.clone(), url.clone());
            match person {
                Some(person) => request.header(CONTENT_TYPE, C::MEDIA_TYPE).body(C::encode(person)),
                None => request,
            }
        };
        let (reply, _) = ping::send(request).await.map_err(|error| error.to_string())?;
        let status = reply.status();
        let body = reply.bytes().await.map_err(|error| error.to_string())?;
        match status {
            StatusCode::OK => C::decode(&body).map(Some),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(format!("status {status}")),
        }
    }
}

impl<C: Codec> Client for Rest<C> {
    async fn call(&self, call: Call) -> Result<Answer, String> {
        let answer = match &call {
            Call::ListPersons => self.ask(Method::GET, &[], None).await?.map(Answer::List),
            Call::GetPerson(id) => self.ask(Method::GET, &[id], None).await?.map(Answer::Person),
            Call::GetPersonLinks(id) => self.ask(Method::GET, &[id, "links"], None).await?.map(Answer::Links),
            Call::CreatePerson(person) => {
                self.ask(Method::POST, &[], Some(person)).await?.map(Answer::Person)
            }
        };
        Ok(answer.unwrap_or(Answer::NotFound))
    }
}

// Over gRPC

/// A connection to the peer, made when it is needed.
pub fn channel(peer: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{peer}")).expect("an address makes a URL").connect_lazy()
}

/// A connection that names the codec in the media type of requests, which tonic leaves at `application/grpc`.
pub type Labelled = MapRequest<Channel, fn(Request<Body>) -> Request<Body>>;

pub fn labelled<C: GrpcCodec>(peer: SocketAddr) -> Labelled {
    C::prepare();
    MapRequest::new(channel(peer), |mut request| {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(C::GRPC_MEDIA_TYPE));
        request
    })
}

/// The calls of a client that the generator made for a codec: all have the same methods.
macro_rules! calls {
    ($client:ty) => {
        impl Client for $client {
            async fn call(&self, call: Call) -> Result<Answer, String> {
                let mut client = self.clone();
                let answer = match call {
                    Call::ListPersons => {
                        let reply = client.list_persons(ListPersonsRequest {}).await;
                        reply.map(|reply| Answer::List(reply.into_inner()))
                    }
                    Call::GetPerson(id) => {
                        let reply = client.get_person(PersonId { id }).await;
                        reply.map(|reply| Answer::Person(reply.into_inner()))
                    }
                    Call::GetPersonLinks(id) => {
                        let reply = client.get_person_links(PersonId { id }).await;
                        reply.map(|reply| Answer::Links(reply.into_inner()))
                    }
                    Call::CreatePerson(person) => {
                        let reply = client.create_person(person).await;
                        reply.map(|reply| Answer::Person(reply.into_inner()))
                    }
                };
                match answer {
                    Err(status) if status.code() == Code::NotFound => Ok(Answer::NotFound),
                    other => other.map_err(|status| status.to_string()),
                }
            }
        }
    };
}

calls!(ProtobufClient<Channel>);
calls!(JsonClient<Labelled>);
calls!(AvroClient<Labelled>);
