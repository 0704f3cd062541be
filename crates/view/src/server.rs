//! The HTTP/1.1 server: connections and their limits, and responses.
//!
//! No client can block another: each has its own task, there are at most [`ClientLimits::clients`] of them, and of
//! one address at most [`ClientLimits::unfinished`] that have not finished the head of their first request. Heads have
//! a deadline, and connections have a maximum age. Calls to the site, which may block, run on a few threads
//! of their own.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};

use crate::guard::{Refusal, check};
use crate::heads::{AwaitedHead, Unfinished};
use crate::policy::Policy;
use crate::site::{Answer, Download, Feed, Site, Update};

/// Threads on which a site may block.
const THREADS: usize = 4;
/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 16 * 1024;
/// Most header lines in a head.
const HEADERS: usize = 64;
/// Events queued for a slow client before its feed has to wait.
const EVENTS_AHEAD: usize = 4;

type Body = BoxBody<Bytes, Infallible>;

/// Limits on clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Connections at once; further ones wait to be accepted.
    pub clients: usize,
    /// Connections of one address that have not finished the head of their first request; a further one takes the
    /// place of the oldest, which is closed. Everybody on this host has the same address, so who drips must not keep
    /// out who asks.
    pub unfinished: usize,
    /// Time allowed for the head of a request, and between two requests on a connection.
    pub head: Duration,
    /// Age at which a connection is closed gracefully; a browser opens another.
    pub age: Duration,
    /// Time allowed for requests in progress at that age; after it the connection is cut.
    pub grace: Duration,
    /// Time between two polls of a feed.
    pub feed: Duration,
    /// After this long without a message a feed sends a comment, so that a client that has gone is noticed.
    pub alive: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            clients: 64,
            unfinished: 8,
            head: Duration::from_secs(2),
            age: Duration::from_secs(300),
            grace: Duration::from_secs(30),
            feed: Duration::from_millis(250),
            alive: Duration::from_secs(15),
        }
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The port is taken or not allowed; choose another, or 0 for any free one.
    #[error("could not listen on 127.0.0.1:{port}: {source}; choose another port, 0 is any free one")]
    Listen {
        /// The port asked for.
        port: u16,
        /// The system's error.
        source: std::io::Error,
    },
    #[error("could not start the server: {0}; look at the limits of threads and open files")]
    Start(std::io::Error),
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on loopback; port 0 picks any free port.
    pub fn listen(port: u16) -> Result<Self, Problem> {
        let listen = || {
            let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        listen().map_err(|source| Problem::Listen { port, source })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` returns true (polled every 50 ms); requests in progress then have a second to end.
    pub fn run(
        self,
        site: Arc<dyn Site>,
        limits: ClientLimits,
        stop: impl Fn() -> bool,
    ) -> Result<(), Problem> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS)
            .build()
            .map_err(Problem::Start)?;
        let served = runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener).map_err(Problem::Start)?;
            let stopped = async {
                while !stop() {
                    sleep(Duration::from_millis(50)).await;
                }
            };
            accept(listener, Context { site, port: self.address.port(), limits }, stopped).await;
            Ok(())
        });
        // Do not wait for a page that is still being made.
        runtime.shutdown_background();
        served
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Context {
    site: Arc<dyn Site>,
    port: u16,
    limits: ClientLimits,
}

async fn accept(listener: TcpListener, context: Context, stopped: impl Future<Output = ()>) {
    let room = Arc::new(Semaphore::new(context.limits.clients));
    let unfinished = Unfinished::new(context.limits.unfinished);
    let mut clients = JoinSet::new();
    let mut stopped = pin!(stopped);
    loop {
        let next = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = &mut stopped => break,
            (place, accepted) = next => match (place, accepted) {
                (Ok(place), Ok((stream, client))) => {
                    let (context, head) = (context.clone(), unfinished.enter(client.ip()));
                    clients.spawn(async move {
                        serve(stream, context, head).await;
                        drop(place);
                    });
                    // A head that is already there is read before the next connection may take the place.
                    yield_now().await;
                }
                // No descriptor is free, or the client left at once: other connections may end first.
                _ => sleep(Duration::from_millis(50)).await,
            },
        }
        while clients.try_join_next().is_some() {}
    }
    drop(listener);
    clients.shutdown().await;
}

/// One connection from its first request to its end, or until another takes its place.
async fn serve(stream: TcpStream, Context { site, port, limits }: Context, head: AwaitedHead) {
    let _ = stream.set_nodelay(true);
    let AwaitedHead { place, cut } = head;
    let is_cut = async move {
        // An error means that the head has come.
        if cut.await.is_err() {
            pending::<()>().await;
        }
    };
    let service = service_fn(move |request| {
        place.leave();
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(respond(request, site, port, limits).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // Errors of a client that left do not matter.
    tokio::select! {
        () = is_cut => return,
        ended = timeout(limits.age, connection.as_mut()) => if ended.is_ok() { return },
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(limits.grace, connection).await;
}

async fn respond(
    request: Request<Incoming>,
    site: Arc<dyn Site>,
    port: u16,
    limits: ClientLimits,
) -> Response<Body> {
    let target = match check(request.method(), request.uri(), request.headers(), port) {
        Ok(target) => target,
        Err(refusal) => return refused(refusal),
    };
    let is_head = request.method() == Method::HEAD;
    let answer = tokio::task::spawn_blocking(move || site.answer(&target)).await;
    match answer {
        Ok(Answer::Follow(feed)) if !is_head => followed(feed, limits),
        Ok(answer) => whole(answer),
        // The site panicked while it made this page; other pages still work.
        Err(_) => refused(Refusal {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            text: "this page could not be made; that is a mistake of `weigh`\n",
        }),
    }
}

/// A response with the headers that every response has.
fn response(status: StatusCode, media_type: &'static str, policy: &Policy, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let policy =
        HeaderValue::from_str(policy.text()).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn full(bytes: impl Into<Bytes>) -> Body {
    BoxBody::new(Full::new(bytes.into()))
}

fn refused(refusal: Refusal) -> Response<Body> {
    let mut response =
        response(refusal.status, "text/plain; charset=utf-8", &Policy::nothing(), full(refusal.text));
    if refusal.status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

fn whole(answer: Answer) -> Response<Body> {
    const HTML: &str = "text/html; charset=utf-8";
    match answer {
        Answer::Page { html, policy } => response(StatusCode::OK, HTML, &policy, full(html)),
        Answer::Missing { html, policy } => response(StatusCode::NOT_FOUND, HTML, &policy, full(html)),
        Answer::Failed { html, policy } => {
            response(StatusCode::INTERNAL_SERVER_ERROR, HTML, &policy, full(html))
        }
        Answer::Download(Download { name, media_type, bytes }) => {
            let mut response = response(StatusCode::OK, media_type, &Policy::nothing(), full(bytes));
            let kept = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
            let name: String = name.chars().map(kept).collect();
            if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
            }
            response
        }
        Answer::Redirect(to) => {
            let mut response =
                response(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", &Policy::nothing(), full(""));
            // `//` would lead to another host.
            let own = to.starts_with('/') && !to.starts_with("//");
            if let (true, Ok(to)) = (own, HeaderValue::from_str(&to)) {
                response.headers_mut().insert(header::LOCATION, to);
            }
            response
        }
        Answer::Follow(_) => response(StatusCode::OK, "text/event-stream", &Policy::nothing(), full("")),
    }
}

