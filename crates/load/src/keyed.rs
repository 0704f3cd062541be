//! Requests of key-value servers whose keys and values change from one to the next, filled in place: the four that
//! memcached and Redis have in common.
//!
//! Filling reuses the memory of a [`RequestBuffer`]. It checks nothing: of keys for memcached the caller keeps out
//! blanks and control characters.

use std::ops::Range;
use std::sync::Arc;

use weighbridge_model::id::OperationId;

use crate::framer::request::{Rendered, ReplyShape};
use crate::framer::resp::Opening;
use crate::template::{RequestBuffer, digits};

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyedCommand {
    Get,
    Set,
    Delete,
    /// Whether there is a value (`mg`, `EXISTS`).
    Head,
}

/// The protocol in which it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyedDialect {
    Memcached,
    /// With what a connection sends before its first request.
    Resp(Option<Arc<Opening>>),
}

/// A request for one key.
#[derive(Debug, Clone, Copy)]
pub struct KeyedRequest<'a> {
    pub operation: OperationId,
    pub command: KeyedCommand,
    pub key: &'a [u8],
    /// Bytes of the value, of a `Set`.
    pub length: usize,
    /// Seconds until a value that is set may go; 0 for never.
    pub ttl: u32,
}

impl KeyedDialect {
    /// An empty buffer for its requests.
    pub fn buffer(&self) -> RequestBuffer {
        match self {
            Self::Memcached => RequestBuffer::new(),
            Self::Resp(opening) => RequestBuffer::with_opening(opening.clone()),
        }
    }

    /// Fills a buffer. `value` appends exactly the announced bytes.
    pub fn fill(
        &self,
        request: &KeyedRequest<'_>,
        value: impl FnOnce(&mut Vec<u8>),
        buffer: &mut RequestBuffer,
    ) {
        let rendered = buffer.rendered_mut();
        match self {
            Self::Memcached => memcached(request, value, rendered),
            Self::Resp(_) => resp(request, value, rendered),
        }
    }

    /// Fills a buffer with a get of several keys, at most 65,535.
    pub fn fill_batch<'k>(
        &self,
        operation: OperationId,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
        buffer: &mut RequestBuffer,
    ) {
        let count = keys.len();
        let reply = ReplyShape::Batch(count as u16);
        buffer.rendered_mut().recompose(operation, reply, |bytes| {
            match self {
                Self::Memcached => bytes.extend_from_slice(b"get"),
                Self::Resp(_) => {
                    bytes.push(b'*');
                    digits(count + 1, |text| bytes.extend_from_slice(text));
                    bytes.extend_from_slice(b"\r\n$4\r\nMGET\r\n");
                }
            }
            // From the first key on: memcached's are compared with those that its reply names.
            let start = bytes.len() + 1;
            for key in keys {
                match self {
                    Self::Memcached => {
                        bytes.push(b' ');
                        bytes.extend_from_slice(key);
                    }
                    Self::Resp(_) => {
                        bytes.push(b'$');
                        append_value(key.len(), |into| into.extend_from_slice(key), bytes);
                    }
                }
            }
            let named = match self {
                Self::Memcached => start..bytes.len(),
                Self::Resp(_) => 0..0,
            };
            if *self == Self::Memcached {
                bytes.extend_from_slice(b"\r\n");
            }
            (named, bytes.len()..bytes.len())
        });
    }
}

fn memcached(request: &KeyedRequest<'_>, value: impl FnOnce(&mut Vec<u8>), rendered: &mut Rendered) {
    let (name, reply): (&[u8], _) = match request.command {
        KeyedCommand::Get => (b"get ", ReplyShape::Value),
        KeyedCommand::Set => (b"set ", ReplyShape::Line),
        KeyedCommand::Delete => (b"delete ", ReplyShape::Line),
        KeyedCommand::Head => (b"mg ", ReplyShape::Meta),
    };
    rendered.recompose(request.operation, reply, |bytes| {
        bytes.extend_from_slice(name);
        let key = append(request.key, bytes);
        if request.command != KeyedCommand::Set {
            bytes.extend_from_slice(b"\r\n");
            return (key, bytes.len()..bytes.len());
        }
        bytes.extend_from_slice(b" 0 ");
        digits(request.ttl as usize, |text| bytes.extend_from_slice(text));
        bytes.push(b' ');
        (key, append_value(request.length, value, bytes))
    });
}

