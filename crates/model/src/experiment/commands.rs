//! The workload `commands`: commands of memcached and Redis, as they stand in a file and on a command line.
//!
//! It knows words, values and checks. Whether a command exists and how it goes on the wire is the framing's business.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{ExperimentError, Node, Reader, Value};
use super::{Equality, WorkloadSpec};
use crate::quantity::Bytes;

/// Longest value that may be asked for: what Redis takes by default.
const VALUE_LIMIT: u64 = 512 << 20;

/// Longest default name of an operation, in characters.
const NAME_LENGTH: usize = 60;

type Read<T> = Result<T, ExperimentError>;

/// One command of the user's own, an operation of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The operation's name.
    pub name: String,
    /// The command's name and its arguments; at least the name.
    pub arguments: Vec<Vec<u8>>,
    /// Where given: for Redis the last argument, for memcached the data.
    pub value: Option<ValueSpec>,
    /// Share of the mix, above zero.
    pub weight: f64,
    /// What a good reply looks like.
    pub check: CommandCheck,
}

/// A value to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueSpec {
    /// These bytes.
    Given(Vec<u8>),
    /// So many bytes, at most 512 MiB: letters that the command's place in the file decides.
    Size(Bytes),
}

/// What a good reply to a command looks like. An error reply is never one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCheck {
    /// Exactly this value.
    pub value: Option<Vec<u8>>,
    /// A value of exactly this length.
    pub length: Option<Bytes>,
    /// Whether there must be something.
    pub presence: Presence,
}

/// Whether a reply must have found something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// A miss is as good as a hit.
    #[default]
    Either,
    /// It must.
    Hit,
    /// It must not.
    Miss,
}

/// What a connection to Redis is told first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RespSetup {
    /// The protocol's version.
    pub version: RespVersion,
    /// The user; only with a password.
    pub username: Option<String>,
    /// The password; a value `env:NAME` is read from the environment when the run starts.
    pub password: Option<String>,
    /// The database; 0 is where a connection begins.
    pub database: u32,
}

/// A version of Redis' protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RespVersion {
    /// RESP2, which every server speaks.
    #[default]
    #[serde(rename = "2")]
    Two,
    /// RESP3, from Redis 6 on.
    #[serde(rename = "3")]
    Three,
}

impl CommandSpec {
    /// A command from its text, split into words as [`split_words`] does, named after itself.
    ///
    /// # Errors
    /// What is wrong with the quotes, or that there is no word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let arguments = split_words(text)?;
        if arguments.first().is_none_or(Vec::is_empty) {
            return Err("names no command".to_owned());
        }
        Ok(Self {
            name: short_name(&arguments),
            arguments,
            value: None,
            weight: 1.0,
            check: CommandCheck::default(),
        })
    }

    /// The command's words as text that [`parse`](Self::parse) reads.
    pub fn text(&self) -> String {
        text_of(&self.arguments)
    }
}

/// Words as `redis-cli` splits them: blanks part them; in double quotes `\n`, `\r`, `\t`, `\a`, `\b` and `\xNN` are
/// bytes and any other letter after a backslash is itself; in single quotes only `\'` means something.
///
/// # Errors
/// Where a quote is not closed, or something stands behind it without a blank.
pub fn split_words(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let (mut words, mut rest) = (Vec::new(), text.as_bytes().trim_ascii_start());
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some((&byte, after)) = rest.split_first() {
            rest = match byte {
                b'"' | b'\'' => quoted(byte, after, &mut word).ok_or_else(|| {
                    format!("`{text}` ends inside quotes, or a quote is not followed by a blank")
                })?,
                byte if byte.is_ascii_whitespace() => break,
                byte => {
                    word.push(byte);
                    after
                }
            };
        }
        words.push(word);
        rest = rest.trim_ascii_start();
    }
    Ok(words)
}

