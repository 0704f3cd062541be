//! A run that goes on, as a feed: reads its events on, and says how it stands whenever that changed.

use weighbridge_report::browse::{Live, LiveState};
use weighbridge_store::EventFollower;
use weighbridge_store::{Followed, RunFolder};
use weighbridge_view::{Feed, Message, Update};

/// Looks in a row with nobody writing after which a run is called stopped: a run that ends leaves its last events first.
const LOOKS_WITHOUT_WRITER: u32 = 4;

/// Follows one run.
pub struct RunFeed {
    folder: RunFolder,
    follower: EventFollower,
    live: Live,
    /// What was told last.
    told: Option<Live>,
    without_writer: u32,
}

impl RunFeed {
    /// From the run's first event on.
    pub fn new(folder: RunFolder) -> Self {
        let follower = folder.follow();
        Self { folder, follower, live: Live::default(), told: None, without_writer: 0 }
    }

    /// How the run stands by all events so far.
    pub fn now(&mut self) -> &Live {
        loop {
            match self.follower.look() {
                Ok(Followed { begun_anew, events }) => {
                    if begun_anew {
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
        if self.folder.summary().is_ok() {
            return Update::Last(message("ended", String::new()));
        }
        self.without_writer = if self.folder.writer().is_some() { 0 } else { self.without_writer + 1 };
        let is_stopped =
            self.live.state == LiveState::Interrupted || self.without_writer > LOOKS_WITHOUT_WRITER;
        if self.told.as_ref() != Some(&self.live) {
            self.told = Some(self.live.clone());
            // A value of texts and numbers: the ways in which this can fail cannot occur.
            return Update::Message(message("state", serde_json::to_string(&self.live).unwrap_or_default()));
        }
        if is_stopped { Update::Last(message("stopped", String::new())) } else { Update::Nothing }
    }
}
