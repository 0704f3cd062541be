//! Requests as others write them down (a command line of curl, a recording of a browser, a description of an API), and
//! the commented experiment file that asks them.
//!
//! Everything here is a function of text: no file is opened but through the caller's reader, nothing is sent. Secrets
//! never reach the file; it names a variable of the environment instead, and a note says which. What cannot be taken
//! over is refused, or left out with a note, never passed over in silence.

pub mod curl;
pub mod har;
pub mod openapi;
mod parameters;
mod requests;
mod secret;
mod write;

use weighbridge_model::experiment::{Protocol, TlsSpec, Url};
use weighbridge_model::quantity::Nanoseconds;

pub use requests::Request;

/// What an experiment file is written from.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What the experiment asks, in a line.
    pub title: String,
    /// Whom.
    pub server: Server,
    /// At least one, each with a name of its own.
    pub requests: Vec<Request>,
    /// Places of the requests in the order in which one client sends them; without it each is sent by itself, by weight.
    pub session: Option<Vec<usize>>,
    /// After this a request has failed, where the source says so.
    pub timeout: Option<Nanoseconds>,
    /// What was left out and what is to be done, each a sentence without full stop.
    pub notes: Vec<String>,
}

/// Whom an experiment asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Server {
    /// A server that runs already.
    Address(Box<Address>),
    /// A program that is started for it: a command as it is typed, with `{port}` or without.
    Command(String),
}

/// Where a server is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// Its URL; the path is a base to which those of requests are added.
    pub url: Url,
    /// Where it is not the URL's own.
    pub protocol: Option<Protocol>,
    /// Where it is not the default.
    pub tls: Option<TlsSpec>,
    /// The Unix socket that leads there.
    pub unix: Option<String>,
}

impl Address {
    /// A server spoken to as its URL says.
    pub const fn plain(url: Url) -> Self {
        Self { url, protocol: None, tls: None, unix: None }
    }
}

impl Draft {
    /// One `GET` of an address.
    pub fn of_url(url: &Url) -> Self {
        let request = Request { name: "get".to_owned(), ..Request::get(&url.path) };
        let base = Url { path: "/".to_owned(), ..url.clone() };
        Self {
            title: "my service against itself".to_owned(),
            server: Server::Address(Box::new(Address::plain(base))),
            requests: vec![Request { status: Some(200), ..request }],
            session: None,
            timeout: None,
            notes: Vec::new(),
        }
    }

    /// One `GET` of a path of a program that is started for it.
    pub fn of_command(command: &str, path: &str) -> Self {
        let request = Request { name: "get".to_owned(), ..Request::get(path) };
        Self {
            title: "my service".to_owned(),
            server: Server::Command(command.to_owned()),
            requests: vec![Request { status: Some(200), ..request }],
            session: None,
            timeout: None,
            notes: Vec::new(),
        }
    }

    /// The experiment file, commented.
    pub fn to_file(&self) -> String {
        write::file(self)
    }
}

/// Reads a file that a source names.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> std::io::Result<Vec<u8>>;
