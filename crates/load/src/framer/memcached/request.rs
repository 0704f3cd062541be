//! Commands for memcached as they are sent. A command is given with the data itself; the length that the protocol needs
//! is computed here.
//!
//! It refuses everything that is not answered exactly once: `noreply`, the quiet flag of meta commands, commands that
//! end the connection or turn it into a stream; and bytes that would end a line early.

use std::ops::Range;

use weighbridge_model::id::OperationId;

use crate::framer::request::{Rendered, ReplyShape};

/// Longest key in bytes.
const KEY_LIMIT: usize = 250;

/// The supported commands.
const KNOWN: &str = "get, gets, gat, gats, set, add, replace, append, prepend, cas, delete, incr, decr, touch, \
    version, flush_all, mg, ms, md, ma, mn, me";

/// Why a command cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the command is empty; write it as the protocol has it, such as `get key:1`")]
    Empty,
    #[error("`{0}` is not a command of memcached that can be sent; allowed: {KNOWN}")]
    Unknown(String),
    #[error("`{command}` has {given} words; it is written `{form}`")]
    Words {
        /// The command's name.
        command: String,
        /// Words given, the name included.
        given: usize,
        /// Its syntax.
        form: &'static str,
    },
    #[error("`{0}` asks for no reply, and without one nothing can be measured; leave it out")]
    NoReply(String),
    #[error("key `{0}` must be 1 to {KEY_LIMIT} bytes without blanks and control characters")]
    Key(String),
    #[error("`{0}` must not be empty or hold blanks or control characters; only the data may")]
    Word(String),
}

/// The syntax of a command, and the shape of its reply.
struct Form {
    text: &'static str,
    /// Number of words, the name and the data included.
    words: Range<usize>,
    /// Positions of the keys.
    keys: Range<usize>,
    /// Position of the data.
    data: Option<usize>,
    reply: ReplyShape,
}

const ANY: usize = usize::MAX;

/// The form of a command; `None` if it is unknown.
fn form(name: &[u8]) -> Option<Form> {
    let new = |text, words, keys, data, reply| Form { text, words, keys, data, reply };
    Some(match name {
        b"get" | b"gets" => new("get <key>…", 2..ANY, 1..ANY, None, ReplyShape::Values),
        b"gat" | b"gats" => new("gat <exptime> <key>…", 3..ANY, 2..ANY, None, ReplyShape::Values),
        b"set" | b"add" | b"replace" | b"append" | b"prepend" => {
            new("set <key> <flags> <exptime> <data>", 5..6, 1..2, Some(4), ReplyShape::Line)
        }
        b"cas" => {
            new("cas <key> <flags> <exptime> <data> <cas unique>", 6..7, 1..2, Some(4), ReplyShape::Line)
        }
        b"delete" => new("delete <key>", 2..3, 1..2, None, ReplyShape::Line),
        b"incr" | b"decr" => new("incr <key> <amount>", 3..4, 1..2, None, ReplyShape::Line),
        b"touch" => new("touch <key> <exptime>", 3..4, 1..2, None, ReplyShape::Line),
        b"version" => new("version", 1..2, 0..0, None, ReplyShape::Line),
        b"flush_all" => new("flush_all [<delay>]", 1..3, 0..0, None, ReplyShape::Line),
        b"mg" | b"md" | b"ma" => new("mg <key> <flag>…", 2..ANY, 1..2, None, ReplyShape::Meta),
        b"me" => new("me <key> [<flag>]", 2..4, 1..2, None, ReplyShape::Meta),
        b"ms" => new("ms <key> <data> <flag>…", 3..ANY, 1..2, Some(2), ReplyShape::Meta),
        b"mn" => new("mn", 1..2, 0..0, None, ReplyShape::Meta),
        _ => return None,
    })
}

