//! The workload `commands`: commands of memcached and Redis, rendered once, and the check of their replies.
//!
//! Values are compared as they arrive and never kept; of an error's text, the beginning is kept.

use std::borrow::Cow;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::Framing;
use weighbridge_load::framer::{ERROR_FIELD, Head};
use weighbridge_load::request::Rendered;
use weighbridge_load::resp::{Handshake, Login, Opening, Version};
use weighbridge_load::session::Check;
use weighbridge_load::{memcached, resp};
use weighbridge_model::experiment::{
    CommandCheck, CommandSpec, CommandsSpec, Presence, Protocol, RespSetup, RespVersion, ValueSpec,
};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::bind::{Bind, Binding};
use crate::checks::Reset;
use crate::checks::explain::{Explain, FailureLog, Noted, Words};
use crate::expect::Expect;
use crate::stream::Mix;
use crate::{Address, Entry, Workload, WorkloadError};

/// Letters of generated values.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Bind for CommandsSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        if !matches!(binding.protocol, Protocol::MEMCACHED | Protocol::RESP) {
            return Err(binding.unbound("commands"));
        }
        let (framing, address) = (binding.framing, binding.address);
        let entries = entries(&self.commands, &self.setup, framing, address, binding.given.environment)?;
        let mix = Mix::weighted(self.commands.iter().map(|command| command.weight));
        Ok(binding.plain(entries, mix, self.equal))
    }
}

impl Expect for CommandCheck {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(Noted::new(ValueCheck::new(self.clone()), log))
    }
}

/// The requests of one variant.
fn entries(
    commands: &[CommandSpec],
    setup: &RespSetup,
    framing: Framing,
    address: &Address,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Entry>, WorkloadError> {
    let opening = match framing {
        Framing::Resp => handshake(setup, address, environment)?.opening(),
        _ => None,
    };
    let entry = |(index, spec): (usize, &CommandSpec)| {
        let operation = OperationId(index as u16);
        let value = spec.value.as_ref().map(|value| bytes_of(value, index));
        let rendered = match framing {
            Framing::Memcached => memcached_command(operation, spec, value.as_deref())?,
            _ => resp_command(operation, spec, value, opening.clone())?,
        };
        Ok(Entry {
            name: spec.name.clone(),
            title: spec.name.clone(),
            rendered,
            expect: Arc::new(spec.check.clone()),
        })
    };
    commands.iter().enumerate().map(entry).collect()
}

fn memcached_command(
    operation: OperationId,
    spec: &CommandSpec,
    value: Option<&[u8]>,
) -> Result<Rendered, WorkloadError> {
    memcached::command(operation, &spec.arguments, value)
        .map_err(|source| WorkloadError::Memcached { name: spec.name.clone(), source })
}

fn resp_command(
    operation: OperationId,
    spec: &CommandSpec,
    value: Option<Vec<u8>>,
    opening: Option<Arc<Opening>>,
) -> Result<Rendered, WorkloadError> {
    let words: Vec<&[u8]> = spec.arguments.iter().chain(value.as_ref()).map(Vec::as_slice).collect();
    resp::command(operation, &words, opening)
        .map_err(|source| WorkloadError::Resp { name: spec.name.clone(), source })
}

/// The handshake of connections. A database in the variant's address overrides the workload's.
fn handshake(
    setup: &RespSetup,
    address: &Address,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Handshake, WorkloadError> {
    let password = match setup.password.as_deref() {
        None => None,
        Some(given) => Some(match given.strip_prefix("env:") {
            None => given.to_owned(),
            Some(variable) => environment(variable)
                .ok_or_else(|| WorkloadError::Password { variable: variable.to_owned() })?,
        }),
    };
    let login = password.map(|password| Login { username: setup.username.clone(), password });
    Ok(Handshake {
        version: match setup.version {
            RespVersion::Two => Version::Two,
            RespVersion::Three => Version::Three,
        },
        login,
        database: address.base.trim_start_matches('/').parse().unwrap_or(setup.database),
    })
}

/// A value's bytes; generated values depend on the command's position and are the same for every variant.
fn bytes_of(value: &ValueSpec, place: usize) -> Vec<u8> {
    match value {
        ValueSpec::Given(bytes) => bytes.clone(),
        ValueSpec::Size(size) => {
            let mut random = ChaCha8Rng::seed_from_u64(place as u64);
            (0..size.get()).map(|_| LETTERS[usize::from(random.random::<u8>() & 63)]).collect()
        }
    }
}

/// Checks replies of commands: the framings' statuses mean an error from 500 on, a miss from 400 on.
#[derive(Debug, Clone)]
pub(crate) struct ValueCheck {
    want: CommandCheck,
    status: u16,
    seen: u64,
    right: bool,
    /// The text of an error.
    words: Words,
}

impl ValueCheck {
    pub fn new(want: CommandCheck) -> Self {
        Self { want, status: 0, seen: 0, right: true, words: Words::default() }
    }
}

impl Reset for ValueCheck {
    fn reset(&mut self) {
        (self.status, self.seen, self.right) = (0, 0, true);
        self.words.clear();
    }
}

impl Check for ValueCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        if self.status >= 500 {
            return self.words.push(bytes);
        }
        if let Some(value) = &self.want.value {
            let at = usize::try_from(self.seen).unwrap_or(usize::MAX);
            let piece = at.checked_add(bytes.len()).and_then(|end| value.get(at..end));
            self.right = self.right && piece == Some(bytes);
        }
        self.seen += bytes.len() as u64;
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.status = fields.status;
        self.words.push(fields.field(ERROR_FIELD).unwrap_or_default());
    }

    fn done(&mut self) -> Outcome {
        if self.status >= 500 {
            return Outcome::Error(ErrorKind::Status);
        }
        let hit = self.status < 400;
        let whole = self.want.value.as_ref().is_none_or(|value| value.len() as u64 == self.seen);
        let length = self.want.length.is_none_or(|length| length.get() == self.seen);
        let wants_value = self.want.value.is_some() || self.want.length.is_some();
        let present = match self.want.presence {
            Presence::Either => hit || !wants_value,
            Presence::Hit => hit,
            Presence::Miss => !hit,
        };
        match present && self.right && whole && length {
            true => Outcome::Ok,
            false => Outcome::Error(ErrorKind::Check),
        }
    }
}

