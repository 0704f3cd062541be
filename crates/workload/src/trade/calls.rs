//! The brokerage's calls over each protocol: how a request is written, and how a reply is read.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use weighbridge_load::Framing;
use weighbridge_load::request::{Call, Rendered, Request, Sending};
use weighbridge_model::experiment::{CodecName, FramingName, Grain, TradeOperation};
use weighbridge_model::id::OperationId;

use super::records::{
    ACCOUNT, BUY_REQUEST, HOLDING_LIST, HOME, LOGIN_REQUEST, NAMESPACE, ORDER, PORTFOLIO, PROFILE, QUOTE,
    QUOTE_REQUEST, REGISTER_REQUEST, SELL_FIRST, SELL_REQUEST, SWITCH_USER, SWITCH_USER_REQUEST,
    UPDATE_REQUEST, USER_REQUEST,
};
use crate::bind::{Binding, join, render_error};
use crate::codec::{self, Field, FieldType, Record, xml};
use crate::{WorkloadError, codec::DecodeError};

const SERVICE: &str = "weighbridge.trade.v1.Trade";

/// What may stand in a segment of a path as it is (RFC 3986).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How calls are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TradeCarrier {
    Rest,
    Grpc,
    Soap,
}

/// A call with its arguments: fields of the request's record.
#[derive(Debug, Clone)]
pub struct TradeCall {
    pub operation: TradeOperation,
    pub arguments: Value,
}

/// One operation in every protocol.
struct CallForm {
    method: &'static str,
    /// Behind `/users/{user}`, or the whole path where that is not in it.
    path: &'static str,
    /// gRPC's name; SOAP's begins with a small letter.
    name: &'static str,
    request: &'static Record,
    reply: &'static Record,
}

const fn form(operation: TradeOperation) -> CallForm {
    let (method, path, name, request, reply) = match operation {
        TradeOperation::Login => ("POST", "/login", "Login", &LOGIN_REQUEST, &ACCOUNT),
        TradeOperation::Logout => ("POST", "logout", "Logout", &USER_REQUEST, &ACCOUNT),
        TradeOperation::Account => ("GET", "account", "GetAccount", &USER_REQUEST, &ACCOUNT),
        TradeOperation::Holdings => ("GET", "holdings", "ListHoldings", &USER_REQUEST, &HOLDING_LIST),
        TradeOperation::Quote => ("GET", "/quotes/", "GetQuote", &QUOTE_REQUEST, &QUOTE),
        TradeOperation::Buy => ("POST", "buy", "Buy", &BUY_REQUEST, &ORDER),
        TradeOperation::Sell => ("POST", "sell", "Sell", &SELL_REQUEST, &ORDER),
        TradeOperation::Update => ("PUT", "profile", "Update", &UPDATE_REQUEST, &PROFILE),
        TradeOperation::Register => ("POST", "/users", "Register", &REGISTER_REQUEST, &ACCOUNT),
        TradeOperation::Home => ("POST", "home", "Home", &USER_REQUEST, &HOME),
        TradeOperation::Portfolio => ("POST", "portfolio", "Portfolio", &USER_REQUEST, &PORTFOLIO),
        TradeOperation::SellFirst => ("POST", "sell-first", "SellFirst", &BUY_REQUEST, &SELL_FIRST),
        TradeOperation::SwitchUser => ("POST", "register", "SwitchUser", &SWITCH_USER_REQUEST, &SWITCH_USER),
    };
    CallForm { method, path, name, request, reply }
}

/// Writes requests, and reads replies, of one variant.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    framing: Framing,
    carrier: TradeCarrier,
    grain: Grain,
    authority: String,
    base: String,
    connection: Option<(String, String)>,
}

impl Caller {
    pub fn new(binding: &Binding<'_>, grain: Grain) -> Result<Self, WorkloadError> {
        let carrier = match (binding.protocol.framing(), binding.protocol.codec()) {
            (FramingName::Http1 | FramingName::Http2, Some(CodecName::Json)) => TradeCarrier::Rest,
            (FramingName::Grpc, Some(CodecName::Protobuf)) => TradeCarrier::Grpc,
            (FramingName::Soap, _) => TradeCarrier::Soap,
            _ => return Err(binding.unbound("trade")),
        };
        Ok(Self {
            framing: binding.framing,
            carrier,
            grain,
            authority: binding.address.authority.clone(),
            base: binding.address.base.clone(),
            connection: binding.connection_header(),
        })
    }

    pub fn carrier(&self) -> TradeCarrier {
        self.carrier
    }

    /// The request in one line.
    pub fn title(&self, call: &TradeCall) -> String {
        match self.carrier {
            TradeCarrier::Rest => {
                let request = self.rest(call);
                format!("{} {}", request.method, request.target)
            }
            TradeCarrier::Grpc => format!("{SERVICE}/{}", form(call.operation).name),
            TradeCarrier::Soap => format!("Trade.{}", soap_name(call.operation)),
        }
    }

    pub fn render(&self, call: &TradeCall) -> Result<Rendered, WorkloadError> {
        self.render_with(call, |_| {})
    }

    /// With half of its body, which nobody can read.
    pub fn render_truncated(&self, call: &TradeCall) -> Result<Rendered, WorkloadError> {
        self.render_with(call, |body| body.truncate(body.len() / 2))
    }

