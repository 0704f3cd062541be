//! Records in, summary out: estimates, verdicts, self-check, advice and next steps.
//!
//! There is no clock, no input or output and no randomness: the same records give the same summary on every
//! machine. The crate renders nothing, measures nothing, and does not carry out the steps that it names.
//!
//! [`records`] sorts trials into blocks, [`estimate`] makes estimates, [`verdict`] concludes, [`checks`] look
//! for reasons against the conclusions, [`analysis`] adds further results, [`summary::summarise`] puts all of
//! this together, and [`steer`] says what to run next. Every number that decides something is in
//! [`thresholds`].

pub mod across;
pub mod analysis;
pub mod calibration;
pub mod capacity;
pub mod checks;
pub mod detail;
pub mod estimate;
pub mod evidence;
pub mod gate;
pub mod imported;
pub mod messages;
pub mod metered;
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
    Absent, AskedSizes, Blocks, Composition, Cores, Lifetime, Load, Placement, Point, Question, Run,
    StackElement, Transport, Variant,
};
pub use summary::{Bridge, summarise, summarise_through};
