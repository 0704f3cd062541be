//! What the calls do in PostgreSQL, on a connection or within a transaction of it. A transaction locks its account first,
//! and then the stock whose price it moves: orders that meet in both wait for each other in one direction.

use deadpool_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use crate::engine::price::{Moved, check_factor, moved};
use crate::engine::sql::{self, Row};
use crate::engine::{
    Asked, Fault, Outcome, check_quantity, no_holding, no_stock, no_such_holding, no_user, now, order,
    user_exists, wrong_password,
};
use crate::population::Lot;
use crate::records::{
    Account, FEE, HoldingList, Order, PortfolioReply, Profile, Quote, RegisterRequest, SellFirstReply,
    UpdateRequest,
};

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

pub async fn login(db: &impl GenericClient, user: &str, password: &str) -> Outcome<Account> {
    let right = first(db, sql::PASSWORD, &[&user], |row| row.text(0)).await?;
    if right.ok_or_else(|| no_user(user))? != password {
        return Err(wrong_password(user));
    }
    first(db, sql::LOGIN, &[&now(), &user], sql::account).await?.ok_or_else(|| no_user(user))
}

pub async fn logout(db: &impl GenericClient, user: &str) -> Outcome<Account> {
    first(db, sql::LOGOUT, &[&user], sql::account).await?.ok_or_else(|| no_user(user))
}

pub async fn account(db: &impl GenericClient, user: &str) -> Outcome<Account> {
    first(db, sql::ACCOUNT, &[&user], sql::account).await?.ok_or_else(|| no_user(user))
}

pub async fn holdings(db: &impl GenericClient, user: &str) -> Outcome<HoldingList> {
    let rows = all(db, sql::HOLDINGS, &[&user], sql::maybe_holding).await?;
    if rows.is_empty() { Err(no_user(user)) } else { Ok(sql::holdings(rows)) }
}

pub async fn quote(db: &impl GenericClient, symbol: &str) -> Outcome<Quote> {
    first(db, sql::QUOTE, &[&symbol], sql::quote).await?.ok_or_else(|| no_stock(symbol))
}

pub async fn buy(db: &impl GenericClient, user: &str, asked: Asked<'_>) -> Outcome<Order> {
    let Asked { symbol, quantity, factor } = asked;
    check_quantity(quantity)?;
    check_factor(factor)?;
    let account = locked(db, user).await?;
    let price = price(db, asked).await?;
    pay(db, account, -(quantity * price + FEE)).await?;
    let holding = identity(db, sql::HOLD, &[&account, &symbol, &quantity, &price, &now()]).await?;
    close(db, account, order("buy", asked, price, holding)).await
}

pub async fn sell(db: &impl GenericClient, user: &str, holding: i64, factor: Option<i64>) -> Outcome<Order> {
    check_factor(factor)?;
    let account = locked(db, user).await?;
    let lot = |row: &dyn Row| Ok(Lot { symbol: row.text(0)?, quantity: row.int(1)? });
    let sold = first(db, sql::RELEASE, &[&holding, &account], lot).await?;
    let Lot { symbol, quantity } = sold.ok_or_else(|| no_holding(user, holding))?;
    let asked = Asked { symbol: &symbol, quantity, factor };
    let price = price(db, asked).await?;
    pay(db, account, quantity * price - FEE).await?;
    close(db, account, order("sell", asked, price, holding)).await
}

pub async fn update(db: &impl GenericClient, user: &str, fields: &UpdateRequest) -> Outcome<Profile> {
    let UpdateRequest { full_name, address, email, card, password, .. } = fields;
    let values: Values<'_> = &[full_name, address, email, card, password, &user];
    first(db, sql::UPDATE, values, sql::profile).await?.ok_or_else(|| no_user(user))
}

pub async fn register(db: &impl GenericClient, fields: &RegisterRequest) -> Outcome<Account> {
    let now = now();
    open(db, fields, Some(now), now).await
}

