//! Every number that decides whether a figure is shown, believed or called different, on one page.
//!
//! Nothing is computed here. A change of any of these can change verdicts and belongs into the changelog.

use weighbridge_model::quantity::Nanoseconds;

// --- Estimates ---------------------------------------------------------------------------------------------------

/// Confidence level of every printed interval.
pub const LEVEL: f64 = 0.95;
/// Below this many blocks there is no interval and no verdict.
pub const BLOCKS_FOR_INTERVAL: usize = 4;
/// A quantile is shown from this many requests beyond it in every block.
pub const BEYOND_PER_BLOCK: u64 = 20;
/// A quantile's cost is shown from this many requests beyond it over all blocks, for variant and baseline.
pub const BEYOND_IN_ALL: u64 = 100;
/// Family-wise error of the verdicts of all rows but the headline, by Holm.
pub const FAMILY_ERROR: f64 = 0.05;

// --- Self-check: invalid -----------------------------------------------------------------------------------------

/// The generator's lateness (lag p99) that never matters.
pub const LAG_FLOOR: Nanoseconds = Nanoseconds::from_micros(100);
/// The generator's lateness (lag p99), as a share of the response p50, that invalidates; not below [`LAG_FLOOR`].
pub const LAG_SHARE: f64 = 0.10;
/// Share of a block's CPU time taken by the hypervisor that voids the block.
pub const STEAL_SHARE: f64 = 0.10;

// --- Self-check: suspect -----------------------------------------------------------------------------------------

/// Loop delay p50, as a share of the service p50.
pub const LOOP_DELAY_SHARE: f64 = 0.20;
/// Share of its time that the generator's loop is busy, above which it may be the limit …
pub const BUSY_SHARE: f64 = 0.85;
/// … unless the service's cores are at least this busy.
pub const SERVICE_BUSY_SHARE: f64 = 0.90;
/// Share of segments retransmitted.
pub const RETRANSMIT_SHARE: f64 = 0.0001;
/// Share of requests that failed; also the difference between two variants' shares.
pub const ERROR_SHARE: f64 = 0.01;

// --- Steadiness --------------------------------------------------------------------------------------------------

/// Change of a variant's p50 from a trial's first window to its last, on the log scale, that is called drift …
pub const DRIFT_CHANGE: f64 = 0.05;
/// … where Mann–Kendall's p is below this in most trials.
pub const DRIFT_P: f64 = 0.01;
/// p of "the order of the windows does not matter" below which carry-over is reported.
pub const CARRY_OVER_P: f64 = 0.01;
/// p of "the longer windows cost the same" below which a cost depends on the window, if it lies outside its interval.
pub const WINDOW_CHECK_P: f64 = 0.05;

// --- Steering ----------------------------------------------------------------------------------------------------

/// Window length where neither the experiment nor a period says otherwise.
pub const WINDOW_NOMINAL: Nanoseconds = Nanoseconds::from_millis(20);
/// What a window of the slowest variant may take, unless a declared period asks for more.
pub const WINDOW_LONGEST: Nanoseconds = Nanoseconds::from_secs(1);
/// Fewest requests of a window, where that can be within [`WINDOW_LONGEST`].
pub const WINDOW_REQUESTS: u64 = 200;
/// A window holds at least this many of the longest declared period.
pub const WINDOW_PERIODS: u64 = 20;
/// Busy share below which a variant need not be frozen while others are sent to.
pub const ALMOST_IDLE_SHARE: f64 = 0.10;
/// Fewest rounds of a block.
pub const ROUNDS_LEAST: u32 = 10;
/// Some check windows are this many times as long as measured ones …
pub const CHECK_SHORTER: u64 = 10;
/// … and some this many times …
pub const CHECK_LONGER: u64 = 100;
/// … or, where that would be too long, as often as fits, but at least so many times; else they are left out.
pub const CHECK_LONGER_LEAST: u64 = 33;
/// Longest check window.
pub const CHECK_LONGEST: Nanoseconds = Nanoseconds::from_secs(2);
/// Share of the measured time that check windows may take.
pub const CHECK_SHARE: f64 = 0.10;
/// Shortest warm-up of a variant, whatever the experiment says: it also finds the pace that windows are made by.
pub const WARM_UP_LEAST: Nanoseconds = Nanoseconds::from_millis(20);
/// Warm-up windows of a variant before it can be called warm.
pub const WARM_WINDOWS: usize = 20;
/// Change of the p50 over the later half of the warm-up, on the log scale, below which a variant is warm.
pub const WARM_CHANGE: f64 = 0.01;
