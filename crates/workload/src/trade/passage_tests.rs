//! Passages against the model: what is asked, what is expected, and what is caught.

use std::collections::VecDeque;

use httparse::Header;
use serde_json::{Value, json};
use weighbridge_load::framer::Head;
use weighbridge_load::session::{Check, Reply, RequestId, Step};
use weighbridge_model::experiment::{Experiment, LoadSpec, Prices, Protocol, WorkloadSpec};
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::passage::law;
use super::*;
use crate::{Address, Received, UrlScheme};

fn spec(sessions: u32, grain: Grain) -> TradeSpec {
    TradeSpec { sessions, grain, ..TradeSpec::default() }
}

fn bound(spec: &TradeSpec, protocol: Protocol) -> Workload {
    let address = Address { authority: "h:1".into(), base: "/".into(), scheme: UrlScheme::default() };
    Workload::new(&WorkloadSpec::Trade(spec.clone()), &LoadSpec::default(), protocol, &address, &|_| None)
        .expect("it is bound")
}

fn passage(workload: &Workload) -> &Passage {
    workload.trade.as_ref().expect("a passage")
}

/// The replies of each session, as one slot gets them, by the model.
fn replies(spec: &TradeSpec) -> Vec<VecDeque<TradeReply>> {
    let script = ScriptMaker::new(law(spec)).script();
    let mut brokerage = Brokerage::new(&script);
    let of = |session: &Session| {
        let mut visit = Visit::of(session);
        session
            .whole()
            .flat_map(|action| brokerage.apply(&mut visit, action).expect("it can be carried out"))
            .collect()
    };
    script.sessions.iter().map(of).collect()
}

/// A reply as a service writes it, with ids and times.
fn spelled(reply: &TradeReply) -> Value {
    match reply {
        TradeReply::Account(one) => json!({
            "id": 7, "user": one.user, "balance": one.balance, "open_balance": one.open_balance,
            "logins": one.logins, "logouts": one.logouts, "last_login": null, "created": 5,
        }),
        TradeReply::Holdings(all) => {
            let one = |(id, one): (usize, &HoldingReply)| json!({"id": 100 + id, "symbol": one.symbol, "quantity": one.quantity, "price": one.price, "bought": 1});
            json!({ "holdings": all.iter().enumerate().map(one).collect::<Vec<_>>() })
        }
        TradeReply::Quote(one) => json!({
            "symbol": one.symbol, "company": one.company, "price": one.price, "open": one.open,
            "low": one.low, "high": one.high, "change": one.change, "volume": one.volume,
        }),
        TradeReply::Order(one) => json!({
            "id": 3, "kind": if one.kind == OrderKind::Buy { "buy" } else { "sell" }, "status": "closed",
            "symbol": one.symbol, "quantity": one.quantity, "price": one.price, "fee": one.fee,
            "holding": 9, "opened": 1, "completed": 2,
        }),
        TradeReply::Profile(one) => json!({
            "user": one.user, "full_name": one.full_name, "address": one.address, "email": one.email,
            "card": one.card,
        }),
    }
}

/// Answers a whole window over HTTP/1.1 with JSON, one slot after another; `spoil` changes replies by their number. Returns
/// the requests and what was said about failures.
struct Answered {
    requests: Vec<String>,
    failures: Vec<String>,
    good: usize,
    actions: u64,
}

