//! What `weigh verify` asks of a brokerage call by call, whatever carries it: requests, and what a reply amounts to.

use serde_json::Value;
use weighbridge_load::Framing;
use weighbridge_load::request::Rendered;
use weighbridge_model::experiment::{Grain, GrpcStatus, LoadSpec, Protocol, TradeOperation};

use super::calls::{Caller, TradeCall, TradeCarrier};
use super::control::TradeControl;
use super::records::{NAMESPACE, TRADE_FAULT};
use crate::bind::Binding;
use crate::canonical::{Received, message_text};
use crate::codec::xml;
use crate::grpc::Envelope;
use crate::{Address, Given, WorkloadError, framing};

/// Calls of a brokerage over one protocol.
#[derive(Debug, Clone)]
pub struct TradeClient {
    caller: Caller,
    control: TradeControl,
    framing: Framing,
}

/// Why a call was not carried out, as the contract of services lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TradeFault {
    Wrong,
    Denied,
    Missing,
    Exists,
    Again,
    Broken,
}

/// How a fault is told.
struct FaultForm {
    fault: TradeFault,
    http: u16,
    soap: &'static str,
    grpc: u8,
}

const fn form(fault: TradeFault, http: u16, soap: &'static str, grpc: u8) -> FaultForm {
    FaultForm { fault, http, soap, grpc }
}

/// The status of a fault over SOAP 1.1 (6.2 of its note).
const SOAP_FAULT: u16 = 500;

const FORMS: [FaultForm; 6] = [
    form(TradeFault::Wrong, 400, "wrong", 3),
    form(TradeFault::Denied, 401, "denied", 16),
    form(TradeFault::Missing, 404, "missing", 5),
    form(TradeFault::Exists, 409, "exists", 6),
    form(TradeFault::Again, 503, "again", 10),
    form(TradeFault::Broken, 500, "broken", 13),
];

impl TradeFault {
    /// Its word over SOAP.
    pub fn word(self) -> &'static str {
        FORMS.iter().find(|form| form.fault == self).map_or("", |form| form.soap)
    }
}

/// Whether a reply, found bad, says *again*. Of gRPC's the status is what counts.
pub(super) fn says_again(carrier: TradeCarrier, status: u16, envelope: &Envelope, body: &[u8]) -> bool {
    let form = FORMS.iter().find(|form| form.fault == TradeFault::Again).expect("it is in the table");
    match carrier {
        TradeCarrier::Grpc => {
            GrpcStatus::from_number(form.grpc.into()).is_some_and(|again| envelope.judge(again).is_ok())
        }
        TradeCarrier::Rest => status == form.http,
        TradeCarrier::Soap => {
            status == SOAP_FAULT
                && xml::decode_detail(NAMESPACE, &TRADE_FAULT, body)
                    .is_ok_and(|told| told["code"] == form.soap)
        }
    }
}

impl TradeClient {
    /// # Errors
    ///
    /// [`WorkloadError::Unbound`] if the protocol does not carry the workload.
    pub fn new(protocol: Protocol, address: &Address) -> Result<Self, WorkloadError> {
        let (load, environment) = (LoadSpec::default(), |_: &str| None);
        let given = Given { environment: &environment, rows: &[], replay: None, script: None };
        let framing = framing(protocol, address.scheme);
        let binding = Binding { framing, protocol, load: &load, address, given };
        // Fine grain has operations of these names for all calls, coarse ones too.
        let caller = Caller::new(&binding, Grain::Fine)?;
        let control = TradeControl::new(&caller)?;
        Ok(Self { caller, control, framing })
    }

    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The request in one line.
    pub fn title(&self, call: &TradeCall) -> String {
        self.caller.title(call)
    }

    pub fn request(&self, call: &TradeCall) -> Result<Rendered, WorkloadError> {
        self.caller.render(call)
    }

    /// The same with a body that ends too early.
    pub fn truncated(&self, call: &TradeCall) -> Result<Rendered, WorkloadError> {
        self.caller.render_truncated(call)
    }

    pub fn control(&self) -> &TradeControl {
        &self.control
    }

    /// What a reply says. Errors: it is neither a reply nor a fault of the contract.
    pub fn read(
        &self,
        operation: TradeOperation,
        received: &Received<'_>,
    ) -> Result<Result<Value, TradeFault>, String> {
        if let Some(fault) = self.fault(received)? {
            return Ok(Err(fault));
        }
        let reply = self.caller.read(operation, received.body);
        reply.map(Ok).map_err(|error| error.to_string())
    }

    /// The fault that a reply tells; `None` where it tells none.
    fn fault(&self, received: &Received<'_>) -> Result<Option<TradeFault>, String> {
        match self.caller.carrier() {
            TradeCarrier::Grpc => grpc_fault(received),
            TradeCarrier::Rest if received.status == 200 => Ok(None),
            TradeCarrier::Rest => rest_fault(received).map(Some),
            TradeCarrier::Soap if received.status == 200 => Ok(None),
            TradeCarrier::Soap => soap_fault(received).map(Some),
        }
    }
}

fn grpc_fault(received: &Received<'_>) -> Result<Option<TradeFault>, String> {
    let field =
        |name: &str| received.headers.iter().rfind(|(given, _)| given == name).map(|(_, value)| value);
    let status = field("grpc-status").ok_or("a reply without `grpc-status`")?;
    let status: u8 = status.parse().map_err(|_| format!("`{status}` as `grpc-status`"))?;
    if status == GrpcStatus::OK.number() {
        return match received.messages.len() {
            1 => Ok(None),
            count => Err(format!("{count} messages instead of one")),
        };
    }
    let text = field("grpc-message").map(|text| message_text(text)).unwrap_or_default();
    let known = FORMS.into_iter().find(|form| form.grpc == status);
    told(known, &format!("the status {status} of gRPC"), &text).map(Some)
}

fn rest_fault(received: &Received<'_>) -> Result<TradeFault, String> {
    let known = FORMS.into_iter().find(|form| form.http == received.status);
    let body: Option<Value> = serde_json::from_slice(received.body).ok();
    let text = body.as_ref().and_then(|body| body["error"].as_str()).unwrap_or_default();
    told(known, &format!("status {}", received.status), text)
}

fn soap_fault(received: &Received<'_>) -> Result<TradeFault, String> {
    if received.status != SOAP_FAULT {
        return Err(format!("status {} instead of 200 or 500", received.status));
    }
    let detail = xml::decode_detail(NAMESPACE, &TRADE_FAULT, received.body);
    let detail = detail.map_err(|error| error.to_string())?;
    let text = |name: &str| detail[name].as_str().unwrap_or_default();
    let known = FORMS.into_iter().find(|form| form.soap == text("code"));
    told(known, &format!("the code `{}`", text("code")), text("text"))
}

/// A fault has a text for people.
fn told(known: Option<FaultForm>, what: &str, text: &str) -> Result<TradeFault, String> {
    match known {
        None => Err(format!("{what}, which is no fault of the contract: `{text}`")),
        Some(_) if text.is_empty() => Err(format!("{what} without a text")),
        Some(form) => Ok(form.fault),
    }
}
