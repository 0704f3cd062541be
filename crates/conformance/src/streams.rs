//! A client for the rows about HTTP/2, gRPC and TLS: one connection, by a library that shares no code with
//! the generator, with a deadline on everything.
//!
//! The library's runtime starts and ends within one row. Nothing here checks whether a reply is right; it
//! reports what came.

use std::fmt::Display;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{Method, Version};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout_at;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::client::Head;
use super::limits::{Limits, STREAM_END};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::reply::{Expected, RawRequest};

/// No valid head or error is longer.
const LONGEST_HEAD: usize = 64 << 10;

/// Runs the part of a row that waits for several things at once.
///
/// Errors: those of `work`; skipped if this host has no descriptors left for a runtime.
pub(super) fn drive<T>(work: impl Future<Output = Result<T, Shortfall>>) -> Result<T, Shortfall> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Shortfall::Skipped(format!("this host has no event loop: {error}")))?;
    runtime.block_on(work)
}

/// Waits for a future until `deadline` at the latest.
pub(super) async fn timely<T, E: Display>(
    what: &str,
    deadline: Instant,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    let begin = Instant::now();
    match timeout_at(deadline.into(), work).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no {what} within {:.1?}", begin.elapsed())),
    }
}

/// A byte stream in both directions.
pub(super) trait Bidirectional: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bidirectional for T {}

/// A stream on which nothing is an error of writing: what the other side no longer reads is lost, and what it sent
/// before it closed is read all the same.
///
/// A service that has sent all it owed may close while the library announces room for more, and the library ends a
/// connection at the first write that fails, with replies still unread.
struct ReadToTheEnd<S>(S);

/// What happened to a write, where the other side has gone as if it had read.
fn forgiven<T>(written: Poll<io::Result<T>>, as_if: T) -> Poll<io::Result<T>> {
    match written {
        Poll::Ready(Err(error))
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
        {
            Poll::Ready(Ok(as_if))
        }
        other => other,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadToTheEnd<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadToTheEnd<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        forgiven(Pin::new(&mut self.0).poll_write(context, bytes), bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        forgiven(Pin::new(&mut self.0).poll_flush(context), ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        forgiven(Pin::new(&mut self.0).poll_shutdown(context), ())
    }
}

/// Connects in clear text, with `TCP_NODELAY`.
pub(super) async fn connect(address: SocketAddr, limits: Limits) -> Result<TcpStream, Shortfall> {
    let stream = timely("connection", limits.for_reply(0), TcpStream::connect(address)).await;
    let stream = stream
        .and_then(|stream| stream.set_nodelay(true).map(|()| stream).map_err(|error| error.to_string()));
    stream.map_err(|came| differs(format_args!("connecting to {address}"), "an accepted connection", came))
}

/// Connects and performs the TLS handshake.
///
/// Errors: what came instead of the end of the handshake, as text; a failure if the connection is refused.
pub(super) async fn handshake(
    address: SocketAddr,
    limits: Limits,
    config: &Arc<ClientConfig>,
) -> Result<Result<TlsStream<TcpStream>, String>, Shortfall> {
    let stream = connect(address, limits).await?;
    let name = ServerName::IpAddress(address.ip().into());
    let connector = TlsConnector::from(Arc::clone(config));
    Ok(timely("end of the handshake", limits.for_reply(0), connector.connect(name, stream)).await)
}

/// Sends a request in HTTP/1.1 and reads the right reply.
pub(super) async fn ask_http1(
    stream: &mut impl Bidirectional,
    limits: Limits,
    request: &RawRequest,
    expected: &Expected,
) -> Verdict {
    let wrong = |came: String| differs(request, expected, came);
    timely("room for a request", limits.for_reply(0), stream.write_all(&request.bytes()))
        .await
        .map_err(wrong)?;
    receive_http1(stream, limits, request, expected).await.map_err(wrong)
}

/// Reads the right reply to a request that was sent before.
pub(super) async fn receive_http1(
    stream: &mut impl Bidirectional,
    limits: Limits,
    request: &RawRequest,
    expected: &Expected,
) -> Result<(), String> {
    let deadline = limits.for_reply(expected.length().unwrap_or(0));
    let mut unread = Vec::new();
    let end = loop {
        if let Some(end) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if unread.len() > LONGEST_HEAD {
            return Err("a head without end within 64 KiB".to_owned());
        }
        fill(stream, &mut unread, deadline).await?;
    };
    let head = Head::parse(&unread[..end]).map_err(|error| error.to_string())?;
    let length = expected.check_reply(request, &head)?;
    let mut body = unread.split_off(end + 4);
    while body.len() < length {
        fill(stream, &mut body, deadline).await?;
    }
    if body.len() > length {
        return Err(format!("{} behind the reply", quoted(&body[length..])));
    }
    expected.check_body(&body)
}

async fn fill(
    stream: &mut impl Bidirectional,
    unread: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), String> {
    let got = unread.len();
    match timely("more of the reply", deadline, stream.read_buf(unread)).await? {
        0 => Err(format!("the end of the stream after {got} bytes")),
        _ => Ok(()),
    }
}

/// The flow-control windows that a connection announces, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) stream: u32,
    pub(super) connection: u32,
}

impl Windows {
    /// The initial windows of HTTP/2.
    pub(super) const DEFAULT: Self = Self { stream: 65_535, connection: 65_535 };
    /// The connection's window leaves room for other streams besides one that is full.
    pub(super) const ROOMY: Self = Self { stream: 65_535, connection: 16 << 20 };
}

/// A connection that speaks HTTP/2.
#[derive(Debug)]
pub(super) struct Http2 {
    sender: SendRequest<Bytes>,
    driver: JoinHandle<Result<(), h2::Error>>,
    scheme: &'static str,
    limits: Limits,
}

impl Http2 {
    /// Connects in clear text, by prior knowledge.
    pub(super) async fn open(
        address: SocketAddr,
        limits: Limits,
        windows: Windows,
    ) -> Result<Self, Shortfall> {
        let stream = connect(address, limits).await?;
        Self::over(stream, "http", limits, windows).await
    }

    /// Uses an existing stream.
    pub(super) async fn over(
        stream: impl Bidirectional + 'static,
        scheme: &'static str,
        limits: Limits,
        windows: Windows,
    ) -> Result<Self, Shortfall> {
        let mut builder = Builder::new();
        builder.initial_window_size(windows.stream).initial_connection_window_size(windows.connection);
        let begun = builder.handshake::<_, Bytes>(ReadToTheEnd(stream));
        let begun = timely("preface", limits.for_reply(0), begun).await;
        let (sender, connection) =
            begun.map_err(|came| differs("the preface of HTTP/2", "a connection that takes it", came))?;
        Ok(Self { sender, driver: tokio::spawn(connection), scheme, limits })
    }

    /// Begins a request, with a body of at most the first window.
    pub(super) async fn begin(&mut self, request: &RawRequest) -> Result<ResponseFuture, String> {
        let method = Method::from_bytes(request.method().as_bytes()).map_err(|error| error.to_string())?;
        let body = request.body().to_vec();
        let (response, mut sending) = self.stream(method, request.path(), &[], body.is_empty()).await?;
        if !body.is_empty() {
            sending.send_data(body.into(), true).map_err(|error| error.to_string())?;
        }
        Ok(response)
    }

    /// Begins a gRPC call, whose messages are still to be sent.
    pub(super) async fn call(&mut self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), String> {
        let headers = [("content-type", "application/grpc"), ("te", "trailers")];
        self.stream(Method::POST, path, &headers, false).await
    }

    async fn stream(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        end: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), String> {
        let uri = format!("{}://localhost{path}", self.scheme);
        let mut request = http::Request::builder().version(Version::HTTP_2).method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).map_err(|error| error.to_string())?;
        let free = timely("free stream", self.limits.for_reply(0), self.sender.clone().ready());
        self.sender = free.await?;
        self.sender.send_request(request, end).map_err(|error| error.to_string())
    }

    /// Sends a request and reads the right reply.
    pub(super) async fn ask(&mut self, request: &RawRequest, expected: &Expected) -> Verdict {
        let wrong = |came: String| differs(request, expected, came);
        let response = self.begin(request).await.map_err(wrong)?;
        receive(response, request, expected, self.limits).await
    }

    /// Whether the other side accepts no new stream.
    pub(super) async fn is_going_away(&self) -> bool {
        self.driver.is_finished() || self.sender.clone().ready().await.is_err()
    }

    /// Waits for the end of the connection until `deadline`.
    pub(super) async fn end(self, deadline: Instant) -> Result<(), String> {
        // Our half is kept, since the other side must close.
        let Self { sender, driver, .. } = self;
        let ended = timely("end of the connection", deadline, driver).await;
        drop(sender);
        // Either kind of end is allowed, with or without an error, since idle connections are cut.
        ended.map(drop)
    }

    /// Waits for the end of the connection after a last reply.
    pub(super) async fn end_behind_reply(self) -> Result<(), String> {
        let deadline = self.limits.within(STREAM_END);
        self.end(deadline).await
    }
}

