//! Every number that decides whether a figure is shown, believed or called different.
//!
//! A change of any of these can change verdicts and belongs into the changelog.

use weighbridge_model::quantity::Nanoseconds;

// --- Estimates ---------------------------------------------------------------------------------------------------

/// Confidence level of every printed interval.
pub const LEVEL: f64 = 0.95;
/// Below this many blocks there is no interval and no verdict.
pub const BLOCKS_FOR_INTERVAL: usize = 4;
/// From this many blocks on a bootstrap interval is shown beside the t interval of a cost.
pub const BLOCKS_FOR_BOOTSTRAP: usize = 10;
/// A quantile is shown from this many requests beyond it in every block.
pub const BEYOND_PER_BLOCK: u64 = 20;
/// A quantile's cost is shown from this many requests beyond it over all blocks, for variant and baseline.
pub const BEYOND_IN_ALL: u64 = 100;
/// Family-wise error of the verdicts of all rows but the headline, by Holm.
pub const FAMILY_ERROR: f64 = 0.05;

// --- Self-check: invalid -----------------------------------------------------------------------------------------

/// The generator's lateness (lag p99, or that of a higher rank) that never moves a figure.
pub const LAG_FLOOR: Nanoseconds = Nanoseconds::from_micros(100);
/// The generator's lateness, as a share of the response time of the same rank, that withholds it; not below
/// [`LAG_FLOOR`]. Of a step of a search for capacity: lag p99 as a share of the smallest limit of a time.
pub const LAG_SHARE: f64 = 0.10;
/// Share of a block's CPU time taken by the hypervisor that voids the block.
pub const STEAL_SHARE: f64 = 0.10;

/// Time after the last request was due until the last reply, as a share of the time in which they became due, from which
/// an open load on one URL left a queue that grew …
pub const QUEUE_DRAIN: f64 = 0.10;
/// … and at least this long.
pub const QUEUE_DRAIN_LEAST: Nanoseconds = Nanoseconds::from_millis(50);

// --- Self-check: suspect -----------------------------------------------------------------------------------------

/// Loop delay p50, as a share of the service p50.
pub const LOOP_DELAY_SHARE: f64 = 0.20;
/// Share of its time that the generator's loop is busy, above which it may be the limit …
pub const BUSY_SHARE: f64 = 0.85;
/// … unless the service's cores are at least this busy.
pub const SERVICE_BUSY_SHARE: f64 = 0.90;
/// Share of segments retransmitted.
pub const RETRANSMIT_SHARE: f64 = 0.0001;
/// Retransmitted segments of a variant's hosts for each new one, above which packets are lost on the way. A
/// pause between windows causes some retransmissions, but fewer than this.
pub const LOST_SHARE: f64 = 0.02;
/// Share of requests that failed; also the difference between two variants' shares.
pub const ERROR_SHARE: f64 = 0.01;
/// Share of requests whose reply has wrong content, from which on figures are invalid.
pub const WRONG_SHARE: f64 = 0.01;

// --- Steadiness --------------------------------------------------------------------------------------------------

/// Change of a variant's p50 over the measured windows of a trial, on the log scale, that counts as drift …
pub const DRIFT_CHANGE: f64 = 0.05;
/// … where Mann–Kendall's p is below this in most trials.
pub const DRIFT_P: f64 = 0.01;
/// p of "the order of the windows does not matter" below which carry-over is reported.
pub const CARRY_OVER_P: f64 = 0.01;
/// Carry-over below this share of the margin does not matter: orders are balanced, so that at most half of it is left.
pub const CARRY_OVER_LEAST: f64 = 0.1;
/// p of "the cost is the same however idle cores wait" below which both costs are reported, if the other lies
/// outside the cost's interval.
pub const IDLE_CHECK_P: f64 = 0.01;
/// Fewest blocks with a check of windows or of idle cores for a conclusion.
pub const CHECKED_BLOCKS: usize = 3;
/// Core latencies whose ratio is at least this belong to two places …
pub const CORE_LATENCY_LEVELS: f64 = 1.5;
/// … which are reported where the baseline's p50, or a variant's cost, differs by at least this between them,
/// on the log scale.
pub const CORE_LATENCY_CHANGE: f64 = 0.03;
/// p of "the cost is the same in both places" below which both costs are reported.
pub const CORE_LATENCY_P: f64 = 0.01;
/// p of "the longer windows cost the same" below which a cost depends on the window, if theirs lies outside
/// its interval.
pub const WINDOW_CHECK_P: f64 = 0.01;

