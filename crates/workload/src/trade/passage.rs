//! A script bound to a variant: every request rendered beforehand but those that name what a reply gave, each with the hash of
//! its right reply.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use weighbridge_load::request::{Rendered, SessionPlace};
use weighbridge_model::experiment::{Grain, TradeOperation, TradeSpec};

use super::brokerage::Brokerage;
use super::calls::{Caller, TradeCall};
use super::canonical::TradeReply;
use super::contention::{Contention, TextOf, factor};
use super::control::TradeControl;
use super::end_state::ExpectedState;
use super::law::ScriptLaw;
use super::script::{Action, ActionKind, Lot, Stock, TradeScript};
use super::source::{ScriptError, ScriptSource};
use crate::WorkloadError;
use crate::bind::Binding;
use crate::direct::fnv1a;

/// A whole script once, from a restored database, as one variant is asked.
#[derive(Debug)]
pub(crate) struct Passage {
    source: ScriptSource,
    pub(super) caller: Caller,
    grain: Grain,
    contention: Contention,
    requests: Vec<Rendered>,
    /// Quotes that belong to no session, one for each stock: they change nothing.
    quotes: Vec<PassageStep>,
    steps: Vec<PassageStep>,
    /// Where each session ends in `steps`.
    ends: Vec<u32>,
    sells: Vec<Sale>,
    control: TradeControl,
    expected_state: ExpectedState,
    /// Whether the database was restored since a window began.
    is_restored: AtomicBool,
}

/// One request of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassageStep {
    pub operation: TradeOperation,
    pub request: StepRequest,
    /// FNV-1a of the right reply's canonical text.
    pub hash: u64,
    /// Which of the session's actions it belongs to, its login 0.
    pub action: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum StepRequest {
    /// By its place among those rendered beforehand.
    Rendered(u32),
    /// The sale of a holding that the reply before has named.
    Sale(u32),
}

/// A sale, of which the holding's id is missing.
#[derive(Debug)]
pub(super) struct Sale {
    pub user: String,
    pub symbol: String,
    pub quantity: u32,
    /// By how many hundredths it multiplies the price; `None` where prices are fixed.
    factor: Option<u32>,
}

impl Passage {
    pub fn new(spec: &TradeSpec, binding: &Binding<'_>) -> Result<Self, WorkloadError> {
        let source = ScriptSource::new(spec, binding.given.script)?;
        let caller = Caller::new(binding, spec.grain)?;
        let control = TradeControl::new(&caller)?;
        let contention = Contention::of(spec);
        let mut builder = Builder {
            caller,
            grain: spec.grain,
            contention,
            seed: spec.seed,
            requests: Vec::new(),
            quotes: Vec::new(),
            steps: Vec::new(),
            ends: Vec::new(),
            sells: Vec::new(),
            known: HashMap::new(),
        };
        let after = builder.add(&source.script())?;
        let expected_state = ExpectedState::of(source.clone(), &after).under(contention);
        let Builder { caller, grain, requests, quotes, steps, ends, sells, .. } = builder;
        let is_restored = AtomicBool::new(false);
        Ok(Self {
            source,
            caller,
            grain,
            contention,
            requests,
            quotes,
            steps,
            ends,
            sells,
            control,
            expected_state,
            is_restored,
        })
    }

