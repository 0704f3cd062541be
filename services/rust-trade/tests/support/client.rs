//! A client for each transport. All give replies as JSON and faults by HTTP's numbers, so that one test is of them all.

use reqwest::Method;
use reqwest::blocking::{Client as Http, Response};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::proto::trade_client::TradeClient;
use super::proto::{
    BuyRequest, LoginRequest, QuoteRequest, RegisterRequest, ResetRequest, SellFirstRequest, SellRequest,
    StateRequest, SwitchUserRequest, UpdateRequest, UserRequest,
};
use super::{Service, postgres, soap};

pub const PROTOCOLS: [&str; 4] = ["http1-json", "http2-json", "grpc", "soap"];

/// A reply, or a fault's number.
pub type Answer = Result<Value, u16>;

pub enum Client {
    Http { client: Http, base: String },
    Soap { client: Http, base: String },
    Grpc { client: TradeClient<Channel>, runtime: Runtime },
}

impl Client {
    pub fn new(service: &Service, protocol: &str) -> Self {
        let base = format!("http://127.0.0.1:{}", service.ready);
        let http = Http::builder().no_proxy();
        match protocol {
            "http1-json" => Self::Http { client: http.http1_only().build().expect("a client"), base },
            "soap" => Self::Soap { client: http.http1_only().build().expect("a client"), base },
            "http2-json" => {
                Self::Http { client: http.http2_prior_knowledge().build().expect("a client"), base }
            }
            _ => {
                let runtime = postgres::runtime();
                let address = Channel::from_shared(base).expect("an address");
                let channel = runtime.block_on(address.connect()).expect("it listens");
                Self::Grpc { client: TradeClient::new(channel), runtime }
            }
        }
    }

    /// A request over HTTP.
    pub fn send(&self, method: &str, path: &str, body: Option<&str>) -> Response {
        let (Self::Http { client, base } | Self::Soap { client, base }) = self else {
            panic!("gRPC has no paths")
        };
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let request = client.request(method, format!("{base}{path}"));
        request.body(body.unwrap_or_default().to_owned()).send().expect("a reply")
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        let reply = self.send(method, path, Some(&body.to_string()));
        let status = reply.status().as_u16();
        assert_eq!(reply.headers()["content-type"], "application/json", "{path}");
        let value: Value = reply.json().expect("JSON");
        if status == 200 {
            return Ok(value);
        }
        let error = value["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty() && value.as_object().is_some_and(|keys| keys.len() == 1), "{value}");
        Err(status)
    }

    /// A call by its name in the contract.
    pub fn call(&self, name: &str, fields: Value) -> Answer {
        let text = |key: &str| fields[key].as_str().unwrap_or_default().to_owned();
        let user = || text("user");
        match self {
            Self::Soap { client, base } if name != "reset" && name != "state" => {
                soap::call(client, base, name, &fields)
            }
            Self::Http { .. } | Self::Soap { .. } => {
                let (method, path) = path_of(name, &fields);
                let body = fields.get("register").unwrap_or(&fields);
                self.json(method, &path, body)
            }
            Self::Grpc { client, runtime } => {
                let mut client = client.clone();
                let number = |key: &str| fields[key].as_i64().unwrap_or_default();
                let (symbol, quantity, factor) =
                    (text("symbol"), number("quantity"), fields["factor"].as_i64());
                let (user, holding) = (UserRequest { user: user() }, number("holding"));
                runtime.block_on(async {
                    match name {
                        "login" => of(client
                            .login(LoginRequest { user: user.user, password: text("password") })
                            .await),
                        "logout" => of(client.logout(user).await),
                        "account" => of(client.get_account(user).await),
                        "holdings" => of(client.list_holdings(user).await),
                        "quote" => of(client.get_quote(QuoteRequest { symbol }).await),
                        "buy" => {
                            of(client.buy(BuyRequest { user: user.user, symbol, quantity, factor }).await)
                        }
                        "sell" => of(client.sell(SellRequest { user: user.user, holding, factor }).await),
                        "update" => {
                            let mut sent: UpdateRequest =
                                serde_json::from_value(fields.clone()).expect("fields");
                            sent.user = user.user;
                            of(client.update(sent).await)
                        }
                        "register" => {
                            let sent: RegisterRequest =
                                serde_json::from_value(fields.clone()).expect("fields");
                            of(client.register(sent).await)
                        }
                        "home" => of(client.home(user).await),
                        "portfolio" => of(client.portfolio(user).await),
                        "sell-first" => of(client
                            .sell_first(SellFirstRequest { user: user.user, symbol, quantity, factor })
                            .await),
                        "switch-user" => {
                            let register =
                                serde_json::from_value(fields["register"].clone()).expect("fields");
                            let sent = SwitchUserRequest { user: user.user, register: Some(register) };
                            of(client.switch_user(sent).await)
                        }
                        "reset" => of(client.reset(ResetRequest {}).await).map(|_| json!({})),
                        "state" => of(client.get_state(StateRequest {}).await),
                        other => panic!("{other}"),
                    }
                })
            }
        }
    }

    pub fn dump(&self) -> String {
        match self {
            Self::Http { .. } | Self::Soap { .. } => {
                let reply = self.send("GET", "/control/dump", None);
                assert_eq!(
                    (reply.status().as_u16(), &reply.headers()["content-type"] == "text/plain"),
                    (200, true)
                );
                reply.text().expect("text")
            }
            Self::Grpc { client, runtime } => {
                let dump = runtime.block_on(client.clone().get_dump(StateRequest {}));
                dump.expect("a dump").into_inner().text
            }
        }
    }
}

fn of<T: Serialize>(reply: Result<tonic::Response<T>, Status>) -> Answer {
    match reply {
        Ok(reply) => Ok(serde_json::to_value(reply.into_inner()).expect("JSON")),
        Err(status) => {
            assert!(!status.message().is_empty(), "{status:?}");
            Err(match status.code() {
                Code::InvalidArgument => 400,
                Code::Unauthenticated => 401,
                Code::NotFound => 404,
                Code::AlreadyExists => 409,
                Code::Aborted => 503,
                other => panic!("{other:?}: {status:?}"),
            })
        }
    }
}

/// A segment of a path.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() { (byte as char).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// Method and path of a call over HTTP.
fn path_of(name: &str, fields: &Value) -> (&'static str, String) {
    let text = |key: &str| escaped(fields[key].as_str().unwrap_or_default());
    let of_user = |call: &str| format!("/users/{}/{call}", text("user"));
    match name {
        "login" => ("POST", "/login".to_owned()),
        "register" => ("POST", "/users".to_owned()),
        "account" | "holdings" => ("GET", of_user(name)),
        "quote" => ("GET", format!("/quotes/{}", text("symbol"))),
        "update" => ("PUT", of_user("profile")),
        "switch-user" => ("POST", of_user("register")),
        "reset" => ("POST", "/control/reset".to_owned()),
        "state" => ("GET", "/control/state".to_owned()),
        other => ("POST", of_user(other)),
    }
}
