//! The generator: when to send, how to talk, what happened.
//!
//! One event loop per thread runs one window of load after another. Four parts know nothing of each other: *when to
//! send and when to stop* ([`window`], [`pace`], [`think`], [`interleave`]: state machines with time as an argument),
//! *how to talk* ([`framer`], one file per framing, [`template`] and [`keyed`]: bytes in, events out), *what to send and what to
//! expect* ([`session`]: traits that workloads implement) and *what to record*; [`stamps`] adds the kernel's view if
//! asked for. [`generator`] connects them to sockets that a [`dial`] opens.
//!
//! It knows no processes, files, experiments or colours, uses no async runtime, and on the hot path it shares nothing
//! and allocates nothing; only with live progress on, it counts for another thread ([`live`]).

mod connection;
pub mod dial;
pub mod exchange;
pub mod failures;
pub mod framer;
pub mod generator;
pub mod interleave;
pub mod keyed;
pub mod live;
pub mod pace;
mod pool;
pub mod profile;
pub mod reach;
mod recorder;
pub mod session;
mod stack;
pub mod stamps;
mod sys;
pub mod template;
pub mod think;
pub mod tls;
pub mod window;

pub use framer::{Framing, h2, http1, memcached, request, resp, thrift};
pub use generator::Generator;
pub use pool::{KeepAlive, Settings};
pub use recorder::Recording;
pub use stack::Stack;
pub use sys::{FileTable, clock, own_files};
pub use tls::{TlsClient, TlsOptions};
pub use weighbridge_model::legs::Stamps;
