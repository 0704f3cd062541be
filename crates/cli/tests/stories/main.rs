//! Stories of the whole program, one file a subject. One program, since each is linked with all that a story may need;
//! those that must have the machine to themselves, or that ask for what this one has not, are programs of their own.

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(dead_code)] // helpers of single targets
mod checks;
#[path = "../../../workload/tests/support/mod.rs"]
mod pong;
#[path = "../../../workload/tests/support/servers.rs"]
mod servers;
#[path = "../support/mod.rs"]
#[macro_use]
mod support;

mod batches;
mod calibrate;
mod calls;
mod clock;
mod commands;
mod corpus;
mod defects;
mod direct;
mod division;
mod duet;
mod failures;
mod faults;
mod hostile;
mod hostile_http2;
mod hostile_keyed;
mod hostile_tls;
mod import;
mod limits;
mod look;
mod matrix;
mod mistakes;
mod newcomer;
mod pairings;
mod plateau;
mod recompute;
mod relay;
mod resume;
mod roles;
mod run_shapes;
mod run_tls;
mod scale;
mod secrets;
mod shapes;
mod signals;
mod sizes;
mod stamps;
mod state;
mod surface;
mod terminal;
mod tls;
mod urls;
mod verbs;