/// A profile and an account, whose user has logged in if at all once.
pub async fn open(
    db: &impl GenericClient,
    fields: &RegisterRequest,
    login: Option<i64>,
    created: i64,
) -> Outcome<Account> {
    let RegisterRequest { user, password, full_name, address, email, card, balance } = fields;
    let profile: Values<'_> = &[user, full_name, address, email, card, password];
    if db.execute(&db.prepare_cached(sql::NEW_PROFILE).await?, profile).await? == 0 {
        return Err(user_exists(user));
    }
    let logins = i64::from(login.is_some());
    let values: Values<'_> = &[user, balance, balance, &logins, &0_i64, &login, &created];
    let account = first(db, sql::NEW_ACCOUNT, values, sql::account).await?;
    account.ok_or_else(|| Fault::Broken("an account that was opened is not there".to_owned()))
}

// Coarse calls

pub async fn portfolio(db: &impl GenericClient, user: &str) -> Outcome<PortfolioReply> {
    let holdings = holdings(db, user).await?.holdings;
    let mut quotes = Vec::with_capacity(holdings.len());
    for holding in &holdings {
        quotes.push(quote(db, &holding.symbol).await?);
    }
    Ok(PortfolioReply { holdings, quotes })
}

pub async fn sell_first(db: &impl GenericClient, user: &str, asked: Asked<'_>) -> Outcome<SellFirstReply> {
    let Asked { symbol, quantity, factor } = asked;
    check_factor(factor)?;
    let list = holdings(db, user).await?;
    let holding = list.first_of(symbol, quantity).ok_or_else(|| no_such_holding(user, symbol, quantity))?;
    Ok(SellFirstReply { order: Some(sell(db, user, holding, factor).await?), holdings: list.holdings })
}

// Steps of a transaction

async fn locked(db: &impl GenericClient, user: &str) -> Outcome<i64> {
    let id = first(db, sql::LOCK_ROW, &[&user], |row| row.int(0)).await?;
    id.ok_or_else(|| no_user(user))
}

/// The price of an order. With a factor, that of its stock is another one behind it.
async fn price(db: &impl GenericClient, asked: Asked<'_>) -> Outcome<i64> {
    let Asked { symbol, quantity, factor } = asked;
    let Some(factor) = factor else { return Ok(quote(db, symbol).await?.price) };
    let quote = first(db, sql::QUOTE_ROW, &[&symbol], sql::quote).await?.ok_or_else(|| no_stock(symbol))?;
    let Moved { price, low, high, change } = moved(&quote, factor);
    let values: Values<'_> = &[&price, &low, &high, &change, &quantity, &symbol];
    db.execute(&db.prepare_cached(sql::MOVE).await?, values).await?;
    Ok(quote.price)
}

async fn pay(db: &impl GenericClient, account: i64, cents: i64) -> Outcome<()> {
    db.execute(&db.prepare_cached(sql::PAY).await?, &[&cents, &account]).await?;
    Ok(())
}

async fn close(db: &impl GenericClient, account: i64, mut order: Order) -> Outcome<Order> {
    let Order { kind, status, symbol, quantity, price, fee, holding, opened, completed, .. } = &order;
    let values: Values<'_> =
        &[&account, kind, status, symbol, quantity, price, fee, holding, opened, completed];
    order.id = identity(db, sql::ORDER, values).await?;
    Ok(order)
}

/// The identity of the row that is inserted.
async fn identity(db: &impl GenericClient, text: &str, values: Values<'_>) -> Outcome<i64> {
    let id = first(db, text, values, |row| row.int(0)).await?;
    id.ok_or_else(|| Fault::Broken("a row that was inserted is not there".to_owned()))
}

// Statements

/// The first row's record.
async fn first<T>(
    db: &impl GenericClient,
    text: &str,
    values: Values<'_>,
    record: fn(&dyn Row) -> Outcome<T>,
) -> Outcome<Option<T>> {
    let row = db.query_opt(&db.prepare_cached(text).await?, values).await?;
    row.map(|row| record(&row)).transpose()
}

/// All rows' records.
pub async fn all<T>(
    db: &impl GenericClient,
    text: &str,
    values: Values<'_>,
    record: fn(&dyn Row) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let rows = db.query(&db.prepare_cached(text).await?, values).await?;
    rows.iter().map(|row| record(row)).collect()
}
