//! How good measurements on this host are: of the generator alone, and of whole runs.

pub mod generator;
pub mod host;
