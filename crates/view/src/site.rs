//! The interface between the server and a site.

use crate::policy::Policy;
use crate::request_target::RequestTarget;

/// Answers requests. It is called on threads that may block, for several clients at once.
pub trait Site: Send + Sync + 'static {
    /// The answer to a request for this target.
    fn answer(&self, target: &RequestTarget) -> Answer;
}

pub enum Answer {
    /// A page of HTML.
    Page {
        html: String,
        /// What the page may run and load.
        policy: Policy,
    },
    /// A file that the browser saves.
    Download(Download),
    /// The path of another page on the same server; it begins with a slash.
    Redirect(String),
    /// Events, until the feed or the client ends.
    Follow(Box<dyn Feed>),
    /// There is no such page; this one says so.
    Missing {
        html: String,
        /// What the page may run and load.
        policy: Policy,
    },
    /// The page exists and cannot be shown; this one says why.
    Failed {
        html: String,
        /// What the page may run and load.
        policy: Policy,
    },
}

/// A file that the browser saves instead of showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// File name; characters that a header cannot contain are replaced.
    pub name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// A source of events, polled on threads that may block.
pub trait Feed: Send + 'static {
    /// What is new since the last call.
    fn next(&mut self) -> Update;
}

/// The result of polling a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Nothing new.
    Nothing,
    /// A message.
    Message(Message),
    /// A message, after which nothing follows.
    Last(Message),
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Name, letters only.
    pub event: &'static str,
    /// Data; it may contain line ends.
    pub data: String,
}

impl Message {
    /// The message as it is sent.
    pub(crate) fn text(&self) -> String {
        let lines: String = self.data.lines().map(|line| format!("data: {line}\n")).collect();
        let data = if lines.is_empty() { "data:\n".to_owned() } else { lines };
        format!("event: {}\n{data}\n", self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_several_lines_stays_one_event() {
        let message = Message { event: "state", data: "a\r\nb\n\nevent: forged".into() };
        assert_eq!(message.text(), "event: state\ndata: a\ndata: b\ndata: \ndata: event: forged\n\n");
        assert_eq!(Message { event: "ended", data: String::new() }.text(), "event: ended\ndata:\n\n");
    }
}
