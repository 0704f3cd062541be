//! The reference brokerage: what each action does, and what each call answers. Prices are fixed, so that what one user's
//! calls answer does not depend on others'.

use std::collections::BTreeMap;

use weighbridge_model::experiment::Grain;

use super::canonical::{
    AccountReply, HoldingReply, OrderKind, OrderReply, PassageDigest, ProfileReply, QuoteReply, SessionHash,
    TradeReply, reply_hashes,
};
use super::script::{
    Action, ActionKind, Cents, FEE, Lot, Profile, Session, Stock, StockId, TradeScript, User,
};

/// Why a call is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no user `{0}`")]
    UnknownUser(String),
    #[error("the password of `{0}` is another one")]
    WrongPassword(String),
    #[error("`{user}` holds no {quantity} shares of `{symbol}`")]
    NotHeld {
        user: String,
        symbol: String,
        /// Shares that a holding would have.
        quantity: u32,
    },
    #[error("there is a user `{0}` already")]
    UserExists(String),
}

/// An action of a script that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("session {session}, action {action} (`{kind}`): {refusal}")]
pub struct PassageError {
    /// From 1, as the lines of its file.
    pub session: usize,
    /// Of the session, from 1, its login; as the columns of its file, the password aside.
    pub action: usize,
    pub kind: ActionKind,
    pub refusal: Refusal,
}

/// One user's account with all that belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Customer {
    pub profile: Profile,
    pub balance: Cents,
    pub open_balance: Cents,
    pub logins: u32,
    pub logouts: u32,
    pub holdings: Vec<Held>,
    pub orders: Vec<Order>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub lot: Lot,
    /// At which a share was bought.
    pub price: Cents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub kind: OrderKind,
    pub lot: Lot,
    pub price: Cents,
    pub fee: Cents,
}

/// What was there at the opening, and what was done since; the books are compared with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub users: usize,
    pub holdings: usize,
    /// Balances and holdings at their prices; of registered users too.
    pub worth: Cents,
    pub buys: usize,
    pub sells: usize,
    pub registers: usize,
    /// Visits begun, and still going on.
    pub visits: u64,
    pub open: u64,
}

/// Stocks and accounts, at first as a script has them.
#[derive(Debug, Clone)]
pub struct Brokerage {
    pub(super) stocks: Vec<Stock>,
    /// By user, in the order of bytes.
    pub(super) customers: BTreeMap<String, Customer>,
    pub(super) done: Done,
}

/// One session on its way: who acts.
#[derive(Debug, Clone)]
pub struct Visit {
    user: String,
    password: String,
}

impl Visit {
    /// A session before its login.
    pub fn of(session: &Session) -> Self {
        Self { user: session.user.clone(), password: session.password.clone() }
    }

    /// Who acts now: after a `register` the new user.
    pub fn user(&self) -> &str {
        &self.user
    }
}

impl Brokerage {
    /// As a service is that was just populated with the script's stocks and users.
    pub fn new(script: &TradeScript) -> Self {
        let mut brokerage =
            Self { stocks: script.stocks.clone(), customers: BTreeMap::new(), done: Done::default() };
        script.users.iter().for_each(|user| brokerage.admit(user));
        let holdings = brokerage.customers.values().map(|customer| customer.holdings.len()).sum();
        brokerage.done =
            Done { users: script.users.len(), holdings, worth: brokerage.worth(), ..Done::default() };
        brokerage
    }