fn answer(spec: &TradeSpec, slots: u32, spoil: &dyn Fn(usize, &mut Value)) -> Answered {
    let workload = bound(spec, Protocol::HTTP1_JSON);
    workload.emptied(&Received::GOOD).expect("a good reply");
    let mut sessions = workload.sessions();
    sessions.prepare(slots);
    sessions.rewind(1);
    let mut left = VecDeque::from(replies(spec));
    let mut own: Vec<VecDeque<TradeReply>> = vec![VecDeque::new(); slots as usize];
    let mut under_way: Vec<Option<RequestId>> = vec![None; slots as usize];
    let mut answered = Answered { requests: Vec::new(), failures: Vec::new(), good: 0, actions: 0 };
    loop {
        let mut is_over = true;
        for slot in 0..slots {
            let at = slot as usize;
            if under_way[at].is_none() && !sessions.has_ended() {
                own[at] = left.pop_front().expect("as many as there are sessions");
                under_way[at] = Some(sessions.open(slot));
            }
            let Some(request) = under_way[at] else { continue };
            is_over = false;
            let bytes = String::from_utf8(sessions.request(request).bytes().to_vec()).expect("text");
            let reply = own[at].pop_front().expect("as many as there are requests");
            let mut value = spelled(&reply);
            spoil(answered.requests.len(), &mut value);
            answered.requests.push(bytes);
            let outcome = check(sessions.check(slot), value.to_string().as_bytes());
            answered.good += usize::from(outcome == Outcome::Ok);
            under_way[at] = match sessions.next(slot, &Reply { request, outcome }) {
                Step::Send(next) => Some(next),
                Step::End => None,
                Step::Later(_) => unreachable!("nothing is due later"),
            };
        }
        if is_over {
            break;
        }
    }
    answered.actions = sessions.take_counts().expect("it counts").get(Count::Actions);
    let failures = sessions.take_failures();
    answered.failures =
        failures.texts().iter().map(|one| String::from_utf8_lossy(&one.text).into_owned()).collect();
    answered
}

fn check(check: &mut dyn Check, body: &[u8]) -> Outcome {
    check.head(&Head { status: 200, fields: &[] });
    body.chunks(7).for_each(|piece| check.data(piece));
    check.done()
}

#[test]
fn a_window_is_the_whole_script_whatever_the_number_of_slots() {
    let spec = spec(40, Grain::Fine);
    let whole = bound(&spec, Protocol::HTTP1_JSON).passage().expect("a passage");
    let mut before: Option<Vec<String>> = None;
    for slots in [1, 2, 16] {
        let mut answered = answer(&spec, slots, &|_, _| {});
        assert_eq!(answered.failures, Vec::<String>::new());
        assert_eq!((answered.good, answered.requests.len() as u64), (answered.requests.len(), whole));
        answered.requests.sort_unstable();
        assert!(before.is_none_or(|before| before == answered.requests), "{slots} slots ask for the same");
        before = Some(answered.requests);
    }
}

#[test]
fn actions_are_those_of_the_script_and_one_with_a_wrong_reply_is_none() {
    let script = ScriptMaker::new(law(&spec(40, Grain::Fine))).script();
    let whole: usize = script.sessions.iter().map(|session| 2 + session.actions.len()).sum();
    assert_eq!(answer(&spec(40, Grain::Fine), 3, &|_, _| {}).actions, whole as u64);
    // The last request of the only session is its logout; the balance in its reply is wrong.
    let one = spec(1, Grain::Fine);
    let right = answer(&one, 1, &|_, _| {});
    let wrong = answer(&one, 1, &|at, value| {
        if at + 1 == right.requests.len() {
            value["balance"] = 0.into();
        }
    });
    assert_eq!((wrong.actions, wrong.failures.len()), (right.actions - 1, 1));
}

#[test]
fn a_sale_names_the_first_holding_of_the_reply_before() {
    let spec = spec(20, Grain::Fine);
    let answered = answer(&spec, 1, &|_, _| {});
    let sales: Vec<&String> = answered.requests.iter().filter(|one| one.contains("/sell ")).collect();
    assert!(
        sales.len() > 10
            && sales.iter().all(|one| one.contains("{\"holding\":10") || one.contains("{\"holding\":11"))
    );
    // Two holdings of one number of shares: the lower id is sold, wherever it stands.
    let turned = answer(&spec, 1, &|_, value| {
        if let Some(all) = value.get_mut("holdings").and_then(Value::as_array_mut) {
            all.reverse();
        }
    });
    assert!(turned.requests == answered.requests);
}

