//! Capacity: the highest rate at which a service keeps its objective.
//!
//! [`record`] makes a step's record of its requests, [`classify()`] says what it shows, [`CapacityRule`] which rate
//! to try next, [`capacities`] what all blocks together say, and [`common_rate`] where all are measured once more. No clock, no state.

mod classify;
mod common;
mod ends;
mod estimate;
mod fit;
mod measure;
mod order;
mod overload;
mod pool;
mod search;

pub use classify::{Class, classify};
pub use common::common_rate;
pub use estimate::{CapacityEnd, CapacityEstimate, CurvePoint, LimitedBy, PooledFigure, capacities, curve};
pub use measure::record;
pub use order::Placed;
pub use search::{CapacityRule, Outside, SearchStep, Try};