fn resp(request: &KeyedRequest<'_>, value: impl FnOnce(&mut Vec<u8>), rendered: &mut Rendered) {
    let (name, reply): (&[u8], _) = match request.command {
        KeyedCommand::Get => (b"*2\r\n$3\r\nGET\r\n$", ReplyShape::Text),
        KeyedCommand::Set if request.ttl > 0 => (b"*5\r\n$3\r\nSET\r\n$", ReplyShape::Normal),
        KeyedCommand::Set => (b"*3\r\n$3\r\nSET\r\n$", ReplyShape::Normal),
        KeyedCommand::Delete => (b"*2\r\n$3\r\nDEL\r\n$", ReplyShape::Number),
        KeyedCommand::Head => (b"*2\r\n$6\r\nEXISTS\r\n$", ReplyShape::Number),
    };
    rendered.recompose(request.operation, reply, |bytes| {
        bytes.extend_from_slice(name);
        digits(request.key.len(), |text| bytes.extend_from_slice(text));
        bytes.extend_from_slice(b"\r\n");
        let key = append(request.key, bytes);
        bytes.extend_from_slice(b"\r\n");
        if request.command != KeyedCommand::Set {
            return (key, bytes.len()..bytes.len());
        }
        bytes.push(b'$');
        let value = append_value(request.length, value, bytes);
        if request.ttl > 0 {
            bytes.extend_from_slice(b"$2\r\nEX\r\n$");
            digits(request.ttl.ilog10() as usize + 1, |text| bytes.extend_from_slice(text));
            bytes.extend_from_slice(b"\r\n");
            digits(request.ttl as usize, |text| bytes.extend_from_slice(text));
            bytes.extend_from_slice(b"\r\n");
        }
        (key, value)
    });
}

/// Appends bytes and returns where they are.
fn append(text: &[u8], bytes: &mut Vec<u8>) -> Range<usize> {
    let start = bytes.len();
    bytes.extend_from_slice(text);
    start..bytes.len()
}

/// Appends a value behind its length, each with its line end, and returns where the value is.
fn append_value(length: usize, value: impl FnOnce(&mut Vec<u8>), bytes: &mut Vec<u8>) -> Range<usize> {
    digits(length, |text| bytes.extend_from_slice(text));
    bytes.extend_from_slice(b"\r\n");
    let start = bytes.len();
    value(bytes);
    let end = bytes.len();
    bytes.extend_from_slice(b"\r\n");
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memcached, resp};

    const COMMANDS: [KeyedCommand; 4] =
        [KeyedCommand::Set, KeyedCommand::Get, KeyedCommand::Delete, KeyedCommand::Head];

    /// The oracle: what is filled in equals the command as it is rendered once.
    #[test]
    fn filled_requests_are_the_commands_rendered() {
        let opening = resp::Handshake { database: 3, ..resp::Handshake::default() }.opening();
        let dialects = [KeyedDialect::Memcached, KeyedDialect::Resp(None), KeyedDialect::Resp(opening)];
        for dialect in dialects {
            let mut buffer = dialect.buffer();
            for (key, value, ttl) in [
                ("key:1", "a long value\r\n of some letters", 0),
                ("k", "", 7),
                ("another-key", "v", 86_400),
                ("k", "w", 10),
            ] {
                let seconds = ttl.to_string();
                for command in COMMANDS {
                    let operation = OperationId(command as u16);
                    let request =
                        KeyedRequest { operation, command, key: key.as_bytes(), length: value.len(), ttl };
                    dialect.fill(&request, |bytes| bytes.extend_from_slice(value.as_bytes()), &mut buffer);
                    let rendered = match &dialect {
                        KeyedDialect::Memcached => match command {
                            KeyedCommand::Get => memcached::command(operation, &["get", key], None),
                            KeyedCommand::Set => memcached::command(
                                operation,
                                &["set", key, "0", &seconds],
                                Some(value.as_bytes()),
                            ),
                            KeyedCommand::Delete => memcached::command(operation, &["delete", key], None),
                            KeyedCommand::Head => memcached::command(operation, &["mg", key], None),
                        }
                        .expect("a command"),
                        KeyedDialect::Resp(opening) => {
                            let words: &[&str] = match command {
                                KeyedCommand::Get => &["GET", key],
                                KeyedCommand::Set if ttl > 0 => &["SET", key, value, "EX", &seconds],
                                KeyedCommand::Set => &["SET", key, value],
                                KeyedCommand::Delete => &["DEL", key],
                                KeyedCommand::Head => &["EXISTS", key],
                            };
                            resp::command(operation, words, opening.clone()).expect("a command")
                        }
                    };
                    // A command's value is its last argument, ours the value that is set.
                    if ttl > 0 && matches!(dialect, KeyedDialect::Resp(_)) && command == KeyedCommand::Set {
                        assert_eq!(buffer.rendered().bytes(), rendered.bytes(), "{dialect:?}");
                        continue;
                    }
                    assert_eq!(buffer.rendered(), &rendered, "{dialect:?} {command:?}");
                }
            }
        }
    }
}
