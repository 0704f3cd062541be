//! What the calls do in SQLite, within a transaction.

use rusqlite::{Connection, ToSql, params};

use crate::engine::price::{Moved, check_factor, moved};
use crate::engine::sql;
use crate::engine::sqlite::{all, first};
use crate::engine::{
    Asked, Fault, Outcome, check_quantity, no_holding, no_stock, no_such_holding, no_user, now, order,
    user_exists, wrong_password,
};
use crate::population::{Lot, Population};
use crate::records::{
    Account, FEE, HoldingList, HomeReply, Order, PortfolioReply, Profile, Quote, RegisterRequest,
    SellFirstReply, UpdateRequest,
};

pub fn login(db: &Connection, user: &str, password: &str) -> Outcome<Account> {
    let right = first(db, sql::PASSWORD, [user], |row| row.text(0))?.ok_or_else(|| no_user(user))?;
    if right != password {
        return Err(wrong_password(user));
    }
    first(db, sql::LOGIN, params![now(), user], sql::account)?.ok_or_else(|| no_user(user))
}

pub fn logout(db: &Connection, user: &str) -> Outcome<Account> {
    first(db, sql::LOGOUT, [user], sql::account)?.ok_or_else(|| no_user(user))
}

pub fn account(db: &Connection, user: &str) -> Outcome<Account> {
    first(db, sql::ACCOUNT, [user], sql::account)?.ok_or_else(|| no_user(user))
}

pub fn holdings(db: &Connection, user: &str) -> Outcome<HoldingList> {
    let rows = all(db, sql::HOLDINGS, [user], sql::maybe_holding)?;
    if rows.is_empty() { Err(no_user(user)) } else { Ok(sql::holdings(rows)) }
}

pub fn quote(db: &Connection, symbol: &str) -> Outcome<Quote> {
    first(db, sql::QUOTE, [symbol], sql::quote)?.ok_or_else(|| no_stock(symbol))
}

pub fn buy(db: &Connection, user: &str, asked: Asked<'_>) -> Outcome<Order> {
    let Asked { symbol, quantity, factor } = asked;
    check_quantity(quantity)?;
    check_factor(factor)?;
    let account = identified(db, user)?;
    let price = price(db, asked)?;
    pay(db, account, -(quantity * price + FEE))?;
    let values = params![account, symbol, quantity, price, now()];
    let holding = identity(db, sql::HOLD, values)?;
    close(db, account, order("buy", asked, price, holding))
}

pub fn sell(db: &Connection, user: &str, holding: i64, factor: Option<i64>) -> Outcome<Order> {
    check_factor(factor)?;
    let account = identified(db, user)?;
    let sold = first(db, sql::RELEASE, [holding, account], |row| {
        Ok(Lot { symbol: row.text(0)?, quantity: row.int(1)? })
    })?;
    let Lot { symbol, quantity } = sold.ok_or_else(|| no_holding(user, holding))?;
    let asked = Asked { symbol: &symbol, quantity, factor };
    let price = price(db, asked)?;
    pay(db, account, quantity * price - FEE)?;
    close(db, account, order("sell", asked, price, holding))
}

pub fn update(db: &Connection, user: &str, fields: &UpdateRequest) -> Outcome<Profile> {
    let UpdateRequest { full_name, address, email, card, password, .. } = fields;
    let values = params![full_name, address, email, card, password, user];
    first(db, sql::UPDATE, values, sql::profile)?.ok_or_else(|| no_user(user))
}

pub fn register(db: &Connection, fields: &RegisterRequest) -> Outcome<Account> {
    let now = now();
    open(db, fields, Some(now), now)
}

/// A profile and an account, whose user has logged in if at all once.
pub fn open(db: &Connection, fields: &RegisterRequest, login: Option<i64>, created: i64) -> Outcome<Account> {
    let RegisterRequest { user, password, full_name, address, email, card, balance } = fields;
    let values = params![user, full_name, address, email, card, password];
    if db.prepare_cached(sql::NEW_PROFILE)?.execute(values)? == 0 {
        return Err(user_exists(user));
    }
    let values = params![user, balance, balance, i64::from(login.is_some()), 0, login, created];
    let account = first(db, sql::NEW_ACCOUNT, values, sql::account)?;
    account.ok_or_else(|| Fault::Broken("an account that was opened is not there".to_owned()))
}

