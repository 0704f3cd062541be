//! A run in plain lines, for a log: one per block, and one every ten seconds of a long block. No line is
//! rewritten.

use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_report::point_words;

use super::forecast::Forecast;
use super::run::{Said, remarks};

/// The longest time without a line.
const SILENCE: Nanoseconds = Nanoseconds::from_secs(10);

/// A run, as far as its events report it.
#[derive(Debug, Default)]
pub struct PlainRun {
    forecast: Forecast,
    /// The current block, from 1.
    block: u32,
    said: Nanoseconds,
}

impl PlainRun {
    /// The lines for an event.
    pub fn event(&mut self, timed: &TimedEvent) -> Vec<Said> {
        let said = self.line(timed);
        let said: Vec<Said> = said.map(Said::note).into_iter().chain(remarks(&timed.event)).collect();
        if !said.is_empty() {
            self.said = timed.at;
        }
        said
    }

    fn line(&mut self, timed: &TimedEvent) -> Option<String> {
        let at = timed.at;
        match &timed.event {
            Event::RunStarted { title, variants, points, blocks, budget, .. } => {
                self.forecast = Forecast::new(blocks.0, *budget);
                let points = if *points > 1 { format!(", {points} points") } else { String::new() };
                let (variants, blocks) = (variants.join(", "), span(blocks.0, blocks.1));
                Some(format!("{title}: {variants}{points}, {blocks} blocks, budget {budget}"))
            }
            Event::Building { service } => Some(format!("building `{service}`")),
            Event::Divided { blocks, .. } => {
                self.forecast.fewest = *blocks;
                None
            }
            Event::BlockStarted { block, of } => {
                (self.block, self.forecast.planned) = (block + 1, *of);
                self.forecast.begin(at);
                None
            }
            Event::Phase { phase, variant, point: place, .. } => {
                self.forecast.phase(*phase, at);
                let variant = variant.as_ref().map(|variant| format!(" {variant}")).unwrap_or_default();
                let place = place.as_ref().map(point_words).filter(|place| !place.is_empty());
                let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
                self.meanwhile(at, &format!("{}{variant}{place}", phase.name()))
            }
            Event::Round { point: place, round, of, .. } => {
                let place = Some(point_words(place)).filter(|place| !place.is_empty());
                let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
                self.forecast.round(round + 1, *of);
                self.meanwhile(at, &format!("round {} of about {of}{place}", round + 1))
            }
            Event::Step { variant, rate, kept, shown, .. } => {
                self.meanwhile(at, &format!("{variant} at {rate}: {} ({shown})", kept.words()))
            }
            Event::BlockEnded { block, interim, of } => {
                self.forecast.end(at);
                self.forecast.done += 1;
                self.forecast.planned = *of;
                let interim: Vec<_> = interim.iter().map(describe).collect();
                let interim =
                    if interim.is_empty() { String::new() } else { format!(": {}", interim.join("; ")) };
                let left = self.forecast.left(at).filter(|left| left.most > Nanoseconds::ZERO);
                let left = left.map(|left| format!("; {}", left.words())).unwrap_or_default();
                let of = of + self.forecast.void;
                Some(format!("block {} of {of}{interim}{left}", block + 1))
            }
            Event::BlockVoid { .. } => {
                self.forecast.end(at);
                self.forecast.void += 1;
                None
            }
            _ => None,
        }
    }

    /// A progress line, if there was none for [`SILENCE`].
    fn meanwhile(&self, at: Nanoseconds, what: &str) -> Option<String> {
        (at.saturating_sub(self.said) >= SILENCE).then(|| {
            let left = self.forecast.left(at).map(|left| format!("; {}", left.words())).unwrap_or_default();
            let of = self.forecast.planned + self.forecast.void;
            format!("block {} of {of}: {what}{left}", self.block)
        })
    }
}

/// `6 to 30`, or `6` if both are the same.
pub fn span(least: u32, most: u32) -> String {
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

fn describe(interim: &Interim) -> String {
    let unit = interim.contrast.unit();
    let width = interim.half_width.map(|w| format!(" ± {:.1} {unit}", w * 100.0)).unwrap_or_default();
    let place = point_words(&interim.point);
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    format!("{}{place} {:+.1} {unit}{width}", interim.variant, interim.change * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::event::Phase;
    use weighbridge_model::id::PointLabel;

    fn at(seconds: u64, event: Event) -> TimedEvent {
        TimedEvent { at: Nanoseconds::from_secs(seconds), event }
    }

    #[test]
    fn one_line_per_block_and_one_every_ten_seconds() {
        let mut plain = PlainRun::default();
        let mut lines = Vec::new();
        let mut tell =
            |event: TimedEvent| lines.extend(plain.event(&event).into_iter().map(|said| said.text));
        tell(at(
            0,
            Event::RunStarted {
                title: "pong".to_owned(),
                folder: "runs/a".to_owned(),
                variants: vec!["a".to_owned(), "b".to_owned()],
                points: 1,
                blocks: (4, 4),
                budget: Nanoseconds::from_secs(100),
                headline: None,
            },
        ));
        tell(at(0, Event::BlockStarted { block: 0, of: 4 }));
        let starting =
            Event::Phase { block: 0, phase: Phase::Starting, variant: Some("b".to_owned()), point: None };
        tell(at(1, starting.clone()));
        tell(at(12, starting));
        for second in 13..25 {
            let point = PointLabel::new();
            tell(at(second, Event::Round { block: 0, point, round: 4, of: 40, recent: Vec::new() }));
        }
        let interim = Interim {
            variant: "b".to_owned(),
            point: PointLabel::new(),
            change: 0.05,
            contrast: Default::default(),
            half_width: Some(0.0123),
            lower: None,
            upper: None,
        };
        tell(at(25, Event::BlockEnded { block: 0, interim: vec![interim], of: 4 }));
        tell(at(25, Event::Warning { text: "take care".to_owned() }));
        assert_eq!(
            lines,
            [
                "pong: a, b, 4 blocks, budget 100 s",
                "block 1 of 4: starting b; about 1:28 left",
                "block 1 of 4: round 5 of about 40; about 1:18 left",
                "block 1 of 4: b +5.0 % ± 1.2 %; about 1:15 left",
                "take care",
            ]
        );
    }

    #[test]
    fn void_blocks_are_among_all_blocks() {
        let mut plain = PlainRun::default();
        let ended = |block| Event::BlockEnded { block, interim: Vec::new(), of: 2 };
        plain.event(&at(1, ended(0)));
        plain.event(&at(2, Event::BlockVoid { block: 1, reason: "a service ended".to_owned() }));
        let said = plain.event(&at(3, ended(2)));
        assert_eq!(said[0].text, "block 3 of 3");
    }

    #[test]
    fn a_block_longer_than_its_share_is_forecast_from_its_rounds() {
        let forecast = Forecast::new(1, Nanoseconds::from_secs(10));
        let mut plain = PlainRun { forecast, ..PlainRun::default() };
        assert!(plain.event(&at(0, Event::BlockStarted { block: 0, of: 1 })).is_empty());
        let measuring = Event::Phase { block: 0, phase: Phase::Measuring, variant: None, point: None };
        assert!(plain.event(&at(0, measuring)).is_empty());
        let third = Event::Round { block: 0, point: PointLabel::new(), round: 2, of: 10, recent: Vec::new() };
        let said: Vec<String> = plain.event(&at(18, third)).into_iter().map(|said| said.text).collect();
        assert_eq!(said, ["block 1 of 1: round 3 of about 10; about 0:42 left"]);
    }
}
