//! The workload `person`: calls of one interface over every framing, with the content in every codec.
//!
//! Each operation is a kind of request for each argument. Its reply is right if it has the value that the people file gives;
//! [`exemplar`](crate::checks::exemplar) says how that is known at memory speed.

mod check;
mod client;
pub(crate) mod people;
mod trial;

use std::sync::Arc;

use serde_json::{Value, json};
use weighbridge_load::Framing;
use weighbridge_load::request::{Call, RenderError, Rendered, Request, Sending};
use weighbridge_load::thrift;
use weighbridge_model::experiment::{CodecName, Equality, FramingName, PersonOperation, PersonSpec};
use weighbridge_model::id::OperationId;

use crate::bind::{Bind, Binding, DataFile, join, render_error};
use crate::codec::{self, Record};
use crate::stream::Mix;
use crate::{Entry, Workload, WorkloadError};
use check::{Carrier, PersonExpect};
use people::{CREATED, CallOfPerson, NOTHING, PERSON, PERSON_ID, People};
use trial::Respelling;
pub use trial::{PersonTrial, person_trial};

/// The file's name in the folder that `DATA` names.
const PEOPLE_FILE: &str = "people.json";

const SERVICE: &str = "weighbridge.person.v1.People";

impl Bind for PersonSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        let bound = Bound::to(binding)?;
        workload(self, binding, &|call, operation| bound.entry(call, operation))
    }

    fn service_data(&self) -> Vec<DataFile> {
        let contents =
            if people::is_standard(self) { people::standard_file() } else { People::of(self).file() };
        vec![DataFile { name: PEOPLE_FILE.to_owned(), contents }]
    }
}

/// The workload of all calls, each rendered by `entry`.
fn workload(
    spec: &PersonSpec,
    binding: &Binding<'_>,
    entry: &dyn Fn(&CallOfPerson, OperationId) -> Result<Entry, WorkloadError>,
) -> Result<Workload, WorkloadError> {
    let people = People::of(spec);
    let (mut entries, mut weights) = (Vec::new(), Vec::new());
    for (index, operation) in spec.operations.iter().enumerate() {
        let calls = people.calls(*operation, spec.ids);
        weights.extend(calls.iter().map(|_| 1.0 / calls.len() as f64));
        for call in calls {
            entries.push(entry(&call, OperationId(index as u16))?);
        }
    }
    Ok(binding.plain(entries, Mix::weighted(weights.into_iter()), Equality::Json))
}

/// The workload over one protocol.
struct Bound<'a> {
    binding: &'a Binding<'a>,
    carrier: Carrier,
    codec: CodecName,
    /// How bodies are written otherwise than the codec writes them.
    spelling: Respelling,
}

impl<'a> Bound<'a> {
    fn to(binding: &'a Binding<'a>) -> Result<Self, WorkloadError> {
        let carrier = match binding.protocol.framing() {
            FramingName::Http1 | FramingName::Http2 => Carrier::Rest,
            FramingName::Grpc => Carrier::Grpc,
            FramingName::Thrift => Carrier::Thrift,
            _ => return Err(binding.unbound("person")),
        };
        let codec = binding.protocol.codec().ok_or_else(|| binding.unbound("person"))?;
        Ok(Self { binding, carrier, codec, spelling: Respelling::None })
    }

    fn entry(&self, call: &CallOfPerson, operation: OperationId) -> Result<Entry, WorkloadError> {
        let name = call.operation.name();
        let expect = Arc::new(PersonExpect::new(call, self.codec, self.carrier));
        let entry =
            |title, rendered| Entry { name: name.to_owned(), title, rendered, expect: expect.clone() };
        match self.carrier {
            Carrier::Rest => self.binding.entry(operation, name, &self.request(call)?, expect.clone()),
            Carrier::Grpc => {
                let path = format!("/{SERVICE}/{}", self.method(call)?);
                let title = path[1..].to_owned();
                let rendered = self.grpc(call, &path, operation);
                Ok(entry(title, rendered.map_err(|source| render_error(name, source))?))
            }
            Carrier::Thrift => {
                let method = self.method(call)?;
                // Thrift's names begin with a small letter.
                let method = method[..1].to_ascii_lowercase() + &method[1..];
                let Framing::Thrift(envelope) = self.binding.framing else {
                    return Err(self.binding.unbound("person"));
                };
                let rendered = thrift::call(envelope, operation, &method, &self.argument(call));
                Ok(entry(format!("People.{method}"), rendered))
            }
        }
    }

