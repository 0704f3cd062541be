//! Servers whose real behaviour is known; loopback only.
//!
//! A probe is our own server that follows a [`Law`](law::Law): no delay at all, a delay drawn from a known
//! distribution, one stall, periodic stalls, a cliff in the size of the reply. It records what it really did with each
//! request, on a clock that a client on the same host also reads, so that a load generator's results can be compared
//! with the truth. The module [`hostile`] has servers that misbehave instead. The crate listens on loopback only,
//! prints nothing, and judges nothing.
//!
//! | request | reply |
//! | --- | --- |
//! | `/pong/{n}` | `p`, `o` …, `ng`: exactly n bytes, n in [`PONG_SIZES`]; else 400 with a JSON error |
//! | `/version` | `probe <law> <version>`, a line |
//! | `/probe/summary` | counts and sums so far, JSON |
//! | `/probe/record` | all records so far, CSV |
//! | anything else | `ok`, a line |
//!
//! With [`Canned`] replies it answers the requests of a workload, over any protocol that carries that. Over HTTP/1.1 this
//! table holds for all other requests; other protocols have nothing but those replies and the protocol's own word for an
//! unknown request, and the law applies to each.
//!
//! Any method will do; a reply to HEAD has no body. A query is ignored, a request's body is dropped. The law applies to
//! `/pong/{n}` and anything else; the probe's own paths and errors are neither delayed nor recorded. Invalid requests
//! get 400, a head longer than [`request::HEAD_LIMIT`] 431, a transfer coding 501, another version of HTTP 505, and the
//! connection ends.
//!
//! ```
//! use std::io::{Read, Write};
//! use weighbridge_probe::{Options, Stop, serve};
//!
//! let (sender, receiver) = std::sync::mpsc::channel();
//! let stop = Stop::new()?;
//! let theirs = stop.clone();
//! let options = Options::new("constant:time=50us".parse()?);
//! let probe = std::thread::spawn(move || serve(options, &theirs, |port| sender.send(port).expect("awaited")));
//!
//! let mut client = std::net::TcpStream::connect(("127.0.0.1", receiver.recv()?))?;
//! client.write_all(b"GET /pong/5 HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n")?;
//! let mut reply = String::new();
//! client.read_to_string(&mut reply)?;
//! assert!(reply.ends_with("\r\n\r\npoong"));
//!
//! stop.request();
//! let finished = probe.join().expect("the probe does not panic")?;
//! assert!(finished.records[0].spent().as_nanos() >= 50_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod canned;
mod connection;
mod frames;
pub mod hostile;
pub mod http2;
pub mod law;
mod options;
pub mod record;
mod reply;
pub mod request;
pub mod runner;
mod server;
mod station;
mod stop;
mod sys;
pub mod thrift;

pub use canned::Canned;
pub use options::{KeepAlive, LoopbackHost, NoServers, NotLoopback, Options, Recording};
pub use reply::PONG_SIZES;
pub use server::{CONNECTION_LIMIT, Finished, ServeError, serve};
pub use stop::Stop;