/// Fewest starts in which two levels are looked for, and …
pub const LEVEL_STARTS: usize = 6;
/// … the error of "each level is one value" at which starts still count as two levels.
pub const LEVEL_P: f64 = 0.05;
/// Share of the variance between starts that two levels may leave unexplained with so few starts, and …
pub const LEVEL_LEFT: f64 = 0.02;
/// … the additional share for each further start, up to 20 starts.
pub const LEVEL_LEFT_MORE: f64 = 0.0075;
/// Change of the cost between measured windows, which follow a freeze, and a warm-up without one, on the log
/// scale, that is reported …
pub const TURN_CHANGE: f64 = 0.05;
/// … where its p over blocks is below this.
pub const TURN_P: f64 = 0.01;
/// Fewest requests of a window of such a warm-up, or sessions where windows hold whole ones, for each slot but one.
pub const TURN_REQUESTS: u64 = 20;
/// A window holds a pause where its longest response is at least this …
pub const PAUSE_LEAST: Nanoseconds = Nanoseconds::from_millis(1);
/// … and this many times the p50 of the slower of variant and baseline.
pub const PAUSE_FACTOR: f64 = 20.0;
/// Pauses are reported if they take this share of the time more than the other variant's …
pub const PAUSE_SHARE: f64 = 0.01;
/// … with a p over blocks below this.
pub const PAUSE_P: f64 = 0.05;
/// Fewest blocks whose costs are tested for a drift through the run, at [`DRIFT_P`].
pub const RUN_DRIFT_BLOCKS: usize = 8;

/// Replies that stalled for as long as a delayed acknowledgement takes (`HELD_UP` of the records), and calls
/// of a relay that took as long, are reported from this share of all on …
pub const DELAYED_ACK_SHARE: f64 = 0.05;
/// … and from this count on, since a busy host stalls a few as long; …
pub const DELAYED_ACK_LEAST: u64 = 10;
/// … calls only if at most this share of their number lies in a range of equal relative width just below.
pub const DELAYED_ACK_BELOW: f64 = 0.10;

// --- Tail --------------------------------------------------------------------------------------------------------

/// Tail events a block, on average, below which a total that depends on them is flagged.
pub const TAIL_EVENTS: f64 = 5.0;
/// A window is a tail event of a mean if it lies this many robust standard deviations above the block's
/// median window.
pub const TAIL_DEVIATIONS: f64 = 5.0;
/// A mean depends on its tail events if they make up more than this share of the windows' sum of squares …
pub const TAIL_SPREAD: f64 = 0.25;
/// … and at least this share of the mean.
pub const TAIL_WEIGHT: f64 = 0.001;

// --- Spread ------------------------------------------------------------------------------------------------------

/// Most parts into which a block's rounds are cut for variance components.
pub const VARIANCE_PARTS: usize = 10;
/// Another division of the time is advised if it narrows the interval by at least this share.
pub const ADVICE_GAIN: f64 = 0.10;

// --- Calibration of a host ---------------------------------------------------------------------------------------

/// Probability with which the smallest detectable difference is found.
pub const POWER: f64 = 0.8;
/// Fewest runs whose standard deviation is reported.
pub const RUNS_FOR_DEVIATION: usize = 3;

// --- Steering ----------------------------------------------------------------------------------------------------

/// Window length unless the experiment or a period sets another.
pub const WINDOW_NOMINAL: Nanoseconds = Nanoseconds::from_millis(20);
/// Longest window of the slowest variant, unless a declared period needs more.
pub const WINDOW_LONGEST: Nanoseconds = Nanoseconds::from_secs(1);
/// Fewest requests of a window, if that is possible within [`WINDOW_LONGEST`].
pub const WINDOW_REQUESTS: u64 = 200;
/// A window holds at least this many of the longest declared period.
pub const WINDOW_PERIODS: u64 = 20;
/// Busy share below which a variant need not be frozen while others receive requests.
pub const ALMOST_IDLE_SHARE: f64 = 0.10;
/// Fewest rounds of a block.
pub const ROUNDS_LEAST: u32 = 10;
/// Some check windows are this many times as long as measured ones …
pub const CHECK_SHORTER: u64 = 10;
/// … and some this many times …
pub const CHECK_LONGER: u64 = 100;
/// … or, if that would be too long, as many times as fit, but at least this; otherwise there are none.
pub const CHECK_LONGER_LEAST: u64 = 33;
/// Longest check window.
pub const CHECK_LONGEST: Nanoseconds = Nanoseconds::from_secs(2);
/// Share of the measured time that check windows may take.
pub const CHECK_SHARE: f64 = 0.10;
/// Share of the measured time that the idle check may take.
pub const IDLE_CHECK_SHARE: f64 = 0.10;
/// Fewest rounds of an idle check.
pub const IDLE_CHECK_ROUNDS: u32 = 4;
/// Shortest warm-up of a variant, whatever the experiment says: it also measures the pace for the windows.
pub const WARM_UP_LEAST: Nanoseconds = Nanoseconds::from_millis(20);
/// Warm-up windows of a variant before it can be called warm.
pub const WARM_WINDOWS: usize = 20;
/// Change of the p50 over the last third of the warm-up, on the log scale, below which a variant is warm …
pub const WARM_CHANGE: f64 = 0.01;
/// … or below this, if it is no more than noise; …
pub const WARM_NOISE: f64 = 0.10;
/// … extrapolated to this time if that third is shorter.
pub const WARM_SPAN: Nanoseconds = Nanoseconds::from_millis(500);
/// Longest warm-up of a variant that still becomes faster, or still works in its rests, as a multiple of the
/// required one …
pub const WARM_UP_SETTLING: u64 = 60;
/// … but not more than this, unless ten times the required one is more.
pub const WARM_UP_LONGEST: Nanoseconds = Nanoseconds::from_secs(60);
/// In a warm-up a variant rests without requests for this long …
pub const REST: Nanoseconds = Nanoseconds::from_millis(10);
/// … after this much time of windows, …
pub const REST_EVERY: Nanoseconds = Nanoseconds::from_millis(250);
/// … and again while it uses this share of a core in its rests, …
pub const REST_BUSY: f64 = 0.10;
/// … up to this long.
pub const REST_LONGEST: Nanoseconds = Nanoseconds::from_secs(2);
/// Least share of its part of the budget that a block measures for, however long its warm-ups took.
pub const MEASURED_LEAST: f64 = 0.25;
/// Turns after which windows are compared with windows without a freeze, for each variant and length.
pub const TURN_WINDOWS: usize = 5;
/// Time that a variant runs on after such a window; it is compared with the windows of the later half of that
/// time.
pub const TURN_RUN_ON: Nanoseconds = Nanoseconds::from_millis(500);
/// Standard errors by which the effect of turns may exceed the margin.
pub const TURN_ERRORS: f64 = 2.0;
/// Window length to try if the nominal one depends on turns, …
pub const TURN_LONGER: Nanoseconds = Nanoseconds::from_millis(100);
/// … then this one …
pub const TURN_LONG: Nanoseconds = Nanoseconds::from_millis(500);
/// … and this one.
pub const TURN_LONGEST: Nanoseconds = Nanoseconds::from_secs(2);