/// Sends a feed as server-sent events.
fn followed(feed: Box<dyn Feed>, limits: ClientLimits) -> Response<Body> {
    let (sender, receiver) = mpsc::channel::<Bytes>(EVENTS_AHEAD);
    tokio::spawn(pump(feed, sender, limits));
    let frames = Events(receiver);
    let body = BodyExt::boxed(StreamBody::new(frames));
    response(StatusCode::OK, "text/event-stream", &Policy::nothing(), body)
}

/// Passes a feed's messages to its client until either ends.
async fn pump(mut feed: Box<dyn Feed>, sender: mpsc::Sender<Bytes>, limits: ClientLimits) {
    let mut silent = Duration::ZERO;
    loop {
        let looked = tokio::task::spawn_blocking(move || {
            let update = feed.next();
            (feed, update)
        });
        let Ok((again, update)) = looked.await else { return };
        feed = again;
        let (bytes, is_last) = match update {
            Update::Nothing if silent >= limits.alive => (Some(Bytes::from_static(b": alive\n\n")), false),
            Update::Nothing => (None, false),
            Update::Message(message) => (Some(Bytes::from(message.text())), false),
            Update::Last(message) => (Some(Bytes::from(message.text())), true),
        };
        silent = if bytes.is_some() { Duration::ZERO } else { silent + limits.feed };
        if let Some(bytes) = bytes
            && sender.send(bytes).await.is_err()
        {
            return;
        }
        if is_last {
            return;
        }
        tokio::select! {
            () = sleep(limits.feed) => {}
            () = sender.closed() => return,
        }
    }
}

/// Events as frames of a body.
struct Events(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Events {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
