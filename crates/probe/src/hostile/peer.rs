//! Runs a script on one connection: reads requests as far as the script needs them, and writes the script's bytes.
//!
//! Blocking, on a thread of its own: it sleeps in the kernel while the client does not read, and ends when the client
//! has left or the socket is shut down from outside. It reads no clock.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};

use super::Protocol;
use super::script::{Certificate, Script, ScriptStep};
use crate::frames::{self, Frame, On, flag, kind};
use crate::sys;

/// Pause after each byte that is written slowly.
const DRIP: Duration = Duration::from_millis(20);

/// Longest head, line or frame of a client that is read; a longer one ends the connection.
const REQUEST_LIMIT: usize = 16 << 20;

/// Size of one read.
const PIECE: usize = 64 * 1024;

/// Returns the TLS settings for a certificate.
pub type Handshakes<'a> = dyn Fn(Certificate) -> io::Result<Arc<ServerConfig>> + Sync + 'a;

/// The server's end of one connection.
pub struct Peer<'a> {
    socket: &'a TcpStream,
    protocol: Protocol,
    handshakes: &'a Handshakes<'a>,
    tls: Option<ServerConnection>,
    /// Bytes read and not processed yet.
    inbox: Vec<u8>,
    preface: Preface,
    grants: Grants,
    /// The stream of the last HTTP/2 request.
    stream: u32,
    /// The key last requested from memcached.
    key: Vec<u8>,
}

/// Whether HTTP/2's preface was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preface {
    Expected,
    Seen,
}

/// Whether an HTTP/2 upload gets more flow-control window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grants {
    AsMuchAsCame,
    Nothing,
}

/// Whether the connection continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continuation {
    On,
    Over,
}

