//! A variant whose operations run in its own process: asked for over its standard input, a window at a time, and measured
//! by its own clock.
//!
//! It stands beside the generator and does for such a variant what that does for all others: it carries out a window, or
//! asks for one reply. It decides nothing, and believes no answer that does not add up.

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::process::talk::{Talk, TalkError};
use weighbridge_load::window::{Load, Stop};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{LoopHealth, WindowFigures};
use weighbridge_workload::direct::{Answer, AnswerError, Ask};

use crate::control::Control;

/// A window is as long as the slowest variant may take, a second as a rule; who has not answered by then will not.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);
/// How often the user's wishes are looked at while an answer is waited for.
const LOOK: Nanoseconds = Nanoseconds::from_millis(50);

/// Why a service did not carry out what was asked of its process.
#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    #[error(transparent)]
    Talk(#[from] TalkError),
    #[error("it did not answer `{asked}` within {PATIENCE}")]
    Silent {
        /// The line.
        asked: String,
    },
    #[error("asked `{asked}`: {source}; services/README.md says what a service has to answer")]
    Answer {
        /// The line.
        asked: String,
        /// What is wrong with it.
        source: AnswerError,
    },
    #[error("called off")]
    CalledOff,
}

/// A service that is up and waits for lines.
#[derive(Debug)]
pub(crate) struct Direct {
    talk: Talk,
    windows: u64,
    cpu: Nanoseconds,
}

impl Direct {
    pub const fn new(talk: Talk) -> Self {
        Self { talk, windows: 0, cpu: Nanoseconds::ZERO }
    }

    /// CPU time of all windows so far, by the service's own account: what it takes to read a line and to write its
    /// answer is no operation's.
    pub const fn cpu(&self) -> Nanoseconds {
        self.cpu
    }

    /// Carries out a window of so many requests with these sizes, which are drawn from `seed`.
    pub fn window(
        &mut self,
        requests: u64,
        seed: u64,
        sizes: &[Bytes],
        control: &Control,
    ) -> Result<(WindowFigures, Answer), DirectError> {
        self.windows += 1;
        let ask = Ask { id: self.windows, requests, seed, sizes };
        let started = monotonic_now();
        let line = self.ask(&ask.to_string(), control)?;
        let line = String::from_utf8_lossy(&line);
        let answer = ask
            .answered_by(&line)
            .map_err(|source| DirectError::Answer { asked: ask.to_string(), source })?;
        self.cpu += answer.cpu;
        let figures = WindowFigures {
            started,
            ended: started + answer.elapsed,
            offered: requests,
            requests,
            operations: vec![answer.figures()],
            all: Some(answer.figures()),
            health: LoopHealth { wall: answer.elapsed, ..LoopHealth::default() },
            ..Default::default()
        };
        Ok((figures, answer))
    }

    /// Its reply to a request of this size.
    pub fn reply(&mut self, size: Bytes, control: &Control) -> Result<Vec<u8>, DirectError> {
        self.ask(&format!("reply {}", size.get()), control)
    }

    fn ask(&mut self, line: &str, control: &Control) -> Result<Vec<u8>, DirectError> {
        self.talk.say(line)?;
        let since = monotonic_now();
        loop {
            if let Some(answer) = self.talk.line(LOOK)? {
                return Ok(answer);
            }
            if !control.goes_on() {
                return Err(DirectError::CalledOff);
            }
            if monotonic_now().since(since) > PATIENCE {
                return Err(DirectError::Silent { asked: line.to_owned() });
            }
        }
    }
}

/// The requests of a window. Experiments with other loads are refused before anything is started.
pub(crate) fn requests(load: &Load) -> u64 {
    match load {
        Load::Closed(Stop::Count(requests)) => *requests,
        _ => 0,
    }
}
