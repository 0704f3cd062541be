//! The brokerage's calls, and the database that carries them out.

mod postgres;
mod postgres_calls;
mod price;
mod sql;
mod sqlite;
mod sqlite_calls;

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::population::Population;
use crate::records::{
    Account, Contents, FEE, HoldingList, HomeReply, Order, PortfolioReply, Profile, Quote, RegisterRequest,
    SellFirstReply, SwitchUserReply, UpdateRequest,
};
use crate::{refusal, variable};

/// The most shares of an order: its price is then a whole number of cents in 64 bits.
pub const LARGEST_QUANTITY: i64 = 1_000_000_000;

/// Why a call was not carried out. The text is for people; nothing has changed.
#[derive(Debug)]
pub enum Fault {
    /// The request is wrong.
    Wrong(String),
    /// The password is.
    Denied(String),
    /// There is no such user, symbol or holding.
    Missing(String),
    /// There is such a user.
    Exists(String),
    /// Another transaction was in the way: the client may ask again.
    Again(String),
    /// The database failed.
    Broken(String),
}

/// What an order asks for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub symbol: &'a str,
    pub quantity: i64,
    /// By how many hundredths the order multiplies the price of its stock; none where it leaves the price alone.
    pub factor: Option<i64>,
}

/// What came of a call.
pub type Outcome<T> = Result<T, Fault>;

/// The brokerage. A call that changes something is one transaction; none is repeated here.
#[tonic::async_trait]
pub trait Engine: Send + Sync {
    async fn login(&self, user: &str, password: &str) -> Outcome<Account>;
    async fn logout(&self, user: &str) -> Outcome<Account>;
    async fn account(&self, user: &str) -> Outcome<Account>;
    /// By id.
    async fn holdings(&self, user: &str) -> Outcome<HoldingList>;
    async fn quote(&self, symbol: &str) -> Outcome<Quote>;
    async fn buy(&self, user: &str, asked: Asked<'_>) -> Outcome<Order>;
    /// The factor is that of an order that is asked for.
    async fn sell(&self, user: &str, holding: i64, factor: Option<i64>) -> Outcome<Order>;
    async fn update(&self, user: &str, fields: &UpdateRequest) -> Outcome<Profile>;
    /// The new user is logged in.
    async fn register(&self, fields: &RegisterRequest) -> Outcome<Account>;

    // Coarse calls: what an action of the script needs, at one moment.

    async fn home(&self, user: &str) -> Outcome<HomeReply>;
    async fn portfolio(&self, user: &str) -> Outcome<PortfolioReply>;
    async fn sell_first(&self, user: &str, asked: Asked<'_>) -> Outcome<SellFirstReply>;
    async fn switch_user(&self, user: &str, fields: &RegisterRequest) -> Outcome<SwitchUserReply>;

    // Control calls.

    /// The database is as it was when the service became ready.
    async fn reset(&self) -> Outcome<()>;
    async fn contents(&self) -> Outcome<Contents>;
}

/// Opens the database that `DATABASE` names, with that population. The error is the line for stderr.
pub async fn open(population: &Population) -> Result<Arc<dyn Engine>, String> {
    let text = variable("DATABASE").unwrap_or_else(|| "memory".to_owned());
    let allowed = "`memory`, `file`, `postgres:host=… user=… dbname=…`";
    let refused = |problem: String| refusal("DATABASE", &text, &format!("{allowed} ({problem})"));
    match text.as_str() {
        "memory" => match sqlite::Sqlite::in_memory(population) {
            Ok(engine) => Ok(Arc::new(engine)),
            Err(fault) => Err(refused(told(fault))),
        },
        "file" => {
            let folder = variable("STATE").unwrap_or_default();
            let refused =
                |problem: String| refusal("STATE", &folder, &format!("an empty folder ({problem})"));
            if folder.is_empty() {
                return Err(refused("it is required by `DATABASE` `file`".to_owned()));
            }
            match sqlite::Sqlite::in_folder(Path::new(&folder), population) {
                Ok(engine) => Ok(Arc::new(engine)),
                Err(fault) => Err(refused(told(fault))),
            }
        }
        words => {
            let words = words.strip_prefix("postgres:");
            let words = words.ok_or_else(|| refusal("DATABASE", &text, allowed))?;
            match postgres::Postgres::connect(words, population).await {
                Ok(engine) => Ok(Arc::new(engine)),
                Err(fault) => Err(refused(told(fault))),
            }
        }
    }
}

/// The fault's text, on one line.
fn told(fault: Fault) -> String {
    let (Fault::Wrong(text)
    | Fault::Denied(text)
    | Fault::Missing(text)
    | Fault::Exists(text)
    | Fault::Again(text)
    | Fault::Broken(text)) = fault;
    text.replace('\n', " ")
}

// What every engine does alike

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn check_quantity(quantity: i64) -> Outcome<()> {
    if (0..=LARGEST_QUANTITY).contains(&quantity) {
        return Ok(());
    }
    Err(Fault::Wrong(format!("the quantity is {quantity}, allowed: 0 to {LARGEST_QUANTITY}")))
}

/// An order that is closed, without an id.
fn order(kind: &str, asked: Asked<'_>, price: i64, holding: i64) -> Order {
    let now = now();
    Order {
        id: 0,
        kind: kind.to_owned(),
        status: "closed".to_owned(),
        symbol: asked.symbol.to_owned(),
        quantity: asked.quantity,
        price,
        fee: FEE,
        holding,
        opened: now,
        completed: now,
    }
}

fn no_user(user: &str) -> Fault {
    Fault::Missing(format!("there is no user {user:?}"))
}

fn no_stock(symbol: &str) -> Fault {
    Fault::Missing(format!("there is no stock {symbol:?}"))
}

fn no_holding(user: &str, holding: i64) -> Fault {
    Fault::Missing(format!("the user {user:?} has no holding {holding}"))
}

fn no_such_holding(user: &str, symbol: &str, quantity: i64) -> Fault {
    Fault::Missing(format!("the user {user:?} has no holding of {quantity} {symbol:?}"))
}

fn wrong_password(user: &str) -> Fault {
    Fault::Denied(format!("the password is not that of the user {user:?}"))
}

fn user_exists(user: &str) -> Fault {
    Fault::Exists(format!("the user {user:?} is there already"))
}
