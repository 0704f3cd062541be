//! What a person sees while something is measured: a few lines at a terminal that are drawn over and over, or plain lines
//! where nobody looks at one.
//!
//! Nothing here measures, and nothing is drawn while a window runs: whoever carries a run out hands over an event between
//! windows and waits, briefly, until it is on the screen. The views are functions of events; only [`painter`] and
//! [`screen`] know of threads and terminals.

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