/// Runs `script` until it is over or the client has left. Errors of the socket mean that the client has left.
pub fn play(
    script: &Script,
    protocol: Protocol,
    socket: &TcpStream,
    handshakes: &Handshakes<'_>,
) -> io::Result<()> {
    // Without this the kernel would merge single bytes.
    socket.set_nodelay(true)?;
    let mut peer = Peer {
        socket,
        protocol,
        handshakes,
        tls: None,
        inbox: Vec::new(),
        preface: Preface::Expected,
        grants: Grants::AsMuchAsCame,
        stream: 1,
        key: Vec::new(),
    };
    for step in &script.opening {
        if peer.step(step)? == Continuation::Over {
            return Ok(());
        }
    }
    while !script.each.is_empty() {
        for step in &script.each {
            if peer.step(step)? == Continuation::Over {
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Peer<'_> {
    fn step(&mut self, step: &ScriptStep) -> io::Result<Continuation> {
        match step {
            ScriptStep::Request => self.request()?,
            ScriptStep::Send(bytes) => self.send(&self.filled_in(bytes))?,
            ScriptStep::SendBytewise(bytes) => self.bytewise(&self.filled_in(bytes), Duration::ZERO)?,
            ScriptStep::Drip(bytes) => self.bytewise(bytes, DRIP)?,
            ScriptStep::Flood(bytes) => loop {
                self.send(bytes)?;
            },
            ScriptStep::Frames(frames) => self.frames(frames)?,
            ScriptStep::FloodFrames(frames) => loop {
                self.frames(frames)?;
            },
            ScriptStep::Starve => {
                self.grants = Grants::Nothing;
                loop {
                    self.request()?;
                }
            }
            ScriptStep::Raw(bytes) => self.socket.write_all(bytes)?,
            ScriptStep::Hello => self.more()?,
            ScriptStep::Handshake(certificate) => self.handshake(*certificate)?,
            ScriptStep::CloseNotify => self.close_notify()?,
            ScriptStep::Stall => {
                sys::wait_for_hangup(self.socket)?;
                return Ok(Continuation::Over);
            }
            ScriptStep::Finish => {
                self.finish()?;
                return Ok(Continuation::Over);
            }
            ScriptStep::Close => return Ok(Continuation::Over),
            ScriptStep::Reset => {
                sys::reset_on_close(self.socket)?;
                return Ok(Continuation::Over);
            }
        }
        Ok(Continuation::On)
    }

    /// The bytes with `{key}` replaced.
    fn filled_in(&self, bytes: &[u8]) -> Vec<u8> {
        const PLACE: &[u8] = b"{key}";
        if self.protocol != Protocol::Memcached {
            return bytes.to_vec();
        }
        let mut filled = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(at) = rest.windows(PLACE.len()).position(|window| window == PLACE) {
            filled.extend_from_slice(&rest[..at]);
            filled.extend_from_slice(&self.key);
            rest = &rest[at + PLACE.len()..];
        }
        filled.extend_from_slice(rest);
        filled
    }

    // --- Writing ------------------------------------------------------------------------------------------------

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = self.socket;
        match &mut self.tls {
            None => socket.write_all(bytes),
            Some(tls) => {
                for piece in bytes.chunks(PIECE) {
                    tls.writer().write_all(piece)?;
                    while tls.wants_write() {
                        tls.write_tls(&mut socket)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn bytewise(&mut self, bytes: &[u8], pause: Duration) -> io::Result<()> {
        for byte in bytes {
            self.send(&[*byte])?;
            if pause > Duration::ZERO {
                std::thread::sleep(pause);
            }
        }
        Ok(())
    }

    fn frames(&mut self, frames: &[Frame]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for frame in frames {
            frame.encode(self.stream, &mut bytes);
        }
        self.send(&bytes)
    }

    /// Closes its side properly and waits for the client's end, so that no sent bytes are lost by a reset.
    fn finish(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)?;
        let mut dropped = vec![0; PIECE];
        let mut socket = self.socket;
        while socket.read(&mut dropped)? > 0 {}
        Ok(())
    }

    // --- TLS ----------------------------------------------------------------------------------------------------

    fn handshake(&mut self, certificate: Certificate) -> io::Result<()> {
        let config = (self.handshakes)(certificate)?;
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut socket = self.socket;
        while tls.is_handshaking() {
            // On failure it sends an alert.
            let done = tls.complete_io(&mut socket);
            done?;
        }
        self.tls = Some(tls);
        Ok(())
    }

    fn close_notify(&mut self) -> io::Result<()> {
        let mut socket = self.socket;
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            while tls.wants_write() {
                tls.write_tls(&mut socket)?;
            }
        }
        Ok(())
    }

    // --- Reading ------------------------------------------------------------------------------------------------

    /// Reads more into the inbox; the end of the client's side is an error.
    fn more(&mut self) -> io::Result<()> {
        let before = self.inbox.len();
        if before > REQUEST_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.inbox.resize(before + PIECE, 0);
        let mut socket = self.socket;
        let read = match &mut self.tls {
            None => socket.read(&mut self.inbox[before..]),
            Some(tls) => rustls::Stream::new(tls, &mut socket).read(&mut self.inbox[before..]),
        };
        self.inbox.truncate(before + read.as_ref().copied().unwrap_or(0));
        if read? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Removes `count` bytes from the inbox, reading as needed.
    fn take(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.inbox.len() < count {
            self.more()?;
        }
        Ok(self.inbox.drain(..count).collect())
    }

    /// Reads and drops `count` bytes, however many.
    fn skip(&mut self, mut count: u64) -> io::Result<()> {
        loop {
            let there = count.min(self.inbox.len() as u64);
            self.inbox.drain(..there as usize);
            count -= there;
            if count == 0 {
                return Ok(());
            }
            self.more()?;
        }
    }

    /// Removes everything up to and including `end`.
    fn take_until(&mut self, end: &[u8]) -> io::Result<Vec<u8>> {
        let mut looked_at = 0;
        loop {
            let from = looked_at.max(end.len() - 1) + 1 - end.len();
            if let Some(at) = self.inbox[from..].windows(end.len()).position(|window| window == end) {
                return self.take(from + at + end.len());
            }
            looked_at = self.inbox.len();
            self.more()?;
        }
    }

    /// Reads one whole request.
    fn request(&mut self) -> io::Result<()> {
        match self.protocol {
            Protocol::Http1 | Protocol::Tls => self.http1_request(),
            Protocol::Http2 | Protocol::Grpc => self.http2_request(),
            Protocol::Memcached => self.memcached_request(),
            Protocol::Resp => self.resp_request(),
        }
    }

    fn http1_request(&mut self) -> io::Result<()> {
        let head = self.take_until(b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&head).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        self.skip(length.and_then(|length| length.trim().parse().ok()).unwrap_or(0))
    }

    /// Reads frames to the end of a request. SETTINGS and PING are acknowledged, and the window of DATA is restored.
    fn http2_request(&mut self) -> io::Result<()> {
        if self.preface == Preface::Expected {
            self.take(frames::PREFACE.len())?;
            self.preface = Preface::Seen;
        }
        loop {
            let head = self.take(frames::HEAD)?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let (frame_kind, flags) = (head[3], head[4]);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & (u32::MAX >> 1);
            let payload = self.take(length as usize)?;
            match frame_kind {
                kind::SETTINGS if flags & flag::ACK == 0 => {
                    self.frames(&[Frame::new(kind::SETTINGS, flag::ACK, []).on(0)])?;
                }
                kind::PING if flags & flag::ACK == 0 => {
                    self.frames(&[Frame::new(kind::PING, flag::ACK, payload).on(0)])?;
                }
                kind::DATA if length > 0 && self.grants == Grants::AsMuchAsCame => {
                    let on_connection = Frame::window(On::Fixed(0), length);
                    self.frames(&[on_connection, Frame::window(On::Fixed(stream), length)])?;
                }
                _ => {}
            }
            if matches!(frame_kind, kind::HEADERS | kind::DATA) && flags & flag::END_STREAM != 0 {
                self.stream = stream;
                return Ok(());
            }
        }
    }

    /// Reads a command line, and the data block of storage commands.
    fn memcached_request(&mut self) -> io::Result<()> {
        let line = self.take_until(b"\r\n")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        if let Some(key) = words.next() {
            self.key = key.as_bytes().to_vec();
        }
        let length = match command {
            "set" | "add" | "replace" | "append" | "prepend" | "cas" => words.nth(2),
            "ms" => words.next(),
            _ => None,
        };
        match length.and_then(|length| length.parse::<u64>().ok()) {
            Some(length) => self.skip(length + 2),
            None => Ok(()),
        }
    }

    /// Reads an array of strings, the form of every client's command.
    fn resp_request(&mut self) -> io::Result<()> {
        let count = self.resp_length()?;
        for _ in 0..count {
            let length = self.resp_length()?;
            self.skip(length + 2)?;
        }
        Ok(())
    }

    /// The number in a line after its first letter.
    fn resp_length(&mut self) -> io::Result<u64> {
        let line = self.take_until(b"\r\n")?;
        let number = std::str::from_utf8(&line).ok().and_then(|line| line.get(1..)?.trim_end().parse().ok());
        number.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}
