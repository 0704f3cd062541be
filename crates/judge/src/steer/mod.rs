//! What to run next: pure state machines that the conductor asks between windows, rounds and blocks.
//!
//! Each is a rule (fixed for the run) and a function of a history (what happened so far) to a step. None of
//! them holds state, reads a clock or touches a service; the same history gives the same step, so a run can
//! be resumed and tested without running.

mod blocks;
mod check;
mod crowd;
mod idle;
mod rounds;
mod spend;
mod turns;
mod warm;
mod window;

pub use blocks::{BlockHistory, BlockRule, BlockStep, Budget, Stop};
pub use check::CheckRule;
pub use crowd::{CrowdHistory, CrowdRule, CrowdStep};
pub use idle::IdleCheckRule;
pub use rounds::{RoundHistory, RoundRule, RoundStep};
pub use spend::{SpendHistory, SpendRule, SpendStep};
pub use turns::{Compared, TurnRule, TurnStep, turn_effect};
pub use warm::{Rest, WarmHistory, WarmRule, WarmStep, WarmWindow, is_warm};
pub use window::{Arrangement, Extent, FewRequests, Pace, Periods, Wanted, WindowRule};