    fn request(&self, call: &CallOfPerson) -> Result<Request, WorkloadError> {
        let path = match call.operation {
            PersonOperation::ListPersons | PersonOperation::CreatePerson => "/person".to_owned(),
            PersonOperation::GetPerson | PersonOperation::GetMissing => format!("/person/{}", call.id),
            PersonOperation::GetPersonLinks => format!("/person/{}/links", call.id),
            PersonOperation::StreamPersons => return Err(self.binding.unbound("person")),
        };
        let mut headers: Vec<_> = self.binding.connection_header().into_iter().collect();
        let (method, body) = match &call.person {
            Some(person) => {
                headers.push(("Content-Type".to_owned(), self.codec.media_type().to_owned()));
                ("POST", self.spell(&PERSON, person))
            }
            None => ("GET", Vec::new()),
        };
        Ok(Request {
            method: method.to_owned(),
            target: join(&self.binding.address.base, &path),
            authority: self.binding.address.authority.clone(),
            headers,
            body,
        })
    }

    /// The name of the method, as gRPC writes it.
    fn method(&self, call: &CallOfPerson) -> Result<&'static str, WorkloadError> {
        Ok(match call.operation {
            PersonOperation::ListPersons => "ListPersons",
            PersonOperation::GetPerson | PersonOperation::GetMissing => "GetPerson",
            PersonOperation::GetPersonLinks => "GetPersonLinks",
            PersonOperation::CreatePerson => "CreatePerson",
            PersonOperation::StreamPersons if self.carrier == Carrier::Thrift => {
                return Err(self.binding.unbound("person"));
            }
            PersonOperation::StreamPersons => "StreamPersons",
        })
    }

    /// The message of a call, or the struct of its arguments.
    fn argument(&self, call: &CallOfPerson) -> Vec<u8> {
        match &call.person {
            Some(person) if self.carrier == Carrier::Thrift => {
                self.spell(&CREATED, &json!({ "person": person }))
            }
            Some(person) => self.spell(&PERSON, person),
            None if call.id.is_empty() => self.spell(&NOTHING, &json!({})),
            None => self.spell(&PERSON_ID, &json!({ "id": call.id })),
        }
    }

    fn spell(&self, record: &Record, value: &Value) -> Vec<u8> {
        self.spelling.of(self.codec, record, value)
    }

    fn grpc(&self, call: &CallOfPerson, path: &str, operation: OperationId) -> Result<Rendered, RenderError> {
        // gRPC's own codec goes without saying.
        let is_named = self.codec != CodecName::Protobuf;
        let named = || ("content-type".to_owned(), format!("application/grpc+{}", self.codec.name()));
        self.binding.framing.render_call(&Call {
            path,
            authority: &self.binding.address.authority,
            metadata: &is_named.then(named).into_iter().collect::<Vec<_>>(),
            messages: &[self.argument(call)],
            sending: Sending::Together,
            operation,
            message_operation: None,
        })
    }
}

/// For fuzzing: fails where bytes are taken for links of persons that do not read back from what is written of them.
pub fn reads_back(bytes: &[u8]) {
    let codecs =
        [CodecName::Json, CodecName::Protobuf, CodecName::Avro, CodecName::Binary, CodecName::Compact];
    for codec in codecs {
        if let Ok(value) = codec::decode(codec, &people::LINK_LIST, bytes) {
            let written = codec::encode(codec, &people::LINK_LIST, &value);
            assert_eq!(codec::decode(codec, &people::LINK_LIST, &written), Ok(value), "{}", codec.name());
        }
    }
}

#[cfg(test)]
mod codec_tests;
#[cfg(test)]
mod tests;
