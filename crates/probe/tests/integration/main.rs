//! What a probe answers, does and records. One program, since each is linked with all of the crate.

#[path = "../common/mod.rs"]
mod common;

mod accounts;
mod http;
mod servers;
mod truth;
mod wire;
