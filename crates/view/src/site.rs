//! What a site is asked and what it answers.

use crate::policy::Policy;
use crate::request_target::RequestTarget;

/// What answers. It is asked on threads that may block, by several clients at once.
pub trait Site: Send + Sync + 'static {
    /// What stands at a target.
    fn answer(&self, target: &RequestTarget) -> Answer;
}

pub enum Answer {
    /// A page of HTML.
    Page {
        /// The page.
        html: String,
        /// What it may run and load.
        policy: Policy,
    },
    /// A file to keep.
    Download(Download),
    /// Another place on the same server, which begins with a slash.
    Redirect(String),
    /// Events until the feed or the client ends.
    Follow(Box<dyn Feed>),
    /// There is no such place; the page says so.
    Missing {
        /// The page.
        html: String,
        /// What it may run and load.
        policy: Policy,
    },
    /// It is there and cannot be shown; the page says why.
    Failed {
        /// The page.
        html: String,
        /// What it may run and load.
        policy: Policy,
    },
}

/// A file that a browser keeps instead of showing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// What it is called; whatever a header cannot hold is replaced.
    pub name: String,
    pub media_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Something that goes on, asked again and again on threads that may block.
pub trait Feed: Send + 'static {
    /// What is new since it was asked last.
    fn next(&mut self) -> Update;
}

/// What a feed has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Nothing new.
    Nothing,
    /// This.
    Message(Message),
    /// This, and nothing will follow.
    Last(Message),
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name: letters.
    pub event: &'static str,
    /// Its data; line ends are allowed.
    pub data: String,
}

impl Message {
    /// As it goes over the wire.
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
