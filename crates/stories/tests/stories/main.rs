//! Stories of the whole program, one file a subject, and what is held of the tree and its documents (`tidy`, `docs`). One
//! program, since each is linked with all that a story may need; those that must have the machine to themselves are in
//! `alone`.

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

mod anybody;
mod batches;
mod beside;
mod cache;
mod cache_model;
mod calibrate;
mod calls;
mod capacity;
mod cleanup;
mod clock;
mod commands;
mod damage;
mod duet;
mod essential;
mod failures;
mod faults;
mod frames;
mod hostile;
mod hostile_http2;
mod hostile_keyed;
mod hostile_tls;
mod layered;
mod layers;
mod limits;
mod look;
mod matrix;
mod overlays;
mod pairings;
mod person;
mod plateau;
mod probes;
mod recompute;
mod recorded;
mod relay;
mod run_shapes;
mod run_tls;
mod scale;
mod shapes;
mod signals;
mod sizes;
mod trade;
mod trade_database;
mod trade_passages;
mod urls;