// --- Capacity ----------------------------------------------------------------------------------------------------

/// A step is overloaded if its smallest backlog grew in each of this many tenths …
pub const OVERLOAD_TENTHS: usize = 5;
/// … and to this multiple over them.
pub const OVERLOAD_GROWTH: f64 = 1.5;
/// A step is also overloaded if the smallest backlog makes everybody wait for this multiple of the limit.
pub const OVERLOAD_WAIT: f64 = 10.0;
/// Share of the warm-up's pace at which the search for a capacity begins.
pub const SEARCH_BEGIN: f64 = 0.125;
/// Length of the steps that bracket and narrow, …
pub const SEARCH_STEP: Nanoseconds = Nanoseconds::from_millis(500);
/// … but long enough for this many requests, …
pub const STEP_REQUESTS: u64 = 1_000;
/// … or this many where rates are listed and no objective is a quantile: each rate has its row, and none is near a limit that a
/// search has found, …
pub const LISTED_STEP_REQUESTS: u64 = 100;
/// … and not longer than this.
pub const STEP_LONGEST: Nanoseconds = Nanoseconds::from_secs(60);
/// The generator's ceiling is not approached further than to this factor.
pub const CEILING_NEAR: f64 = 1.25;
/// Steps of a search after which it takes what it has.
pub const SEARCH_STEPS: usize = 24;
/// After so many steps at a rate that a busy generator spoiled, the rate counts as its ceiling.
pub const BUSY_STEPS: usize = 2;
/// The same where it was late though it had time left: a host that holds it up does so at any rate.
pub const LATE_STEPS: usize = 6;
/// Halvings of the first rate after which the search ends if the generator spoiled every step: the host holds it up, not
/// the rate.
pub const SPOILED_HALVINGS: i32 = 2;
/// From so many steps on that the generator spoiled at rates which it offered on time at other times, a run tells of them.
pub const SPOILED_MANY: usize = 3;
/// A quantile needs this many requests beyond it in a step.
pub const BEYOND_PER_STEP: u64 = 20;
/// Halvings below the first rate after which a service is not asked for less.
pub const SEARCH_HALVINGS: i32 = 10;
/// A bracket is narrowed to this width.
pub const BRACKET_WIDTH: f64 = 0.10;
/// Rates count the less for the line, the further their statistic is from the limit: a normal weight with this
/// deviation on the log scale.
pub const LINE_REACH: f64 = 0.4;
/// How near to each other the rates of a block come.
pub const CAPACITY_WIDTH: f64 = 0.01;
/// A capacity is steep where the statistic changes by this multiple of the rate's change: starts that differ by
/// 0.5 % then differ by 30 % in the statistic.
pub const STEEP_ELASTICITY: f64 = 60.0;
/// Further rates that one block may need.
pub const EXTRA_STEPS: usize = 8;
/// p of "the line fits" below which the rates are joined by a monotone curve.
pub const LACK_OF_FIT_P: f64 = 0.01;
/// Level of intervals that show an end which is not an estimate: not monotone, hysteresis.
pub const SURE_LEVEL: f64 = 0.999;
/// A step has collapsed if its statistic is this multiple of that of a higher rate in the same life …
pub const COLLAPSE: f64 = 10.0;
/// … which is at most this multiple of the limit.
pub const KEPT_NEARLY: f64 = 1.5;
/// Effect of what came before on the statistic, on the log scale, that counts as hysteresis.
pub const COURSE_EFFECT: f64 = 0.25;
/// Change of a capacity over the blocks, on the log scale, that counts as drift, where [`DRIFT_P`] holds.
pub const CAPACITY_DRIFT: f64 = 0.02;
