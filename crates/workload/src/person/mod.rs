//! The workload `person`: calls of one interface over every framing, with the content in every codec.
//!
//! Each operation is a kind of request for each argument. Its reply is right if it has the value that the people file gives;
//! [`exemplar`](crate::checks::exemplar) says how that is known at memory speed.

mod canned;
mod check;
mod client;
pub(crate) mod people;
mod trial;

use std::sync::Arc;

use serde_json::json;
use weighbridge_load::Framing;
use weighbridge_load::request::{Call, RenderError, Rendered, Request, Sending, SessionPlace};
use weighbridge_load::thrift;
use weighbridge_model::experiment::{CodecName, Equality, FramingName, PersonOperation, PersonSpec};
use weighbridge_model::id::OperationId;

use crate::bind::{Bind, Binding, DataFile, join, render_error};
use crate::codec::{self, xml};
use crate::stream::Mix;
use crate::{Entry, Given, Workload, WorkloadError};
pub use canned::{ExchangesError, PersonExchange, person_exchanges};
use check::{Carrier, PersonExpect};
use people::{CallOfPerson, NOTHING, PERSON, PERSON_ID, People};
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

    fn service_data(&self, _given: Given<'_>) -> Vec<DataFile> {
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
    let number = |operation| spec.operation_id(operation).expect("each is recorded");
    for operation in &spec.operations {
        let calls = people.calls(*operation, spec.ids);
        let composition = (*operation == PersonOperation::ProgramComposition).then(|| number(*operation));
        for (at, call) in calls.iter().enumerate() {
            let mut entry = entry(call, number(call.operation))?;
            let place =
                |operation| SessionPlace { operation, is_first: at == 0, is_last: at + 1 == calls.len() };
            entry.rendered = entry.rendered.in_session(composition.map(place));
            weights.push(match composition {
                None => 1.0 / calls.len() as f64,
                // Its first call alone begins it.
                Some(_) => f64::from(u8::from(at == 0)),
            });
            entries.push(entry);
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
            FramingName::Soap => Carrier::Soap,
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
            Carrier::Soap => {
                let method = self.method(call)?;
                let request = self.soap(call, method);
                let entry = self.binding.entry(operation, name, &request, expect.clone())?;
                Ok(Entry { title: format!("People.{method}"), ..entry })
            }
            Carrier::Grpc => {
                let method = self.method(call)?;
                let path = path_of_call(method);
                let title = path[1..].to_owned();
                let rendered = self.grpc(call, &path, operation);
                Ok(entry(title, rendered.map_err(|source| render_error(name, source))?))
            }
            Carrier::Thrift => {
                let method = self.method(call)?;
                let Framing::Thrift(envelope) = self.binding.framing else {
                    return Err(self.binding.unbound("person"));
                };
                let rendered = thrift::call(envelope, operation, method, &self.argument(call));
                Ok(entry(format!("People.{method}"), rendered))
            }
        }
    }

    fn request(&self, call: &CallOfPerson) -> Result<Request, WorkloadError> {
        let path = match call.operation {
            PersonOperation::ListPersons | PersonOperation::CreatePerson => "/person".to_owned(),
            PersonOperation::GetPerson | PersonOperation::GetMissing => format!("/person/{}", call.id),
            PersonOperation::GetPersonLinks => format!("/person/{}/links", call.id),
            PersonOperation::StreamPersons | PersonOperation::ProgramComposition => {
                return Err(self.binding.unbound("person"));
            }
        };
        Ok(match &call.person {
            Some(_) => self.http("POST", &path, self.argument(call)),
            None => self.http("GET", &path, Vec::new()),
        })
    }

    fn soap(&self, call: &CallOfPerson, method: &str) -> Request {
        let mut request = self.http("POST", "/person", self.argument(call));
        request.headers.push(("SOAPAction".to_owned(), format!("\"{}/{method}\"", xml::PERSONS)));
        request
    }

    fn http(&self, method: &str, path: &str, body: Vec<u8>) -> Request {
        let mut headers: Vec<_> = self.binding.connection_header().into_iter().collect();
        if !body.is_empty() {
            headers.push(("Content-Type".to_owned(), self.codec.media_type().to_owned()));
        }
        Request {
            method: method.to_owned(),
            target: join(&self.binding.address.base, path),
            authority: self.binding.address.authority.clone(),
            headers,
            body,
        }
    }

    /// The name of the method.
    fn method(&self, call: &CallOfPerson) -> Result<&'static str, WorkloadError> {
        match call.operation {
            PersonOperation::StreamPersons if self.carrier != Carrier::Grpc => {
                Err(self.binding.unbound("person"))
            }
            PersonOperation::ProgramComposition => Err(self.binding.unbound("person")),
            PersonOperation::GetMissing => Ok(PersonOperation::GetPerson.name()),
            other => Ok(other.name()),
        }
    }

    /// The message of a call, or its arguments.
    fn argument(&self, call: &CallOfPerson) -> Vec<u8> {
        let (record, value) = match &call.person {
            _ if self.carrier.has_arguments() => call.arguments(),
            Some(person) => (&PERSON, person.clone()),
            None if call.id.is_empty() => (&NOTHING, json!({})),
            None => (&PERSON_ID, json!({ "id": call.id })),
        };
        self.spelling.of(self.codec, record, &value)
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

/// The path of a call over gRPC, whose names begin with a capital letter.
fn path_of_call(method: &str) -> String {
    format!("/{SERVICE}/{}{}", method[..1].to_ascii_uppercase(), &method[1..])
}

/// For fuzzing: fails where bytes are taken for links of persons that do not read back from what is written of them.
pub fn reads_back(bytes: &[u8]) {
    for codec in CodecName::ALL {
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
