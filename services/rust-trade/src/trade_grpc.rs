//! The workload `trade` over gRPC, with tonic: the operations of `services/trade/trade.proto`. Handlers only.

use std::sync::Arc;

use axum::Router;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use crate::engine::{Asked, Engine, Fault, Outcome};
use crate::records::trade_server::{Trade, TradeServer};
use crate::records::{
    Account, BuyRequest, Dump, HoldingList, HomeReply, LoginRequest, Order, PortfolioReply, Profile, Quote,
    QuoteRequest, RegisterRequest, ResetReply, ResetRequest, SellFirstReply, SellFirstRequest, SellRequest,
    State, StateRequest, SwitchUserReply, SwitchUserRequest, UpdateRequest, UserRequest, VersionReply,
    VersionRequest,
};
use crate::server;

/// The interface as reflection tells it.
const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trade.bin"));

/// The operations, and reflection.
pub fn routes(engine: Arc<dyn Engine>) -> Router {
    server::grpc_router(Routes::new(TradeServer::new(Handlers(engine))), DESCRIPTION)
}

struct Handlers(Arc<dyn Engine>);

type Reply<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Trade for Handlers {
    async fn login(&self, request: Request<LoginRequest>) -> Reply<Account> {
        let LoginRequest { user, password } = request.get_ref();
        reply(self.0.login(user, password).await)
    }

    async fn logout(&self, request: Request<UserRequest>) -> Reply<Account> {
        reply(self.0.logout(&request.get_ref().user).await)
    }

    async fn get_account(&self, request: Request<UserRequest>) -> Reply<Account> {
        reply(self.0.account(&request.get_ref().user).await)
    }

    async fn list_holdings(&self, request: Request<UserRequest>) -> Reply<HoldingList> {
        reply(self.0.holdings(&request.get_ref().user).await)
    }

    async fn get_quote(&self, request: Request<QuoteRequest>) -> Reply<Quote> {
        reply(self.0.quote(&request.get_ref().symbol).await)
    }

    async fn buy(&self, request: Request<BuyRequest>) -> Reply<Order> {
        let BuyRequest { user, symbol, quantity, factor } = request.get_ref();
        reply(self.0.buy(user, Asked { symbol, quantity: *quantity, factor: *factor }).await)
    }

    async fn sell(&self, request: Request<SellRequest>) -> Reply<Order> {
        let SellRequest { user, holding, factor } = request.get_ref();
        reply(self.0.sell(user, *holding, *factor).await)
    }

    async fn update(&self, request: Request<UpdateRequest>) -> Reply<Profile> {
        let fields = request.get_ref();
        reply(self.0.update(&fields.user, fields).await)
    }

    async fn register(&self, request: Request<RegisterRequest>) -> Reply<Account> {
        reply(self.0.register(request.get_ref()).await)
    }

    async fn home(&self, request: Request<UserRequest>) -> Reply<HomeReply> {
        reply(self.0.home(&request.get_ref().user).await)
    }

    async fn portfolio(&self, request: Request<UserRequest>) -> Reply<PortfolioReply> {
        reply(self.0.portfolio(&request.get_ref().user).await)
    }

    async fn sell_first(&self, request: Request<SellFirstRequest>) -> Reply<SellFirstReply> {
        let SellFirstRequest { user, symbol, quantity, factor } = request.get_ref();
        reply(self.0.sell_first(user, Asked { symbol, quantity: *quantity, factor: *factor }).await)
    }

    async fn switch_user(&self, request: Request<SwitchUserRequest>) -> Reply<SwitchUserReply> {
        let SwitchUserRequest { user, register } = request.get_ref();
        let fields = register.as_ref();
        let fields = fields.ok_or_else(|| Status::invalid_argument("`register` is missing"))?;
        reply(self.0.switch_user(user, fields).await)
    }

    async fn reset(&self, _: Request<ResetRequest>) -> Reply<ResetReply> {
        reply(self.0.reset().await.map(|()| ResetReply {}))
    }

    async fn get_state(&self, _: Request<StateRequest>) -> Reply<State> {
        reply(self.0.contents().await.map(|mut contents| contents.state()))
    }

    async fn get_dump(&self, _: Request<StateRequest>) -> Reply<Dump> {
        reply(self.0.contents().await.map(|mut contents| Dump { text: contents.dump() }))
    }

    async fn version(&self, _: Request<VersionRequest>) -> Reply<VersionReply> {
        Ok(Response::new(VersionReply { text: crate::VERSION.to_owned() }))
    }
}

fn reply<T>(outcome: Outcome<T>) -> Reply<T> {
    outcome.map(Response::new).map_err(|fault| match fault {
        Fault::Wrong(text) => Status::invalid_argument(text),
        Fault::Denied(text) => Status::unauthenticated(text),
        Fault::Missing(text) => Status::not_found(text),
        Fault::Exists(text) => Status::already_exists(text),
        // Not UNAVAILABLE, which libraries say of connections, and repeat by themselves.
        Fault::Again(text) => Status::aborted(text),
        Fault::Broken(text) => Status::internal(text),
    })
}
