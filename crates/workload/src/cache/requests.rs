//! Requests of the workload `cache` over each protocol, filled in place, and what the replies to them mean.

use std::slice;

use weighbridge_load::keyed::{KeyedCommand, KeyedDialect, KeyedRequest};
use weighbridge_load::request::{Rendered, Request};
use weighbridge_load::template::{Gaps, Piece, RenderedTemplate, RequestBuffer, RequestTemplate};
use weighbridge_load::{memcached, resp};
use weighbridge_model::experiment::CacheOperation;
use weighbridge_model::id::OperationId;

use super::reply::ReplyMeaning;
use super::value::{LetterBlock, Origin};
use crate::WorkloadError;
use crate::bind::{Binding, join, render_error};

/// What memcached and Redis say of a value for which they have no room.
const FULL: [&[u8]; 2] = [b"SERVER_ERROR out of memory", b"OOM "];

/// What emptying is called where it fails.
const EMPTYING: &str = "empty";

/// Gaps of requests over HTTP.
const KEY: usize = 0;
const VALUE: usize = 1;

/// How requests are made.
#[derive(Debug, Clone)]
pub(super) enum Requests {
    /// One template for each operation, in the order of [`CacheOperation::ALL`].
    Rest(Box<[RenderedTemplate; 4]>),
    Keyed {
        dialect: KeyedDialect,
        /// Seconds that values live; 0 for ever.
        ttl: u32,
    },
}

/// A key and its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyedValue<'a> {
    pub key: &'a [u8],
    pub block: &'a LetterBlock,
    pub origin: Origin,
    pub length: usize,
}

impl KeyedValue<'_> {
    pub fn append(&self, into: &mut Vec<u8>) {
        self.block.append(self.origin, self.length, into);
    }
}

impl Gaps for KeyedValue<'_> {
    fn write(&self, number: usize, into: &mut Vec<u8>) {
        match number {
            KEY => into.extend_from_slice(self.key),
            _ => self.append(into),
        }
    }
}

impl Requests {
    /// The requests over HTTP; `ids` are the operations' numbers.
    pub fn rest(
        binding: &Binding<'_>,
        ids: impl Fn(CacheOperation) -> OperationId,
    ) -> Result<Self, WorkloadError> {
        let [get, set, delete, head] = CacheOperation::ALL.map(|operation| {
            let (method, has_body) = match operation {
                CacheOperation::Get => ("GET", false),
                CacheOperation::Set => ("PUT", true),
                CacheOperation::Delete => ("DELETE", false),
                CacheOperation::Head => ("HEAD", false),
            };
            let text = |text: &str| vec![Piece::Text(text.to_owned())];
            let body_type = ("Content-Type".to_owned(), text("application/octet-stream"));
            let close = binding.connection_header().map(|(name, value)| (name, text(&value)));
            let template = RequestTemplate {
                method: method.to_owned(),
                target: vec![Piece::Text(join(&binding.address.base, "/key/")), Piece::Gap(KEY)],
                authority: binding.address.authority.clone(),
                headers: close.into_iter().chain(has_body.then_some(body_type)).collect(),
                body: if has_body { vec![Piece::Gap(VALUE)] } else { Vec::new() },
            };
            RenderedTemplate::new(&binding.framing, ids(operation), &template)
                .map_err(|source| render_error(operation.name(), source))
        });
        Ok(Self::Rest(Box::new([get?, set?, delete?, head?])))
    }

    /// The request that empties the server.
    pub fn emptying(&self, binding: &Binding<'_>) -> Result<Rendered, WorkloadError> {
        let id = OperationId(0);
        match self {
            Self::Keyed { dialect: KeyedDialect::Memcached, .. } => {
                memcached::command(id, &["flush_all"], None)
                    .map_err(|source| WorkloadError::Memcached { name: EMPTYING.to_owned(), source })
            }
            Self::Keyed { dialect: KeyedDialect::Resp(opening), .. } => {
                resp::command(id, &["FLUSHALL"], opening.clone())
                    .map_err(|source| WorkloadError::Resp { name: EMPTYING.to_owned(), source })
            }
            Self::Rest(_) => {
                let request = Request {
                    method: "POST".to_owned(),
                    target: join(&binding.address.base, "/reset"),
                    authority: binding.address.authority.clone(),
                    headers: Vec::new(),
                    body: Vec::new(),
                };
                binding.framing.render(id, &request).map_err(|source| render_error(EMPTYING, source))
            }
        }
    }

    pub fn buffer(&self) -> RequestBuffer {
        match self {
            Self::Rest(_) => RequestBuffer::new(),
            Self::Keyed { dialect, .. } => dialect.buffer(),
        }
    }

    pub fn fill(
        &self,
        id: OperationId,
        operation: CacheOperation,
        value: &KeyedValue<'_>,
        buffer: &mut RequestBuffer,
    ) {
        match self {
            Self::Rest(templates) => templates[operation as usize].fill(value, buffer),
            Self::Keyed { dialect, ttl } => {
                let command = match operation {
                    CacheOperation::Get => KeyedCommand::Get,
                    CacheOperation::Set => KeyedCommand::Set,
                    CacheOperation::Delete => KeyedCommand::Delete,
                    CacheOperation::Head => KeyedCommand::Head,
                };
                let request =
                    KeyedRequest { operation: id, command, key: value.key, length: value.length, ttl: *ttl };
                dialect.fill(&request, |into| value.append(into), buffer);
            }
        }
    }

    /// A get of several keys; not over HTTP.
    pub fn fill_batch<'k>(
        &self,
        id: OperationId,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
        buffer: &mut RequestBuffer,
    ) {
        if let Self::Keyed { dialect, .. } = self {
            dialect.fill_batch(id, keys, buffer);
        }
    }

    /// What a reply with this status says; `None` if it is not a good one. Redis says in a number whether there was a value.
    pub fn meaning(&self, operation: CacheOperation, status: u16, text: &[u8]) -> Option<ReplyMeaning> {
        let counts = matches!(self, Self::Keyed { dialect: KeyedDialect::Resp(_), .. })
            && matches!(operation, CacheOperation::Delete | CacheOperation::Head);
        let stored: &[u16] = match self {
            Self::Rest(_) => &[200, 201],
            Self::Keyed { .. } => slice::from_ref(&200),
        };
        let is_full = match self {
            Self::Rest(_) => status == 507,
            Self::Keyed { .. } => status == 500 && FULL.iter().any(|words| text.starts_with(words)),
        };
        match (operation, status) {
            (CacheOperation::Set, _) if is_full => Some(ReplyMeaning::Refused),
            (CacheOperation::Set, status) => stored.contains(&status).then_some(ReplyMeaning::Done),
            (_, 200) if counts && text == b"0" => Some(ReplyMeaning::Nothing),
            (_, 200) => Some(ReplyMeaning::Done),
            (_, 404) => Some(ReplyMeaning::Nothing),
            _ => None,
        }
    }
}
