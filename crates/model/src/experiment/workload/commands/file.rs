//! The workload `commands` in a file: its keys, read and written.

use std::collections::BTreeSet;

use toml::Table;

use super::{
    CommandCheck, CommandSpec, CommandsSpec, Presence, RespSetup, RespVersion, ValueSpec, short_name,
};
use crate::experiment::Equality;
use crate::experiment::node::{Node, Read, Reader, Value};
use crate::experiment::read::weight;
use crate::experiment::workload::{Spec, TextVisitor};
use crate::quantity::Bytes;

/// Longest value: the default limit of Redis.
const VALUE_LIMIT: u64 = 512 << 20;

impl Spec for CommandsSpec {
    const NAME: &'static str = "commands";

    fn read(reader: &Reader<'_>) -> Read<Self> {
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
        Ok(Self { commands, equal, setup })
    }

    fn write(&self, table: &mut Table) {
        let equal = match self.equal {
            Equality::Length => "length",
            Equality::Bytes => "bytes",
            // No file has `json`, since replies are not JSON.
            Equality::Status | Equality::Json => "status",
        };
        table.insert("equal".into(), equal.into());
        let version = match self.setup.version {
            RespVersion::Two => 2,
            RespVersion::Three => 3,
        };
        table.insert("version".into(), toml::Value::Integer(version));
        for (key, text) in [("username", &self.setup.username), ("password", &self.setup.password)] {
            if let Some(text) = text {
                table.insert(key.into(), text.clone().into());
            }
        }
        table.insert("database".into(), i64::from(self.setup.database).into());
        let commands: Vec<toml::Value> = self.commands.iter().map(written).collect();
        table.insert("command".into(), commands.into());
    }

    fn operations(&self) -> Vec<String> {
        self.commands.iter().map(|command| command.name.clone()).collect()
    }

    fn words(&self) -> String {
        match &self.commands[..] {
            [one] => format!("commands, {}", one.name),
            several => format!("commands, {} kinds", several.len()),
        }
    }

    fn visit_texts(&mut self, visitor: &mut dyn TextVisitor) {
        self.setup.password.iter_mut().for_each(|password| visitor.secret(password));
    }
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
    let name = reader.name("name")?.unwrap_or_else(|| short_name(&arguments));
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
    let weight = weight(&reader)?;
    let check = reader.table("check")?.map_or(Ok(CommandCheck::default()), check)?;
    reader.finish()?;
    Ok(CommandSpec { name, arguments, value, weight, check })
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
    use crate::experiment::{Experiment, Protocol, Scheme, Url, WorkloadSpec};

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
        let WorkloadSpec::Commands(CommandsSpec { commands, equal, setup }) = &experiment.points[0].workload
        else {
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
        let parse = |variant: &str| {
            let text =
                format!("[workload]\nname = 'commands'\n[[workload.command]]\ncommand = 'GET k'\n{variant}");
            Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
        };
        for (variant, protocol) in [
            ("[[variant]]\nurl = 'redis://localhost'", Protocol::RESP),
            ("[[variant]]\nurl = 'memcached://localhost'\nprotocol = 'memcached'", Protocol::MEMCACHED),
            ("[[variant]]\nurl = 'redis://localhost/1'\nunix = '/run/redis.sock'", Protocol::RESP),
            ("[[variant]]\ncommand = 'redis-server --port {port}'\nprotocol = 'resp'", Protocol::RESP),
        ] {
            let experiment = parse(variant).expect(variant);
            assert_eq!(experiment.variants[0].protocol, protocol, "{variant}");
            assert_eq!(Experiment::parse("again", &experiment.to_toml()), Ok(experiment));
        }
        for (variant, part) in [
            ("[[variant]]\nurl = 'redis://localhost'\nprotocol = 'memcached'", "is not spoken at `redis://"),
            ("[[variant]]\nurl = 'http://localhost'\nprotocol = 'resp'", "is not spoken at `http://"),
            ("[[variant]]\ncommand = 'x'\nunix = '/run/x'", "`unix` belongs to `url`"),
            ("[[variant]]\nurl = 'redis://localhost'\nunix = ''", "`variant.unix` is empty"),
        ] {
            let message = parse(variant).expect_err(variant);
            assert!(message.contains(part), "{variant:?}: {message}");
        }
        for (text, scheme, port, shown) in [
            ("redis://h", Scheme::Redis, 6379, "redis://h/"),
            ("redis://[::1]:1/7", Scheme::Redis, 1, "redis://[::1]:1/7"),
            ("rediss://h/7", Scheme::Rediss, 6379, "rediss://h/7"),
            ("memcached://h:11211/", Scheme::Memcached, 11211, "memcached://h/"),
            ("h:80", Scheme::Http, 80, "http://h/"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.scheme, url.port, url.to_string()), (scheme, port, shown.to_owned()));
        }
        for text in [
            "redis://h/x",
            "redis://h/1/2",
            "redis://h/-1",
            "memcached://h/1",
            "redis://u:p@h",
            "rediss://h/x",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }
}