impl Explain for ValueCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        (self.status >= 500).then(|| self.words.bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::quantity::Bytes;

    fn judged(want: &CommandCheck, status: u16, pieces: &[&[u8]]) -> Outcome {
        let mut check = ValueCheck::new(want.clone());
        // The second time shows that no state of the first is left.
        for _ in 0..2 {
            check.reset();
            check.head(&Head { status, fields: &[] });
            pieces.iter().for_each(|piece| check.data(piece));
        }
        check.done()
    }

    const WRONG: Outcome = Outcome::Error(ErrorKind::Check);

    #[test]
    fn a_value_is_compared_piece_by_piece() {
        let want = CommandCheck { value: Some(b"hello".to_vec()), ..CommandCheck::default() };
        assert_eq!(judged(&want, 200, &[b"hello"]), Outcome::Ok);
        assert_eq!(judged(&want, 200, &[b"he", b"", b"l", b"lo"]), Outcome::Ok);
        for wrong in [&[&b"hell"[..]][..], &[b"hello", b"!"], &[b"Hello"], &[b"he", b"xxx"], &[]] {
            assert_eq!(judged(&want, 200, wrong), WRONG, "{wrong:?}");
        }
        assert_eq!(judged(&want, 404, &[]), WRONG, "a miss has no value");
    }

    #[test]
    fn misses_are_good_unless_something_is_wanted() {
        let check = |presence, length: Option<u64>| CommandCheck {
            presence,
            length: length.map(Bytes::new),
            value: None,
        };
        for (want, hit, miss) in [
            (check(Presence::Either, None), Outcome::Ok, Outcome::Ok),
            (check(Presence::Hit, None), Outcome::Ok, WRONG),
            (check(Presence::Miss, None), WRONG, Outcome::Ok),
            (check(Presence::Either, Some(3)), Outcome::Ok, WRONG),
            (check(Presence::Either, Some(4)), WRONG, WRONG),
            (check(Presence::Either, Some(0)), WRONG, WRONG),
        ] {
            assert_eq!(judged(&want, 200, &[b"abc"]), hit, "{want:?}");
            assert_eq!(judged(&want, 404, &[]), miss, "{want:?}");
        }
    }

    #[test]
    fn an_error_reply_is_never_good() {
        let error = Outcome::Error(ErrorKind::Status);
        for presence in [Presence::Either, Presence::Hit, Presence::Miss] {
            let want = CommandCheck { presence, ..CommandCheck::default() };
            assert_eq!(judged(&want, 500, &[b"ERR"]), error);
        }
        let mut late = ValueCheck::new(CommandCheck::default());
        late.head(&Head { status: 200, fields: &[] });
        late.data(b"value");
        late.trailers(&Head { status: 500, fields: &[] });
        assert_eq!(late.done(), error);
    }

    #[test]
    fn an_error_text_is_reported_whether_it_comes_first_or_late() {
        let mut check = ValueCheck::new(CommandCheck::default());
        check.head(&Head { status: 200, fields: &[] });
        check.data(b"value");
        assert_eq!(check.explain(), None);
        let text = httparse::Header { name: ERROR_FIELD, value: b"SERVER_ERROR out of memory" };
        check.trailers(&Head { status: 500, fields: &[text] });
        assert_eq!(check.explain().as_deref(), Some(&b"SERVER_ERROR out of memory"[..]));
        check.reset();
        check.head(&Head { status: 500, fields: &[] });
        check.data(b"ERR ");
        check.data(b"no");
        assert_eq!(check.explain().as_deref(), Some(&b"ERR no"[..]));
    }

    #[test]
    fn made_values_repeat_and_differ_by_place() {
        let size = ValueSpec::Size(Bytes::new(1000));
        assert_eq!(bytes_of(&size, 1).len(), 1000);
        assert_eq!(bytes_of(&size, 1), bytes_of(&size, 1));
        assert_ne!(bytes_of(&size, 1), bytes_of(&size, 2));
    }
}
