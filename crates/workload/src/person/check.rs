//! What a good reply is: the right value in the right envelope.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{CodecName, GrpcStatus};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::people::{CallOfPerson, PersonReply, SUCCESS};
use crate::canonical::{Canonical, Received};
use crate::checks::Reset;
use crate::checks::exemplar::{ExemplarCheck, Exemplars, Meaning, Spelling};
use crate::checks::explain::{Explain, FailureLog, Noted, status_line};
use crate::codec;
use crate::expect::Expect;
use crate::grpc::Envelope;

/// The statuses of what is found, of what is not, and of a fault of SOAP.
pub(super) const FOUND: u16 = 200;
pub(super) const NOT_FOUND: u16 = 404;
pub(super) const FAULT: u16 = 500;

/// How a reply is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// The body of a reply over HTTP.
    Rest,
    /// The messages of a call over gRPC.
    Grpc,
    /// What a call of Thrift returns.
    Thrift,
    /// What a call of SOAP returns, in the body of a reply over HTTP.
    Soap,
}

impl Carrier {
    /// Whether a call has arguments, and returns a value or an exception: not a message each.
    pub const fn has_arguments(self) -> bool {
        matches!(self, Self::Thrift | Self::Soap)
    }
}

#[derive(Debug)]
pub(super) struct PersonExpect {
    carrier: Carrier,
    /// Whether not to be found is the right reply.
    is_missing: bool,
    reply: Arc<RightReply>,
    /// `None` where a right reply has no content: the status says all.
    exemplars: Option<Arc<Exemplars>>,
}

/// The values that a reply must have.
#[derive(Debug)]
struct RightReply {
    reply: PersonReply,
    codec: CodecName,
}

impl PersonReply {
    /// The messages by our own codec; `None` where nothing is found.
    pub fn messages(&self, codec: CodecName) -> Option<Vec<Vec<u8>>> {
        match self {
            Self::NotFound => None,
            Self::Found(record, value) => Some(vec![codec::encode(codec, record, value)]),
            Self::Stream(record, values) => {
                let values = values.as_array().into_iter().flatten();
                Some(values.map(|value| codec::encode(codec, record, value)).collect())
            }
        }
    }

    /// The bytes by our own codec. Messages of gRPC end somewhere, another content does not.
    fn spelled(&self, codec: CodecName, carrier: Carrier) -> Option<Spelling> {
        let mut spelling = Spelling::default();
        for message in self.messages(codec)? {
            spelling.bytes.extend(message);
            if carrier == Carrier::Grpc {
                spelling.ends.push(spelling.bytes.len());
            }
        }
        Some(spelling)
    }
}

impl RightReply {
    /// The value of a reply: of a stream, the list of its messages.
    fn value_of(&self, bytes: &[u8], ends: &[usize]) -> Result<Value, String> {
        let decode =
            |record, bytes| codec::decode(self.codec, record, bytes).map_err(|error| error.to_string());
        match &self.reply {
            PersonReply::NotFound => Ok(Value::Null),
            PersonReply::Found(record, _) if ends.len() <= 1 => decode(record, bytes),
            PersonReply::Found(..) => Err(format!("{} messages instead of one", ends.len())),
            PersonReply::Stream(record, _) => {
                let starts = [0].into_iter().chain(ends.iter().copied());
                starts.zip(ends).map(|(start, end)| decode(record, &bytes[start..*end])).collect()
            }
        }
    }
}

impl Meaning for RightReply {
    fn judge(&self, spelling: &Spelling) -> Result<(), String> {
        let found = self.value_of(&spelling.bytes, &spelling.ends)?;
        let wanted = match &self.reply {
            PersonReply::NotFound => &Value::Null,
            PersonReply::Found(_, value) | PersonReply::Stream(_, value) => value,
        };
        if found == *wanted {
            return Ok(());
        }
        let canonical = |value: &Value| Canonical::Json(FOUND, value.clone());
        let plain = |text: &str| text.to_owned();
        let (place, found, wanted) = canonical(&found).difference(&canonical(wanted), &plain);
        Err(format!("{found}{place}, where the people file has {wanted}"))
    }
}

