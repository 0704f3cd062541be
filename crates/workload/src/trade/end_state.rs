//! What the database of a brokerage should hold after a whole passage, and where that of a service differs.

use serde_json::Value;

use super::books::EndState;
use super::brokerage::Brokerage;
use super::contention::{Contention, TextOf, unbalanced};
use super::dump::records;
use super::script::{Action, Session};
use super::source::ScriptSource;

/// The end state of a script, by the model.
#[derive(Debug, Clone)]
pub struct ExpectedState {
    source: ScriptSource,
    state: EndState,
    contention: Contention,
}

/// Numbers of the end state that depend on the order of sessions, where these share anything.
const BY_ORDER: [&str; 2] = ["balance", "sha256"];

impl ExpectedState {
    pub(super) fn of(source: ScriptSource, after: &Brokerage) -> Self {
        Self { source, state: after.end_state(), contention: Contention::NONE }
    }

    pub(super) fn under(self, contention: Contention) -> Self {
        Self { contention, ..self }
    }

    /// Whether the numbers alone do not show that it is right, and [`locate`](Self::locate) must be asked too.
    pub fn depends_on_order(&self) -> bool {
        !self.contention.is_none()
    }

    /// The first of a service's numbers that is not what it should be; `None` if all are.
    pub fn difference(&self, told: &Value) -> Option<String> {
        let right = serde_json::to_value(&self.state).expect("numbers and a text");
        let fields = right.as_object().expect("it is a record");
        fields.iter().find_map(|(field, expected)| {
            let got = &told[field];
            let is_certain = self.contention.is_none() || !BY_ORDER.contains(&&**field);
            (is_certain && got != expected).then(|| format!("`{field}` is {got}, expected {expected}"))
        })
    }

    /// Where a service's dump differs first, and to whose session that belongs; `None` if it does not. Where sessions share
    /// records: in what does not depend on their order, then in whether its books add up.
    pub fn locate(&self, dump: &str) -> Option<String> {
        let (mut right, mut got) = (self.right_dump(), dump.to_owned());
        self.contention.retain(&mut right, TextOf::Dump);
        self.contention.retain(&mut got, TextOf::Dump);
        let difference = self.first_difference(&right, &got);
        difference.or_else(|| {
            let sums = || unbalanced(self.contention, &self.source.script(), dump);
            self.depends_on_order().then(sums).flatten()
        })
    }

    fn first_difference(&self, right: &str, got: &str) -> Option<String> {
        let (right, got) = (records(right), records(got));
        let at = (0..right.len().max(got.len())).find(|at| right.get(*at) != got.get(*at))?;
        let (expected, found) = (right.get(at), got.get(at));
        let of = expected.or(found)?;
        let user = of.text("user");
        let what = match (expected, found) {
            (Some(expected), Some(found)) => expected.difference(found),
            (Some(_), None) => "it is missing".to_owned(),
            (None, _) => "there is one too many".to_owned(),
        };
        let whose = self.session_of(user, of.kind);
        Some(format!("{whose}{} of `{user}`: {what}", of.kind))
    }

    fn right_dump(&self) -> String {
        let script = self.source.script();
        let mut brokerage = Brokerage::new(&script);
        brokerage.play(&script.sessions, super::Grain::Fine).expect("it was carried out before");
        brokerage.dump()
    }

    /// The session that changes this user's record, and the last of its actions that does.
    fn session_of(&self, user: &str, kind: &str) -> String {
        if self.contention.shares_users() {
            return String::new();
        }
        let number = (0..self.source.sessions()).find(|number| {
            let registers = |session: &Session| {
                session.whole().any(|action| matches!(action, Action::Register(new) if new.user == user))
            };
            let session = self.source.session(*number);
            session.user == user || registers(&session)
        });
        let Some(number) = number else { return String::new() };
        let session = self.source.session(number);
        let (mut acting, mut last) = (session.user.clone(), None);
        for (action, place) in session.whole().zip(1..) {
            let registers = matches!(action, Action::Register(_));
            let is_of_user = acting == user || matches!(action, Action::Register(new) if new.user == user);
            if is_of_user && changes(action, kind) {
                last = Some(format!("action {place}, {}, ", action.kind()));
            }
            if let (true, Action::Register(new)) = (registers, action) {
                acting.clone_from(&new.user);
            }
        }
        format!("session {}, {}", number + 1, last.unwrap_or_default())
    }
}

