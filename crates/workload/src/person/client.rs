//! The workload `person-client`: a relay makes the calls, and tells how long each took and the digest of what its client read.

use std::sync::Arc;

use serde_json::Value;
use weighbridge_load::request::Request;
use weighbridge_model::experiment::{CodecName, PersonClientSpec, PersonOperation, Protocol};
use weighbridge_model::id::OperationId;

use super::people::{CallOfPerson, PERSON, PersonReply};
use super::workload;
use crate::bind::{Bind, Binding, DataFile, join};
use crate::canonical::{Canonical, Received};
use crate::checks::Reset;
use crate::checks::explain::{FailureLog, Noted};
use crate::codec::{self, FieldType, Record};
use crate::direct::fnv1a;
use crate::expect::Expect;
use crate::mping::{Digest, RelayCheck, Told};
use crate::{Entry, Given, Workload, WorkloadError};

impl Bind for PersonClientSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        if binding.protocol != Protocol::HTTP1_JSON {
            return Err(binding.unbound("person-client"));
        }
        workload(&self.0, binding, &|call, operation| entry(binding, call, operation))
    }

    fn service_data(&self, given: Given<'_>) -> Vec<DataFile> {
        self.0.service_data(given)
    }
}

fn entry(binding: &Binding<'_>, call: &CallOfPerson, operation: OperationId) -> Result<Entry, WorkloadError> {
    let called = match call.operation {
        // The same call, for somebody who is not there.
        PersonOperation::GetMissing => PersonOperation::GetPerson,
        other => other,
    };
    let id = if call.id.is_empty() { String::new() } else { format!("/{}", call.id) };
    let mut headers: Vec<_> = binding.connection_header().into_iter().collect();
    let body = call.person.as_ref().map(|person| codec::encode(CodecName::Json, &PERSON, person));
    if body.is_some() {
        headers.push(("Content-Type".to_owned(), CodecName::Json.media_type().to_owned()));
    }
    let request = Request {
        method: if body.is_some() { "POST" } else { "GET" }.to_owned(),
        target: join(&binding.address.base, &format!("/call/{}{id}", called.name())),
        authority: binding.address.authority.clone(),
        headers,
        body: body.unwrap_or_default(),
    };
    let expect = RelayExpect { digest: digest(&call.reply), reply: call.reply.clone() };
    binding.entry(operation, call.operation.name(), &request, Arc::new(expect))
}

/// A relay whose client got this reply, and read all of it.
#[derive(Debug)]
struct RelayExpect {
    digest: Digest,
    reply: PersonReply,
}

impl Expect for RelayExpect {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(Noted::new(RelayCheck::new(Told::Digest(self.digest)), log))
    }

    fn is_kept(&self) -> bool {
        true
    }

    /// What its client read is what a peer answers that is asked directly.
    fn amounts_to(&self, _received: &Received<'_>) -> Option<Canonical> {
        Some(match &self.reply {
            PersonReply::NotFound => Canonical::Status(404),
            PersonReply::Found(_, value) | PersonReply::Stream(_, value) => {
                Canonical::Json(200, value.clone())
            }
        })
    }

    fn wrong_content(&self, received: &Received<'_>) -> Option<String> {
        let report: Value = serde_json::from_slice(received.body).ok()?;
        let (told, right) = (report.get("digest")?.as_str()?, String::from_utf8_lossy(&self.digest));
        (told != right).then(|| {
            format!(
                "its `digest` is `{told}` instead of `{right}`, so its client read other fields or values"
            )
        })
    }
}

/// The digest of a reply's fields: FNV-1a of 64 bits.
fn digest(reply: &PersonReply) -> Digest {
    let mut fields = String::new();
    match reply {
        PersonReply::NotFound => fields.push_str("not found\n"),
        PersonReply::Found(record, value) | PersonReply::Stream(record, value) => {
            add_record(record, value, &mut fields);
        }
    }
    format!("{:016x}", fnv1a(fields.as_bytes())).into_bytes().try_into().expect("16 digits")
}

/// Adds the fields of a record in the order of the model, each with a line feed.
fn add_record(record: &Record, value: &Value, fields: &mut String) {
    for field in record.fields {
        match (field.kind, &value[field.name]) {
            (_, Value::Null) => fields.push('\n'),
            (FieldType::Record(record), value) => add_record(record, value, fields),
            (FieldType::List(record), value) => {
                value.as_array().into_iter().flatten().for_each(|value| add_record(record, value, fields));
            }
            (FieldType::Text | FieldType::Int | FieldType::Long, value) => {
                fields.push_str(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str());
                fields.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::{PersonIds, PersonSpec};

    use super::super::people::People;
    use super::*;

    /// Computed by hand of the people file, as the contract says it.
    #[test]
    fn digests_are_those_of_the_contract() {
        let people = People::of(&PersonSpec::default());
        let of = |operation| {
            let calls = people.calls(operation, PersonIds::One);
            String::from_utf8(digest(&calls[0].reply).to_vec()).expect("digits")
        };
        assert_eq!(of(PersonOperation::GetPerson), "cc063a70c1f917ae");
        assert_eq!(of(PersonOperation::ListPersons), "bbe6f1450c103cf6");
        assert_eq!(of(PersonOperation::GetPersonLinks), "fcdf5c6078fc7dc9");
        assert_eq!(of(PersonOperation::CreatePerson), "672984e7f5987eb1");
        assert_eq!(of(PersonOperation::GetMissing), "0eae2a7e7c4dbb90");
    }
}
