//! What to run next: rules that the conductor asks between windows, rounds and blocks.
//!
//! Each rule is fixed for the run and maps a history (what happened so far) to a step. Rules hold no state,
//! read no clock and touch no service: the same history gives the same step, so a run can be resumed, and
//! rules can be tested without running.

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
