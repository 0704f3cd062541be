//! A session of the script, played against the brokerage in this process: its requests and actions, their replies' digest, and what
//! is tried again.

use std::time::Instant;

use crate::canonical::{Canonical, Fnv};
use crate::engine::{Asked, Engine, Fault, Outcome};
use crate::population::Lot;
use crate::records::{Holding, HoldingList, RegisterRequest};
use crate::script::{Session, Step};
use crate::tally::{Grain, Operation, Played};

/// How often a request is made at most, where the answer is *again*.
const ATTEMPTS: u64 = 5;

/// Plays a session from login to logout.
pub async fn play(engine: &dyn Engine, session: &Session, grain: Grain, played: &mut Played) {
    let mut player =
        Player { engine, user: &session.user, played, replies: Fnv::default(), action: Span::default() };
    player.login(&session.password).await;
    for step in &session.steps {
        player.step(step, grain).await;
    }
    player.logout().await;
    let replies = player.replies.0;
    played.digest = played.digest.wrapping_add(replies);
}

/// The requests of an action so far.
#[derive(Default)]
struct Span {
    /// From the first one's beginning to the last one's end.
    times: Option<(Instant, Instant)>,
    retried: u64,
}

/// A session at work.
struct Player<'a> {
    engine: &'a dyn Engine,
    /// Whose actions these are; another one's behind `register`.
    user: &'a str,
    played: &'a mut Played,
    /// Of the replies so far.
    replies: Fnv,
    action: Span,
}

/// There is no reply where a request has failed, which is counted and told then.
impl<'a> Player<'a> {
    async fn login(&mut self, password: &str) -> Option<()> {
        let (engine, user) = (self.engine, self.user);
        self.said(Operation::Login, || engine.login(user, password)).await
    }

    async fn logout(&mut self) -> Option<()> {
        let (engine, user) = (self.engine, self.user);
        self.said(Operation::Logout, || engine.logout(user)).await
    }

    async fn step(&mut self, step: &'a Step, grain: Grain) -> Option<()> {
        let (engine, user) = (self.engine, self.user);
        self.action = Span::default();
        match (step, grain) {
            (Step::Quote(symbol), _) => self.said(Operation::Quote, || engine.quote(symbol)).await,
            (Step::Buy(lot), _) => self.said(Operation::Buy, || engine.buy(user, asked(lot))).await,
            (Step::Update(fields), _) => self.said(Operation::Update, || engine.update(user, fields)).await,
            (Step::Home, Grain::Coarse) => self.said(Operation::Home, || engine.home(user)).await,
            (Step::Portfolio, Grain::Coarse) => {
                self.said(Operation::Portfolio, || engine.portfolio(user)).await
            }
            (Step::Sell(lot), Grain::Coarse) => {
                self.said(Operation::SellFirst, || engine.sell_first(user, asked(lot))).await
            }
            (Step::Register(fields), Grain::Coarse) => {
                self.said(Operation::SwitchUser, || engine.switch_user(user, fields)).await?;
                self.user = &fields.user;
                Some(())
            }
            (Step::Home, Grain::Fine) => {
                let done = self.home().await;
                self.whole(Operation::Home, done)
            }
            (Step::Portfolio, Grain::Fine) => {
                let done = self.portfolio().await;
                self.whole(Operation::Portfolio, done)
            }
            (Step::Sell(lot), Grain::Fine) => {
                let done = self.sell(lot).await;
                self.whole(Operation::SellFirst, done)
            }
            (Step::Register(fields), Grain::Fine) => {
                let done = self.switch_user(fields).await;
                self.whole(Operation::SwitchUser, done)
            }
        }
    }

    /// Counts the action whose requests were the last ones.
    fn whole(&mut self, action: Operation, done: Option<()>) -> Option<()> {
        let time = done.and(self.action.times).map(|(since, until)| nanoseconds(since, until));
        self.played.count(action, time, self.action.retried);
        done
    }

    async fn home(&mut self) -> Option<()> {
        let (engine, user) = (self.engine, self.user);
        self.said(Operation::Account, || engine.account(user)).await?;
        self.holdings().await.map(drop)
    }

    async fn holdings(&mut self) -> Option<HoldingList> {
        let (engine, user) = (self.engine, self.user);
        let list = self.asked(Operation::Holdings, || engine.holdings(user)).await?;
        self.hash(&list);
        Some(list)
    }

    /// Quotes are asked in the order of the holdings' ids, which are the engine's, and hashed in that of their symbols.
    async fn portfolio(&mut self) -> Option<()> {
        let engine = self.engine;
        self.played.quotes.clear();
        for Holding { symbol, .. } in &self.holdings().await?.holdings {
            let quote = self.asked(Operation::Quote, || engine.quote(symbol)).await?;
            let hash = quote.hash(&mut self.played.text);
            self.played.quotes.push((quote.symbol, hash));
        }
        self.played.quotes.sort_unstable();
        for (_, hash) in &self.played.quotes {
            self.replies.add(&hash.to_le_bytes());
        }
        Some(())
    }

    /// A sale of what is not held fails without a request.
    async fn sell(&mut self, Lot { symbol, quantity }: &Lot) -> Option<()> {
        let (engine, user) = (self.engine, self.user);
        let Some(holding) = self.holdings().await?.first_of(symbol, *quantity) else {
            let fault = Fault::Missing(format!("{user} has no holding of {quantity} {symbol}"));
            self.played.tell(Operation::Sell, user, &fault);
            self.played.count(Operation::Sell, None, 0);
            return None;
        };
        self.said(Operation::Sell, || engine.sell(user, holding, None)).await
    }

    async fn switch_user(&mut self, fields: &'a RegisterRequest) -> Option<()> {
        let engine = self.engine;
        self.logout().await?;
        self.said(Operation::Register, || engine.register(fields)).await?;
        self.user = &fields.user;
        Some(())
    }

    /// Asks, and takes the reply into the digest.
    async fn said<T: Canonical, F: Future<Output = Outcome<T>>>(
        &mut self,
        operation: Operation,
        call: impl Fn() -> F,
    ) -> Option<()> {
        let reply = self.asked(operation, call).await?;
        self.hash(&reply);
        Some(())
    }

    fn hash(&mut self, reply: &impl Canonical) {
        let hash = reply.hash(&mut self.played.text);
        self.replies.add(&hash.to_le_bytes());
    }

    /// A reply, asked for again at once where that is the answer.
    async fn asked<T, F: Future<Output = Outcome<T>>>(
        &mut self,
        operation: Operation,
        call: impl Fn() -> F,
    ) -> Option<T> {
        let since = Instant::now();
        let (mut outcome, mut retried) = (call().await, 0);
        while retried + 1 < ATTEMPTS && matches!(outcome, Err(Fault::Again(_))) {
            retried += 1;
            outcome = call().await;
        }
        let until = Instant::now();
        let first = self.action.times.map_or(since, |(first, _)| first);
        self.action.times = Some((first, until));
        self.action.retried += retried;
        let time = outcome.is_ok().then(|| nanoseconds(since, until));
        self.played.count(operation, time, retried);
        outcome.inspect_err(|fault| self.played.tell(operation, self.user, fault)).ok()
    }
}

/// The script has one end for all threads, so its orders leave prices alone.
fn asked(lot: &Lot) -> Asked<'_> {
    Asked { symbol: &lot.symbol, quantity: lot.quantity, factor: None }
}

fn nanoseconds(since: Instant, until: Instant) -> u64 {
    u64::try_from((until - since).as_nanos()).unwrap_or(u64::MAX)
}
