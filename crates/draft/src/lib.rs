//! Requests from other sources (a command line of curl, mutilate or memtier, a recording of a browser, a description of an
//! API), and the commented experiment file that sends them.
//!
//! Everything here is a function of text: files are read only through the caller's reader, and nothing is sent. Secrets
//! never reach the file; it names an environment variable instead, and a note says which. Unsupported parts are
//! refused, or left out with a note, never ignored silently.

pub mod cache_tools;
pub mod curl;
pub mod har;
pub mod jmh;
pub mod openapi;
mod parameters;
mod requests;
mod secret;
mod write;

use weighbridge_model::experiment::{Protocol, Template, TlsSpec, Url};
use weighbridge_model::quantity::Nanoseconds;

pub use requests::Request;

/// The content of an experiment file.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What the experiment asks, in one line.
    pub title: String,
    /// The server to ask.
    pub server: Server,
    /// At least one, with unique names.
    pub requests: Vec<Request>,
    /// Indices of the requests in the order in which one client sends them; `None` if each is sent independently, by
    /// weight.
    pub session: Option<Vec<usize>>,
    /// After this a request has failed, if the source says so.
    pub timeout: Option<Nanoseconds>,
    /// What was left out and what to do, each a sentence without a full stop.
    pub notes: Vec<String>,
}

/// The server of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum Server {
    /// A server that is already running.
    Address(Box<Address>),
    /// Two that are already running, the baseline first.
    Two(Url, Url),
    /// Programs that are started for it, the baseline first: commands as typed, with or without `{port}`.
    Commands(Vec<String>),
}

/// Where a server is, and how to connect to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// Its URL; the path is a base to which those of requests are added.
    pub url: Url,
    /// Its protocol, if the URL does not decide it.
    pub protocol: Option<Protocol>,
    /// TLS settings that differ from the default.
    pub tls: Option<TlsSpec>,
    /// The Unix socket to connect to.
    pub unix: Option<String>,
}

impl Address {
    /// A server whose URL says everything.
    pub const fn plain(url: Url) -> Self {
        Self { url, protocol: None, tls: None, unix: None }
    }
}

impl Draft {
    /// One `GET` of an address.
    pub fn of_url(url: &Url) -> Self {
        let request = Request { name: "get".to_owned(), ..Request::get(&Template::escaped(&url.path)) };
        let base = Url { path: "/".to_owned(), ..url.clone() };
        Self {
            title: "my service".to_owned(),
            server: Server::Address(Box::new(Address::plain(base))),
            requests: vec![Request { status: Some(200), ..request }],
            session: None,
            timeout: None,
            notes: Vec::new(),
        }
    }

    /// One `GET` of the same path of two servers.
    pub fn of_two(first: &Url, second: &Url) -> Self {
        let base = |url: &Url| Url { path: "/".to_owned(), ..url.clone() };
        Self { server: Server::Two(base(first), base(second)), ..Self::of_url(first) }
    }

    /// One `GET` of a path of programs that are started for it.
    pub fn of_commands(commands: &[String], path: &str) -> Self {
        let request = Request { name: "get".to_owned(), ..Request::get(&Template::escaped(path)) };
        Self {
            title: "my service".to_owned(),
            server: Server::Commands(commands.to_vec()),
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