/// Appends what stands up to the closing `quote` to `word`; returns what is left behind it.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match (quote, *byte) {
            (quote, byte) if byte == quote => {
                let parted = rest.first().is_none_or(u8::is_ascii_whitespace);
                return parted.then_some(rest);
            }
            (b'"', b'\\') => {
                let hexadecimal = rest.strip_prefix(b"x").and_then(|digits| digits.first_chunk::<2>());
                let number = hexadecimal.and_then(|digits| {
                    let plain = digits.iter().all(u8::is_ascii_hexdigit);
                    u8::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| plain)?, 16).ok()
                });
                if let Some(number) = number {
                    word.push(number);
                    rest = &rest[3..];
                } else {
                    let (escaped, after) = rest.split_first()?;
                    rest = after;
                    word.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'a' => 7,
                        b'b' => 8,
                        other => *other,
                    });
                }
            }
            (b'\'', b'\\') if rest.first() == Some(&b'\'') => {
                word.push(b'\'');
                rest = &rest[1..];
            }
            (_, byte) => word.push(byte),
        }
    }
}

/// Words as text that [`split_words`] reads.
fn text_of(words: &[Vec<u8>]) -> String {
    let words: Vec<_> = words.iter().map(|word| word_text(word)).collect();
    words.join(" ")
}

