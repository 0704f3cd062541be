//! The script played in the service's process: one digest and one end for all threads and databases, and the rules hold in it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use support::{Database, Service, data};

/// Accounts whose balance is not what its orders made of it.
const UNBALANCED: &str = "SELECT count(*) FROM account a WHERE a.balance <> a.open_balance + coalesce((SELECT \
    sum(CASE o.kind WHEN 'buy' THEN -(o.quantity * o.price + o.fee) ELSE o.quantity * o.price - o.fee END) \
    FROM orders o WHERE o.account = a.id), 0)";
const NOT_LOGGED_OUT: &str = "SELECT count(*) FROM account WHERE logins <> logouts";
const WITHOUT_A_PROFILE: &str =
    "SELECT count(*) FROM account a LEFT JOIN profile p ON p.user_id = a.user_id WHERE p.user_id IS NULL";

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

const GRAINS: [&str; 2] = ["fine", "coarse"];

/// What is told of a passage: requests, and of fine grain actions of several.
const COARSE: [&str; 9] =
    ["login", "logout", "quote", "buy", "update", "home", "portfolio", "sell-first", "switch-user"];
const REQUESTS: [&str; 9] =
    ["login", "logout", "account", "holdings", "quote", "buy", "sell", "update", "register"];
const ACTIONS: [&str; 4] = ["home", "portfolio", "sell-first", "switch-user"];

/// What a passage ends with.
#[derive(Debug, PartialEq)]
struct End {
    digest: String,
    good: BTreeMap<String, i64>,
    state: Value,
}

/// How many of each operation were good; none may have failed, and their times rise.
fn good(window: &Value, grain: &str) -> BTreeMap<String, i64> {
    let operations = window["operations"].as_object().expect("operations");
    let expected: Vec<_> =
        if grain == "fine" { [&REQUESTS[..], &ACTIONS[..]].concat() } else { COARSE.to_vec() };
    let expected: BTreeSet<_> = expected.into_iter().map(str::to_owned).collect();
    assert_eq!(operations.keys().cloned().collect::<BTreeSet<_>>(), expected, "{grain}");
    let good = operations.iter().map(|(name, told)| {
        assert_eq!(int(&told["failed"]), 0, "{name}: {told}");
        let times: Vec<_> = told["times_ns"].as_array().expect("times").iter().map(int).collect();
        assert!(times.is_sorted() && times.iter().all(|time| *time > 0), "{name}: {times:?}");
        assert_eq!(times.len() as i64, int(&told["good"]), "{name}");
        (name.clone(), int(&told["good"]))
    });
    good.collect()
}

/// Plays all sessions on so many threads from a restored database.
fn passage(service: &mut Service, database: &Database, sessions: usize, threads: usize, grain: &str) -> End {
    assert_eq!(service.answer("reset"), "{}");
    let fresh = service.value("state");
    let window = service.value(&format!("window {threads} {sessions} {threads} {grain}"));
    let state = service.value("state");
    assert_eq!(int(&window["id"]), threads as i64);
    assert!(int(&window["elapsed_ns"]) > 0 && int(&window["cpu_ns"]) > 0);
    let good = good(&window, grain);
    let of = |name: &str| good[name];
    let (buys, sells, registers) = (of("buy"), of("sell-first"), of("switch-user"));
    let sessions = sessions as i64;
    if grain == "fine" {
        assert_eq!(
            (of("account"), of("sell"), of("register"), of("logout")),
            (of("home"), sells, registers, sessions + registers)
        );
        assert_eq!(of("holdings"), of("home") + of("portfolio") + sells);
    } else {
        assert_eq!(of("logout"), sessions);
    }
    assert_eq!(of("login"), sessions);
    assert_eq!((int(&state["buys"]), int(&state["sells"])), (buys, sells));
    assert_eq!(int(&state["holdings"]), int(&fresh["holdings"]) + buys - sells);
    assert_eq!((int(&state["logins"]), int(&state["logouts"])), (sessions + registers, sessions + registers));
    for records in ["accounts", "profiles"] {
        assert_eq!(int(&state[records]), int(&fresh[records]) + registers, "{records}");
    }
    for query in [UNBALANCED, NOT_LOGGED_OUT, WITHOUT_A_PROFILE] {
        assert_eq!(database.number(query).unwrap_or(0), 0, "{}: {query}", database.name());
    }
    End { digest: window["digest"].as_str().expect("a digest").to_owned(), good, state }
}

/// The one end of all passages of fine and of coarse grain.
fn one_end(data: &Path, sessions: usize) -> [End; 2] {
    let mut ends = [Vec::new(), Vec::new()];
    for database in Database::all() {
        let mut service = Service::direct(&database, data);
        for (grain, ends) in GRAINS.into_iter().zip(&mut ends) {
            let passage = |threads| passage(&mut service, &database, sessions, threads, grain);
            ends.extend([1, 2, 16].map(passage));
        }
        let fresh = Service::direct(&Database::Memory, data).value("state");
        service.answer("reset");
        assert_eq!(service.value("state"), fresh, "a reset is a fresh population");
    }
    let ends = ends.map(|mut ends| {
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{ends:?}");
        ends.remove(0)
    });
    assert_eq!(ends[0].state, ends[1].state, "grains end alike");
    assert_ne!(ends[0].digest, ends[1].digest, "a coarse reply is several fine ones");
    ends
}

#[test]
fn threads_databases_and_grains_end_alike() {
    let data = data();
    let [fine, coarse] = one_end(data.path(), 20);
    assert_eq!((fine.digest.len(), coarse.digest.len()), (16, 16));
}

/// The number of sessions, their digests of fine and coarse grain, and the SHA-256 of the end.
const DACAPO: [(usize, [&str; 2], &str); 2] = [
    (
        32,
        ["5018ea576cf45983", "0c6a48abf48c80d5"],
        "12eb1dd79171085fd4049e73e2302309ea172d22d30261b9ab7992d8c765fd3a",
    ),
    (
        128,
        ["7ad2bda5a7bfaef7", "9be20ea3808df9d7"],
        "5c3c935e8116beb2024f377a0f141e75b2e3eb4b4188cdec7029c12b4b10ea6c",
    ),
];

#[test]
fn dacapo_s_script_is_carried_out() {
    for (sessions, digests, sha256) in DACAPO {
        let Some(data) = support::dacapo(sessions) else {
            support::skipped("DaCapo's script, since its files are not there");
            return;
        };
        let ends = one_end(data.path(), sessions);
        assert_eq!(ends.each_ref().map(|end| end.digest.as_str()), digests);
        assert_eq!(ends[0].state["sha256"].as_str(), Some(sha256));
    }
}

#[test]
fn lines_that_are_no_question_are_answered_with_an_error() {
    let data = data();
    let mut service = Service::direct(&Database::Memory, data.path());
    for line in [
        "",
        "frobnicate",
        "window",
        "window 1 1 1",
        "window 1 0 1 fine",
        "window 1 21 1 fine",
        "window 1 1 0 fine",
        "window 1 1 2000 fine",
        "window x 1 1 fine",
        "window 1 01 1 fine",
        "window 1 1 1 medium",
        "window 1 1 1 fine coarse",
        "state now",
    ] {
        let answer = service.answer(line);
        assert!(answer.starts_with("error ") && answer.len() > 10, "{line}: {answer}");
    }
    assert_eq!(int(&service.value("window 7 1 1 coarse")["id"]), 7);
    assert_eq!(service.stop(), Some(0));
}
