//! What a service answers to every request of the workload, for a server that knows nothing but bytes.

use weighbridge_model::experiment::{LoadSpec, PersonIds, PersonOperation, Protocol};

use super::check::{Carrier, FAULT, FOUND, NOT_FOUND};
use super::people::{People, PersonReply};
use super::{Bound, path_of_call};
use crate::bind::Binding;
use crate::{Address, Given, UrlScheme, WorkloadError, framing};

/// A request and the right reply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonExchange {
    /// The path, or the name of Thrift's method.
    pub target: String,
    /// The body; of gRPC the message, of Thrift the arguments.
    pub body: Vec<u8>,
    /// As HTTP has it.
    pub status: u16,
    /// The body of the reply; several messages where it is a stream.
    pub messages: Vec<Vec<u8>>,
}

/// Why there are no exchanges.
#[derive(Debug, thiserror::Error)]
pub enum ExchangesError {
    #[error(transparent)]
    Unbound(WorkloadError),
    #[error("not a people file: {0}")]
    People(String),
}

/// Every request that `person` makes over a protocol, whatever its keys, with the reply by a people file, which
/// [`service_data`](crate::service_data) makes.
pub fn person_exchanges(protocol: Protocol, people: &[u8]) -> Result<Vec<PersonExchange>, ExchangesError> {
    let (load, environment) = (LoadSpec::default(), |_: &str| None);
    let address = Address { authority: String::new(), base: "/".to_owned(), scheme: UrlScheme::Http };
    let given = Given { environment: &environment, rows: &[], replay: None, script: None };
    let framing = framing(protocol, address.scheme);
    let binding = Binding { framing, protocol, load: &load, address: &address, given };
    let bound = Bound::to(&binding).map_err(ExchangesError::Unbound)?;
    let people = People::read(people).map_err(ExchangesError::People)?;
    bound.exchanges(&people).map_err(ExchangesError::Unbound)
}

impl Bound<'_> {
    fn exchanges(&self, people: &People) -> Result<Vec<PersonExchange>, WorkloadError> {
        let mut exchanges = Vec::new();
        for operation in PersonOperation::ALL {
            match operation {
                // Its parts are here.
                PersonOperation::ProgramComposition => continue,
                PersonOperation::StreamPersons if self.carrier != Carrier::Grpc => continue,
                _ => {}
            }
            for call in [PersonIds::One, PersonIds::All].iter().flat_map(|ids| people.calls(operation, *ids))
            {
                let (target, body) = match self.carrier {
                    Carrier::Rest => {
                        let request = self.request(&call)?;
                        (request.target, request.body)
                    }
                    Carrier::Soap => {
                        let request = self.soap(&call, self.method(&call)?);
                        (request.target, request.body)
                    }
                    Carrier::Grpc => (path_of_call(self.method(&call)?), self.argument(&call)),
                    Carrier::Thrift => (self.method(&call)?.to_owned(), self.argument(&call)),
                };
                let is_missing = matches!(call.reply, PersonReply::NotFound);
                let reply = if self.carrier.has_arguments() { call.returned() } else { call.reply.clone() };
                let messages = reply.messages(self.codec).unwrap_or_default();
                let status = match self.carrier {
                    Carrier::Rest | Carrier::Grpc if is_missing => NOT_FOUND,
                    Carrier::Soap if is_missing => FAULT,
                    _ => FOUND,
                };
                exchanges.push(PersonExchange { target, body, status, messages });
            }
        }
        Ok(exchanges)
    }
}
