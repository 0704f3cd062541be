//! What a script is made of: stocks, users, and the sessions of actions that they carry out.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::Serialize;

/// Money in whole cents; all of a script fits, as its reader sees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Cents(i64);

/// What every order costs, 24.95 $.
pub const FEE: Cents = Cents(2_495);

/// Holdings of a user at which a drawn buy becomes a sell.
pub const HOLDINGS_MOST: usize = 20;

impl Cents {
    pub const fn new(cents: i64) -> Self {
        Self(cents)
    }

    pub const fn dollars(dollars: i64) -> Self {
        Self(dollars * 100)
    }

    pub const fn get(self) -> i64 {
        self.0
    }
}

/// As the canonical form has it: a whole number of cents.
impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for Cents {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Cents {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Cents {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Cents {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// A price times a number of shares.
impl Mul<u32> for Cents {
    type Output = Self;
    fn mul(self, shares: u32) -> Self {
        Self(self.0 * i64::from(shares))
    }
}

impl Sum for Cents {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self(0), Add::add)
    }
}

/// A stock by its place in the script's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StockId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    pub symbol: String,
    pub company: String,
    /// Of one share.
    pub price: Cents,
    /// Of all shares.
    pub capitalisation: Cents,
}

impl Stock {
    /// Shares traded: a thousandth of all, rounded down.
    pub fn volume(&self) -> i64 {
        self.capitalisation.get() / self.price.get() / 1_000
    }
}

/// A number of shares of one stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lot {
    pub stock: StockId,
    pub quantity: u32,
}

/// What a user says of himself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    pub card: String,
    pub email: String,
    pub password: String,
    /// As DaCapo writes it: `first: X last: Y`.
    pub full_name: String,
    pub address: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// A text, such as `000042`: its zeros count.
    pub user: String,
    /// At the opening; whole dollars.
    pub balance: Cents,
    pub profile: Profile,
    /// In the order in which they were bought.
    pub holdings: Vec<Lot>,
}

/// What a session names: one or more requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Login,
    /// The account and its holdings.
    Home,
    /// The holdings and a quote of each.
    Portfolio,
    Quote(StockId),
    Buy(Lot),
    /// The first holding of exactly so many shares of the stock.
    Sell(Lot),
    /// The whole profile anew.
    Update(Box<Profile>),
    /// The session's user leaves, and goes on as this one, who is new and holds nothing.
    Register(Box<User>),
    Logout,
}

impl Action {
    pub const fn kind(&self) -> ActionKind {
        match self {
            Self::Login => ActionKind::Login,
            Self::Home => ActionKind::Home,
            Self::Portfolio => ActionKind::Portfolio,
            Self::Quote(_) => ActionKind::Quote,
            Self::Buy(_) => ActionKind::Buy,
            Self::Sell(_) => ActionKind::Sell,
            Self::Update(_) => ActionKind::Update,
            Self::Register(_) => ActionKind::Register,
            Self::Logout => ActionKind::Logout,
        }
    }
}

/// An action's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    Home,
    Portfolio,
    Quote,
    Buy,
    Sell,
    Update,
    Register,
    Login,
    Logout,
}

impl ActionKind {
    /// In the order of DaCapo's table.
    pub const ALL: [Self; 9] = [
        Self::Home,
        Self::Portfolio,
        Self::Quote,
        Self::Buy,
        Self::Sell,
        Self::Update,
        Self::Register,
        Self::Login,
        Self::Logout,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Portfolio => "portfolio",
            Self::Quote => "quote",
            Self::Buy => "buy",
            Self::Sell => "sell",
            Self::Update => "update",
            Self::Register => "register",
            Self::Login => "login",
            Self::Logout => "logout",
        }
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One client's actions: a login, those of the file, a logout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub user: String,
    pub password: String,
    /// Without login and logout.
    pub actions: Vec<Action>,
}

impl Session {
    /// All of its actions, login and logout included.
    pub fn whole(&self) -> impl Iterator<Item = &Action> {
        [Action::LOGIN].into_iter().chain(&self.actions).chain([Action::LOGOUT])
    }
}

impl Action {
    const LOGIN: &Self = &Self::Login;
    const LOGOUT: &Self = &Self::Logout;
}

/// Stocks, users and sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TradeScript {
    pub stocks: Vec<Stock>,
    pub users: Vec<User>,
    pub sessions: Vec<Session>,
}

impl TradeScript {
    pub fn stock(&self, id: StockId) -> &Stock {
        &self.stocks[id.0 as usize]
    }
}
