//! What a person sees during a measurement: redrawn lines at a terminal, or plain lines elsewhere.
//!
//! Nothing here measures, and nothing is drawn while a window runs. The runner passes an event between
//! windows and waits briefly until it is on the screen. The views are functions of events; only [`painter`]
//! and [`screen`] use threads and terminals.

mod bar;
mod forecast;
mod line;
pub mod load;
mod painter;
pub mod plain;
pub mod run;
pub mod screen;
mod spark;

pub use painter::Painter;
