//! Stocks and users of a script, each from the seed and its own number alone: whatever a script of N sessions has, every
//! longer one of the same seed begins with.

use std::fmt::Write as _;

use weighbridge_model::experiment::SESSIONS_MOST;

use crate::cache::draw::{Scatter, Zipf};

use super::draws::{Drawn, Draws};
use super::law::ScriptLaw;
use super::script::{Cents, Lot, Profile, Session, Stock, StockId, TradeScript, User};
use super::session::{Composed, compose};
use super::words;

/// Opening balances, in dollars.
const BALANCE_LEAST: u32 = 90_000;
const BALANCE_MOST: u32 = 1_200_000;

/// Prices in cents: the median of the log-normal law, the deviation of the logarithm, and the bounds.
const PRICE: f64 = 2_000.0;
const PRICE_SPREAD: f64 = 0.9;
const PRICE_LEAST: f64 = 50.0;
const PRICE_MOST: f64 = 40_000.0;
/// The median of the number of shares, and the deviation of its logarithm.
const SHARES: f64 = 60e6;
const SHARES_SPREAD: f64 = 1.3;

/// Of a hundred stocks so many have symbols of one letter, two, three and four, while there are any; the others have five.
const LENGTHS: [(u32, u32); 4] = [(1, 1), (2, 7), (3, 55), (4, 36)];
/// Words of five letters.
const FIVE_LETTERS: u32 = 26u32.pow(5);

const CARD_PARTS: [u32; 4] = [1_000, 10_000, 10_000, 10_000];
const PASSWORD: &[u8; 63] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/// Users that are registered are numbered from here, above all others.
const REGISTERED: u64 = 2_000_000;

/// Makes a script's parts in any order.
#[derive(Debug, Clone)]
pub struct ScriptMaker {
    law: ScriptLaw,
    stocks: Vec<Stock>,
    popularity: Zipf,
    /// The stock of each rank by capitalisation, the largest first.
    ranked: Vec<StockId>,
}

impl ScriptMaker {
    pub fn new(law: ScriptLaw) -> Self {
        let stocks: Vec<_> = (0..law.stocks()).map(|number| stock(law.seed(), number)).collect();
        let mut ranked: Vec<_> = (0..law.stocks()).map(StockId).collect();
        // The sort is stable: of two alike the first goes first.
        ranked.sort_by_key(|id| std::cmp::Reverse(stocks[id.0 as usize].capitalisation));
        Self { law, stocks, popularity: Zipf::new(law.skew(), law.stocks()), ranked }
    }

    pub fn law(&self) -> &ScriptLaw {
        &self.law
    }

    /// The stocks, which are the same for every number of sessions.
    pub fn stocks(&self) -> &[Stock] {
        &self.stocks
    }

    /// The stocks by capitalisation, the largest first.
    pub fn ranked(&self) -> &[StockId] {
        &self.ranked
    }

    pub fn user(&self, number: u32) -> User {
        let mut draws = Draws::of(self.law.seed(), Drawn::User, number);
        let user = newcomer(format!("{number:06}"), &mut draws);
        // 5.5 on average, since two draws have a product of a quarter.
        let count = 1 + (20.0 * draws.unit() * draws.unit()) as usize;
        let holdings = (0..count).map(|_| self.holding(&mut draws)).collect();
        User { holdings, ..user }
    }

    pub fn session(&self, number: u32) -> Session {
        self.composed(number).session
    }

    /// A session, and what was drawn for it.
    pub(super) fn composed(&self, number: u32) -> Composed {
        compose(self, number, Draws::of(self.law.seed(), Drawn::Session, number))
    }

    pub fn users(&self) -> impl Iterator<Item = User> {
        (0..ScriptLaw::users_of(self.law.sessions())).map(|number| self.user(number))
    }

    pub fn sessions(&self) -> impl Iterator<Item = Session> {
        (0..self.law.sessions()).map(|number| self.session(number))
    }

    pub fn script(&self) -> TradeScript {
        self.first_sessions(self.law.sessions())
    }

