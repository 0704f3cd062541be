//! A variant whose operations run in its own process: it is asked for one window at a time over its standard
//! input, and measures with its own clock.
//!
//! This module takes the generator's part for it. It rejects inconsistent answers.

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::process::talk::{Talk, TalkError};
use weighbridge_load::window::{Load, Stop};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{LoopHealth, WindowFigures};
use weighbridge_workload::direct::{Answer, AnswerError, Ask};

use crate::control::Control;

/// A window takes a second as a rule; a service that has not answered by then will not.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);
/// Interval at which requests of the user are checked during a wait.
const LOOK: Nanoseconds = Nanoseconds::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub enum DirectError {
    #[error(transparent)]
    Talk(#[from] TalkError),
    #[error("it did not answer `{asked}` within {PATIENCE}")]
    Silent { asked: String },
    #[error("asked `{asked}`: {source}; services/README.md says what a service has to answer")]
    Answer { asked: String, source: AnswerError },
    #[error("called off")]
    Cancelled,
}

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

    /// CPU time of all windows so far, as the service reports it: without the time for its input and output.
    pub const fn cpu(&self) -> Nanoseconds {
        self.cpu
    }

    /// Carries out a window of so many requests, whose sizes are drawn from `sizes` by `seed`.
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
            if control.is_cancelled() {
                return Err(DirectError::Cancelled);
            }
            if monotonic_now().since(since) > PATIENCE {
                return Err(DirectError::Silent { asked: line.to_owned() });
            }
        }
    }
}

/// Experiments with other loads were refused before anything was started.
pub(crate) fn requests(load: &Load) -> u64 {
    match load {
        Load::Closed(Stop::Count(requests)) => *requests,
        _ => 0,
    }
}
