//! A probe in a thread, and a client that reads HTTP replies strictly.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread::JoinHandle;

use weighbridge_probe::{Finished, Options, ServeError, Stop, serve};

pub struct Probe {
    pub port: u16,
    stop: Stop,
    thread: Option<JoinHandle<Result<Finished, ServeError>>>,
}

impl Probe {
    pub fn obeying(law: &str) -> Self {
        Self::start(Options::new(law.parse().unwrap()))
    }

    pub fn start(options: Options) -> Self {
        let stop = Stop::new().unwrap();
        let (sender, receiver) = mpsc::channel();
        let theirs = stop.clone();
        let thread = std::thread::spawn(move || serve(options, &theirs, |port| sender.send(port).unwrap()));
        let port = receiver.recv().expect("the probe listens");
        Self { port, stop, thread: Some(thread) }
    }

    pub fn client(&self) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    /// Sends one request on a separate connection.
    pub fn get(&self, path: &str) -> Reply {
        let mut client = self.client();
        client.get(path);
        client.reply()
    }

    pub fn request_stop(&self) {
        self.stop.request();
    }

    pub fn finish(mut self) -> Finished {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub struct Client(BufReader<TcpStream>);

#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    pub fn get(&mut self, path: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: probe\r\n\r\n"));
    }

    pub fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    pub fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let length: usize = reply.header("content-length").unwrap().parse().unwrap();
        reply.body = vec![0; length];
        self.0.read_exact(&mut reply.body).unwrap();
        reply
    }

    pub fn head(&mut self) -> Reply {
        let status_line = self.line();
        let status = status_line.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                return Reply { status, headers, body: Vec::new() };
            }
            let (name, value) = line.split_once(": ").unwrap();
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.strip_suffix("\r\n").unwrap_or_else(|| panic!("not a line: {line:?}")).to_owned()
    }

    /// Whether the server ended the connection properly, with nothing left to read.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).unwrap();
        rest.is_empty()
    }
}

/// The pong of `n` bytes, built naively.
pub fn pong(n: usize) -> Vec<u8> {
    let mut word = vec![b'o'; n];
    word[0] = b'p';
    word[n - 2] = b'n';
    word[n - 1] = b'g';
    word
}