    /// Requests of a passage in which all replies are right.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    pub(super) fn grain(&self) -> Grain {
        self.grain
    }

    /// The quote of the first stock.
    pub(super) fn first_quote(&self) -> &Rendered {
        match self.quotes[0].request {
            StepRequest::Rendered(at) | StepRequest::Sale(at) => self.rendered(at),
        }
    }

    /// That in one line.
    pub(super) fn title(&self) -> String {
        self.caller.title(&TradeCall::quote(&self.stocks()[0].symbol))
    }

    pub fn control(&self) -> &TradeControl {
        &self.control
    }

    pub fn expected_state(&self) -> &ExpectedState {
        &self.expected_state
    }

    /// The database has been restored, with nothing outstanding: the next window plays the script.
    pub fn restored(&self) {
        self.is_restored.store(true, Ordering::Relaxed);
    }

    /// A window begins; whether it plays the script. One on a database that was not restored asks for quotes alone, and so
    /// does each after its last session.
    pub(super) fn begins(&self) -> bool {
        self.is_restored.swap(false, Ordering::Relaxed)
    }

    pub(super) fn sessions(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The places of a session's steps.
    pub(super) fn steps_of(&self, session: u32) -> Range<u32> {
        let before = session.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        before..self.ends[session as usize]
    }

    pub(super) fn step(&self, at: u32) -> PassageStep {
        self.steps[at as usize]
    }

    pub(super) fn quote(&self, stock: u32) -> PassageStep {
        self.quotes[stock as usize]
    }

    pub(crate) fn stocks(&self) -> &[Stock] {
        self.source.stocks()
    }

    pub(super) fn rendered(&self, at: u32) -> &Rendered {
        &self.requests[at as usize]
    }

    pub(super) fn sale(&self, at: u32) -> &Sale {
        &self.sells[at as usize]
    }

    /// The request that sells a holding.
    pub(super) fn render_sale(&self, sale: &Sale, holding: i64) -> Result<Rendered, WorkloadError> {
        let operation = TradeOperation::Sell;
        let mut arguments = json!({ "user": sale.user, "holding": holding });
        set_factor(&mut arguments, sale.factor);
        let call = TradeCall { operation, arguments };
        let place = SessionPlace {
            operation: TradeOperation::SellFirst.id(self.grain),
            is_first: false,
            is_last: true,
        };
        Ok(self.caller.render(&call)?.in_session(Some(place)))
    }

    /// Leaves of a reply's canonical text what is compared.
    pub(super) fn retain_compared(&self, text: &mut String) {
        self.contention.retain(text, TextOf::Reply);
    }

    /// What is compared of the right reply to a step of a session, by the model; it does not depend on other users.
    pub(super) fn right_reply(&self, session: u32, at: u32) -> String {
        let users = vec![self.source.user_of(session)];
        let script = TradeScript { stocks: self.stocks().to_vec(), users, sessions: Vec::new() };
        let mut brokerage = Brokerage::new(&script);
        let mut texts = Vec::new();
        for number in self.source.of_its_user_before(session).chain([session]) {
            texts.clear();
            let played = self.source.session(number);
            let visited = brokerage.visit(&played, number as usize + 1, &mut |_, action, replies| {
                texts.extend(texts_of(action, replies, self.grain));
            });
            visited.expect("it was carried out before");
        }
        let mut text = texts.swap_remove((at - self.steps_of(session).start) as usize);
        self.retain_compared(&mut text);
        text
    }
}

pub(super) fn law(spec: &TradeSpec) -> ScriptLaw {
    let law = ScriptLaw::default().with_seed(spec.seed);
    let law = law.with_stocks(spec.stocks.into()).and_then(|law| law.with_skew(spec.skew));
    let law = law.and_then(|law| law.with_sessions(spec.base.unwrap_or(spec.sessions).into()));
    law.expect("the specification was checked").with_sharing(spec.sharing)
}

/// The canonical texts of an action's replies, one for each request.
fn texts_of(action: &Action, replies: &[TradeReply], grain: Grain) -> Vec<String> {
    if grain == Grain::Fine {
        return replies.iter().map(TradeReply::canonical).collect();
    }
    let mut parts: Vec<&TradeReply> = replies.iter().collect();
    if matches!(action, Action::Portfolio) {
        parts.sort_by_key(|reply| if let TradeReply::Quote(quote) = reply { &*quote.symbol } else { "" });
    }
    vec![parts.into_iter().map(TradeReply::canonical).collect()]
}

