//! Stories that need no more than Rust, Go and Python, and are soon told: they decide whether a tree works on a machine.
//! `make test` tells them, `make test-all` the others too.

mod corpus;
mod defects;
mod direct;
mod division;
mod docs;
mod first_commands;
mod habits;
mod import;
mod mistakes;
mod newcomer;
mod resume;
mod roles;
mod secrets;
mod shipped;
mod stamps;
mod state;
mod surface;
mod terminal;
mod tidy;
mod tls;
mod verbs;
