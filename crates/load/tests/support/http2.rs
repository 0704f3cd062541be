//! HTTP/2 servers for the tests: one made with the `h2` crate, and functions that build single frames.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use weighbridge_load::Framing;
use weighbridge_load::h2::{Http2Settings, hpack};
use weighbridge_load::request::{Rendered, Request};
use weighbridge_model::id::OperationId;

/// HTTP/2 in cleartext with the default windows.
pub fn framing() -> Framing {
    Framing::Http2(Http2Settings::default())
}

/// A request with a body for `target`.
pub fn rendered(method: &str, target: &str, body: &[u8]) -> Rendered {
    let request = Request {
        method: method.into(),
        target: target.into(),
        authority: "localhost".into(),
        headers: vec![("X-Kind".into(), "test".into())],
        body: body.to_vec(),
    };
    framing().render(OperationId(0), &request).expect("renders")
}

/// How the server of the `h2` crate is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Streams it allows at a time.
    pub streams: u32,
    /// Its windows for the client.
    pub window: u32,
    /// Requests after which it sends GOAWAY and serves only open streams.
    pub goaway_after: Option<u64>,
    /// Its setting for the dynamic table.
    pub table: Option<u32>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { streams: 1000, window: 65_535, goaway_after: None, table: None }
    }
}

/// A server of the `h2` crate on its own loopback port. The path selects what it does with a request.
pub struct H2Server {
    pub address: SocketAddr,
    /// Connections accepted.
    pub accepted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl H2Server {
    pub fn start(setup: Setup) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("bound");
        let (stop, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&accepted));
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                while !stopped.load(Ordering::SeqCst) {
                    let nap = Duration::from_millis(20);
                    let Ok(Ok((socket, _))) = tokio::time::timeout(nap, listener.accept()).await else {
                        continue;
                    };
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = socket.set_nodelay(true);
                    tokio::task::spawn_local(serve(socket, setup));
                }
            });
        });
        Self { address, accepted, stop, thread: Some(thread) }
    }
}

impl Drop for H2Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(socket: tokio::net::TcpStream, setup: Setup) {
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(setup.window).max_concurrent_streams(setup.streams);
    if let Some(table) = setup.table {
        builder.header_table_size(table);
    }
    let Ok(mut connection) = builder.handshake(socket).await else { return };
    let shared = Rc::new(());
    let mut served = 0;
    while let Some(Ok((request, reply))) = connection.accept().await {
        served += 1;
        if Some(served) == setup.goaway_after {
            connection.graceful_shutdown();
        }
        let held = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            let _held = held;
            // A client that left is no failure of the server.
            let _ = answer(request, reply).await;
        });
    }
}

async fn answer(request: http::Request<RecvStream>, mut reply: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let path = request.uri().path().to_owned();
    let head = || http::Response::builder().header("server", "h2").header("x-path", path.clone());
    let (kind, argument) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let number = || argument.parse::<usize>().expect("a number in the path");
    match kind {
        "hello" => {
            let head = head().header("content-length", "5").body(()).expect("a head");
            reply.send_response(head, false)?.send_data(Bytes::from_static(b"hello"), true)
        }
        "echo" => {
            let body = whole(request.into_body()).await?;
            let head = head().header("content-length", body.len()).body(()).expect("a head");
            send_all(reply.send_response(head, body.is_empty())?, body.into(), Ending::Data).await
        }
        "big" => {
            let body = vec![b'b'; number()];
            send_all(reply.send_response(head().body(()).expect("a head"), false)?, body.into(), Ending::Data)
                .await
        }
        "long-head" => {
            // One frame has at most 16 KiB: the rest comes in CONTINUATION frames.
            let head = head().header("x-long", "l".repeat(number())).body(()).expect("a head");
            reply.send_response(head, false)?.send_data(Bytes::from_static(b"hello"), true)
        }
        "trailers" => {
            let stream = reply.send_response(head().body(()).expect("a head"), false)?;
            send_all(stream, Bytes::from_static(b"hello"), Ending::Trailers).await
        }
        "interim" => {
            let interim =
                || http::Response::builder().status(103).header("link", "x").body(()).expect("a head");
            reply.send_informational(interim())?;
            reply.send_informational(interim())?;
            reply
                .send_response(head().body(()).expect("a head"), false)?
                .send_data(Bytes::from_static(b"hello"), true)
        }
        "refuse" => {
            reply.send_reset(Reason::REFUSED_STREAM);
            Ok(())
        }
        // Answers at once and needs no more of the body.
        "early" => reply
            .send_response(head().body(()).expect("a head"), false)?
            .send_data(Bytes::from_static(b"hello"), true),
        "silent" => {
            poll_fn(|context| reply.poll_reset(context)).await?;
            Ok(())
        }
        "call" => call(request.into_body(), reply, number()).await,
        other => panic!("no such path: {other}"),
    }
}

enum Ending {
    Data,
    Trailers,
}

/// Sends a body as the windows allow.
async fn send_all(
    mut stream: h2::SendStream<Bytes>,
    mut body: Bytes,
    ending: Ending,
) -> Result<(), h2::Error> {
    while !body.is_empty() {
        stream.reserve_capacity(body.len().min(100_000));
        let Some(capacity) = poll_fn(|context| stream.poll_capacity(context)).await else { return Ok(()) };
        let piece = body.split_to(capacity?.min(body.len()));
        stream.send_data(piece, body.is_empty() && matches!(ending, Ending::Data))?;
    }
    match ending {
        Ending::Data => Ok(()),
        Ending::Trailers => stream.send_trailers(grpc_status()),
    }
}

fn grpc_status() -> http::HeaderMap {
    http::HeaderMap::from_iter([(
        http::HeaderName::from_static("grpc-status"),
        http::HeaderValue::from_static("0"),
    )])
}

async fn whole(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Answers each message of a call with `copies` of itself as soon as it is whole, then ends with its status.
async fn call(mut body: RecvStream, mut reply: SendResponse<Bytes>, copies: usize) -> Result<(), h2::Error> {
    let head = http::Response::builder().header("content-type", "application/grpc").body(()).expect("a head");
    let mut stream = reply.send_response(head, false)?;
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
        while let Some([_, length @ ..]) = bytes.first_chunk::<5>().copied()
            && let Some(message) = bytes.get(..5 + u32::from_be_bytes(length) as usize)
        {
            let message = message.to_vec();
            bytes.drain(..message.len());
            stream.send_data(message.repeat(copies).into(), false)?;
        }
    }
    assert!(bytes.is_empty(), "a request ends between messages");
    stream.send_trailers(grpc_status())
}

/// Flags of frames.
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub fn data(flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(0, flags, stream, payload)
}

/// A HEADERS frame with these fields, none of them indexed.
pub fn headers(flags: u8, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(1, flags | END_HEADERS, stream, &block(fields))
}

pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::field(name, value.as_bytes(), &mut block);
    }
    block
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

pub fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let entry = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(4, 0, 0, &entries.iter().flat_map(entry).collect::<Vec<u8>>())
}

pub fn ping(flags: u8, payload: &[u8; 8]) -> Vec<u8> {
    frame(6, flags, 0, payload)
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(8, 0, stream, &increment.to_be_bytes())
}
