//! The kernel's numbers for cores and processes.
//!
//! The system calls take them, so they are defined below those. `procfs` tells which process has an id.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use weighbridge_model::environment::CoreId;

/// A process or thread id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pid(i32);

impl Pid {
    /// The process with id `id`.
    pub const fn new(id: i32) -> Self {
        Self(id)
    }
    /// This process.
    pub fn own() -> Self {
        // Linux process ids are below 2^22.
        Self(std::process::id() as i32)
    }
    /// The plain number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