fn word_text(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let mut text = String::from("\"");
    for byte in word {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string cannot go wrong.
            _ => drop(write!(text, "\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

fn short_name(words: &[Vec<u8>]) -> String {
    let text = text_of(words);
    match text.char_indices().nth(NAME_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Read<WorkloadSpec> {
    let words = [("status", Equality::Status), ("length", Equality::Length), ("bytes", Equality::Bytes)];
    let equal = reader.choice("equal", &words)?.unwrap_or_default();
    let setup = setup(reader)?;
    let commands: Vec<_> = reader.tables("command")?.into_iter().map(command).collect::<Read<_>>()?;
    if commands.is_empty() {
        let message = "no `[[workload.command]]`; write one with `command = \"GET key:1\"`";
        return Err(reader.error(reader.line(), message));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = commands.iter().find(|command| !names.insert(&command.name)) {
        let message = format!("two commands are named `{}`; give each a `name` of its own", twice.name);
        return Err(reader.error(reader.line(), message));
    }
    Ok(WorkloadSpec::Commands { commands, equal, setup })
}

fn setup(reader: &Reader<'_>) -> Read<RespSetup> {
    let setup = RespSetup {
        version: match reader.integer("version", 2, 3)? {
            Some(3) => RespVersion::Three,
            _ => RespVersion::Two,
        },
        username: reader.text("username")?,
        password: reader.text("password")?,
        database: reader.integer("database", 0, i32::MAX as u64)?.map_or(0, |number| number as u32),
    };
    if setup.username.is_some() && setup.password.is_none() {
        return Err(reader.error(reader.line(), "`workload.username` needs a `password` beside it"));
    }
    Ok(setup)
}

fn command(reader: Reader<'_>) -> Read<CommandSpec> {
    let line = reader.line();
    let words = |node: &Node| match CommandSpec::parse(&node.show()) {
        Ok(spec) if matches!(node.value, Value::Text(_)) => Ok(spec.arguments),
        Ok(_) => Err(format!("`{}` must be text in quotes", node.show())),
        Err(message) => Err(message),
    };
    let list = |node: &Node| match &node.value {
        Value::List(items)
            if items.iter().any(|item| matches!(item.value, Value::List(_) | Value::Table(_))) =>
        {
            Err("must be a list of texts".to_owned())
        }
        Value::List(items) if items.first().is_some_and(|item| !item.show().is_empty()) => {
            Ok(items.iter().map(|item| item.show().into_bytes()).collect())
        }
        _ => Err("must be a list of texts, the command's name first".to_owned()),
    };
    let arguments = match (reader.value("command", words)?, reader.value("arguments", list)?) {
        (Some(words), None) | (None, Some(words)) => words,
        _ => {
            let message = "a command needs exactly one of `command` and `arguments`";
            return Err(reader.error(line, message));
        }
    };
    let name = reader.text("name")?.unwrap_or_else(|| short_name(&arguments));
    let size = |node: &Node| match node.show().parse::<Bytes>() {
        Ok(size) if size.get() <= VALUE_LIMIT => Ok(size),
        Ok(size) => Err(format!("`{size}` must be at most 512 MiB")),
        Err(error) => Err(error.to_string()),
    };
    let value = match (reader.text("value")?, reader.value("value_size", size)?) {
        (None, None) => None,
        (Some(text), None) => Some(ValueSpec::Given(text.into_bytes())),
        (None, Some(size)) => Some(ValueSpec::Size(size)),
        (Some(_), Some(_)) => {
            let message = "`value` and `value_size` of a command cannot stand together";
            return Err(reader.error(line, message));
        }
    };
    let weight = reader.value("weight", |node| match node.show().parse::<f64>() {
        Ok(weight) if weight > 0.0 && weight.is_finite() => Ok(weight),
        _ => Err(format!("`{}` must be a number above zero", node.show())),
    })?;
    let check = reader.table("check")?.map_or(Ok(CommandCheck::default()), check)?;
    reader.finish()?;
    Ok(CommandSpec { name, arguments, value, weight: weight.unwrap_or(1.0), check })
}

fn check(reader: Reader<'_>) -> Read<CommandCheck> {
    let check = CommandCheck {
        value: reader.text("value")?.map(String::into_bytes),
        length: reader.quantity("length")?,
        presence: match reader.boolean("hit")? {
            None => Presence::Either,
            Some(true) => Presence::Hit,
            Some(false) => Presence::Miss,
        },
    };
    if check.presence == Presence::Miss && (check.value.is_some() || check.length.is_some()) {
        let message = "`hit = false` means that there is no value; leave `value` and `length` out";
        return Err(reader.error(reader.line(), message));
    }
    reader.finish()?;
    Ok(check)
}

pub(super) fn write(table: &mut Table, commands: &[CommandSpec], equal: Equality, setup: &RespSetup) {
    table.insert("name".into(), "commands".into());
    let equal = match equal {
        Equality::Length => "length",
        Equality::Bytes => "bytes",
        // A reply is not JSON; no file asks for that.
        Equality::Status | Equality::Json => "status",
    };
    table.insert("equal".into(), equal.into());
    let version = match setup.version {
        RespVersion::Two => 2,
        RespVersion::Three => 3,
    };
    table.insert("version".into(), toml::Value::Integer(version));
    for (key, text) in [("username", &setup.username), ("password", &setup.password)] {
        if let Some(text) = text {
            table.insert(key.into(), text.clone().into());
        }
    }
    table.insert("database".into(), i64::from(setup.database).into());
    let commands: Vec<toml::Value> = commands.iter().map(written).collect();
    table.insert("command".into(), commands.into());
}

fn written(command: &CommandSpec) -> toml::Value {
    let text = |bytes: &[u8]| toml::Value::from(String::from_utf8_lossy(bytes).into_owned());
    let mut table = Table::new();
    table.insert("name".into(), command.name.clone().into());
    table.insert("command".into(), command.text().into());
    match &command.value {
        Some(ValueSpec::Given(bytes)) => drop(table.insert("value".into(), text(bytes))),
        Some(ValueSpec::Size(size)) => {
            table.insert("value_size".into(), size.get().to_string().into());
        }
        None => {}
    }
    table.insert("weight".into(), command.weight.into());
    let mut check = Table::new();
    if let Some(value) = &command.check.value {
        check.insert("value".into(), text(value));
    }
    if let Some(length) = command.check.length {
        check.insert("length".into(), length.get().to_string().into());
    }
    match command.check.presence {
        Presence::Either => {}
        Presence::Hit => drop(check.insert("hit".into(), true.into())),
        Presence::Miss => drop(check.insert("hit".into(), false.into())),
    }
    table.insert("check".into(), check.into());
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = split_words(text).expect("words");
        words.into_iter().map(|word| String::from_utf8(word).expect("text")).collect()
    }

    #[test]
    fn words_are_split_as_redis_cli_splits_them() {
        assert_eq!(words(" GET  key:1 "), ["GET", "key:1"]);
        assert_eq!(words(r#"SET k "a b""#), ["SET", "k", "a b"]);
        assert_eq!(words(r#"SET k """#), ["SET", "k", ""]);
        assert_eq!(words(r#"SET k "a\nb\t\x41\"\\\q\xzz""#), ["SET", "k", "a\nb\tA\"\\qxzz"]);
        assert_eq!(words(r"SET k 'a\n\'b'"), ["SET", "k", r"a\n'b"]);
        assert_eq!(words(r"SET k a\n"), ["SET", "k", r"a\n"]);
        assert_eq!(words(r#"SET k"a b""#), ["SET", "ka b"]);
        assert_eq!(split_words("\"\\xff\\x00\"").expect("bytes"), [vec![0xff, 0]]);
        assert!(words("  ").is_empty());
        for wrong in [r#"SET k "a"#, r#"SET k "a\"#, "SET k 'a", r#"SET k "a"b"#, "'a'\"b\""] {
            assert!(split_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_byte_survives_being_written_and_read() {
        let every: Vec<u8> = (0..=255).collect();
        let arguments = vec![b"SET".to_vec(), every, Vec::new(), b"it's".to_vec(), b"a\\b".to_vec()];
        let text = text_of(&arguments);
        assert_eq!(split_words(&text).expect("words"), arguments, "{text}");
    }

    #[test]
    fn a_long_command_has_a_short_name() {
        let spec = CommandSpec::parse(&format!("SET k {}", "v".repeat(100))).expect("a command");
        assert_eq!(spec.name.chars().count(), NAME_LENGTH + 1);
        assert_eq!(CommandSpec::parse("GET k").expect("a command").name, "GET k");
        assert!(CommandSpec::parse("  ").is_err());
    }

    use crate::experiment::{Experiment, Protocol, Scheme, Url};

    const VARIANT: &str = "[[variant]]\nurl = 'redis://localhost'\n";

    fn parsed(workload: &str) -> Result<Experiment, String> {
        let text = format!("[workload]\nname = 'commands'\n{workload}\n{VARIANT}");
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read_and_written_back() {
        let experiment = parsed(
            "version = 3\nusername = 'me'\npassword = 'env:PASSWORD'\ndatabase = 2\nequal = 'bytes'\n\
             [[workload.command]]\ncommand = 'SET k \"a\\x00b\"'\nweight = 2.5\n\
             [[workload.command]]\nname = 'read'\narguments = ['GET', 'a b', '']\n\
             check = { value = 'x', length = 1, hit = true }\n\
             [[workload.command]]\nname = 'sized'\ncommand = 'SET large'\nvalue_size = '1 MiB'\n\
             [[workload.command]]\nname = 'given'\ncommand = 'SET small'\nvalue = 'x y'\n\
             [[workload.command]]\ncommand = 'GET nothing'\ncheck = { hit = false }",
        )
        .expect("an experiment");
        let WorkloadSpec::Commands { commands, equal, setup } = &experiment.points[0].workload else {
            panic!("commands")
        };
        assert_eq!((commands.len(), *equal, setup.version), (5, Equality::Bytes, RespVersion::Three));
        assert_eq!((setup.database, setup.password.as_deref()), (2, Some("env:PASSWORD")));
        assert_eq!((&commands[0].arguments[2][..], commands[0].weight), (&b"a\0b"[..], 2.5));
        assert_eq!(commands[1].arguments, [b"GET".to_vec(), b"a b".to_vec(), Vec::new()]);
        assert_eq!(commands[1].check.presence, Presence::Hit);
        assert_eq!(commands[2].value, Some(ValueSpec::Size(Bytes::new(1 << 20))));
        assert_eq!(commands[3].value, Some(ValueSpec::Given(b"x y".to_vec())));
        assert_eq!((commands[4].check.presence, commands[4].name.as_str()), (Presence::Miss, "GET nothing"));
        assert_eq!(experiment.points[0].workload.operations()[1], "read");
        assert_eq!(Experiment::parse("again", &experiment.to_toml()), Ok(experiment));
    }

    #[test]
    fn versions_make_points_and_read_back() {
        let text = format!(
            "[workload]\nname = 'commands'\n[[workload.command]]\ncommand = 'GET k'\n\
             {VARIANT}[matrix]\nworkload.version = [2, 3]\n"
        );
        let experiment = Experiment::parse("x.toml", &text).expect("an experiment");
        assert_eq!(experiment.points.len(), 2);
        assert_eq!(Experiment::parse("again", &experiment.to_toml()), Ok(experiment));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (workload, parts) in [
            ("", &["x.toml:1:", "no `[[workload.command]]`"][..]),
            ("version = 4", &["x.toml:3:", "from 2 to 3"]),
            ("equal = 'json'", &["x.toml:3:", "allowed: `status`, `length`, `bytes`"]),
            ("username = 'me'", &["needs a `password`"]),
            ("[[workload.command]]\nname = 'x'", &["x.toml:3:", "exactly one of `command` and `arguments`"]),
            ("[[workload.command]]\ncommand = ' '", &["x.toml:4:", "names no command"]),
            ("[[workload.command]]\ncommand = 'GET \"k'", &["x.toml:4:", "ends inside quotes"]),
            ("[[workload.command]]\ncommand = 5", &["x.toml:4:", "text in quotes"]),
            ("[[workload.command]]\narguments = []", &["x.toml:4:", "list of texts"]),
            ("[[workload.command]]\narguments = [['a']]", &["x.toml:4:", "list of texts"]),
            (
                "[[workload.command]]\ncommand = 'SET k'\nvalue = 'x'\nvalue_size = 1",
                &["x.toml:3:", "cannot stand together"],
            ),
            ("[[workload.command]]\ncommand = 'SET k'\nvalue_size = '1 GiB'", &["x.toml:5:", "512 MiB"]),
            ("[[workload.command]]\ncommand = 'GET k'\nweight = 0", &["x.toml:5:", "above zero"]),
            ("[[workload.command]]\ncommand = 'GET k'\nwieght = 1", &["x.toml:5:", "did you mean `weight`?"]),
            (
                "[[workload.command]]\ncommand = 'GET k'\ncheck = { hit = false, length = 0 }",
                &["x.toml:5:", "there is no value"],
            ),
            (
                "[[workload.command]]\ncommand = 'GET k'\n[[workload.command]]\ncommand = 'GET  k'",
                &["two commands are named `GET k`"],
            ),
        ] {
            let message = parsed(workload).expect_err(workload);
            for part in parts {
                assert!(message.contains(part), "{workload:?}: {message}");
            }
        }
    }

    #[test]
    fn urls_choose_the_protocol_and_unix_sockets_lead_to_them() {
        let of = |variant: &str| {
            let text =
                format!("[workload]\nname = 'commands'\n[[workload.command]]\ncommand = 'GET k'\n{variant}");
            Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
        };
        for (variant, protocol) in [
            ("[[variant]]\nurl = 'redis://localhost'", Protocol::Resp),
            ("[[variant]]\nurl = 'memcached://localhost'\nprotocol = 'memcached'", Protocol::Memcached),
            ("[[variant]]\nurl = 'redis://localhost/1'\nunix = '/run/redis.sock'", Protocol::Resp),
            ("[[variant]]\ncommand = 'redis-server --port {port}'\nprotocol = 'resp'", Protocol::Resp),
        ] {
            let experiment = of(variant).expect(variant);
            assert_eq!(experiment.variants[0].protocol, protocol, "{variant}");
            assert_eq!(Experiment::parse("again", &experiment.to_toml()), Ok(experiment));
        }
        for (variant, part) in [
            ("[[variant]]\nurl = 'redis://localhost'\nprotocol = 'memcached'", "is not spoken at `redis://"),
            ("[[variant]]\nurl = 'http://localhost'\nprotocol = 'resp'", "is not spoken at `http://"),
            ("[[variant]]\ncommand = 'x'\nunix = '/run/x'", "`unix` belongs to `url`"),
            ("[[variant]]\nurl = 'redis://localhost'\nunix = ''", "`variant.unix` is empty"),
        ] {
            let message = of(variant).expect_err(variant);
            assert!(message.contains(part), "{variant:?}: {message}");
        }
        for (text, scheme, port, shown) in [
            ("redis://h", Scheme::Redis, 6379, "redis://h/"),
            ("redis://[::1]:1/7", Scheme::Redis, 1, "redis://[::1]:1/7"),
            ("memcached://h:11211/", Scheme::Memcached, 11211, "memcached://h/"),
            ("h:80", Scheme::Http, 80, "http://h/"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.scheme, url.port, url.to_string()), (scheme, port, shown.to_owned()));
        }
        for text in
            ["redis://h/x", "redis://h/1/2", "redis://h/-1", "memcached://h/1", "redis://u:p@h", "rediss://h"]
        {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
