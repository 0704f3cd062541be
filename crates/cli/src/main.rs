//! The weigh command.

fn main() {}