/// Reads the right reply to a request that was begun before.
pub(super) async fn receive(
    response: ResponseFuture,
    request: &RawRequest,
    expected: &Expected,
    limits: Limits,
) -> Verdict {
    read(response, request, expected, limits).await.map_err(|came| differs(request, expected, came))
}

async fn read(
    response: ResponseFuture,
    request: &RawRequest,
    expected: &Expected,
    limits: Limits,
) -> Result<(), String> {
    let deadline = limits.for_reply(expected.length().unwrap_or(0));
    let response = timely("head of the reply", deadline, response).await?;
    let length = expected.check_reply(request, &Head::from_response(&response))?;
    let mut stream = response.into_body();
    let mut body = Vec::new();
    while let Some(chunk) = next_chunk(&mut stream, deadline).await? {
        body.extend_from_slice(&chunk);
        if body.len() > length {
            return Err(format!("more than the {length} bytes of the body"));
        }
    }
    if body.len() < length {
        return Err(format!("the end of the stream after {} bytes of the body", body.len()));
    }
    if request.method() == "HEAD" { Ok(()) } else { expected.check_body(&body) }
}

/// The next bytes of a body, after giving back their window; `None` at its end.
pub(super) async fn next_chunk(stream: &mut RecvStream, deadline: Instant) -> Result<Option<Bytes>, String> {
    let chunk = timely("more of the reply", deadline, async { stream.data().await.transpose() }).await?;
    if let Some(chunk) = &chunk {
        stream.flow_control().release_capacity(chunk.len()).map_err(|error| error.to_string())?;
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_sent_before_the_end_is_read_though_writing_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.write_all(b"all of it").expect("it is taken");
        });
        let read = drive(async {
            let mut stream = ReadToTheEnd(TcpStream::connect(address).await.expect("it listens"));
            served.join().expect("it ends");
            let mut refused = false;
            while !refused {
                refused = stream.0.write_all(b"more").await.is_err();
                assert!(stream.write_all(b"more").await.is_ok());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut read = Vec::new();
            // The end may be a reset, since bytes came that nobody read.
            let _ = stream.read_to_end(&mut read).await;
            Ok(read)
        });
        assert_eq!(read.expect("a runtime"), b"all of it");
    }
}