impl PersonExpect {
    pub fn new(call: &CallOfPerson, codec: CodecName, carrier: Carrier) -> Self {
        let is_missing = matches!(call.reply, PersonReply::NotFound);
        let reply = if carrier.has_arguments() { call.returned() } else { call.reply.clone() };
        let spelled = reply.spelled(codec, carrier);
        let reply = Arc::new(RightReply { reply, codec });
        let exemplars = spelled.map(|spelling| Arc::new(Exemplars::new(spelling, reply.clone())));
        Self { carrier, is_missing, reply, exemplars }
    }
}

impl Expect for PersonExpect {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        let content = self.exemplars.as_ref().map(|exemplars| ExemplarCheck::new(Arc::clone(exemplars)));
        match self.carrier {
            Carrier::Grpc => Box::new(Noted::new(CallCheck { envelope: Envelope::default(), content }, log)),
            Carrier::Rest | Carrier::Thrift | Carrier::Soap => {
                let wanted = match self.carrier {
                    Carrier::Rest if self.is_missing => NOT_FOUND,
                    Carrier::Soap if self.is_missing => FAULT,
                    _ => FOUND,
                };
                Box::new(Noted::new(PlainCheck { status: 0, wanted, content }, log))
            }
        }
    }

    /// Not to be found is the same whatever carries it.
    fn amounts_to(&self, _received: &Received<'_>) -> Option<Canonical> {
        self.is_missing.then_some(Canonical::Status(NOT_FOUND))
    }

    fn json(&self, received: &Received<'_>, _hide: &dyn Fn(&str) -> String) -> Result<Value, String> {
        let mut value = self.reply.value_of(received.body, received.messages)?;
        match value.get_mut(SUCCESS).filter(|_| self.carrier.has_arguments()) {
            Some(returned) => Ok(returned.take()),
            None => Ok(value),
        }
    }

    fn wrong_content(&self, received: &Received<'_>) -> Option<String> {
        let spelling = Spelling { bytes: received.body.to_vec(), ends: received.messages.to_vec() };
        self.exemplars.as_ref()?.judge(&spelling).err()
    }
}

/// A reply over HTTP or Thrift.
#[derive(Debug, Clone)]
struct PlainCheck {
    status: u16,
    wanted: u16,
    /// `None` where the status says all.
    content: Option<ExemplarCheck>,
}

impl Reset for PlainCheck {
    fn reset(&mut self) {
        self.status = 0;
        if let Some(content) = &mut self.content {
            content.reset();
        }
    }
}

impl Check for PlainCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        if let Some(content) = self.content.as_mut().filter(|_| self.status == self.wanted) {
            content.data(bytes);
        }
    }

    fn done(&mut self) -> Outcome {
        if self.status != self.wanted {
            return Outcome::Error(ErrorKind::Status);
        }
        self.content.as_mut().map_or(Outcome::Ok, right)
    }
}

impl Explain for PlainCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        (self.status != self.wanted).then(|| status_line(self.status).into_bytes().into())
    }
}

/// A reply over gRPC.
#[derive(Debug, Clone)]
struct CallCheck {
    envelope: Envelope,
    /// `None` where nothing is to be found.
    content: Option<ExemplarCheck>,
}

impl CallCheck {
    fn wanted(&self) -> GrpcStatus {
        match self.content {
            Some(_) => GrpcStatus::OK,
            None => GrpcStatus::NOT_FOUND,
        }
    }
}

impl Reset for CallCheck {
    fn reset(&mut self) {
        self.envelope.reset();
        if let Some(content) = &mut self.content {
            content.reset();
        }
    }
}

impl Check for CallCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.envelope.head(head);
    }

    fn data(&mut self, bytes: &[u8]) {
        if let Some(content) = &mut self.content {
            content.data(bytes);
        }
    }

    fn messages(&mut self, count: u32) {
        if let Some(content) = &mut self.content {
            content.messages(count);
        }
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.envelope.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        match (self.envelope.judge(self.wanted()), &mut self.content) {
            (Err(kind), _) => Outcome::Error(kind),
            (Ok(()), Some(content)) => right(content),
            (Ok(()), None) => Outcome::Ok,
        }
    }
}

impl Explain for CallCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        self.envelope.explain(self.wanted())
    }
}

fn right(content: &mut ExemplarCheck) -> Outcome {
    if content.is_right() { Outcome::Ok } else { Outcome::Error(ErrorKind::Check) }
}
