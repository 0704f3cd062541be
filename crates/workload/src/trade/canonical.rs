//! Replies in their canonical form, without ids and times, and the digests by which replies of services are compared.
//!
//! A reply's hash is FNV-1a over its text; a session's is FNV-1a over its replies' hashes in order; a passage's is the sum of
//! its sessions', so that any interleaving of the same sessions has the same digest.

use std::fmt::{self, Write as _};
use std::ops::AddAssign;

use weighbridge_model::experiment::Grain;

use crate::direct::fnv1a;

use super::script::{Action, Cents};

/// What a call answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TradeReply {
    Account(AccountReply),
    /// In the order in which they were bought.
    Holdings(Vec<HoldingReply>),
    Quote(QuoteReply),
    Order(OrderReply),
    Profile(ProfileReply),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountReply {
    pub user: String,
    pub balance: Cents,
    pub open_balance: Cents,
    pub logins: u32,
    pub logouts: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldingReply {
    pub symbol: String,
    pub quantity: u32,
    /// At which a share was bought.
    pub price: Cents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteReply {
    pub symbol: String,
    pub company: String,
    pub price: Cents,
    pub open: Cents,
    pub low: Cents,
    pub high: Cents,
    pub change: Cents,
    pub volume: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderKind {
    Buy,
    Sell,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderReply {
    pub kind: OrderKind,
    pub symbol: String,
    pub quantity: u32,
    /// Of one share.
    pub price: Cents,
    pub fee: Cents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileReply {
    pub user: String,
    pub full_name: String,
    pub address: String,
    pub email: String,
    pub card: String,
}

impl TradeReply {
    /// The text that all services' replies of this content have.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        self.append(&mut text);
        text
    }

    pub(super) fn append(&self, text: &mut String) {
        match self {
            Self::Account(account) => account.append(text),
            Self::Holdings(holdings) => {
                text.push_str("holdings\n");
                let mut sorted: Vec<_> = holdings.iter().collect();
                sorted.sort_unstable();
                sorted.into_iter().for_each(|holding| holding.append(None, text));
            }
            Self::Quote(quote) => quote.append(text),
            Self::Order(order) => order.append(None, text),
            Self::Profile(profile) => profile.append(text),
        }
    }
}

/// Adds a line for a field.
fn field(text: &mut String, name: &str, value: impl fmt::Display) {
    writeln!(text, "{name}={value}").expect("memory takes it");
}

/// The first lines of a record; of a dump with its user.
fn head(text: &mut String, kind: &str, user: Option<&str>) {
    text.push_str(kind);
    text.push('\n');
    if let Some(user) = user {
        field(text, "user", user);
    }
}

impl AccountReply {
    pub(super) fn append(&self, text: &mut String) {
        head(text, "account", Some(&self.user));
        field(text, "balance", self.balance);
        field(text, "open_balance", self.open_balance);
        field(text, "logins", self.logins);
        field(text, "logouts", self.logouts);
    }
}

impl HoldingReply {
    pub(super) fn append(&self, user: Option<&str>, text: &mut String) {
        head(text, "holding", user);
        field(text, "symbol", &self.symbol);
        field(text, "quantity", self.quantity);
        field(text, "price", self.price);
    }
}

impl QuoteReply {
    pub(super) fn append(&self, text: &mut String) {
        head(text, "quote", None);
        field(text, "symbol", &self.symbol);
        field(text, "company", &self.company);
        field(text, "price", self.price);
        field(text, "open", self.open);
        field(text, "low", self.low);
        field(text, "high", self.high);
        field(text, "change", self.change);
        field(text, "volume", self.volume);
    }
}

impl OrderReply {
    pub(super) fn append(&self, user: Option<&str>, text: &mut String) {
        head(text, "order", user);
        field(text, "kind", if self.kind == OrderKind::Buy { "buy" } else { "sell" });
        // Orders are carried out at once.
        field(text, "status", "closed");
        field(text, "symbol", &self.symbol);
        field(text, "quantity", self.quantity);
        field(text, "price", self.price);
        field(text, "fee", self.fee);
    }
}

impl ProfileReply {
    pub(super) fn append(&self, text: &mut String) {
        head(text, "profile", Some(&self.user));
        field(text, "full_name", &self.full_name);
        field(text, "address", &self.address);
        field(text, "email", &self.email);
        field(text, "card", &self.card);
    }
}

/// The hashes of an action's replies, as a session's takes them: of `portfolio` the quotes by symbol, since in which order
/// they are asked depends on ids; of coarse grain one of all texts.
pub fn reply_hashes(action: &Action, replies: &[TradeReply], grain: Grain) -> Vec<u64> {
    let mut replies: Vec<&TradeReply> = replies.iter().collect();
    if matches!(action, Action::Portfolio) {
        // Holdings, which have no symbol of their own, stay in front.
        replies.sort_by_key(|reply| if let TradeReply::Quote(quote) = reply { &*quote.symbol } else { "" });
    }
    let mut text = String::new();
    let mut hash = |replies: &[&TradeReply]| {
        text.clear();
        replies.iter().for_each(|reply| reply.append(&mut text));
        fnv1a(text.as_bytes())
    };
    match grain {
        Grain::Fine => replies.iter().map(|reply| hash(std::slice::from_ref(reply))).collect(),
        Grain::Coarse => vec![hash(&replies)],
    }
}

/// The hash of a session's replies so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionHash {
    /// The hashes of the replies, each as eight bytes, the lowest first.
    bytes: Vec<u8>,
}

impl SessionHash {
    /// The next reply's.
    pub fn add(&mut self, reply: u64) {
        self.bytes.extend(reply.to_le_bytes());
    }

    pub fn get(&self) -> u64 {
        fnv1a(&self.bytes)
    }
}

/// The digest of a passage: the sum of its sessions' hashes modulo 2⁶⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PassageDigest(pub u64);

impl AddAssign<&SessionHash> for PassageDigest {
    fn add_assign(&mut self, session: &SessionHash) {
        self.0 = self.0.wrapping_add(session.get());
    }
}

impl fmt::Display for PassageDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