/// Renders a command given as words, with the data among them or separately in `data`. The first key can be patched as
/// the [key](Rendered::key_mut), the data as the [body](Rendered::body_mut).
pub fn command<Word: AsRef<[u8]>>(
    operation: OperationId,
    words: &[Word],
    data: Option<&[u8]>,
) -> Result<Rendered, CommandError> {
    let mut words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
    let name = words.first().filter(|name| !name.is_empty()).ok_or(CommandError::Empty)?.to_ascii_lowercase();
    words[0] = &name;
    let form = form(&name).ok_or_else(|| CommandError::Unknown(shown(&name)))?;
    if words.last() == Some(&&b"noreply"[..]) && form.data != Some(words.len() - 1) {
        return Err(CommandError::NoReply("noreply".to_owned()));
    }
    if let (Some(data), Some(at)) = (data, form.data)
        && at <= words.len()
    {
        words.insert(at, data);
    } else if data.is_some() {
        return Err(wrong_words(&name, words.len() + 1, &form));
    }
    if !form.words.contains(&words.len()) {
        return Err(wrong_words(&name, words.len(), &form));
    }
    check(&words, &form)?;
    Ok(render(operation, &words, &form))
}

fn wrong_words(name: &[u8], given: usize, form: &Form) -> CommandError {
    CommandError::Words { command: shown(name), given, form: form.text }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn check(words: &[&[u8]], form: &Form) -> Result<(), CommandError> {
    for (at, word) in words.iter().enumerate() {
        if form.data == Some(at) {
            continue;
        }
        let plain = !word.is_empty() && word.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
        if form.keys.contains(&at) && (!plain || word.len() > KEY_LIMIT) {
            return Err(CommandError::Key(shown(word)));
        }
        if !plain {
            return Err(CommandError::Word(shown(word)));
        }
        let is_flag = form.reply == ReplyShape::Meta && at > form.data.unwrap_or(1);
        if is_flag && word[0] == b'q' {
            return Err(CommandError::NoReply(shown(word)));
        }
    }
    Ok(())
}

fn render(operation: OperationId, words: &[&[u8]], form: &Form) -> Rendered {
    let mut bytes = Vec::new();
    let mut key = 0..0;
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            bytes.push(b' ');
        }
        let start = bytes.len();
        if form.data == Some(at) {
            bytes.extend_from_slice(word.len().to_string().as_bytes());
        } else {
            bytes.extend_from_slice(word);
        }
        if form.keys.start == at && !form.keys.is_empty() {
            key = start..bytes.len();
        }
    }
    bytes.extend_from_slice(b"\r\n");
    let start = bytes.len();
    let mut body = start..start;
    if let Some(at) = form.data {
        bytes.extend_from_slice(words[at]);
        body = start..bytes.len();
        bytes.extend_from_slice(b"\r\n");
    }
    let one_key = form.keys.clone().take_while(|at| *at < words.len()).count() == 1;
    let reply = if form.reply == ReplyShape::Values && one_key { ReplyShape::Value } else { form.reply };
    Rendered::assembled(operation, reply, bytes, key, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> Result<Rendered, CommandError> {
        let words: Vec<_> = text.split(' ').map(str::as_bytes).filter(|word| !word.is_empty()).collect();
        command(OperationId(0), &words, None)
    }

    fn bytes(text: &str) -> String {
        String::from_utf8(rendered(text).expect("renders").bytes().to_vec()).expect("text")
    }

    #[test]
    fn commands_go_out_as_the_protocol_has_them() {
        for (text, wire, reply) in [
            ("GET a", "get a\r\n", ReplyShape::Value),
            ("gets a b c", "gets a b c\r\n", ReplyShape::Values),
            ("gat 10 a b", "gat 10 a b\r\n", ReplyShape::Values),
            ("set a 1 2 data", "set a 1 2 4\r\ndata\r\n", ReplyShape::Line),
            ("set a 1 2 zoë", "set a 1 2 4\r\nzoë\r\n", ReplyShape::Line),
            ("cas a 1 2 data 77", "cas a 1 2 4 77\r\ndata\r\n", ReplyShape::Line),
            ("delete a", "delete a\r\n", ReplyShape::Line),
            ("incr a 5", "incr a 5\r\n", ReplyShape::Line),
            ("touch a 5", "touch a 5\r\n", ReplyShape::Line),
            ("version", "version\r\n", ReplyShape::Line),
            ("flush_all 10", "flush_all 10\r\n", ReplyShape::Line),
            ("mg a v t", "mg a v t\r\n", ReplyShape::Meta),
            ("ms a data T5", "ms a 4 T5\r\ndata\r\n", ReplyShape::Meta),
            ("md a", "md a\r\n", ReplyShape::Meta),
            ("ma a D2 v", "ma a D2 v\r\n", ReplyShape::Meta),
            ("mn", "mn\r\n", ReplyShape::Meta),
            ("me a", "me a\r\n", ReplyShape::Meta),
        ] {
            assert_eq!(bytes(text), wire);
            assert_eq!(rendered(text).expect("renders").reply(), reply, "{text}");
        }
    }

    #[test]
    fn data_may_be_given_separately_and_may_be_any_bytes() {
        let data = b"two\r\nlines \0";
        let set = command(OperationId(0), &["set", "a", "0", "0"], Some(data)).expect("renders");
        assert_eq!(set.bytes(), b"set a 0 0 12\r\ntwo\r\nlines \0\r\n");
        let cas = command(OperationId(0), &["cas", "a", "0", "0", "9"], Some(b"")).expect("renders");
        assert_eq!(cas.bytes(), b"cas a 0 0 0 9\r\n\r\n");
        let meta = command(OperationId(0), &["ms", "a", "T0"], Some(b"x")).expect("renders");
        assert_eq!(meta.bytes(), b"ms a 1 T0\r\nx\r\n");
        assert_eq!(bytes("set a 0 0 noreply"), "set a 0 0 7\r\nnoreply\r\n");
    }

    #[test]
    fn key_and_value_can_be_patched() {
        let mut set = rendered("set key:1 0 0 data").expect("renders");
        assert_eq!((set.key(), set.body()), (&b"key:1"[..], &b"data"[..]));
        set.key_mut().copy_from_slice(b"KEY:2");
        set.body_mut().copy_from_slice(b"DATA");
        assert_eq!(set.bytes(), b"set KEY:2 0 0 4\r\nDATA\r\n");
        let gat = rendered("gat 10 key:1 other").expect("renders");
        assert_eq!((gat.key(), gat.body()), (&b"key:1"[..], &b""[..]));
        let version = rendered("version").expect("renders");
        assert_eq!((version.key(), version.body()), (&b""[..], &b""[..]));
    }

    #[test]
    fn commands_not_answered_exactly_once_are_refused() {
        let refused = |text: &str| rendered(text).expect_err(text);
        assert_eq!(refused(""), CommandError::Empty);
        assert!(matches!(refused("quit"), CommandError::Unknown(_)));
        assert!(matches!(refused("stats"), CommandError::Unknown(_)));
        assert!(matches!(refused("get"), CommandError::Words { given: 1, .. }));
        assert!(matches!(refused("set a 0 0"), CommandError::Words { given: 4, .. }));
        assert!(matches!(refused("set a 0 0 4 data"), CommandError::Words { given: 6, .. }));
        for text in ["set a 0 0 data noreply", "delete a noreply", "incr a 1 noreply", "flush_all noreply"] {
            assert!(matches!(refused(text), CommandError::NoReply(_)), "{text}");
        }
        for text in ["mg a v q", "ms a data q", "md a q", "ma a q"] {
            assert!(matches!(refused(text), CommandError::NoReply(_)), "{text}");
        }
        assert!(matches!(refused(&format!("get {}", "k".repeat(251))), CommandError::Key(_)));
        for words in [["get", "a\r\nget b"], ["get", "a b"], ["get", ""], ["get", "a\x7f"]] {
            let error = command(OperationId(0), &words, None).expect_err("refused");
            assert!(matches!(error, CommandError::Key(_)), "{words:?}");
        }
        let error = command(OperationId(0), &["incr", "a", "1\r\nquit"], None).expect_err("refused");
        assert!(matches!(error, CommandError::Word(_)), "{error}");
        let error = command(OperationId(0), &["get", "a"], Some(b"data")).expect_err("refused");
        assert!(matches!(error, CommandError::Words { .. }), "{error}");
        let error = command(OperationId(0), &["set"], Some(b"data")).expect_err("refused");
        assert!(matches!(error, CommandError::Words { .. }), "{error}");
    }
}