/// Whether an action changes a user's records of that kind.
fn changes(action: &Action, kind: &str) -> bool {
    match action {
        Action::Login | Action::Logout => kind == "account",
        Action::Buy(_) | Action::Sell(_) => matches!(kind, "account" | "holding" | "order"),
        Action::Update(_) => kind == "profile",
        Action::Register(_) => matches!(kind, "account" | "profile"),
        Action::Home | Action::Portfolio | Action::Quote(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use serde_json::json;
    use weighbridge_model::experiment::{Prices, TradeSpec};

    use super::super::{law::ScriptLaw, maker::ScriptMaker};
    use super::*;
    use crate::cache::draw::below;
    use crate::trade::{Cents, Grain, TradeScript, Visit};

    /// The script of 32 sessions, and the brokerage after them.
    fn played() -> (ExpectedState, TradeScript, Brokerage) {
        let law = ScriptLaw::default().with_sessions(32).expect("a size");
        let maker = ScriptMaker::new(law);
        let script = maker.script();
        let mut brokerage = Brokerage::new(&script);
        brokerage.play(&script.sessions, Grain::Fine).expect("it can be carried out");
        (ExpectedState::of(ScriptSource::Made { maker, played: 32 }, &brokerage), script, brokerage)
    }

    /// What is said of another end: the number, and whose it is.
    fn found(brokerage: &Brokerage, expected: &ExpectedState) -> [String; 2] {
        let state = serde_json::to_value(brokerage.end_state()).expect("JSON");
        let difference = expected.difference(&state).expect("they differ");
        [difference, expected.locate(&brokerage.dump()).expect("they differ")]
    }

    #[test]
    fn the_expected_state_is_no_difference() {
        let (expected, _, brokerage) = played();
        let mut state = serde_json::to_value(brokerage.end_state()).expect("JSON");
        assert_eq!(expected.difference(&state), None);
        assert_eq!(expected.locate(&brokerage.dump()), None);
        state["balance"] = json!("12");
        assert!(
            expected.difference(&state).expect("no number").starts_with("`balance` is \"12\", expected ")
        );
        assert_eq!(
            expected.difference(&json!({})).expect("nothing").split(',').next(),
            Some("`accounts` is null")
        );
    }

    #[test]
    fn what_was_lost_or_done_twice_is_told_with_session_and_action() {
        let (expected, script, brokerage) = played();
        let of = |wanted: fn(&Action) -> bool| {
            let sessions = script.sessions.iter().zip(1..);
            let mut found = sessions.filter_map(|(session, number)| {
                let registers = session.actions.iter().any(|one| matches!(one, Action::Register(_)));
                let place = session.whole().zip(1..).filter(|(action, _)| wanted(action)).last()?.1;
                (!registers).then(|| (session.user.clone(), format!("session {number}, action {place}, ")))
            });
            found.next().expect("a session has one")
        };
        let spoilt = |user: &str, spoil: &dyn Fn(&mut super::super::brokerage::Customer)| {
            let mut brokerage = brokerage.clone();
            spoil(brokerage.customers.get_mut(user).expect("a user"));
            found(&brokerage, &expected)
        };

        let (user, place) = of(|action| matches!(action, Action::Update(_)));
        let [difference, whose] = spoilt(&user, &|one| one.profile.address = "elsewhere".to_owned());
        assert!(difference.starts_with("`sha256`"), "{difference}");
        assert!(
            whose.starts_with(&format!("{place}update, profile of `{user}`: `address` is `elsewhere`")),
            "{whose}"
        );

        let (user, place) = of(|action| matches!(action, Action::Logout));
        let [difference, whose] = spoilt(&user, &|one| one.logins -= 1);
        assert!(difference.starts_with("`logins` is "), "{difference}");
        assert!(
            whose.starts_with(&format!("{place}logout, account of `{user}`: `logins` is `0`, expected `1`")),
            "{whose}"
        );

        let (user, _) = of(|action| matches!(action, Action::Buy(_)));
        let [difference, whose] = spoilt(&user, &|one| one.balance += Cents::new(1));
        assert!(difference.starts_with("`balance` is "), "{difference}");
        assert!(whose.contains(&format!("account of `{user}`: `balance` is ")), "{whose}");
        let [difference, whose] = spoilt(&user, &|one| one.orders.truncate(one.orders.len() - 1));
        assert!(
            difference.starts_with("`buys` is ") || difference.starts_with("`sells` is "),
            "{difference}"
        );
        assert!(whose.contains("order of `"), "{whose}");
    }

    /// Actions of 60 sessions, four of each user, in an order that is drawn.
    fn interleaved(maker: &ScriptMaker, seed: u64) -> Brokerage {
        let script = maker.script();
        let mut brokerage = Brokerage::new(&script);
        let mut visits: Vec<_> =
            script.sessions.iter().map(|session| (Visit::of(session), session.whole().peekable())).collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        while !visits.is_empty() {
            let at = below(&mut random, visits.len() as u32) as usize;
            let (visit, actions) = &mut visits[at];
            let action = actions.next().expect("it has one left");
            brokerage.apply(visit, action).expect("nobody sells what is another session's");
            if actions.peek().is_none() {
                drop(visits.swap_remove(at));
            }
        }
        brokerage
    }

    #[test]
    fn any_order_of_sessions_that_share_users_leaves_books_that_are_right() {
        let law = ScriptLaw::default().with_sessions(60).expect("a size").with_sharing(4);
        let maker = ScriptMaker::new(law);
        let script = maker.script();
        let users: BTreeSet<&str> = script.sessions.iter().map(|session| &*session.user).collect();
        assert_eq!(users.len(), 15);
        let mut brokerage = Brokerage::new(&script);
        brokerage.play(&script.sessions, Grain::Fine).expect("it can be carried out");
        let contention = Contention::of(&TradeSpec { sharing: 4, ..TradeSpec::default() });
        let source = ScriptSource::Made { maker: maker.clone(), played: 60 };
        let expected = ExpectedState::of(source, &brokerage).under(contention);
        assert!(expected.depends_on_order());
        for seed in 0..20 {
            let after = interleaved(&maker, seed);
            let state = serde_json::to_value(after.end_state()).expect("JSON");
            assert_eq!((expected.difference(&state), expected.locate(&after.dump())), (None, None));
        }
        let after = interleaved(&maker, 1);
        let user = users.first().expect("a user").to_string();
        let spoilt = |spoil: &dyn Fn(&mut super::super::brokerage::Customer)| {
            let mut brokerage = after.clone();
            spoil(brokerage.customers.get_mut(&user).expect("a user"));
            expected.locate(&brokerage.dump()).expect("it is seen")
        };
        let lost = spoilt(&|one| one.balance += Cents::new(1));
        assert!(lost.starts_with(&format!("account of `{user}`: `balance` is ")), "{lost}");
        assert!(lost.contains(", and its orders leave "), "{lost}");
        let lost = spoilt(&|one| one.logouts -= 1);
        assert!(lost.starts_with(&format!("account of `{user}`: `logouts` is `3`, expected `4`")), "{lost}");
        let lost = spoilt(&|one| one.holdings.truncate(one.holdings.len() - 1));
        assert!(lost.starts_with("holding of `"), "{lost}");
    }

    #[test]
    fn where_prices_move_volumes_and_bounds_must_fit() {
        let (expected, script, brokerage) = played();
        let contention = Contention::of(&TradeSpec { prices: Prices::Moving, ..TradeSpec::default() });
        let expected = expected.under(contention);
        let stock = script.stocks.iter().min_by_key(|stock| &stock.symbol).expect("a stock");
        // As the first record has it; the model's prices are fixed.
        let moved = |symbol: &str, price: i64, low: i64, change: i64, volume: i64| {
            let orders = brokerage.customers.values().flat_map(|one| &one.orders);
            let mut dump = brokerage.dump();
            for stock in &script.stocks {
                let of_stock = orders.clone().filter(|order| script.stock(order.lot.stock) == stock);
                let traded: i64 = of_stock.map(|order| i64::from(order.lot.quantity)).sum();
                let before = Brokerage::quote_reply(stock);
                let mut after = before.clone();
                after.volume += traded;
                if stock.symbol == symbol {
                    after.price += Cents::new(price);
                    after.low += Cents::new(low);
                    after.change = Cents::new(change);
                    after.volume += volume;
                }
                let [before, after] =
                    [before, after].map(|quote| super::super::TradeReply::Quote(quote).canonical());
                dump = dump.replacen(&before, &after, 1);
            }
            dump
        };
        assert_eq!(expected.locate(&moved(&stock.symbol, -3, -5, -3, 0)), None);
        for (price, low, change, volume, field) in [
            (-3, -5, -3, -1, "volume"),
            (-3, -5, 0, 0, "change"),
            (-3, 0, -3, 0, "low"),
            (3, 0, 3, 0, "high"),
        ] {
            let told = expected.locate(&moved(&stock.symbol, price, low, change, volume)).expect(field);
            assert!(told.starts_with(&format!("quote of `{}`: `{field}` is ", stock.symbol)), "{told}");
        }
    }
}
