//! Commands for Redis as they are sent, and the handshake before the first of them.
//!
//! It refuses commands after which replies no longer match requests: those that subscribe, stream or silence the
//! server.

use std::fmt;
use std::sync::Arc;

use weighbridge_model::id::OperationId;

use crate::framer::request::{Rendered, ReplyShape};

/// Commands whose replies come unasked, or not at all.
const UNPAIRED: [&str; 9] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
];

/// The protocol's version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// Every server speaks it; no command is needed to choose it.
    #[default]
    Two,
    /// Redis 6 and later, chosen by `HELLO 3`.
    Three,
}

/// Credentials of the client.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user; `None` for the server's default user.
    pub username: Option<String>,
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

/// What a connection sends before its first request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handshake {
    /// The version to speak.
    pub version: Version,
    /// Credentials, if any.
    pub login: Option<Login>,
    /// The database; 0 is the default.
    pub database: u32,
}

/// A handshake as bytes. They are sent with the first request of a connection, so that they cost no round trip.
#[derive(Clone, PartialEq, Eq)]
pub struct Opening {
    bytes: Box<[u8]>,
    replies: u32,
}

impl fmt::Debug for Opening {
    // The bytes may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("replies", &self.replies).finish_non_exhaustive()
    }
}

/// Why a command cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the command is empty; write it as `redis-cli` takes it, such as `GET key:1`")]
    Empty,
    #[error(
        "`{0}` is not supported: its replies do not match requests one to one; use commands that are answered once each"
    )]
    Unpaired(String),
}

impl Handshake {
    /// The handshake as bytes; `None` if none is needed.
    pub fn opening(&self) -> Option<Arc<Opening>> {
        let (mut bytes, mut replies) = (Vec::new(), 0);
        let mut say = |words: &[&str]| {
            encode(&mut bytes, words);
            replies += 1;
        };
        match (self.version, &self.login) {
            (Version::Two, None) => {}
            (Version::Two, Some(Login { username: None, password })) => say(&["AUTH", password]),
            (Version::Two, Some(Login { username: Some(name), password })) => say(&["AUTH", name, password]),
            (Version::Three, None) => say(&["HELLO", "3"]),
            (Version::Three, Some(Login { username, password })) => {
                say(&["HELLO", "3", "AUTH", username.as_deref().unwrap_or("default"), password]);
            }
        }
        if self.database > 0 {
            say(&["SELECT", &self.database.to_string()]);
        }
        (replies > 0).then(|| Arc::new(Opening { bytes: bytes.into_boxed_slice(), replies }))
    }
}

impl Opening {
    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many replies it causes.
    pub fn replies(&self) -> u32 {
        self.replies
    }
}

/// Renders a command: its name and arguments, any bytes. The second word can be patched as the
/// [key](Rendered::key_mut), the last of three or more as the [body](Rendered::body_mut). `opening` is what its
/// connection must send before; it is the same for all requests of one connection.
pub fn command<Word: AsRef<[u8]>>(
    operation: OperationId,
    words: &[Word],
    opening: Option<Arc<Opening>>,
) -> Result<Rendered, CommandError> {
    let name = words.first().map(|word| String::from_utf8_lossy(word.as_ref()).to_uppercase());
    let name = name.filter(|name| !name.is_empty()).ok_or(CommandError::Empty)?;
    let second = || words.get(1).map(|word| word.as_ref().to_ascii_uppercase());
    if name == "CLIENT" && second().as_deref() == Some(b"REPLY") {
        return Err(CommandError::Unpaired("CLIENT REPLY".to_owned()));
    }
    if UNPAIRED.contains(&name.as_str()) {
        return Err(CommandError::Unpaired(name));
    }
    let mut bytes = Vec::new();
    encode(&mut bytes, words);
    let last = words.last().map_or(0, |word| word.as_ref().len());
    // Every argument is followed by a line end.
    let body = match words.len() {
        0..=2 => bytes.len()..bytes.len(),
        _ => bytes.len() - 2 - last..bytes.len() - 2,
    };
    let key = words.get(1).map_or(0..0, |key| {
        let mut before = Vec::new();
        encode(&mut before, &words[..1]);
        // The number of words may have more digits than 1.
        let first_line = format!("*{}\r\n", words.len()).len();
        let start =
            before.len() - b"*1\r\n".len() + first_line + format!("${}\r\n", key.as_ref().len()).len();
        start..start + key.as_ref().len()
    });
    Ok(Rendered::assembled(operation, answered_by(&name), bytes, key, body).with_opening(opening))
}