// Coarse calls

pub fn home(db: &Connection, user: &str) -> Outcome<HomeReply> {
    Ok(HomeReply { account: Some(account(db, user)?), holdings: holdings(db, user)?.holdings })
}

pub fn portfolio(db: &Connection, user: &str) -> Outcome<PortfolioReply> {
    let holdings = holdings(db, user)?.holdings;
    let quotes = holdings.iter().map(|holding| quote(db, &holding.symbol)).collect::<Result<_, _>>()?;
    Ok(PortfolioReply { holdings, quotes })
}

pub fn sell_first(db: &Connection, user: &str, asked: Asked<'_>) -> Outcome<SellFirstReply> {
    let Asked { symbol, quantity, factor } = asked;
    check_factor(factor)?;
    let list = holdings(db, user)?;
    let holding = list.first_of(symbol, quantity).ok_or_else(|| no_such_holding(user, symbol, quantity))?;
    Ok(SellFirstReply { order: Some(sell(db, user, holding, factor)?), holdings: list.holdings })
}

// Steps of a transaction

fn identified(db: &Connection, user: &str) -> Outcome<i64> {
    first(db, sql::LOCK, [user], |row| row.int(0))?.ok_or_else(|| no_user(user))
}

/// The price of an order. With a factor, that of its stock is another one behind it.
fn price(db: &Connection, asked: Asked<'_>) -> Outcome<i64> {
    let quote = quote(db, asked.symbol)?;
    if let Some(factor) = asked.factor {
        let Moved { price, low, high, change } = moved(&quote, factor);
        let values = params![price, low, high, change, asked.quantity, asked.symbol];
        db.prepare_cached(sql::MOVE)?.execute(values)?;
    }
    Ok(quote.price)
}

fn pay(db: &Connection, account: i64, cents: i64) -> Outcome<()> {
    db.prepare_cached(sql::PAY)?.execute([cents, account])?;
    Ok(())
}

fn close(db: &Connection, account: i64, mut order: Order) -> Outcome<Order> {
    let Order { kind, status, symbol, quantity, price, fee, holding, opened, completed, .. } = &order;
    let values = params![account, kind, status, symbol, quantity, price, fee, holding, opened, completed];
    order.id = identity(db, sql::ORDER, values)?;
    Ok(order)
}

/// The identity of the row that is inserted.
fn identity(db: &Connection, text: &str, parameters: impl rusqlite::Params) -> Outcome<i64> {
    let id = first(db, text, parameters, |row| row.int(0))?;
    id.ok_or_else(|| Fault::Broken("a row that was inserted is not there".to_owned()))
}

// Population

pub fn populate(connection: &mut Connection, population: &Population) -> Outcome<()> {
    let transaction = connection.transaction()?;
    let db: &Connection = &transaction;
    let created = now();
    let insert = "INSERT INTO stock (symbol, company, price, open, low, high, change, volume) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    for stock in &population.stocks {
        let numbers = [&stock.price, &stock.open, &stock.low, &stock.high, &stock.change, &stock.volume];
        let texts: [&dyn ToSql; 2] = [&stock.symbol, &stock.company];
        let values = texts.into_iter().chain(numbers.map(|number| number as &dyn ToSql));
        db.prepare_cached(insert)?.execute(&*values.collect::<Vec<_>>())?;
    }
    let prices = population.prices();
    for user in &population.users {
        let account = open(db, &user.fields, None, created)?;
        for lot in &user.holdings {
            let price = prices.get(lot.symbol.as_str()).expect("a holding's stock was looked for");
            let values = params![account.id, lot.symbol, lot.quantity, price, created];
            first(db, sql::HOLD, values, |_| Ok(()))?;
        }
    }
    transaction.commit()?;
    Ok(())
}
