//! One file per verb, each with one public `run`. A verb loads, calls a library and passes values to a
//! renderer.

pub mod calibrate;
pub mod capacity;
pub mod cite;
pub mod compare;
pub mod completions;
pub mod doctor;
mod ends;
pub mod export;
pub mod frames;
pub mod guardian;
mod heaps;
pub mod history;
pub mod hostile;
pub mod import;
pub mod init;
pub mod judge;
pub mod load;
pub mod man;
pub mod plan;
pub mod plot;
pub mod probe;
pub mod report;
mod revisions;
pub mod run;
pub mod schema;
mod series;
pub mod serve;
pub mod services;
mod shape;
pub mod suites;
pub mod summary;
mod support;
pub mod trade;
pub mod verify;
