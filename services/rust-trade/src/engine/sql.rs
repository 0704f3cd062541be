//! The statements that both databases understand, and the records of their rows. SQLite numbers `$1` by its first appearance, so
//! a statement names its parameters in order.

use crate::engine::Outcome;
use crate::records::{Account, Holding, HoldingList, Order, Owned, Profile, Quote, Secret};

/// A row of a result, by place.
pub trait Row {
    fn int(&self, place: usize) -> Outcome<i64>;
    fn maybe_int(&self, place: usize) -> Outcome<Option<i64>>;
    fn text(&self, place: usize) -> Outcome<String>;
}

macro_rules! account {
    () => {
        "id, user_id, balance, open_balance, logins, logouts, last_login, created"
    };
}
macro_rules! profile {
    () => {
        "user_id, full_name, address, email, card"
    };
}
macro_rules! quote {
    () => {
        "symbol, company, price, open, low, high, change, volume"
    };
}

// Calls

pub const PASSWORD: &str = "SELECT password FROM profile WHERE user_id = $1";
pub const LOGIN: &str = concat!(
    "UPDATE account SET logins = logins + 1, last_login = $1 WHERE user_id = $2 RETURNING ",
    account!()
);
pub const LOGOUT: &str =
    concat!("UPDATE account SET logouts = logouts + 1 WHERE user_id = $1 RETURNING ", account!());
pub const ACCOUNT: &str = concat!("SELECT ", account!(), " FROM account WHERE user_id = $1");
/// Who is at work. SQLite's transaction has the whole database; PostgreSQL's keeps others from that row.
pub const LOCK: &str = "SELECT id FROM account WHERE user_id = $1";
pub const LOCK_ROW: &str = "SELECT id FROM account WHERE user_id = $1 FOR UPDATE";
/// No row where there is no user, one without a holding where it has none.
pub const HOLDINGS: &str = "SELECT h.id, h.symbol, h.quantity, h.price, h.bought \
    FROM account a LEFT JOIN holding h ON h.account = a.id WHERE a.user_id = $1 ORDER BY h.id";
pub const QUOTE: &str = concat!("SELECT ", quote!(), " FROM stock WHERE symbol = $1");
/// The same, to be changed: in PostgreSQL others wait for that row.
pub const QUOTE_ROW: &str = concat!("SELECT ", quote!(), " FROM stock WHERE symbol = $1 FOR UPDATE");
pub const MOVE: &str = "UPDATE stock SET price = $1, low = $2, high = $3, change = $4, volume = volume + $5 \
    WHERE symbol = $6";
pub const PAY: &str = "UPDATE account SET balance = balance + $1 WHERE id = $2";
pub const HOLD: &str =
    "INSERT INTO holding (account, symbol, quantity, price, bought) VALUES ($1, $2, $3, $4, $5) RETURNING id";
pub const RELEASE: &str = "DELETE FROM holding WHERE id = $1 AND account = $2 RETURNING symbol, quantity";
pub const ORDER: &str = "INSERT INTO orders \
    (account, kind, status, symbol, quantity, price, fee, holding, opened, completed) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id";
pub const UPDATE: &str = concat!(
    "UPDATE profile SET full_name = $1, address = $2, email = $3, card = $4, password = $5 \
    WHERE user_id = $6 RETURNING ",
    profile!()
);
/// Changes nothing where there is such a user.
pub const NEW_PROFILE: &str = "INSERT INTO profile (user_id, full_name, address, email, card, password) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
pub const NEW_ACCOUNT: &str = concat!(
    "INSERT INTO account (user_id, balance, open_balance, logins, logouts, last_login, created) \
    VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ",
    account!()
);

// Contents

pub const QUOTES: &str = concat!("SELECT ", quote!(), " FROM stock");
pub const PROFILES: &str = concat!("SELECT ", profile!(), ", password FROM profile");
pub const ACCOUNTS: &str = concat!("SELECT ", account!(), " FROM account");
pub const ALL_HOLDINGS: &str = "SELECT h.id, h.symbol, h.quantity, h.price, h.bought, a.user_id \
    FROM holding h JOIN account a ON a.id = h.account";
pub const ORDERS: &str = "SELECT o.id, o.kind, o.status, o.symbol, o.quantity, o.price, o.fee, o.holding, \
    o.opened, o.completed, a.user_id FROM orders o JOIN account a ON a.id = o.account";

// Rows

pub fn account(row: &dyn Row) -> Outcome<Account> {
    Ok(Account {
        id: row.int(0)?,
        user: row.text(1)?,
        balance: row.int(2)?,
        open_balance: row.int(3)?,
        logins: row.int(4)?,
        logouts: row.int(5)?,
        last_login: row.maybe_int(6)?,
        created: row.int(7)?,
    })
}

pub fn holding(row: &dyn Row) -> Outcome<Holding> {
    Ok(Holding {
        id: row.int(0)?,
        symbol: row.text(1)?,
        quantity: row.int(2)?,
        price: row.int(3)?,
        bought: row.int(4)?,
    })
}

/// A row of `HOLDINGS`.
pub fn maybe_holding(row: &dyn Row) -> Outcome<Option<Holding>> {
    row.maybe_int(0)?.map(|_| holding(row)).transpose()
}

/// The rows of `HOLDINGS`, of which there is one at least where there is the user.
pub fn holdings(rows: Vec<Option<Holding>>) -> HoldingList {
    HoldingList { holdings: rows.into_iter().flatten().collect() }
}

pub fn owned_holding(row: &dyn Row) -> Outcome<Owned<Holding>> {
    Ok(Owned { record: holding(row)?, user: row.text(5)? })
}

pub fn quote(row: &dyn Row) -> Outcome<Quote> {
    Ok(Quote {
        symbol: row.text(0)?,
        company: row.text(1)?,
        price: row.int(2)?,
        open: row.int(3)?,
        low: row.int(4)?,
        high: row.int(5)?,
        change: row.int(6)?,
        volume: row.int(7)?,
    })
}

pub fn owned_order(row: &dyn Row) -> Outcome<Owned<Order>> {
    let record = Order {
        id: row.int(0)?,
        kind: row.text(1)?,
        status: row.text(2)?,
        symbol: row.text(3)?,
        quantity: row.int(4)?,
        price: row.int(5)?,
        fee: row.int(6)?,
        holding: row.int(7)?,
        opened: row.int(8)?,
        completed: row.int(9)?,
    };
    Ok(Owned { record, user: row.text(10)? })
}

pub fn profile(row: &dyn Row) -> Outcome<Profile> {
    Ok(Profile {
        user: row.text(0)?,
        full_name: row.text(1)?,
        address: row.text(2)?,
        email: row.text(3)?,
        card: row.text(4)?,
    })
}

pub fn secret(row: &dyn Row) -> Outcome<Secret> {
    Ok(Secret { profile: profile(row)?, password: row.text(5)? })
}
