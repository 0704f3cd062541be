//! Shapes of load as text: whatever is accepted is written as text that reads back as the same value, and a profile's
//! schedule never goes back in time.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use weighbridge_load::pace::{Flow, Schedule, Source};
use weighbridge_model::experiment::{Arrivals, Profile, SessionLength, Think};
use weighbridge_model::quantity::Timestamp;

/// Reads `data` as each of the shapes.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    reads_back::<Arrivals>(text);
    reads_back::<Think>(text);
    reads_back::<SessionLength>(text);
    let Some(profile) = reads_back::<Profile>(text) else { return };
    assert_eq!(profile.check(), Ok(()), "{text:?}");
    assert!(profile.mean().get() <= profile.peak().get() * (1.0 + 1e-9), "{text:?}");
    for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::Jitter(Arrivals::JITTER)] {
        let flow = Flow::new(Source::Law { profile: profile.clone(), arrivals });
        let mut schedule = Schedule::new(&flow, 1, Timestamp::from_nanos(0));
        let mut last = Timestamp::from_nanos(0);
        for _ in 0..100 {
            let Some(next) = schedule.next_arrival() else { break };
            assert!(next >= last, "{text:?}: {next:?} after {last:?}");
            last = next;
        }
    }
}

fn reads_back<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) -> Option<T> {
    match text.parse::<T>() {
        Ok(value) => {
            let written = value.to_string();
            match written.parse::<T>() {
                Ok(again) => assert_eq!(again, value, "{written}"),
                Err(error) => panic!("what was written is refused: {error}"),
            }
            Some(value)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}
