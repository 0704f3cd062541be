//! The workload `trade` over SOAP 1.1: the operations of `services/trade/trade.wsdl`. Handlers only.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::engine::{Asked, Engine, Fault};
use crate::records::{RegisterRequest, UpdateRequest};
use crate::server::problem;
use crate::soap::{self, Element, Message, NAMESPACE};

/// The interface; its address is put in the place of the file's.
const INTERFACE: &str = include_str!("../../trade/trade.wsdl");
const ADDRESS: &str = "127.0.0.1:8080";

const MEDIA_TYPE: &str = "text/xml; charset=utf-8";

/// The path of the operations and of the interface.
pub fn routes(engine: Arc<dyn Engine>) -> Router {
    Router::new().route("/trade", get(interface).post(operation)).with_state(engine)
}

/// `GET /trade?wsdl`.
async fn interface(RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    if query.is_none_or(|query| !query.eq_ignore_ascii_case("wsdl")) {
        return problem(
            StatusCode::NOT_FOUND,
            "the interface is at `/trade?wsdl`; operations are asked for by POST",
        );
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or(ADDRESS);
    ([(CONTENT_TYPE, MEDIA_TYPE)], INTERFACE.replace(ADDRESS, host)).into_response()
}

/// `POST /trade`.
async fn operation(State(engine): State<Arc<dyn Engine>>, headers: HeaderMap, body: Bytes) -> Response {
    let outcome = match message(&headers, &body) {
        Ok(message) => carry_out(&*engine, &message).await,
        Err(problem) => Err(Fault::Wrong(problem)),
    };
    let (status, xml) = match outcome {
        Ok(xml) => (StatusCode::OK, xml),
        // SOAP 1.1 over HTTP has this status for every fault.
        Err(fault) => (StatusCode::INTERNAL_SERVER_ERROR, told(fault)),
    };
    (status, [(CONTENT_TYPE, MEDIA_TYPE)], xml).into_response()
}

/// The message of a request whose action is that of its operation.
fn message(headers: &HeaderMap, body: &[u8]) -> Result<Message, String> {
    let text = str::from_utf8(body).map_err(|error| format!("the envelope is not UTF-8: {error}"))?;
    let message = Message::parse(text)?;
    let action = headers.get("soapaction").and_then(|action| action.to_str().ok()).unwrap_or_default();
    let expected = format!("\"{NAMESPACE}/{}\"", message.operation);
    if action != expected {
        return Err(format!("`SOAPAction` is `{action}`, allowed: `{expected}`"));
    }
    Ok(message)
}

async fn carry_out(engine: &dyn Engine, message: &Message) -> Result<String, Fault> {
    let text = |name| message.text(name).map_err(Fault::Wrong);
    let number = |name| message.number(name).map_err(Fault::Wrong);
    match message.operation.as_str() {
        "login" => reply(message, engine.login(text("user")?, text("password")?).await?),
        "logout" => reply(message, engine.logout(text("user")?).await?),
        "getAccount" => reply(message, engine.account(text("user")?).await?),
        "listHoldings" => reply(message, engine.holdings(text("user")?).await?),
        "getQuote" => reply(message, engine.quote(text("symbol")?).await?),
        "buy" => reply(message, engine.buy(text("user")?, asked(message).map_err(Fault::Wrong)?).await?),
        "sell" => {
            let factor = message.maybe_number("factor").map_err(Fault::Wrong)?;
            reply(message, engine.sell(text("user")?, number("holding")?, factor).await?)
        }
        "update" => {
            let fields = update(message).map_err(Fault::Wrong)?;
            reply(message, engine.update(&fields.user, &fields).await?)
        }
        "register" => {
            let fields = registration(message).map_err(Fault::Wrong)?;
            reply(message, engine.register(&fields).await?)
        }
        "home" => reply(message, engine.home(text("user")?).await?),
        "portfolio" => reply(message, engine.portfolio(text("user")?).await?),
        "sellFirst" => {
            let asked = asked(message).map_err(Fault::Wrong)?;
            reply(message, engine.sell_first(text("user")?, asked).await?)
        }
        "switchUser" => {
            let fields = registration(message).map_err(Fault::Wrong)?;
            reply(message, engine.switch_user(text("from")?, &fields).await?)
        }
        other => Err(Fault::Wrong(format!("the operation `{other}` is not in the interface"))),
    }
}

fn asked(message: &Message) -> Result<Asked<'_>, String> {
    Ok(Asked {
        symbol: message.text("symbol")?,
        quantity: message.number("quantity")?,
        factor: message.maybe_number("factor")?,
    })
}

fn update(message: &Message) -> Result<UpdateRequest, String> {
    let text = |name| message.text(name).map(str::to_owned);
    Ok(UpdateRequest {
        user: text("user")?,
        full_name: text("full_name")?,
        address: text("address")?,
        email: text("email")?,
        card: text("card")?,
        password: text("password")?,
    })
}

fn registration(message: &Message) -> Result<RegisterRequest, String> {
    let text = |name| message.text(name).map(str::to_owned);
    Ok(RegisterRequest {
        user: text("user")?,
        password: text("password")?,
        full_name: text("full_name")?,
        address: text("address")?,
        email: text("email")?,
        card: text("card")?,
        balance: message.number("balance")?,
    })
}

fn reply(message: &Message, record: impl Element) -> Result<String, Fault> {
    Ok(soap::reply(&message.operation, &record))
}

fn told(fault: Fault) -> String {
    let (whose, code, text) = match fault {
        Fault::Wrong(text) => ("Client", "wrong", text),
        Fault::Denied(text) => ("Client", "denied", text),
        Fault::Missing(text) => ("Client", "missing", text),
        Fault::Exists(text) => ("Client", "exists", text),
        Fault::Again(text) => ("Server", "again", text),
        Fault::Broken(text) => ("Server", "broken", text),
    };
    soap::fault(whose, code, &text)
}
