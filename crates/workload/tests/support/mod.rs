//! The service of services/proto/pong.proto by tonic, another implementation of gRPC, with server reflection.
//!
//! In addition to the interface, a size of [`SLOW`] is not answered before any deadline.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt as _};
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::{Grpc, NamedService};
use tonic::transport::{Identity, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// A size that takes an hour.
pub const SLOW: u32 = 4_999;

/// Which version of reflection a server offers.
#[allow(dead_code)] // each test uses its own
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reflects {
    V1,
    V1Alpha,
    Not,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PongRequest {
    #[prost(uint32, tag = "1")]
    pub size: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PongReply {
    #[prost(bytes = "vec", tag = "1")]
    pub body: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PongStreamRequest {
    #[prost(uint32, tag = "1")]
    pub size: u32,
    #[prost(uint32, tag = "2")]
    pub count: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PongSummary {
    #[prost(uint64, tag = "1")]
    pub count: u64,
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
}

/// A server on loopback; ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(reflects: Reflects) -> Self {
        Self::serve(reflects, None)
    }

    /// The same over TLS, with a chain of certificates and a key in PEM.
    #[allow(dead_code)] // each test uses its own
    pub fn secured(reflects: Reflects, chain: &[u8], key: &[u8]) -> Self {
        Self::serve(reflects, Some(ServerTlsConfig::new().identity(Identity::from_pem(chain, key))))
    }

    fn serve(reflects: Reflects, tls: Option<ServerTlsConfig>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("non-blocking");
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let mut builder = tonic::transport::Server::builder();
                if let Some(tls) = tls {
                    builder = builder.tls_config(tls).expect("a certificate and its key");
                }
                let serve = builder
                    .add_routes(routes(reflects))
                    .serve_with_incoming(TcpListenerStream::new(listener));
                // Cut off instead of drained, since clients may still be connected.
                tokio::select! {
                    served = serve => served.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The interface, compiled.
pub fn descriptors() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/proto");
    let mut compiler = protox::Compiler::new([&folder]).expect("a folder");
    compiler.include_imports(true).open_file("pong.proto").expect("it compiles");
    compiler.encode_file_descriptor_set()
}

fn routes(reflects: Reflects) -> tonic::service::Routes {
    let set = descriptors();
    let builder = tonic_reflection::server::Builder::configure().register_encoded_file_descriptor_set(&set);
    let routes = tonic::service::Routes::new(Pong);
    match reflects {
        Reflects::V1 => routes.add_service(builder.build_v1().expect("descriptors")),
        Reflects::V1Alpha => routes.add_service(builder.build_v1alpha().expect("descriptors")),
        Reflects::Not => routes,
    }
}

async fn pong(size: u32) -> Result<PongReply, Status> {
    if size == SLOW {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    match size {
        4..=100_000_000 => {
            Ok(PongReply { body: [&b"p"[..], &vec![b'o'; size as usize - 3], b"ng"].concat() })
        }
        _ => Err(Status::invalid_argument(format!("size {size} is not from 4 to 100000000"))),
    }
}

async fn unary(request: Request<PongRequest>) -> Result<Response<PongReply>, Status> {
    pong(request.into_inner().size).await.map(Response::new)
}

type Replies = Pin<Box<dyn Stream<Item = Result<PongReply, Status>> + Send>>;

async fn stream(request: Request<PongStreamRequest>) -> Result<Response<Replies>, Status> {
    let PongStreamRequest { size, count } = request.into_inner();
    let reply = pong(size).await?;
    let replies = (0..count).map(move |_| Ok(reply.clone())).collect::<Vec<_>>();
    Ok(Response::new(Box::pin(tokio_stream::iter(replies)) as Replies))
}

async fn collect(request: Request<Streaming<PongReply>>) -> Result<Response<PongSummary>, Status> {
    let mut messages = request.into_inner();
    let mut summary = PongSummary::default();
    while let Some(message) = messages.message().await? {
        summary.count += 1;
        summary.bytes += message.body.len() as u64;
    }
    Ok(Response::new(summary))
}

async fn chat(request: Request<Streaming<PongRequest>>) -> Result<Response<Replies>, Status> {
    let mut requests = request.into_inner();
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            let reply = match request {
                Ok(request) => pong(request.size).await,
                Err(status) => Err(status),
            };
            let last = reply.is_err();
            if sender.send(reply).await.is_err() || last {
                return;
            }
        }
    });
    Ok(Response::new(Box::pin(ReceiverStream::new(receiver)) as Replies))
}

/// What a generated server would be.
#[derive(Debug, Clone, Copy)]
struct Pong;

impl NamedService for Pong {
    const NAME: &'static str = "weighbridge.pong.v1.Pong";
}

type Replied = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

impl Service<http::Request<Body>> for Pong {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Replied;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Replied {
        Box::pin(async move {
            let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            Ok(match method.as_str() {
                "Pong" => {
                    let mut grpc = Grpc::new(ProstCodec::<PongReply, PongRequest>::default());
                    grpc.unary(service_fn(unary), request).await
                }
                "Stream" => {
                    let mut grpc = Grpc::new(ProstCodec::<PongReply, PongStreamRequest>::default());
                    grpc.server_streaming(service_fn(stream), request).await
                }
                "Collect" => {
                    let mut grpc = Grpc::new(ProstCodec::<PongSummary, PongReply>::default());
                    grpc.client_streaming(service_fn(collect), request).await
                }
                "Chat" => {
                    let mut grpc = Grpc::new(ProstCodec::<PongReply, PongRequest>::default());
                    grpc.streaming(service_fn(chat), request).await
                }
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}