#[test]
fn each_fault_is_caught_with_session_action_field_expected_and_got() {
    let spec = spec(30, Grain::Fine);
    let right = answer(&spec, 1, &|_, _| {});
    let first = |what: &str| right.requests.iter().position(|one| one.contains(what)).expect(what);
    let (buy, quote, login) = (first("/buy "), first("/quotes/"), first("POST /login"));
    let raise = |value: &mut Value, field: &str, by: i64| {
        value[field] = (value[field].as_i64().expect("a number") + by).into()
    };
    type Spoil<'a> = Box<dyn Fn(usize, &mut Value) + 'a>;
    let faults: [(Spoil<'_>, &str); 5] = [
        (
            Box::new(|at, value| {
                if at == buy {
                    raise(value, "fee", -1)
                }
            }),
            "buy: `fee` is `2494`, expected `2495`",
        ),
        (
            Box::new(|at, value| {
                if at == quote {
                    raise(value, "price", 1)
                }
            }),
            "quote: `price` is",
        ),
        (
            Box::new(|at, value| {
                if at == login {
                    raise(value, "logins", -1)
                }
            }),
            "session 1, action 1, login: `logins` is `0`, expected `1`",
        ),
        (
            Box::new(|at, value| {
                if at == quote {
                    value["company"] = "A &amp; B".into()
                }
            }),
            "quote: `company` is `A &amp; B`, expected",
        ),
        (
            Box::new(|at, value| {
                if at == quote {
                    value["companies"] = 1.into()
                }
            }),
            "has no field `companies`",
        ),
    ];
    for (fault, expected) in faults {
        let found = answer(&spec, 1, &*fault);
        assert!(
            found.failures.len() == 1 && found.failures[0].contains(expected),
            "{expected}: {:?}",
            found.failures
        );
        assert!(found.requests.len() < right.requests.len(), "the session is over");
    }
}

#[test]
fn where_prices_move_an_order_has_a_factor_and_replies_may_have_any_price() {
    let spec = TradeSpec { prices: Prices::Moving, ..spec(30, Grain::Fine) };
    let moved = |_: usize, value: &mut Value| {
        for field in ["price", "low", "high", "change", "volume", "balance"] {
            if let Some(value) = value.get_mut(field) {
                *value = (value.as_i64().expect("a number") + 77).into();
            }
        }
    };
    let answered = answer(&spec, 3, &moved);
    assert_eq!((answered.failures, answered.good), (Vec::<String>::new(), answered.requests.len()));
    let orders = answered.requests.iter().filter(|one| one.contains("/buy ") || one.contains("/sell "));
    let factors: Vec<bool> = orders.map(|one| one.contains("\"factor\":")).collect();
    assert!(factors.len() > 50 && factors.iter().all(|has| *has));
    assert_eq!(answered.requests.iter().filter(|one| one.contains("\"factor\":")).count(), factors.len());
    let wrong = answer(&spec, 1, &|_, value| {
        if value["kind"] == "buy" {
            value["fee"] = 2_494.into();
        }
    });
    assert!(wrong.failures[0].contains("buy: `fee` is `2494`, expected `2495`"), "{:?}", wrong.failures);
}

#[test]
fn of_sessions_of_one_user_each_sells_its_own_whatever_others_hold() {
    let spec = TradeSpec { sharing: 4, ..spec(40, Grain::Fine) };
    let answered = answer(&spec, 4, &|_, value| {
        for field in ["logins", "logouts", "balance"] {
            if let Some(value) = value.get_mut(field) {
                *value = 9.into();
            }
        }
    });
    assert_eq!((answered.failures, answered.good), (Vec::<String>::new(), answered.requests.len()));
    let wrong = answer(&spec, 1, &|_, value| {
        if value["kind"] == "sell" {
            value["price"] = 1.into();
        }
    });
    assert!(wrong.failures[0].contains("sell: `price` is `1`, expected `"), "{:?}", wrong.failures);
}

/// A reply that says *again*.
struct AgainReply {
    protocol: &'static str,
    status: u16,
    fields: &'static [Header<'static>],
    body: &'static str,
}

const AGAIN_REPLIES: [AgainReply; 3] = [
    AgainReply { protocol: "http1-json", status: 503, fields: &[], body: "{\"error\":\"in use\"}" },
    AgainReply {
        protocol: "grpc",
        status: 200,
        fields: &[
            Header { name: "content-type", value: b"application/grpc" },
            Header { name: "grpc-status", value: b"10" },
            Header { name: "grpc-message", value: b"in use" },
        ],
        body: "",
    },
    AgainReply {
        protocol: "soap",
        status: 500,
        fields: &[],
        body: "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><e:Fault>\
               <faultcode>e:Server</faultcode><faultstring>in use</faultstring><detail>\
               <t:TradeFault xmlns:t=\"urn:weighbridge:trade:1\"><code>again</code><text>in use</text></t:TradeFault>\
               </detail></e:Fault></e:Body></e:Envelope>",
    },
];