    /// Carries out an action of a visit; its replies, one for each call.
    ///
    /// Errors: the call that is refused; what the action's calls before it did remains done.
    pub fn apply(&mut self, visit: &mut Visit, action: &Action) -> Result<Vec<TradeReply>, Refusal> {
        let user = &visit.user;
        Ok(match action {
            Action::Login => vec![self.login(user, &visit.password)?],
            Action::Home => vec![self.account(user)?, self.holdings(user)?],
            Action::Portfolio => self.portfolio(user)?,
            Action::Quote(stock) => vec![self.quote(*stock)],
            Action::Buy(lot) => vec![self.buy(user, *lot)?],
            Action::Sell(lot) => vec![self.holdings(user)?, self.sell(user, *lot)?],
            Action::Update(profile) => vec![self.update(user, profile)?],
            Action::Register(newcomer) => {
                let left = self.logout(user)?;
                let registered = self.register(newcomer)?;
                visit.user.clone_from(&newcomer.user);
                vec![left, registered]
            }
            Action::Logout => vec![self.logout(user)?],
        })
    }

    /// Carries out a session, whose number in its script is `number`, from 1; `told` gets who acts, each action and its replies.
    pub(super) fn visit(
        &mut self,
        session: &Session,
        number: usize,
        told: &mut dyn FnMut(&str, &Action, &[TradeReply]),
    ) -> Result<(), PassageError> {
        let mut visit = Visit::of(session);
        for (action, place) in session.whole().zip(1..) {
            let user = visit.user().to_owned();
            let refused =
                |refusal| PassageError { session: number, action: place, kind: action.kind(), refusal };
            let replies = self.apply(&mut visit, action).map_err(refused)?;
            told(&user, action, &replies);
        }
        Ok(())
    }

    /// Carries out a whole script, session after session; the digest of its replies.
    pub fn play(&mut self, sessions: &[Session], grain: Grain) -> Result<PassageDigest, PassageError> {
        let mut digest = PassageDigest::default();
        for (session, number) in sessions.iter().zip(1..) {
            let mut hash = SessionHash::default();
            self.visit(session, number, &mut |_, action, replies| {
                reply_hashes(action, replies, grain).into_iter().for_each(|reply| hash.add(reply));
            })?;
            digest += &hash;
        }
        Ok(digest)
    }

    /// Balances and holdings at the prices of now.
    pub(super) fn worth(&self) -> Cents {
        let held = |held: &Held| self.stock(held.lot.stock).price * held.lot.quantity;
        let worth = |one: &Customer| one.balance + one.holdings.iter().map(held).sum();
        self.customers.values().map(worth).sum()
    }

    pub(super) fn stock(&self, id: StockId) -> &Stock {
        &self.stocks[id.0 as usize]
    }

    pub(super) fn quote_reply(stock: &Stock) -> QuoteReply {
        let Stock { symbol, company, price, .. } = stock;
        QuoteReply {
            symbol: symbol.clone(),
            company: company.clone(),
            price: *price,
            open: *price,
            low: *price,
            high: *price,
            change: Cents::default(),
            volume: stock.volume(),
        }
    }

    fn admit(&mut self, user: &User) {
        let held = |lot: &Lot| Held { lot: *lot, price: self.stock(lot.stock).price };
        let customer = Customer {
            profile: user.profile.clone(),
            balance: user.balance,
            open_balance: user.balance,
            logins: 0,
            logouts: 0,
            holdings: user.holdings.iter().map(held).collect(),
            orders: Vec::new(),
        };
        self.customers.insert(user.user.clone(), customer);
    }

    fn customer(&mut self, user: &str) -> Result<&mut Customer, Refusal> {
        self.customers.get_mut(user).ok_or_else(|| Refusal::UnknownUser(user.to_owned()))
    }

    fn account(&mut self, user: &str) -> Result<TradeReply, Refusal> {
        Ok(TradeReply::Account(self.customer(user)?.account_reply(user)))
    }

    fn login(&mut self, user: &str, password: &str) -> Result<TradeReply, Refusal> {
        let customer = self.customer(user)?;
        if customer.profile.password != password {
            return Err(Refusal::WrongPassword(user.to_owned()));
        }
        customer.logins += 1;
        self.done.visits += 1;
        self.done.open += 1;
        self.account(user)
    }

