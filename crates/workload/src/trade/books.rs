//! The books of a brokerage: what is in them at the end, as a service tells it, and whether they add up.

use std::fmt::Write as _;

use serde::Serialize;
use sha2::{Digest, Sha256};
use weighbridge_model::hex;

use super::brokerage::{Brokerage, Customer, Order};
use super::canonical::{HoldingReply, OrderKind, OrderReply};
use super::script::Cents;

/// What is in the books; services answer the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndState {
    #[serde(flatten)]
    pub counts: BookCounts,
    /// Of the dump, in hexadecimal digits.
    pub sha256: String,
}

/// Numbers and sums of what is in the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BookCounts {
    pub stocks: usize,
    pub accounts: usize,
    pub profiles: usize,
    pub holdings: usize,
    /// Orders of this kind, all closed.
    pub buys: usize,
    pub sells: usize,
    pub logins: u64,
    pub logouts: u64,
    /// Of all accounts, in cents.
    pub balance: Cents,
}

/// Books that do not add up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Imbalance {
    #[error("account `{user}` has {found} cents, and its orders leave {expected}")]
    Balance { user: String, found: Cents, expected: Cents },
    #[error("balances, holdings and fees are worth {found} cents, and were worth {expected}")]
    Worth { found: Cents, expected: Cents },
    #[error("there are {found} {what}, and what was done leaves {expected}")]
    Count { what: &'static str, found: u64, expected: u64 },
    #[error("account `{user}` has {logins} logins and {logouts} logouts, and nobody is logged in")]
    Visits { user: String, logins: u32, logouts: u32 },
}

impl Brokerage {
    pub fn end_state(&self) -> EndState {
        EndState { counts: self.counts(), sha256: hex::encode(&Sha256::digest(self.dump())) }
    }

    pub fn counts(&self) -> BookCounts {
        let customers = || self.customers.values();
        let orders = |kind| customers().map(|one| one.orders_of(kind)).sum();
        BookCounts {
            stocks: self.stocks.len(),
            accounts: self.customers.len(),
            profiles: self.customers.len(),
            holdings: customers().map(|one| one.holdings.len()).sum(),
            buys: orders(OrderKind::Buy),
            sells: orders(OrderKind::Sell),
            logins: customers().map(|one| u64::from(one.logins)).sum(),
            logouts: customers().map(|one| u64::from(one.logouts)).sum(),
            balance: customers().map(|one| one.balance).sum(),
        }
    }

    /// Everything without ids and times, sorted by bytes: quotes, profiles with passwords, accounts, holdings, orders.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        let mut stocks: Vec<_> = self.stocks.iter().collect();
        stocks.sort_unstable_by(|a, b| a.symbol.cmp(&b.symbol));
        stocks.into_iter().for_each(|stock| Self::quote_reply(stock).append(&mut text));
        for (user, customer) in &self.customers {
            customer.profile_reply(user).append(&mut text);
            writeln!(text, "password={}", customer.profile.password).expect("memory takes it");
        }
        for (user, customer) in &self.customers {
            customer.account_reply(user).append(&mut text);
        }
        for (user, customer) in &self.customers {
            let mut held: Vec<HoldingReply> =
                customer.holdings.iter().map(|held| self.holding_reply(held)).collect();
            held.sort_unstable();
            held.into_iter().for_each(|holding| holding.append(Some(user), &mut text));
        }
        for (user, customer) in &self.customers {
            let mut orders: Vec<OrderReply> =
                customer.orders.iter().map(|order| self.order_reply(order)).collect();
            orders.sort_unstable();
            orders.into_iter().for_each(|order| order.append(Some(user), &mut text));
        }
        text
    }

    /// Whether money, holdings, orders, visits and accounts add up. It may be asked after any action.
    pub fn check(&self) -> Result<(), Imbalance> {
        for (user, one) in &self.customers {
            let expected = one.open_balance + one.orders.iter().map(Order::effect).sum();
            if one.balance != expected {
                return Err(Imbalance::Balance { user: user.clone(), found: one.balance, expected });
            }
        }
        let orders = self.customers.values().flat_map(|one| &one.orders);
        let fees: Cents = orders.map(|order| order.fee).sum();
        let (found, expected) = (self.worth() + fees, self.done.worth);
        if found != expected {
            return Err(Imbalance::Worth { found, expected });
        }
        self.check_counts()
    }

    fn check_counts(&self) -> Result<(), Imbalance> {
        let (state, done) = (self.counts(), &self.done);
        let logins = done.visits + done.registers as u64;
        for (what, found, expected) in [
            ("orders to buy", state.buys as u64, done.buys as u64),
            ("orders to sell", state.sells as u64, done.sells as u64),
            ("holdings", (state.holdings + done.sells) as u64, (done.holdings + done.buys) as u64),
            ("accounts", state.accounts as u64, (done.users + done.registers) as u64),
            ("logins", state.logins, logins),
            ("logouts and open visits", state.logouts + done.open, logins),
        ] {
            if found != expected {
                return Err(Imbalance::Count { what, found, expected });
            }
        }
        let unlike = self.customers.iter().find(|(_, one)| one.logins != one.logouts);
        match unlike {
            Some((user, one)) if done.open == 0 => {
                Err(Imbalance::Visits { user: user.clone(), logins: one.logins, logouts: one.logouts })
            }
            _ => Ok(()),
        }
    }
}

impl Customer {
    fn orders_of(&self, kind: OrderKind) -> usize {
        self.orders.iter().filter(|order| order.kind == kind).count()
    }
}

impl Order {
    /// What it did to the balance.
    fn effect(&self) -> Cents {
        let worth = self.price * self.lot.quantity;
        match self.kind {
            OrderKind::Buy => Cents::default() - worth - self.fee,
            OrderKind::Sell => worth - self.fee,
        }
    }
}
