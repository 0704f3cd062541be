//! The generator against the tests' own servers, one file per subject. All are one program, since each program links
//! the whole crate; tests that count allocations are separate programs.

#[path = "../support/events.rs"]
mod events;
#[path = "../support/tls.rs"]
#[allow(dead_code)] // the tests that count allocations use more of it
mod secured;
#[path = "../support/mod.rs"]
mod support;

mod attempts;
mod batch;
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
mod later;
mod many;
mod memcached;
mod pace;
mod resp;
mod running_out;
mod sessions;
mod shapes;
mod stamps;
mod steady_state;
mod tls;
mod waiting;
