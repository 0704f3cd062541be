//! Records in, summary out: estimates, verdicts, diagnosis, advice, next step. Pure.
//!
//! No clock, no input or output, no randomness: the same records give the same summary on every machine. The
//! crate refuses to render anything, to measure anything and to carry out the steps that it names.
//!
//! The way through it: [`records`] puts trials into blocks, [`estimate`] makes block estimates of them,
//! [`verdict`] concludes, [`checks`] say what speaks against it, [`analysis`] says what else there is to
//! know, [`summary::summarise`] puts all of it in order, and [`steer`] answers what to run next. Every number
//! that decides something stands in [`thresholds`].

pub mod across;
pub mod analysis;
pub mod calibration;
pub mod checks;
pub mod detail;
pub mod estimate;
pub mod evidence;
pub mod gate;
pub mod imported;
pub mod messages;
pub mod overview;
pub mod question;
pub mod records;
pub mod reliability;
pub mod single;
pub mod stats;
pub mod steer;
pub mod summary;
pub mod thresholds;
pub mod verdict;

pub use detail::{detail, whole};
pub use evidence::evidence;
pub use question::{
    Absent, AskedSizes, Blocks, Cores, Lifetime, Load, Placement, Point, Question, Run, Transport, Variant,
};
pub use summary::{Bridge, summarise, summarise_through};