    fn render_with(
        &self,
        call: &TradeCall,
        change: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Rendered, WorkloadError> {
        let operation = call.operation.id(self.grain);
        let mut request = match self.carrier {
            TradeCarrier::Rest => self.rest(call),
            TradeCarrier::Soap => self.soap(call),
            TradeCarrier::Grpc => {
                let record = form(call.operation).request;
                let mut message = codec::encode(CodecName::Protobuf, record, &call.arguments);
                change(&mut message);
                return self.grpc(form(call.operation).name, operation, message);
            }
        };
        change(&mut request.body);
        let rendered = self.framing.render(operation, &request);
        rendered.map_err(|source| render_error(call.operation.name(), source))
    }

    /// A call of the control, without arguments: by its method and path, over gRPC by its name.
    pub fn control(&self, method: &str, path: &str, name: &str) -> Result<Rendered, WorkloadError> {
        if self.carrier == TradeCarrier::Grpc {
            return self.grpc(name, OperationId(0), Vec::new());
        }
        let request = self.http(method, path.to_owned(), Vec::new());
        self.framing.render(OperationId(0), &request).map_err(|source| render_error(path, source))
    }

    /// The value of a reply's body.
    pub fn read(&self, operation: TradeOperation, body: &[u8]) -> Result<Value, DecodeError> {
        let reply = form(operation).reply;
        match self.carrier {
            TradeCarrier::Rest => codec::decode(CodecName::Json, reply, body),
            TradeCarrier::Grpc => codec::decode(CodecName::Protobuf, reply, body),
            TradeCarrier::Soap => xml::decode_returned(NAMESPACE, &soap_name(operation), reply, body),
        }
    }

    fn rest(&self, call: &TradeCall) -> Request {
        let CallForm { method, path, .. } = form(call.operation);
        let segment =
            |name: &str| utf8_percent_encode(call.arguments[name].as_str().unwrap_or_default(), SEGMENT);
        let path = match call.operation {
            TradeOperation::Quote => format!("{path}{}", segment("symbol")),
            TradeOperation::Login | TradeOperation::Register => path.to_owned(),
            _ => format!("/users/{}/{path}", segment("user")),
        };
        let body = match call.operation {
            TradeOperation::Login | TradeOperation::Register => call.arguments.clone(),
            TradeOperation::SwitchUser => call.arguments["register"].clone(),
            TradeOperation::Buy
            | TradeOperation::Sell
            | TradeOperation::Update
            | TradeOperation::SellFirst => {
                let mut body = call.arguments.clone();
                // It is in the path.
                body.as_object_mut().expect("arguments have names").remove("user");
                body
            }
            _ => return self.http(method, path, Vec::new()),
        };
        let mut request = self.http(method, path, body.to_string().into_bytes());
        request.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        request
    }

    fn soap(&self, call: &TradeCall) -> Request {
        let name = soap_name(call.operation);
        let mut flat = call.arguments.clone();
        let mut fields = form(call.operation).request.fields;
        // Over SOAP the new user's fields stand beside the old one.
        if call.operation == TradeOperation::SwitchUser {
            flat = call.arguments["register"].clone();
            flat["from"] = call.arguments["user"].clone();
            fields = SWITCHED;
        }
        let mut body = Vec::new();
        xml::encode_element(NAMESPACE, &name, fields, &flat, &mut body);
        let mut request = self.http("POST", "/trade".to_owned(), body);
        let action = ("SOAPAction".to_owned(), format!("\"{NAMESPACE}/{name}\""));
        request.headers.extend([("Content-Type".to_owned(), CodecName::Xml.media_type().to_owned()), action]);
        request
    }

    fn http(&self, method: &str, path: String, body: Vec<u8>) -> Request {
        Request {
            method: method.to_owned(),
            target: join(&self.base, &path),
            authority: self.authority.clone(),
            headers: self.connection.clone().into_iter().collect(),
            body,
        }
    }

    fn grpc(&self, name: &str, operation: OperationId, message: Vec<u8>) -> Result<Rendered, WorkloadError> {
        let call = Call {
            path: &format!("/{SERVICE}/{name}"),
            authority: &self.authority,
            metadata: &[],
            messages: &[message],
            sending: Sending::Together,
            operation,
            message_operation: None,
        };
        self.framing.render_call(&call).map_err(|source| render_error(name, source))
    }
}

/// Arguments of `switchUser` over SOAP.
const SWITCHED: &[Field] = &[
    Field::required(1, "from", FieldType::Text),
    Field::required(2, "user", FieldType::Text),
    Field::required(3, "password", FieldType::Text),
    Field::required(4, "full_name", FieldType::Text),
    Field::required(5, "address", FieldType::Text),
    Field::required(6, "email", FieldType::Text),
    Field::required(7, "card", FieldType::Text),
    Field::required(8, "balance", FieldType::Long),
];

fn soap_name(operation: TradeOperation) -> String {
    let name = form(operation).name;
    format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..])
}

/// The record of an operation's reply.
pub(super) const fn reply_record(operation: TradeOperation) -> &'static Record {
    form(operation).reply
}

impl TradeCall {
    pub fn of_user(operation: TradeOperation, user: &str) -> Self {
        Self { operation, arguments: json!({ "user": user }) }
    }

    pub fn quote(symbol: &str) -> Self {
        Self { operation: TradeOperation::Quote, arguments: json!({ "symbol": symbol }) }
    }
}