#[test]
fn what_is_answered_again_is_asked_five_times_and_then_given_up() {
    for AgainReply { protocol: name, status, fields, body } in AGAIN_REPLIES {
        let workload = bound(&spec(3, Grain::Fine), protocol(name));
        let mut sessions = workload.sessions();
        sessions.prepare(1);
        sessions.rewind(1);
        sessions.open(0);
        for attempt in 1..=5 {
            let check = sessions.check(0);
            check.head(&Head { status, fields });
            check.data(body.as_bytes());
            assert_eq!(check.done(), Outcome::Error(ErrorKind::Status), "{name}");
            let expected = (attempt < 5).then(|| TradeOperation::again(Grain::Fine));
            assert_eq!(check.asks_again(), expected, "{name}: {attempt}");
        }
        let counts = sessions.take_counts().expect("it counts");
        assert_eq!((counts.get(Count::Aborts), counts.get(Count::GivenUp)), (5, 1), "{name}");
        let failures = sessions.take_failures();
        let told: Vec<_> = failures.texts().iter().map(|one| String::from_utf8_lossy(&one.text)).collect();
        assert!(
            told.len() == 1
                && told[0].contains("answered *again* 5 times in a row")
                && told[0].contains("in use"),
            "{name}: {told:?}"
        );
        // Another fault is no such wish.
        sessions.open(0);
        let check = sessions.check(0);
        check.head(&Head { status: 404, fields: &[] });
        assert_eq!((check.done(), check.asks_again()), (Outcome::Error(ErrorKind::Status), None), "{name}");
    }
}

#[test]
fn without_a_restored_database_only_quotes_are_asked_for() {
    let spec = spec(3, Grain::Fine);
    let workload = bound(&spec, Protocol::HTTP1_JSON);
    let mut sessions = workload.sessions();
    sessions.prepare(1);
    sessions.rewind(9);
    for _ in 0..100 {
        let request = sessions.open(0);
        assert!(sessions.request(request).bytes().starts_with(b"GET /quotes/") && !sessions.has_ended());
        let status = check(sessions.check(0), b"{}");
        assert_ne!(status, Outcome::Ok);
        assert_eq!(sessions.next(0, &Reply { request, outcome: status }), Step::End);
    }
    workload.emptied(&Received::GOOD).expect("a good reply");
    sessions.rewind(9);
    let request = sessions.open(0);
    assert!(sessions.request(request).bytes().starts_with(b"POST /login"));
    sessions.rewind(9);
    let request = sessions.open(0);
    assert!(
        sessions.request(request).bytes().starts_with(b"GET /quotes/"),
        "each passage needs its own restore"
    );
}

/// The hashes by which replies are judged are those of the model's digests, which services agree with.
#[test]
fn the_hashes_of_a_passage_fold_to_the_models_digest() {
    let spec = spec(50, Grain::Coarse);
    let workload = bound(&spec, Protocol::HTTP1_JSON);
    let passage = passage(&workload);
    let mut digest = PassageDigest::default();
    for session in 0..passage.sessions() {
        let mut hash = SessionHash::default();
        passage.steps_of(session).for_each(|at| hash.add(passage.step(at).hash));
        digest += &hash;
    }
    let script = ScriptMaker::new(law(&spec)).script();
    assert_eq!(Brokerage::new(&script).play(&script.sessions, Grain::Coarse), Ok(digest));
}

#[test]
fn every_protocol_carries_every_call() {
    for grain in [Grain::Fine, Grain::Coarse] {
        let spec = spec(60, grain);
        let rest = bound(&spec, Protocol::HTTP1_JSON).passage();
        for name in ["http2-json", "grpc", "soap"] {
            let protocol = protocol(name);
            assert_eq!(bound(&spec, protocol).passage(), rest, "{name}");
        }
        let other = protocol("thrift-binary");
        let address = Address { authority: "h:1".into(), base: "/".into(), scheme: UrlScheme::default() };
        let error =
            Workload::new(&WorkloadSpec::Trade(spec), &LoadSpec::default(), other, &address, &|_| None);
        assert!(error.expect_err("thrift").to_string().contains("`trade` cannot be carried"));
    }
}

fn protocol(name: &str) -> Protocol {
    let text = format!("[workload]\nname='trade'\n[[variant]]\nservice='s'\nprotocol='{name}'");
    Experiment::parse("x", &text).expect(name).variants[0].protocol
}