/// The reply shape of a command, if it is the same whatever the arguments; other commands may be answered by any shape.
fn answered_by(name: &str) -> ReplyShape {
    const TEXT: [&str; 10] =
        ["GET", "GETDEL", "GETEX", "GETRANGE", "GETSET", "HGET", "LINDEX", "SUBSTR", "ECHO", "RANDOMKEY"];
    const NUMBER: [&str; 32] = [
        "APPEND", "BITCOUNT", "DBSIZE", "DECR", "DECRBY", "DEL", "EXISTS", "EXPIRE", "HDEL", "HEXISTS",
        "HINCRBY", "HLEN", "HSET", "HSETNX", "INCR", "INCRBY", "LLEN", "LPUSH", "LREM", "PERSIST", "PEXPIRE",
        "PTTL", "PUBLISH", "RPUSH", "SADD", "SCARD", "SETNX", "SETRANGE", "SREM", "STRLEN", "TTL", "UNLINK",
    ];
    const AGGREGATE: [&str; 8] = ["HGETALL", "HKEYS", "HMGET", "HVALS", "KEYS", "LRANGE", "MGET", "SMEMBERS"];
    if TEXT.contains(&name) {
        ReplyShape::Text
    } else if NUMBER.contains(&name) {
        ReplyShape::Number
    } else if AGGREGATE.contains(&name) {
        ReplyShape::Aggregate
    } else {
        ReplyShape::Normal
    }
}

/// Appends an array of strings.
fn encode<Word: AsRef<[u8]>>(bytes: &mut Vec<u8>, words: &[Word]) {
    bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.as_ref().len()).as_bytes());
        bytes.extend_from_slice(word.as_ref());
        bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> String {
        let rendered = command(OperationId(0), words, None).expect("renders");
        String::from_utf8(rendered.bytes().to_vec()).expect("text")
    }

    #[test]
    fn commands_are_arrays_of_strings() {
        assert_eq!(text(&["PING"]), "*1\r\n$4\r\nPING\r\n");
        assert_eq!(text(&["SET", "k", ""]), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
    }

    #[test]
    fn key_and_value_can_be_patched() {
        let mut words = vec!["SET".to_owned(), "key:1".to_owned()];
        words.extend((0..10).map(|n| format!("value{n}")));
        let mut rendered = command(OperationId(0), &words, None).expect("renders");
        assert_eq!((rendered.key(), rendered.body()), (&b"key:1"[..], &b"value9"[..]));
        rendered.key_mut().copy_from_slice(b"KEY:2");
        rendered.body_mut().copy_from_slice(b"VALUE!");
        words[1] = "KEY:2".to_owned();
        words[11] = "VALUE!".to_owned();
        assert_eq!(rendered.bytes(), command(OperationId(0), &words, None).expect("renders").bytes());
        let get = command(OperationId(0), &["GET", "key:1"], None).expect("renders");
        assert_eq!((get.key(), get.body()), (&b"key:1"[..], &b""[..]));
        let ping = command(OperationId(0), &["PING"], None).expect("renders");
        assert_eq!((ping.key(), ping.body()), (&b""[..], &b""[..]));
    }

    #[test]
    fn commands_that_unpair_replies_and_requests_are_refused() {
        let refused = |words: &[&str]| command(OperationId(0), words, None).expect_err("refused");
        assert_eq!(refused(&[]), CommandError::Empty);
        assert_eq!(refused(&[""]), CommandError::Empty);
        assert_eq!(refused(&["subscribe", "c"]), CommandError::Unpaired("SUBSCRIBE".to_owned()));
        assert_eq!(refused(&["client", "reply", "off"]), CommandError::Unpaired("CLIENT REPLY".to_owned()));
        assert!(command(OperationId(0), &["CLIENT", "ID"], None).is_ok());
    }

    #[test]
    fn an_opening_says_what_was_asked_and_its_password_is_not_shown() {
        let login = |username: Option<&str>| {
            Some(Login { username: username.map(str::to_owned), password: "secret".to_owned() })
        };
        let said = |version, login, database| {
            let opening = Handshake { version, login, database }.opening()?;
            assert!(!format!("{opening:?}").contains("secret") && !format!("{opening:?}").contains("115"));
            let words = String::from_utf8(opening.bytes().to_vec()).expect("text");
            let words: Vec<_> = words.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).collect();
            Some((words.join(" ").trim().to_owned(), opening.replies()))
        };
        assert_eq!(said(Version::Two, None, 0), None);
        assert_eq!(said(Version::Two, login(None), 0), Some(("AUTH secret".to_owned(), 1)));
        assert_eq!(said(Version::Two, login(Some("me")), 3), Some(("AUTH me secret SELECT 3".to_owned(), 2)));
        assert_eq!(said(Version::Three, None, 0), Some(("HELLO 3".to_owned(), 1)));
        assert_eq!(
            said(Version::Three, login(None), 1),
            Some(("HELLO 3 AUTH default secret SELECT 1".to_owned(), 2))
        );
    }
}