/// Renders a script, and finds its right replies.
struct Builder {
    caller: Caller,
    grain: Grain,
    contention: Contention,
    /// From which the factors of orders follow.
    seed: u64,
    requests: Vec<Rendered>,
    quotes: Vec<PassageStep>,
    steps: Vec<PassageStep>,
    ends: Vec<u32>,
    sells: Vec<Sale>,
    /// Requests without a body by what they ask for, and their place in an action.
    known: HashMap<(TradeOperation, String, Option<PlaceInAction>), u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PlaceInAction {
    action: TradeOperation,
    is_first: bool,
    is_last: bool,
}

impl Builder {
    /// Adds all of it. Returns the brokerage as it is then.
    fn add(&mut self, script: &TradeScript) -> Result<Brokerage, WorkloadError> {
        for stock in &script.stocks {
            let reply = TradeReply::Quote(Brokerage::quote_reply(stock));
            let (operation, action) = (TradeOperation::Quote, 0);
            let request = self.request(&TradeCall::quote(&stock.symbol), None)?;
            let hash = self.hash(reply.canonical());
            self.quotes.push(PassageStep { operation, request, hash, action });
        }
        let mut brokerage = Brokerage::new(script);
        for (session, number) in script.sessions.iter().zip(1..) {
            let mut carried = Vec::new();
            brokerage
                .visit(session, number, &mut |user, action, replies| {
                    let factor = self.factor(number as u32, carried.len() as u32);
                    let acting = Acting { script, session, user, factor };
                    let calls = self.calls(acting, action, replies);
                    let texts = texts_of(action, replies, self.grain);
                    carried.push(CarriedAction { kind: action.kind(), calls, texts });
                })
                .map_err(ScriptError::from)?;
            for (action, number) in carried.into_iter().zip(0..) {
                self.add_action(action, number)?;
            }
            self.ends.push(self.steps.len() as u32);
        }
        Ok(brokerage)
    }

    /// Adds an action of a session, whose number there is `number`, its login 0.
    fn add_action(&mut self, action: CarriedAction, number: u32) -> Result<(), WorkloadError> {
        let CarriedAction { kind, calls, texts } = action;
        let (count, whole) = (calls.len(), whole_action(kind).filter(|_| self.grain == Grain::Fine));
        for (at, (call, text)) in calls.into_iter().zip(texts).enumerate() {
            let place =
                whole.map(|action| PlaceInAction { action, is_first: at == 0, is_last: at + 1 == count });
            let (request, operation) = match call {
                StepCall::Sale(sale) => {
                    self.sells.push(sale);
                    (StepRequest::Sale(self.sells.len() as u32 - 1), TradeOperation::Sell)
                }
                StepCall::Known(call) => (self.request(&call, place)?, call.operation),
            };
            let hash = self.hash(text);
            self.steps.push(PassageStep { operation, request, hash, action: number });
        }
        Ok(())
    }

    /// The hash of what is compared of a reply.
    fn hash(&self, mut text: String) -> u64 {
        self.contention.retain(&mut text, TextOf::Reply);
        fnv1a(text.as_bytes())
    }

    /// That of an order, where prices move.
    fn factor(&self, session: u32, action: u32) -> Option<u32> {
        self.contention.moves_prices().then(|| factor(self.seed, session, action))
    }