    fn logout(&mut self, user: &str) -> Result<TradeReply, Refusal> {
        self.customer(user)?.logouts += 1;
        // More logouts than logins are a fault that the books show.
        self.done.open = self.done.open.saturating_sub(1);
        self.account(user)
    }

    fn holdings(&mut self, user: &str) -> Result<TradeReply, Refusal> {
        let holdings = self.customer(user)?.holdings.clone();
        Ok(TradeReply::Holdings(holdings.iter().map(|held| self.holding_reply(held)).collect()))
    }

    pub(super) fn holding_reply(&self, held: &Held) -> HoldingReply {
        let Held { lot, price } = *held;
        HoldingReply { symbol: self.stock(lot.stock).symbol.clone(), quantity: lot.quantity, price }
    }

    pub(super) fn order_reply(&self, order: &Order) -> OrderReply {
        let Order { kind, lot, price, fee } = *order;
        OrderReply { kind, symbol: self.stock(lot.stock).symbol.clone(), quantity: lot.quantity, price, fee }
    }

    fn quote(&self, stock: StockId) -> TradeReply {
        TradeReply::Quote(Self::quote_reply(self.stock(stock)))
    }

    fn portfolio(&mut self, user: &str) -> Result<Vec<TradeReply>, Refusal> {
        let holdings = self.holdings(user)?;
        let stocks: Vec<_> = self.customer(user)?.holdings.iter().map(|held| held.lot.stock).collect();
        Ok([holdings].into_iter().chain(stocks.into_iter().map(|stock| self.quote(stock))).collect())
    }

    fn buy(&mut self, user: &str, lot: Lot) -> Result<TradeReply, Refusal> {
        let price = self.stock(lot.stock).price;
        let order = Order { kind: OrderKind::Buy, lot, price, fee: FEE };
        let customer = self.customer(user)?;
        customer.balance -= price * lot.quantity + FEE;
        customer.holdings.push(Held { lot, price });
        customer.orders.push(order);
        self.done.buys += 1;
        Ok(TradeReply::Order(self.order_reply(&order)))
    }

    fn sell(&mut self, user: &str, lot: Lot) -> Result<TradeReply, Refusal> {
        let Stock { price, symbol, .. } = self.stock(lot.stock).clone();
        let order = Order { kind: OrderKind::Sell, lot, price, fee: FEE };
        let customer = self.customer(user)?;
        let Some(first) = customer.holdings.iter().position(|held| held.lot == lot) else {
            return Err(Refusal::NotHeld { user: user.to_owned(), symbol, quantity: lot.quantity });
        };
        customer.holdings.remove(first);
        customer.balance += price * lot.quantity - FEE;
        customer.orders.push(order);
        self.done.sells += 1;
        Ok(TradeReply::Order(self.order_reply(&order)))
    }

    fn update(&mut self, user: &str, profile: &Profile) -> Result<TradeReply, Refusal> {
        let customer = self.customer(user)?;
        customer.profile.clone_from(profile);
        Ok(TradeReply::Profile(customer.profile_reply(user)))
    }

    fn register(&mut self, newcomer: &User) -> Result<TradeReply, Refusal> {
        if self.customers.contains_key(&newcomer.user) {
            return Err(Refusal::UserExists(newcomer.user.clone()));
        }
        self.admit(newcomer);
        self.done.registers += 1;
        self.done.open += 1;
        self.done.worth += newcomer.balance;
        self.customer(&newcomer.user)?.logins = 1;
        self.account(&newcomer.user)
    }
}

impl Customer {
    pub fn account_reply(&self, user: &str) -> AccountReply {
        let Self { balance, open_balance, logins, logouts, .. } = *self;
        AccountReply { user: user.to_owned(), balance, open_balance, logins, logouts }
    }

    pub fn profile_reply(&self, user: &str) -> ProfileReply {
        let Profile { card, email, full_name, address, .. } = self.profile.clone();
        ProfileReply { user: user.to_owned(), full_name, address, email, card }
    }
}
