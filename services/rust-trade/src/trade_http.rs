//! The workload `trade` over HTTP, in JSON: handlers only.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::engine::{Asked, Engine, Fault, Outcome};
use crate::records::{
    Account, BuyRequest, HoldingList, HomeReply, LoginRequest, Order, PortfolioReply, Profile, Quote,
    RegisterRequest, SellFirstReply, SellFirstRequest, SellRequest, State as Sums, SwitchUserReply,
    UpdateRequest,
};
use crate::server::{escapes_are_whole, problem};

type Brokerage = State<Arc<dyn Engine>>;
type Reply<T> = Result<Json<T>, Fault>;

/// The paths of the workload.
pub fn routes(engine: Arc<dyn Engine>) -> Router {
    Router::new()
        .route("/login", post(login))
        .route("/users", post(register))
        .route("/users/{u}/logout", post(logout))
        .route("/users/{u}/account", get(account))
        .route("/users/{u}/holdings", get(holdings))
        .route("/users/{u}/buy", post(buy))
        .route("/users/{u}/sell", post(sell))
        .route("/users/{u}/profile", put(update))
        .route("/quotes/", get(quote))
        .route("/quotes/{s}", get(quote))
        .route("/users/{u}/home", post(home))
        .route("/users/{u}/portfolio", post(portfolio))
        .route("/users/{u}/sell-first", post(sell_first))
        .route("/users/{u}/register", post(switch_user))
        .with_state(engine)
}

/// The paths of the control calls, which SOAP has too.
pub fn control(engine: Arc<dyn Engine>) -> Router {
    Router::new()
        .route("/control/reset", post(reset))
        .route("/control/state", get(state))
        .route("/control/dump", get(dump))
        .with_state(engine)
}

// Calls

async fn login(State(engine): Brokerage, Sent(login): Sent<LoginRequest>) -> Reply<Account> {
    engine.login(&login.user, &login.password).await.map(Json)
}

async fn logout(State(engine): Brokerage, Name(user): Name, _body: Bytes) -> Reply<Account> {
    engine.logout(&user).await.map(Json)
}

async fn account(State(engine): Brokerage, Name(user): Name) -> Reply<Account> {
    engine.account(&user).await.map(Json)
}

async fn holdings(State(engine): Brokerage, Name(user): Name) -> Reply<HoldingList> {
    engine.holdings(&user).await.map(Json)
}

async fn quote(State(engine): Brokerage, Name(symbol): Name) -> Reply<Quote> {
    engine.quote(&symbol).await.map(Json)
}

async fn buy(State(engine): Brokerage, Name(user): Name, Sent(order): Sent<BuyRequest>) -> Reply<Order> {
    let BuyRequest { symbol, quantity, factor, .. } = &order;
    engine.buy(&user, Asked { symbol, quantity: *quantity, factor: *factor }).await.map(Json)
}

async fn sell(State(engine): Brokerage, Name(user): Name, Sent(order): Sent<SellRequest>) -> Reply<Order> {
    engine.sell(&user, order.holding, order.factor).await.map(Json)
}

async fn update(
    State(engine): Brokerage,
    Name(user): Name,
    Sent(fields): Sent<UpdateRequest>,
) -> Reply<Profile> {
    engine.update(&user, &fields).await.map(Json)
}

async fn register(State(engine): Brokerage, Sent(fields): Sent<RegisterRequest>) -> Reply<Account> {
    engine.register(&fields).await.map(Json)
}

// Coarse calls

async fn home(State(engine): Brokerage, Name(user): Name, _body: Bytes) -> Reply<HomeReply> {
    engine.home(&user).await.map(Json)
}

async fn portfolio(State(engine): Brokerage, Name(user): Name, _body: Bytes) -> Reply<PortfolioReply> {
    engine.portfolio(&user).await.map(Json)
}

async fn sell_first(
    State(engine): Brokerage,
    Name(user): Name,
    Sent(order): Sent<SellFirstRequest>,
) -> Reply<SellFirstReply> {
    let SellFirstRequest { symbol, quantity, factor, .. } = &order;
    engine.sell_first(&user, Asked { symbol, quantity: *quantity, factor: *factor }).await.map(Json)
}

async fn switch_user(
    State(engine): Brokerage,
    Name(user): Name,
    Sent(fields): Sent<RegisterRequest>,
) -> Reply<SwitchUserReply> {
    engine.switch_user(&user, &fields).await.map(Json)
}

// Control calls

async fn reset(State(engine): Brokerage, _body: Bytes) -> Outcome<Response> {
    engine.reset().await?;
    Ok(Json(json!({})).into_response())
}

async fn state(State(engine): Brokerage) -> Reply<Sums> {
    Ok(Json(engine.contents().await?.state()))
}

async fn dump(State(engine): Brokerage) -> Outcome<Response> {
    Ok(([(CONTENT_TYPE, "text/plain")], engine.contents().await?.dump()).into_response())
}

// Replies

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Wrong(text) => (StatusCode::BAD_REQUEST, text),
            Self::Denied(text) => (StatusCode::UNAUTHORIZED, text),
            Self::Missing(text) => (StatusCode::NOT_FOUND, text),
            Self::Exists(text) => (StatusCode::CONFLICT, text),
            Self::Again(text) => (StatusCode::SERVICE_UNAVAILABLE, text),
            Self::Broken(text) => (StatusCode::INTERNAL_SERVER_ERROR, text),
        };
        problem(status, &text)
    }
}

// Requests

/// What a body says, whatever its media type.
struct Sent<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Sent<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|error| problem(error.status(), &error.body_text()))?;
        let sent = serde_json::from_slice(&body);
        sent.map(Self)
            .map_err(|error| problem(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")))
    }
}

/// The decoded user or symbol of a path; empty where nothing is behind its last slash.
struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        if parts.uri.path().ends_with('/') {
            return Ok(Self(String::new()));
        }
        match Path::from_request_parts(parts, state).await {
            // axum passes a broken escape on as it is.
            Ok(Path(name)) if escapes_are_whole(parts.uri.path()) => Ok(Self(name)),
            _ => Err(problem(StatusCode::BAD_REQUEST, "the path has a broken escape")),
        }
    }
}