    fn calls(&self, acting: Acting<'_>, action: &Action, replies: &[TradeReply]) -> Vec<StepCall> {
        use TradeOperation as Op;
        let Acting { script, session, user, factor } = acting;
        let is_fine = self.grain == Grain::Fine;
        let of_user = |operation| StepCall::Known(TradeCall::of_user(operation, user));
        let known = |operation, arguments| StepCall::Known(TradeCall { operation, arguments });
        let lot = |lot: &Lot| {
            let symbol = &script.stock(lot.stock).symbol;
            let mut arguments = json!({ "user": user, "symbol": symbol, "quantity": lot.quantity });
            set_factor(&mut arguments, factor);
            arguments
        };
        match action {
            Action::Login => {
                vec![known(Op::Login, json!({ "user": user, "password": session.password }))]
            }
            Action::Logout => vec![of_user(Op::Logout)],
            Action::Home if is_fine => vec![of_user(Op::Account), of_user(Op::Holdings)],
            Action::Home => vec![of_user(Op::Home)],
            Action::Portfolio if is_fine => {
                // In the order in which they were bought, which is that of their ids.
                let quotes = replies.iter().filter_map(|reply| match reply {
                    TradeReply::Quote(quote) => Some(StepCall::Known(TradeCall::quote(&quote.symbol))),
                    _ => None,
                });
                std::iter::once(of_user(Op::Holdings)).chain(quotes).collect()
            }
            Action::Portfolio => vec![of_user(Op::Portfolio)],
            Action::Quote(stock) => {
                vec![StepCall::Known(TradeCall::quote(&script.stock(*stock).symbol))]
            }
            Action::Buy(bought) => vec![known(Op::Buy, lot(bought))],
            Action::Sell(sold) if is_fine => {
                let symbol = script.stock(sold.stock).symbol.clone();
                let sale = Sale { user: user.to_owned(), symbol, quantity: sold.quantity, factor };
                vec![of_user(Op::Holdings), StepCall::Sale(sale)]
            }
            Action::Sell(sold) => vec![known(Op::SellFirst, lot(sold))],
            Action::Update(profile) => {
                let mut arguments = profile_fields(profile);
                arguments["user"] = user.into();
                vec![known(Op::Update, arguments)]
            }
            Action::Register(newcomer) => {
                let mut register = profile_fields(&newcomer.profile);
                register["user"] = newcomer.user.as_str().into();
                register["balance"] = newcomer.balance.get().into();
                match is_fine {
                    true => vec![of_user(Op::Logout), known(Op::Register, register)],
                    false => vec![known(Op::SwitchUser, json!({ "user": user, "register": register }))],
                }
            }
        }
    }

    /// The request's place among those rendered; what was rendered before is used again.
    fn request(
        &mut self,
        call: &TradeCall,
        place: Option<PlaceInAction>,
    ) -> Result<StepRequest, WorkloadError> {
        let arguments = call.arguments.as_object().expect("arguments have names");
        let single = (arguments.len() == 1).then(|| call.arguments.to_string());
        let key = single.map(|argument| (call.operation, argument, place));
        if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Ok(StepRequest::Rendered(*known));
        }
        let in_session = place.map(|place| SessionPlace {
            operation: place.action.id(self.grain),
            is_first: place.is_first,
            is_last: place.is_last,
        });
        let at = self.requests.len() as u32;
        self.requests.push(self.caller.render(call)?.in_session(in_session));
        self.known.extend(key.map(|key| (key, at)));
        Ok(StepRequest::Rendered(at))
    }
}

/// An action that the model carried out.
struct CarriedAction {
    kind: ActionKind,
    calls: Vec<StepCall>,
    /// The canonical text of the right reply to each.
    texts: Vec<String>,
}

/// Who carries out an action of a script.
#[derive(Debug, Clone, Copy)]
struct Acting<'a> {
    script: &'a TradeScript,
    session: &'a super::Session,
    user: &'a str,
    /// By how many hundredths an order multiplies the price.
    factor: Option<u32>,
}

enum StepCall {
    Known(TradeCall),
    Sale(Sale),
}

/// The operation under which an action of several requests is recorded as a whole.
const fn whole_action(kind: ActionKind) -> Option<TradeOperation> {
    match kind {
        ActionKind::Home => Some(TradeOperation::Home),
        ActionKind::Portfolio => Some(TradeOperation::Portfolio),
        ActionKind::Sell => Some(TradeOperation::SellFirst),
        ActionKind::Register => Some(TradeOperation::SwitchUser),
        _ => None,
    }
}

fn set_factor(arguments: &mut serde_json::Value, factor: Option<u32>) {
    if let Some(factor) = factor {
        arguments["factor"] = factor.into();
    }
}

fn profile_fields(profile: &super::Profile) -> serde_json::Value {
    json!({
        "full_name": profile.full_name,
        "address": profile.address,
        "email": profile.email,
        "card": profile.card,
        "password": profile.password,
    })
}
