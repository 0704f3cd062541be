//! The canonical form of replies and of a database, which has neither ids nor times: what the oracle compares.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::records::{
    Account, Contents, Holding, HoldingList, HomeReply, Order, PortfolioReply, Profile, Quote,
    SellFirstReply, State, SwitchUserReply,
};

/// What has a canonical form.
pub trait Canonical {
    fn write(&self, text: &mut String);

    /// FNV-1a of the text, for which there is room in `text`.
    fn hash(&self, text: &mut String) -> u64 {
        text.clear();
        self.write(text);
        let mut hash = Fnv::default();
        hash.add(text.as_bytes());
        hash.0
    }
}

/// Writes a record: its kind, then a line for each field.
macro_rules! canonical {
    ($kind:ident, $name:literal, $($field:ident),*) => {
        impl Canonical for $kind {
            fn write(&self, text: &mut String) {
                text.push_str(concat!($name, "\n"));
                $(line(text, stringify!($field), &self.$field);)*
            }
        }
    };
}

fn line(text: &mut String, field: &str, value: impl std::fmt::Display) {
    writeln!(text, "{field}={value}").expect("a text can be written to");
}

canonical!(Account, "account", user, balance, open_balance, logins, logouts);
canonical!(Holding, "holding", symbol, quantity, price);
canonical!(Quote, "quote", symbol, company, price, open, low, high, change, volume);
canonical!(Order, "order", kind, status, symbol, quantity, price, fee);
canonical!(Profile, "profile", user, full_name, address, email, card);

impl Canonical for [Holding] {
    fn write(&self, text: &mut String) {
        text.push_str("holdings\n");
        let mut holdings: Vec<_> = self.iter().collect();
        holdings.sort_by(|a, b| key(a).cmp(&key(b)));
        holdings.iter().for_each(|holding| holding.write(text));
    }
}

fn key(holding: &Holding) -> (&str, i64, i64) {
    (&holding.symbol, holding.quantity, holding.price)
}

impl Canonical for HoldingList {
    fn write(&self, text: &mut String) {
        self.holdings.write(text);
    }
}

impl Canonical for HomeReply {
    fn write(&self, text: &mut String) {
        self.account.iter().for_each(|account| account.write(text));
        self.holdings.write(text);
    }
}

impl Canonical for PortfolioReply {
    fn write(&self, text: &mut String) {
        self.holdings.write(text);
        let mut quotes: Vec<_> = self.quotes.iter().collect();
        quotes.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        quotes.iter().for_each(|quote| quote.write(text));
    }
}

impl Canonical for SellFirstReply {
    fn write(&self, text: &mut String) {
        self.holdings.write(text);
        self.order.iter().for_each(|order| order.write(text));
    }
}

impl Canonical for SwitchUserReply {
    fn write(&self, text: &mut String) {
        self.account.iter().chain(&self.registered).for_each(|account| account.write(text));
    }
}

// Digests

/// FNV-1a of 64 bits.
pub struct Fnv(pub u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Takes further bytes in.
    pub fn add(&mut self, bytes: &[u8]) {
        let with = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, with);
    }
}

// Database

impl Contents {
    /// All records without ids and times, in an order that only they decide.
    pub fn dump(&mut self) -> String {
        self.quotes.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        self.profiles.sort_by(|a, b| a.profile.user.cmp(&b.profile.user));
        self.accounts.sort_by(|a, b| a.user.cmp(&b.user));
        self.holdings.sort_by(|a, b| (&a.user, key(&a.record)).cmp(&(&b.user, key(&b.record))));
        self.orders.sort_by(|a, b| {
            let key = |order: &Order| (order.quantity, order.price, order.fee);
            let texts = (&a.user, &a.record.kind, &a.record.symbol);
            texts.cmp(&(&b.user, &b.record.kind, &b.record.symbol)).then(key(&a.record).cmp(&key(&b.record)))
        });
        let mut text = String::new();
        self.quotes.iter().for_each(|quote| quote.write(&mut text));
        for secret in &self.profiles {
            secret.profile.write(&mut text);
            line(&mut text, "password", &secret.password);
        }
        self.accounts.iter().for_each(|account| account.write(&mut text));
        for holding in &self.holdings {
            owned(&mut text, &holding.user, &holding.record);
        }
        for order in &self.orders {
            owned(&mut text, &order.user, &order.record);
        }
        text
    }

    /// Numbers of records, sums over them, and the dump's hash.
    pub fn state(&mut self) -> State {
        let sha256 = Sha256::digest(self.dump()).iter().map(|byte| format!("{byte:02x}")).collect();
        let orders = |kind: &str| count(self.orders.iter().filter(|order| order.record.kind == kind).count());
        let sum = |field: fn(&Account) -> i64| self.accounts.iter().map(field).sum();
        State {
            stocks: count(self.quotes.len()),
            accounts: count(self.accounts.len()),
            profiles: count(self.profiles.len()),
            holdings: count(self.holdings.len()),
            buys: orders("buy"),
            sells: orders("sell"),
            logins: sum(|account| account.logins),
            logouts: sum(|account| account.logouts),
            balance: sum(|account| account.balance),
            sha256,
        }
    }
}

/// A record whose first line behind its kind is its owner.
fn owned(text: &mut String, user: &str, record: &impl Canonical) {
    let mut own = String::new();
    record.write(&mut own);
    let (kind, fields) = own.split_once('\n').expect("a record begins with its kind");
    writeln!(text, "{kind}\nuser={user}").expect("a text can be written to");
    text.push_str(fields);
}

fn count(length: usize) -> i64 {
    i64::try_from(length).expect("what is in memory can be counted")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(symbol: &str, quantity: i64) -> Holding {
        Holding { id: 9, symbol: symbol.to_owned(), quantity, price: 5, bought: 77 }
    }

    #[test]
    fn ids_times_and_order_leave_the_hash_as_it_is() {
        let one = HoldingList { holdings: vec![holding("B", 1), holding("A", 3), holding("A", 2)] };
        let mut other = HoldingList { holdings: vec![holding("A", 2), holding("B", 1), holding("A", 3)] };
        other.holdings[0].id = 1;
        other.holdings[1].bought = 0;
        let mut text = String::new();
        assert_eq!(one.hash(&mut text), other.hash(&mut text));
        text.clear();
        one.write(&mut text);
        assert!(text.starts_with("holdings\nholding\nsymbol=A\nquantity=2\nprice=5\nholding\n"), "{text}");
        other.holdings[0].quantity = 4;
        assert_ne!(one.hash(&mut text), other.hash(&mut text));
    }

    /// The published values of FNV-1a.
    #[test]
    fn fnv_is_fnv_1a() {
        let of = |bytes: &[u8]| {
            let mut hash = Fnv::default();
            hash.add(bytes);
            hash.0
        };
        assert_eq!(of(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn an_owned_record_names_its_owner_behind_its_kind() {
        let mut text = String::new();
        owned(&mut text, "000001", &holding("A", 2));
        assert_eq!(text, "holding\nuser=000001\nsymbol=A\nquantity=2\nprice=5\n");
    }
}
