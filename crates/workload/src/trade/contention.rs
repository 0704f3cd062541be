//! Sessions that write the same records: orders that move prices, users with several sessions. What they are answered depends
//! then on who came first, so only what does not is compared, and the books must add up.

use std::collections::BTreeMap;

use weighbridge_model::experiment::{Prices, TradeSpec};

use super::brokerage::Brokerage;
use super::dump::{DumpRecord, records};
use super::script::{Cents, TradeScript};
use crate::cache::draw::mixed;

/// Bounds of the factor by which an order multiplies a price, in hundredths.
const FACTOR_LEAST: u32 = 90;
const FACTOR_MOST: u32 = 110;

/// A price that is this low is raised to [`RECOVERED`], one above [`HIGH`] is halved.
const LOW: i64 = 1;
const RECOVERED: i64 = 600;
const HIGH: i64 = 40_000;

/// By how many hundredths an order multiplies the price of its stock; it follows from the seed and from which action of which
/// session it is, so that it does not depend on the order of sessions.
pub(super) fn factor(seed: u64, session: u32, action: u32) -> u32 {
    let place = u64::from(session) << 32 | u64::from(action);
    FACTOR_LEAST + (mixed(mixed(seed) ^ place) % u64::from(FACTOR_MOST - FACTOR_LEAST + 1)) as u32
}

/// The price after an order, as DayTrader has it, in whole cents.
pub fn moved(price: Cents, factor: u32) -> Cents {
    Cents::new(match price.get() {
        LOW => RECOVERED,
        price if price > HIGH => (price + 1) / 2,
        price => (price * i64::from(factor) + 50) / 100,
    })
}

/// What sessions share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contention {
    moves_prices: bool,
    shares_users: bool,
}

/// Where a canonical text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOf {
    Reply,
    Dump,
}

impl Contention {
    pub const NONE: Self = Self { moves_prices: false, shares_users: false };

    pub fn of(spec: &TradeSpec) -> Self {
        Self { moves_prices: spec.prices == Prices::Moving, shares_users: spec.sharing > 1 }
    }

    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub fn moves_prices(self) -> bool {
        self.moves_prices
    }

    pub fn shares_users(self) -> bool {
        self.shares_users
    }

    /// Leaves of a canonical text what does not depend on the order of sessions.
    pub fn retain(self, text: &mut String, of: TextOf) {
        if self.is_none() {
            return;
        }
        let (mut kind, mut is_list) = (String::new(), false);
        let mut kept = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let field = line.split_once('=').map(|(field, _)| field);
            if field.is_none() {
                line.trim_end().clone_into(&mut kind);
                is_list |= kind == "holdings";
            }
            // What a user holds when a list is asked for, and with it which quotes a portfolio has.
            let is_of_list = is_list && matches!(&*kind, "holding" | "quote");
            let depends = self.shares_users && of == TextOf::Reply && is_of_list;
            if !depends && field.is_none_or(|field| self.is_certain(&kind, field, of)) {
                kept.push_str(line);
            }
        }
        *text = kept;
    }

    fn is_certain(self, kind: &str, field: &str, of: TextOf) -> bool {
        let by_price = match (kind, field) {
            ("account", "balance") => true,
            ("holding" | "order", "price") => self.moves_prices,
            ("quote", "price" | "low" | "high" | "change" | "volume") => self.moves_prices,
            _ => false,
        };
        let by_user = self.shares_users
            && match (kind, of) {
                ("account", TextOf::Reply) => matches!(field, "logins" | "logouts"),
                // Of updates of one profile the last one stays.
                ("profile", TextOf::Dump) => field != "user",
                _ => false,
            };
        !by_price && !by_user
    }
}

/// What is added up of a dump.
#[derive(Debug, Default)]
struct Sums {
    /// By user, what orders did to the balance.
    effects: BTreeMap<String, i64>,
    /// By symbol, the shares of all orders.
    traded: BTreeMap<String, i64>,
}

/// The first balance in a dump that is not what its orders leave, or quote whose volume is not what orders have traded, or
/// whose lowest price, highest price or change does not fit its price; `None` where there is none.
pub(super) fn unbalanced(contention: Contention, script: &TradeScript, dump: &str) -> Option<String> {
    let records = records(dump);
    let mut sums = Sums::default();
    records.iter().filter(|record| record.kind == "order").for_each(|order| sums.add(order));
    let first: BTreeMap<_, _> = script.stocks.iter().map(|stock| (&*stock.symbol, stock)).collect();
    records.iter().find_map(|record| match record.kind {
        "account" => {
            let effect = sums.effects.get(record.text("user")).copied().unwrap_or_default();
            unlike(record, "user", "balance", record.number("open_balance") + effect)
        }
        "quote" if contention.moves_prices => {
            let stock = first.get(record.text("symbol"))?;
            let traded = sums.traded.get(record.text("symbol")).copied().unwrap_or_default();
            let [price, open] = ["price", "open"].map(|field| record.number(field));
            let check = |field, expected| unlike(record, "symbol", field, expected);
            let right = Brokerage::quote_reply(stock);
            check("volume", right.volume + traded)
                .or_else(|| check("change", price - open))
                .or_else(|| check("low", record.number("low").min(price).min(open)))
                .or_else(|| check("high", record.number("high").max(price).max(open)))
        }
        _ => None,
    })
}

