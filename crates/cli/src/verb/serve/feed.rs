//! The feed of a running run: follows its events, and reports its state whenever that changes.

use weighbridge_report::browse::{Live, LiveState};
use weighbridge_store::EventFollower;
use weighbridge_store::{NewEvents, RunFolder};
use weighbridge_view::{Feed, Message, Update};

/// Consecutive checks without a writer after which a run counts as stopped; a run that ends writes its last
/// events first.
const LOOKS_WITHOUT_WRITER: u32 = 4;

/// Follows one run.
pub struct RunFeed {
    folder: RunFolder,
    follower: EventFollower,
    live: Live,
    /// The last reported state.
    reported: Option<Live>,
    without_writer: u32,
}

impl RunFeed {
    /// Follows from the run's first event on.
    pub fn new(folder: RunFolder) -> Self {
        let follower = folder.follow();
        Self { folder, follower, live: Live::default(), reported: None, without_writer: 0 }
    }

    /// The run's state after all events so far.
    pub fn now(&mut self) -> &Live {
        loop {
            match self.follower.poll() {
                Ok(NewEvents { truncated, events }) => {
                    if truncated {
                        self.live = Live::default();
                    }
                    if events.is_empty() {
                        break;
                    }
                    for event in events {
                        match event {
                            Ok(event) => self.live.apply(&event),
                            Err(error) => self.live.note(error.to_string()),
                        }
                    }
                }
                Err(error) => {
                    self.live.note(error.to_string());
                    break;
                }
            }
        }
        &self.live
    }
}

impl Feed for RunFeed {
    fn next(&mut self) -> Update {
        let message = |event, data| Message { event, data };
        self.now();
        if self.folder.has_ended() {
            return Update::Last(message("ended", String::new()));
        }
        self.without_writer = if self.folder.writer().is_some() { 0 } else { self.without_writer + 1 };
        let is_stopped =
            self.live.state == LiveState::Interrupted || self.without_writer > LOOKS_WITHOUT_WRITER;
        if self.reported.as_ref() != Some(&self.live) {
            self.reported = Some(self.live.clone());
            // The value has only texts and numbers, so serialising it cannot fail.
            return Update::Message(message("state", serde_json::to_string(&self.live).unwrap_or_default()));
        }
        if is_stopped { Update::Last(message("stopped", String::new())) } else { Update::Nothing }
    }
}
