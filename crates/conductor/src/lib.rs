//! Carries out a plan: combines lab, load, workload, judge and store.
//!
//! The only crate besides the command that uses them all. It executes the steps that the judge decides and
//! records what happened. It estimates nothing and prints nothing.

mod block;
pub mod calibrate;
mod clock;
pub mod compare;
pub mod control;
pub mod descriptors;
pub mod failures;
mod hooks;
pub mod inquiry;
mod options;
pub mod passages;
mod prepare;
pub mod run;
pub mod single;
pub mod tls;
mod variant;
mod with_variant;
pub mod words;

pub use clock::utc_now;
pub use control::Control;
pub use options::Options;
pub use prepare::checked::Checked;
pub use prepare::error::PrepareError;
pub use prepare::forecast::{over_budget, period_of};
pub use prepare::plan::{batches, first_block, run_plan};
pub use prepare::remote::{RemoteError, check_remote};
pub use prepare::services::{find_catalog, offer_services};
pub use prepare::shapes::{Shape, ShapeError};
pub use prepare::sources::{NamedRevision, look_up};
pub use words::{conditions, factors};