/// What is told of a record whose field has another value.
fn unlike(record: &DumpRecord<'_>, key: &str, field: &str, expected: i64) -> Option<String> {
    let (kind, name, found) = (record.kind, record.text(key), record.number(field));
    (found != expected)
        .then(|| format!("{kind} of `{name}`: `{field}` is {found}, and its orders leave {expected}"))
}

impl Sums {
    fn add(&mut self, order: &DumpRecord<'_>) {
        let [quantity, price, fee] = ["quantity", "price", "fee"].map(|field| order.number(field));
        let worth = if order.text("kind") == "buy" { -quantity * price } else { quantity * price };
        *self.effects.entry(order.text("user").to_owned()).or_default() += worth - fee;
        *self.traded.entry(order.text("symbol").to_owned()).or_default() += quantity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand from DayTrader's `updateQuotePriceVolume`: half up to whole cents.
    #[test]
    fn a_price_moves_as_in_daytrader() {
        for (price, factor, expected) in [
            (1_787, 93, 1_662),
            (1_787, 110, 1_966),
            (1_787, 100, 1_787),
            (50, 91, 46),
            (5, 90, 5),
            (2, 90, 2),
            (1, 90, 600),
            (40_000, 110, 44_000),
            (40_001, 110, 20_001),
            (44_000, 90, 22_000),
            (0, 110, 0),
        ] {
            assert_eq!(moved(Cents::new(price), factor), Cents::new(expected), "{price} by {factor}");
        }
    }

    #[test]
    fn factors_are_spread_evenly_over_their_range() {
        let mut counts = BTreeMap::<u32, u32>::new();
        for session in 0..2_100 {
            for action in 1..=10 {
                *counts.entry(factor(7, session, action)).or_default() += 1;
            }
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), (90..=110).collect::<Vec<_>>());
        // χ² of 20 degrees of freedom: above 45.3 in one of a thousand.
        let chi: f64 = counts.values().map(|count| (f64::from(*count) - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi < 45.3, "{chi}");
        assert_ne!(factor(7, 3, 4), factor(8, 3, 4));
    }

    fn retained(contention: Contention, of: TextOf, text: &str) -> String {
        let mut text = text.to_owned();
        contention.retain(&mut text, of);
        text
    }

    const MOVING: Contention = Contention { moves_prices: true, shares_users: false };
    const SHARED: Contention = Contention { moves_prices: false, shares_users: true };

    #[test]
    fn what_depends_on_the_order_of_sessions_is_left_out() {
        let account = "account\nuser=a\nbalance=5\nopen_balance=7\nlogins=1\nlogouts=0\n";
        let list = "holdings\nholding\nsymbol=A\nquantity=5\nprice=3\n";
        let quote = "quote\nsymbol=A\ncompany=Ä\nprice=3\nopen=3\nlow=3\nhigh=3\nchange=0\nvolume=9\n";
        let order = "order\nkind=buy\nstatus=closed\nsymbol=A\nquantity=5\nprice=3\nfee=2495\n";
        let profile = "profile\nuser=a\nfull_name=x\naddress=y\nemail=z\ncard=1\n";
        let all = format!("{account}{list}{quote}{order}{profile}");
        assert_eq!(retained(Contention::NONE, TextOf::Dump, &all), all);
        for (contention, of, text, expected) in [
            (MOVING, TextOf::Reply, account, "account\nuser=a\nopen_balance=7\nlogins=1\nlogouts=0\n"),
            (MOVING, TextOf::Reply, list, "holdings\nholding\nsymbol=A\nquantity=5\n"),
            (MOVING, TextOf::Reply, quote, "quote\nsymbol=A\ncompany=Ä\nopen=3\n"),
            (
                MOVING,
                TextOf::Reply,
                order,
                "order\nkind=buy\nstatus=closed\nsymbol=A\nquantity=5\nfee=2495\n",
            ),
            (MOVING, TextOf::Dump, profile, profile),
            (SHARED, TextOf::Reply, account, "account\nuser=a\nopen_balance=7\n"),
            (SHARED, TextOf::Dump, account, "account\nuser=a\nopen_balance=7\nlogins=1\nlogouts=0\n"),
            (SHARED, TextOf::Reply, list, "holdings\n"),
            (SHARED, TextOf::Reply, quote, quote),
            (SHARED, TextOf::Reply, &format!("{list}{quote}"), "holdings\n"),
            (SHARED, TextOf::Reply, &format!("{list}{order}"), &format!("holdings\n{order}")),
            (SHARED, TextOf::Reply, profile, profile),
            (SHARED, TextOf::Dump, profile, "profile\nuser=a\n"),
        ] {
            assert_eq!(retained(contention, of, text), expected, "{contention:?} {of:?} {text}");
        }
    }
}
