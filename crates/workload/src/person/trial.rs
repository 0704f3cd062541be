//! What `weigh verify` asks of a service beyond the workload itself: texts that are hard to carry, bodies in another legal
//! spelling, and bodies that are none.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{CodecName, Equality, GrpcStatus, LoadSpec, Protocol};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::Bound;
use super::check::{Carrier, FAULT};
use super::people::{CallOfPerson, PERSON, PersonReply};
use crate::bind::Binding;
use crate::canonical::{Canonical, Received};
use crate::checks::Reset;
use crate::checks::explain::FailureLog;
use crate::codec::{self, FieldType, Record};
use crate::expect::Expect;
use crate::grpc::Envelope;
use crate::stream::Mix;
use crate::{Address, Given, Workload, WorkloadError, framing};
use weighbridge_model::experiment::PersonOperation;

/// What is tried with `createPerson`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonTrial {
    /// Empty texts, letters of two to four bytes, line breaks, the extremes of numbers, 1 MiB in one text.
    HardTexts,
    /// Bodies that are legal, and not as the codec writes them.
    OtherSpelling,
    /// Bodies that end too early: they are to be refused.
    Truncated,
}

/// The requests of a trial, with what a good reply to each is.
///
/// Errors: [`WorkloadError::Unbound`] if the protocol does not carry the workload.
pub fn person_trial(
    trial: PersonTrial,
    protocol: Protocol,
    address: &Address,
) -> Result<Workload, WorkloadError> {
    let (load, environment) = (LoadSpec::default(), |_: &str| None);
    let given = Given { environment: &environment, rows: &[], replay: None, script: None };
    let binding =
        Binding { framing: framing(protocol, address.scheme), protocol, load: &load, address, given };
    let spelling = match trial {
        PersonTrial::HardTexts => Respelling::None,
        PersonTrial::OtherSpelling => Respelling::Other,
        PersonTrial::Truncated => Respelling::Truncated,
    };
    let bound = Bound { spelling, ..Bound::to(&binding)? };
    let mut entries = Vec::new();
    for person in hard_persons(bound.codec) {
        let reply = PersonReply::Found(&PERSON, person.clone());
        let operation = PersonOperation::CreatePerson;
        let call = CallOfPerson { operation, id: String::new(), person: Some(person), reply };
        let mut entry = bound.entry(&call, OperationId(0))?;
        if trial == PersonTrial::Truncated {
            entry.expect = Arc::new(Refused(bound.carrier));
        }
        entries.push(entry);
    }
    let mix = Mix::even(entries.len());
    Ok(binding.plain(entries, mix, Equality::Json))
}

/// XML has no control characters but tab and the ends of lines.
pub(super) fn hard_persons(codec: CodecName) -> Vec<Value> {
    let control = if codec == CodecName::Xml { "\r & <a>]]></a>" } else { "\u{1}" };
    let person = |text: &str, post_code: i32| {
        json!({
            "id": "5",
            "name": { "title": text, "first": text, "last": text },
            "gender": text,
            "location": { "street": text, "city": text, "state": text, "postCode": post_code },
            "email": text,
        })
    };
    let mut pictured = person("x", 0);
    pictured["picture"] = json!({ "large": "", "medium": "ü", "thumbnail": "🚲" });
    let mut long = person("short", 1);
    long["email"] = "é".repeat(1 << 19).into();
    vec![
        person("", 0),
        person("ü é ñ 漢字 🚲", i32::MAX),
        person(&format!("a \"quoted\" \\ text\n\t{control}\u{7f}"), i32::MIN),
        pictured,
        long,
    ]
}

/// How a body is written otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Respelling {
    None,
    Other,
    Truncated,
}

impl Respelling {
    pub fn of(self, codec: CodecName, record: &Record, value: &Value) -> Vec<u8> {
        let mut bytes = codec::encode(codec, record, value);
        match (self, codec) {
            (Self::None, _) => {}
            // A reader may end behind the arguments.
            (Self::Truncated, CodecName::Xml) => bytes.truncate(bytes.len() / 2),
            (Self::Truncated, _) => drop(bytes.pop()),
            // Other prefixes, and blanks between elements, but for those that may be empty texts.
            (Self::Other, CodecName::Xml) => {
                let text = String::from_utf8(bytes).expect("it is written as UTF-8");
                let text = text.replace("xmlns:S=", "xmlns:soap=").replace("S:", "soap:").replace("ns2", "p");
                let text = text.replace("><", ">\n  <").replace(">\n  </", "></");
                bytes = text.replacen("?><", "?>\r\n<!-- nobody knows -->\t<", 1).into_bytes();
            }
            (Self::Other, CodecName::Json) => {
                bytes = serde_json::to_vec_pretty(&without_order(value)).expect("memory takes it");
            }
            // A field that nobody knows, behind all others: number 15, of two bytes.
            (Self::Other, CodecName::Protobuf) => bytes.extend([0x7a, 2, b'n', b'o']),
            (Self::Other, CodecName::Binary) => {
                bytes.pop();
                bytes.extend([11, 0, 15, 0, 0, 0, 2, b'n', b'o', 0]);
            }
            (Self::Other, CodecName::Compact) => {
                bytes.pop();
                let last = record.fields.iter().rev().find(|field| value.get(field.name).is_some());
                let last = last.map_or(0, |field| field.number);
                bytes.extend([(15 - last) << 4 | 8, 2, b'n', b'o', 0]);
            }
            // Nothing but the sizes of blocks may be otherwise in Avro, and a person has no list.
            (Self::Other, CodecName::Avro) => debug_assert!(
                !record.fields.iter().any(|field| matches!(field.kind, FieldType::List(_))),
                "a list has other spellings"
            ),
        }
        bytes
    }
}

/// An object whose keys come in the order of the alphabet, an absent field left out: not the order of the model.
fn without_order(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), without_order(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A body that cannot be read must be refused: with status 400, with a status of gRPC that is not OK, by an exception or a fault.
#[derive(Debug, Clone)]
struct Refused(Carrier);

impl Expect for Refused {
    fn check(&self, _log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(RefusalCheck { carrier: self.0, status: 0, envelope: Envelope::default() })
    }

    /// To be refused is the same whatever carries it, and whatever is said of it.
    fn amounts_to(&self, _received: &Received<'_>) -> Option<Canonical> {
        Some(Canonical::Status(400))
    }
}

#[derive(Debug)]
struct RefusalCheck {
    carrier: Carrier,
    status: u16,
    envelope: Envelope,
}

impl Reset for RefusalCheck {
    fn reset(&mut self) {
        self.status = 0;
        self.envelope.reset();
    }
}

impl Check for RefusalCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
        self.envelope.head(head);
    }

    fn data(&mut self, _bytes: &[u8]) {}

    fn trailers(&mut self, fields: &Head<'_>) {
        self.envelope.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        let is_refused = match self.carrier {
            Carrier::Rest => self.status == 400,
            Carrier::Grpc => {
                self.envelope.judge(GrpcStatus::OK) == Err(ErrorKind::Status) && self.status == 200
            }
            Carrier::Thrift => self.status == 500,
            Carrier::Soap => matches!(self.status, 400 | FAULT),
        };
        if is_refused { Outcome::Ok } else { Outcome::Error(ErrorKind::Status) }
    }
}
