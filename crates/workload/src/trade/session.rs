//! One generated session: steps by the law, each made into an action that its user can carry out then.
//!
//! Money and holdings are followed as the brokerage will have them, so that every sell names a holding alive then and no
//! balance falls below zero.

use super::draws::Draws;
use super::law::target;
use super::maker::{ScriptMaker, newcomer, registered_name};
use super::script::{Action, ActionKind, Cents, FEE, HOLDINGS_MOST, Lot, Profile, Session, StockId, User};

/// Probability that a quote is of a stock that is held.
const QUOTE_HELD: f64 = 0.60;
/// Probability that a bought stock was quoted in this session, where one was.
const BUY_QUOTED: f64 = 0.75;
/// Otherwise, that it is held.
const BUY_HELD: f64 = 0.50;
/// Probability that a sold stock was quoted in this session, where a holding's was.
const SELL_QUOTED: f64 = 0.75;
/// Probability that a session begins owing a sell. About so many are owed when a session ends, since what a user does not
/// hold cannot be sold; were they not made good by others, buys would be 0.4 points too many among all actions.
pub(super) const OWED: f64 = 0.15;
/// At most this share of a balance is spent at once, beside one share.
const SPENT: f64 = 0.1;
/// How often a stock is drawn anew that was quoted.
const TRIES: u32 = 64;

/// What a step may be; else it ends the session.
pub(super) const STEPS: [ActionKind; 7] = [
    ActionKind::Home,
    ActionKind::Portfolio,
    ActionKind::Quote,
    ActionKind::Buy,
    ActionKind::Sell,
    ActionKind::Update,
    ActionKind::Register,
];

/// A session, and how often each of [`STEPS`] was drawn for it, before any was made into another.
pub(super) struct Composed {
    pub session: Session,
    /// Read by tests of the law.
    #[cfg_attr(not(test), allow(dead_code))]
    pub drawn: [u32; STEPS.len()],
    /// Sells that are owed at the end; likewise.
    #[cfg_attr(not(test), allow(dead_code))]
    pub owed: u32,
}

/// The session of a number.
pub(super) fn compose(maker: &ScriptMaker, number: u32, mut draws: Draws) -> Composed {
    let lots = OwnLots::of(maker, number);
    let mut user = maker.user(maker.law().user_of(number));
    user.holdings.retain(|lot| lots.has(*lot));
    user.balance = Cents::new(user.balance.get() / i64::from(lots.sessions));
    let (name, password) = (user.user.clone(), user.profile.password.clone());
    let owed = u32::from(draws.happens(OWED));
    let (quoted, actions) = (Vec::new(), Vec::new());
    let mut composer = Composer { maker, number, draws, user, lots, quoted, owed, registered: 0, actions };
    let mut drawn = [0; STEPS.len()];
    while let Some(step) = composer.step() {
        drawn[step] += 1;
        composer.act(STEPS[step]);
    }
    let owed = composer.owed;
    Composed { session: Session { user: name, password, actions: composer.actions }, drawn, owed }
}

/// Which lots of its user a session has for its own, so that sessions of one user never sell the same: those whose quantity
/// leaves this rest.
#[derive(Debug, Clone, Copy)]
struct OwnLots {
    /// Of the user.
    sessions: u32,
    rest: u32,
}

impl OwnLots {
    fn of(maker: &ScriptMaker, session: u32) -> Self {
        let sessions = maker.law().sharing();
        Self { sessions, rest: session % sessions }
    }

    fn has(self, lot: Lot) -> bool {
        lot.quantity % self.sessions == self.rest
    }

    /// The largest quantity up to this one that is the session's; 0 where there is none.
    fn most_up_to(self, quantity: u32) -> u32 {
        let above = (quantity + self.sessions - self.rest) % self.sessions;
        quantity.saturating_sub(above)
    }
}

/// What the session's user has after the actions so far.
struct Composer<'a> {
    maker: &'a ScriptMaker,
    number: u32,
    draws: Draws,
    /// Who acts, with the balance and holdings of now; of a user with several sessions this one's part.
    user: User,
    lots: OwnLots,
    /// Stocks quoted in this session, each as often as it was.
    quoted: Vec<StockId>,
    /// Sells that became buys and were not yet made good, by a later buy that becomes a sell.
    owed: u32,
    /// Users registered so far.
    registered: u32,
    actions: Vec<Action>,
}

