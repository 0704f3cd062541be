//! The generator against servers of its own, one file a subject. One program, since each is linked with the whole crate; those that
//! count allocations are programs of their own.

#[path = "../support/events.rs"]
mod events;
#[path = "../support/tls.rs"]
#[allow(dead_code)] // those that count allocations use more of it
mod secured;
#[path = "../support/mod.rs"]
mod support;

mod exchange;
mod generator;
mod held_up;
mod holding;
mod hostile;
mod hpack;
mod http1;
mod http2;
mod http2_server;
mod interleave;
mod late_errors;
mod many;
mod memcached;
mod pace;
mod resp;
mod sessions;
mod shapes;
mod stamps;
mod steady_state;
mod tls;
mod waiting;
