//! One session asked once, outside every timed part, to see whether variants give equal answers.
//!
//! It supplies the next request and the canonical answer of each reply; it sends nothing. Values taken from replies
//! never appear in its output.

use std::sync::Arc;

use httparse::Header;
use weighbridge_load::framer::Head;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_model::record::Outcome;

use super::scenes::Scenes;
use crate::canonical::{Canonical, Received};
use crate::checks::explain::Explain;
use crate::{Entry, Workload};

/// The next request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The request in one line.
    pub title: &'a str,
    /// The rendered request.
    pub rendered: &'a Rendered,
}

/// A session of a workload, asked request by request.
pub struct Conversation<'a> {
    workload: &'a Workload,
    state: State,
    /// Values taken from replies so far, which must not be shown.
    hidden: Vec<String>,
}

enum State {
    /// One request, not yet sent.
    Single(usize),
    /// A session whose next request is this one.
    Session {
        scenes: Box<Scenes>,
        request: RequestId,
        plan: usize,
        at: usize,
    },
    Over,
}

impl std::fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").finish_non_exhaustive()
    }
}

impl Workload {
    /// Number of kinds of session; without sessions, one for each kind of request.
    pub fn conversations(&self) -> usize {
        self.scene.as_ref().map_or(self.entries.len(), |scene| scene.plans.len())
    }

    /// The session of kind `number`, from its beginning, with the first row of each file.
    pub fn conversation(&self, number: usize) -> Conversation<'_> {
        let state = match &self.scene {
            None => State::Single(number),
            Some(scene) => {
                let mut scenes = Box::new(Scenes::new(Arc::clone(scene)));
                scenes.prepare(1);
                let request = scenes.begin_first(number);
                State::Session { scenes, request, plan: number, at: 0 }
            }
        };
        Conversation { workload: self, state, hidden: Vec::new() }
    }
}

impl Conversation<'_> {
    /// The next request; `None` if the session is over.
    pub fn question(&self) -> Option<Question<'_>> {
        let entry = self.entry()?;
        let rendered = match &self.state {
            State::Single(_) => &entry.rendered,
            State::Session { scenes, request, .. } => scenes.request(*request),
            State::Over => return None,
        };
        Some(Question { title: &entry.title, rendered })
    }

    fn entry(&self) -> Option<&Entry> {
        let kind = match &self.state {
            State::Single(kind) => *kind,
            State::Session { plan, at, .. } => self.workload.scene.as_ref()?.plans[*plan].requests[*at],
            State::Over => return None,
        };
        self.workload.entries.get(kind)
    }

    /// Processes the answer to the last question and moves on to the next. `hide` makes a text safe to show.
    pub fn answer(
        &mut self,
        received: &Received<'_>,
        hide: &dyn Fn(&str) -> String,
    ) -> Result<Canonical, String> {
        let step = self.listen(received);
        let hidden = &self.hidden;
        let hide = |text: &str| {
            hide(
                &hidden
                    .iter()
                    .fold(text.to_owned(), |text, value| text.replace(value.as_str(), "<extracted>")),
            )
        };
        let Some(entry) = self.entry() else { return Err("nothing was asked".to_owned()) };
        let canonical = self.workload.canonical_of(entry, received, &hide)?;
        let step = step?;
        self.state = match (std::mem::replace(&mut self.state, State::Over), step) {
            (State::Session { scenes, plan, at, .. }, Step::Send(request)) => {
                State::Session { scenes, request, plan, at: at + 1 }
            }
            _ => State::Over,
        };
        Ok(canonical)
    }

    /// Values taken from replies: to be hidden wherever an answer is shown.
    pub fn hidden(&self) -> &[String] {
        &self.hidden
    }

    /// Lets the session take its values from the answer.
    fn listen(&mut self, received: &Received<'_>) -> Result<Step, String> {
        let State::Session { scenes, request, .. } = &mut self.state else { return Ok(Step::End) };
        let fields: Vec<_> =
            received.headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
        let check = scenes.scene_check(0);
        check.head(&Head { status: received.status, fields: &fields });
        check.data(received.body);
        let outcome = check.done();
        let why = check.explain();
        let why = why.map(|why| String::from_utf8_lossy(&why).into_owned());
        if outcome != Outcome::Ok {
            check.keep_values_for_redaction();
        }
        let taken = check.taken().values().map(|value| String::from_utf8_lossy(value).into_owned());
        self.hidden.extend(taken.filter(|value| value.len() >= SHORTEST));
        // Longer values go first, because they may contain shorter ones.
        self.hidden.sort_by_key(|value| std::cmp::Reverse(value.len()));
        match outcome {
            Outcome::Ok => Ok(scenes.next(0, &Reply { request: *request, outcome })),
            Outcome::Error(_) => {
                Err(why.unwrap_or_else(|| "the reply is not what the workload expects".to_owned()))
            }
        }
    }
}

/// Shortest value that is hidden: a single digit is no secret, and hiding it everywhere would make text unreadable.
const SHORTEST: usize = 4;