impl Composer<'_> {
    /// The place in [`STEPS`] of the next step; `None` ends the session.
    fn step(&mut self) -> Option<usize> {
        let mut left = self.draws.unit();
        STEPS.iter().position(|kind| {
            left -= target(*kind);
            left < 0.0
        })
    }

    fn act(&mut self, drawn: ActionKind) {
        match drawn {
            ActionKind::Quote => self.quote(),
            ActionKind::Buy if self.user.holdings.len() >= HOLDINGS_MOST => self.sell(),
            ActionKind::Buy if self.owed > 0 && !self.user.holdings.is_empty() => {
                self.owed -= 1;
                self.sell();
            }
            ActionKind::Buy => self.buy(),
            ActionKind::Sell if self.user.holdings.is_empty() => {
                self.owed += 1;
                self.buy();
            }
            ActionKind::Sell => self.sell(),
            ActionKind::Update => self.update(),
            ActionKind::Register => self.register(),
            ActionKind::Portfolio => self.actions.push(Action::Portfolio),
            ActionKind::Home => self.actions.push(Action::Home),
            // No step is one of these: a session begins and ends by them.
            ActionKind::Login | ActionKind::Logout => {}
        }
    }

    fn quote(&mut self) {
        let held = &self.user.holdings;
        let stock = if !held.is_empty() && self.draws.happens(QUOTE_HELD) {
            held[self.draws.place(held)].stock
        } else {
            self.maker.popular(&mut self.draws)
        };
        self.quote_of(stock);
    }

    fn quote_of(&mut self, stock: StockId) {
        self.quoted.push(stock);
        self.actions.push(Action::Quote(stock));
    }

    /// Buys what can be paid with its fee and that of selling every holding later, so that no sell can overdraw; where not
    /// even one share can, it remains at a quote.
    fn buy(&mut self) {
        let stock = self.wanted();
        let price = self.maker.price(stock);
        let (price, balance) = (price.get(), self.user.balance.get());
        let fees = FEE.get() * (self.user.holdings.len() as i64 + 2);
        let most = (balance - fees) / price;
        let drawn = 1 + (self.draws.unit() * SPENT * balance as f64 / price as f64) as i64;
        match u32::try_from(drawn.min(most)).map(|quantity| self.lots.most_up_to(quantity)) {
            Ok(quantity @ 1..) => {
                let lot = Lot { stock, quantity };
                self.user.balance -= Cents::new(price) * quantity + FEE;
                self.user.holdings.push(lot);
                self.actions.push(Action::Buy(lot));
            }
            _ => self.quote_of(stock),
        }
    }

    /// The stock of the next buy. Beside [`BUY_QUOTED`] it is none that was quoted, so that this share can be seen in the
    /// script itself.
    fn wanted(&mut self) -> StockId {
        if !self.quoted.is_empty() && self.draws.happens(BUY_QUOTED) {
            return self.quoted[self.draws.place(&self.quoted)];
        }
        if self.draws.happens(BUY_HELD) {
            let held = self.user.holdings.iter().map(|lot| lot.stock);
            let held: Vec<_> = held.filter(|stock| !self.quoted.contains(stock)).collect();
            if !held.is_empty() {
                return held[self.draws.place(&held)];
            }
        }
        let mut stock = self.maker.popular(&mut self.draws);
        for _ in 0..TRIES {
            if !self.quoted.contains(&stock) {
                break;
            }
            stock = self.maker.popular(&mut self.draws);
        }
        stock
    }

    /// Sells one of the holdings, of which there is one.
    fn sell(&mut self) {
        let held = &self.user.holdings;
        let all: Vec<usize> = (0..held.len()).collect();
        let quoted: Vec<usize> =
            all.iter().copied().filter(|at| self.quoted.contains(&held[*at].stock)).collect();
        let from = if !quoted.is_empty() && self.draws.happens(SELL_QUOTED) { quoted } else { all };
        let lot = held[from[self.draws.place(&from)]];
        // The action names stock and quantity, so the first such holding is the one that goes.
        let first = held.iter().position(|one| *one == lot).expect("it is one of them");
        self.user.holdings.remove(first);
        self.user.balance += self.maker.price(lot.stock) * lot.quantity - FEE;
        self.actions.push(Action::Sell(lot));
    }

    /// One or two of card, e-mail, password and address become those of a spare user.
    fn update(&mut self) {
        let spare = 3 * self.draws.below(self.number / 2 + 1) + 2;
        let spare = self.maker.user(spare).profile;
        let first = self.draws.below(4);
        // Two in half of all cases.
        let second = if self.draws.happens(0.5) { (first + self.draws.between(1, 3)) % 4 } else { first };
        let mut profile = self.user.profile.clone();
        for field in [first, second] {
            let Profile { card, email, password, address, .. } = &mut profile;
            match field {
                0 => card.clone_from(&spare.card),
                1 => email.clone_from(&spare.email),
                // By a new one the user's other sessions could not log in.
                2 if self.lots.sessions == 1 => password.clone_from(&spare.password),
                _ => address.clone_from(&spare.address),
            }
        }
        self.user.profile = profile.clone();
        self.actions.push(Action::Update(Box::new(profile)));
    }

    fn register(&mut self) {
        let name = registered_name(self.number, self.registered);
        self.registered += 1;
        self.user = newcomer(name, &mut self.draws);
        self.actions.push(Action::Register(Box::new(self.user.clone())));
    }
}
