//! Workloads against real servers and against other implementations. One program, since each is linked with all of the
//! crate.

#[path = "../support/servers.rs"]
mod servers;
#[path = "../support/shop.rs"]
mod shop;
#[path = "../support/mod.rs"]
mod support;

mod commands;
mod grpc;
mod person;
mod scenario;