    /// All users and the first so many sessions.
    pub fn first_sessions(&self, count: u32) -> TradeScript {
        TradeScript {
            stocks: self.stocks.clone(),
            users: self.users().collect(),
            sessions: self.sessions().take(count as usize).collect(),
        }
    }

    /// A stock by popularity.
    pub(super) fn popular(&self, draws: &mut Draws) -> StockId {
        self.ranked[self.popularity.draw(&mut draws.0) as usize]
    }

    pub(super) fn price(&self, stock: StockId) -> Cents {
        self.stocks[stock.0 as usize].price
    }

    fn holding(&self, draws: &mut Draws) -> Lot {
        let stock = self.popular(draws);
        let quantity = 1_000.0 + 500.0 * draws.normal();
        let quantity = if quantity < 10.0 { draws.between(1, 9) } else { quantity.round() as u32 };
        Lot { stock, quantity }
    }
}

/// The name of a user whom a session registers, as its so many-th: no other session or size has it.
pub(super) fn registered_name(session: u32, so_many: u32) -> String {
    let spread = u64::from(SESSIONS_MOST);
    (REGISTERED + spread * u64::from(so_many) + u64::from(session)).to_string()
}

/// Somebody with a profile and a balance, who holds nothing.
pub(super) fn newcomer(user: String, draws: &mut Draws) -> User {
    let balance = Cents::dollars(draws.between(BALANCE_LEAST, BALANCE_MOST).into());
    User { user, balance, profile: profile(draws), holdings: Vec::new() }
}

fn profile(draws: &mut Draws) -> Profile {
    let (first, last) = (draws.one(&words::FIRST), draws.one(&words::LAST));
    let [a, b, c, d] = CARD_PARTS.map(|limit| draws.below(limit));
    let email = format!("{first}.{last}@{}", draws.one(&words::MAIL));
    let password = (0..8).map(|_| char::from(PASSWORD[draws.place(PASSWORD)])).collect();
    let mut address = String::new();
    let (street, kind) = (draws.one(&words::STREET), draws.one(&words::STREET_KIND));
    let (number, town) = (draws.between(1, 120), draws.one(&words::TOWN));
    let (code, state) = (draws.between(10_000, 99_999), draws.one(&words::STATE));
    write!(address, "{number} {street} {kind}, {town}, {code}, {state}").expect("memory");
    let full_name = format!("first: {first} last: {last}");
    Profile { card: format!("{a:03}-{b:04}-{c:04}-{d:04}"), email, password, full_name, address }
}

fn stock(seed: u64, number: u32) -> Stock {
    let mut draws = Draws::of(seed, Drawn::Stock, number);
    let price = (PRICE * (PRICE_SPREAD * draws.normal()).exp()).clamp(PRICE_LEAST, PRICE_MOST).round();
    let shares = SHARES * (SHARES_SPREAD * draws.normal()).exp();
    let words = (draws.one(&words::TRADE), draws.one(&words::BRANCH), draws.one(&words::FORM));
    Stock {
        symbol: symbol(seed, number),
        company: format!("{} {} {}", words.0, words.1, words.2),
        price: Cents::new(price as i64),
        capitalisation: three_digits(price * shares),
    }
}

/// Money as the file can say it: in hundredths of a billion dollars, or of a million.
fn three_digits(cents: f64) -> Cents {
    let step = if cents >= 1e11 { 1e9 } else { 1e6 };
    Cents::new(((cents / step).round().max(1.0) * step) as i64)
}

/// A symbol that no other stock has: numbers within a length are scattered over the words of that length.
fn symbol(seed: u64, number: u32) -> String {
    let (hundred, mut within) = (number / 100, number % 100);
    for (length, count) in LENGTHS {
        if within < count {
            let (index, words) = (hundred * count + within, 26u32.pow(length));
            if index < words {
                return word(Scatter::new(words, seed ^ u64::from(length)).place(index), length);
            }
            break;
        }
        within -= count;
    }
    word(Scatter::new(FIVE_LETTERS, seed ^ 5).place(number), 5)
}

fn word(number: u32, length: u32) -> String {
    (0..length).rev().map(|place| char::from(b'A' + (number / 26u32.pow(place) % 26) as u8)).collect()
}
