//! Forecasts how long a run may still take, from its progress so far.
//!
//! It is an estimate for a waiting person; only the judge decides when a run ends.

use weighbridge_model::event::Phase;
use weighbridge_model::quantity::Nanoseconds;

/// Number of latest blocks whose length predicts that of the next.
const LATEST: usize = 3;

/// The progress of a run's blocks.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    /// Fewest blocks of a run, and so the fewest before it may end.
    pub fewest: u32,
    /// Number of blocks planned now.
    pub planned: u32,
    /// Blocks that count.
    pub done: u32,
    /// Blocks that were measured again: the number of the last block is higher by these.
    pub void: u32,
    /// Time allowed.
    pub budget: Nanoseconds,
    /// How long each block took, void ones included.
    lengths: Vec<Nanoseconds>,
    began: Option<Nanoseconds>,
    /// Rates are being searched for. Other blocks take those over, so the time for it tells nothing of theirs.
    searching: bool,
    /// Measurement of the current point: when it began, rounds done and planned.
    rounds: Option<(Nanoseconds, u32, u32)>,
}

/// The remaining time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// If it ends as early as allowed.
    pub least: Nanoseconds,
    /// If every planned block runs.
    pub most: Nanoseconds,
}

impl Forecast {
    /// For a run of at least `fewest` blocks within `budget`.
    pub fn new(fewest: u32, budget: Nanoseconds) -> Self {
        Self { fewest, budget, ..Self::default() }
    }

    /// A block begins.
    pub fn begin(&mut self, at: Nanoseconds) {
        (self.began, self.rounds) = (Some(at), None);
    }

    /// A phase of the block begins.
    pub fn phase(&mut self, phase: Phase, at: Nanoseconds) {
        if phase == Phase::Measuring {
            self.rounds = Some((at, 0, 0));
            if self.searching {
                self.began = Some(at);
            }
        }
        self.searching = phase == Phase::Searching;
    }

    /// `done` of `of` rounds are complete.
    pub fn round(&mut self, done: u32, of: u32) {
        if let Some(rounds) = &mut self.rounds {
            (rounds.1, rounds.2) = (done, of);
        }
    }

    /// The block has ended.
    pub fn end(&mut self, at: Nanoseconds) {
        if let Some(began) = self.began.take() {
            self.lengths.push(at.saturating_sub(began));
        }
        (self.rounds, self.searching) = (None, false);
    }

    /// The time left; `None` before the first block, and while rates are searched for, which takes as long as it takes.
    pub fn left(&self, now: Nanoseconds) -> Option<Left> {
        if self.planned == 0 || self.searching {
            return None;
        }
        let whole = self.block();
        let present = match self.began {
            None => Nanoseconds::ZERO,
            Some(began) => whole.saturating_sub(now.saturating_sub(began)).max(self.rounds_left(now)),
        };
        let under_way = u32::from(self.began.is_some());
        let more = |blocks: u32| present + whole * u64::from(blocks.saturating_sub(self.done + under_way));
        let most = more(self.planned);
        Some(Left { least: more(self.fewest.min(self.planned)).min(most), most })
    }

    /// The predicted length of a block: as the latest ones, or its share of the budget if there are none.
    fn block(&self) -> Nanoseconds {
        let latest = &self.lengths[self.lengths.len().saturating_sub(LATEST)..];
        match latest.len() as u64 {
            0 => self.budget / u64::from(self.planned.max(1)),
            count => latest.iter().copied().sum::<Nanoseconds>() / count,
        }
    }

    /// The time for the remaining rounds of the current point, at the pace of those done.
    fn rounds_left(&self, now: Nanoseconds) -> Nanoseconds {
        match self.rounds {
            Some((since, done, of)) if done > 0 => {
                now.saturating_sub(since) * u64::from(of.saturating_sub(done)) / u64::from(done)
            }
            _ => Nanoseconds::ZERO,
        }
    }
}

impl Left {
    /// `about 1:20 left`, or `0:50 to 4:10 left` if it may end early.
    pub fn words(self) -> String {
        let (least, most) = (clock(self.least), clock(self.most));
        if least == most { format!("about {most} left") } else { format!("{least} to {most} left") }
    }
}

/// A time in the form `0:07`, `12:40`, `1:02:03`.
pub fn clock(time: Nanoseconds) -> String {
    let seconds = (time.as_nanos() + 500_000_000) / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: u64) -> Nanoseconds {
        Nanoseconds::from_secs(seconds)
    }

    fn left(least: u64, most: u64) -> Option<Left> {
        Some(Left { least: secs(least), most: secs(most) })
    }

    #[test]
    fn before_the_first_block_the_budget_is_divided() {
        let mut forecast = Forecast::new(6, secs(120));
        assert_eq!(forecast.left(secs(0)), None);
        forecast.planned = 6;
        assert_eq!(forecast.left(secs(0)), left(120, 120));
        forecast.begin(secs(1));
        assert_eq!(forecast.left(secs(11)), left(110, 110));
    }

    #[test]
    fn past_blocks_predict_later_ones() {
        let mut forecast = Forecast { planned: 30, ..Forecast::new(6, secs(600)) };
        forecast.begin(secs(0));
        forecast.end(secs(10));
        forecast.done = 1;
        assert_eq!(forecast.left(secs(10)), left(50, 290), "it may end after six blocks, or run all thirty");
        forecast.begin(secs(10));
        assert_eq!(forecast.left(secs(14)), left(46, 286));
        // A block that takes longer than the one before still has time left.
        forecast.phase(Phase::Measuring, secs(14));
        forecast.round(9, 30);
        assert_eq!(forecast.left(secs(23)), left(61, 301));
    }

    #[test]
    fn a_void_block_costs_time_and_counts_for_nothing() {
        let mut forecast = Forecast { planned: 4, ..Forecast::new(4, secs(40)) };
        forecast.begin(secs(0));
        forecast.end(secs(8));
        assert_eq!(forecast.left(secs(8)), left(32, 32));
    }

    #[test]
    fn a_search_takes_as_long_as_it_takes_and_is_no_part_of_a_block() {
        let mut forecast = Forecast { planned: 6, ..Forecast::new(6, secs(60)) };
        forecast.begin(secs(0));
        forecast.phase(Phase::Searching, secs(1));
        assert_eq!(forecast.left(secs(9)), None);
        forecast.phase(Phase::Measuring, secs(25));
        assert_eq!(forecast.left(secs(25)), left(60, 60));
        forecast.end(secs(35));
        forecast.done = 1;
        assert_eq!(forecast.left(secs(35)), left(50, 50));
    }

    #[test]
    fn times_are_shown_as_on_a_clock() {
        let shown: Vec<_> = [0, 7, 60, 759, 3_600, 3_723].map(|s| clock(secs(s))).into();
        assert_eq!(shown, ["0:00", "0:07", "1:00", "12:39", "1:00:00", "1:02:03"]);
        assert_eq!(clock(Nanoseconds::from_millis(1_500)), "0:02");
        assert_eq!(left(50, 290).expect("one").words(), "0:50 to 4:50 left");
        assert_eq!(left(50, 50).expect("one").words(), "about 0:50 left");
    }
}
