//! A transaction that another one is in the way of is answered *again*, and not tried again by the service.

mod support;

use std::sync::mpsc;
use std::thread;

use rusqlite::Connection;
use serde_json::json;

use support::client::{Client, PROTOCOLS};
use support::postgres::{Server, runtime};
use support::{Database, Service, data};

#[test]
fn a_busy_file_is_again() {
    let data = data();
    for protocol in PROTOCOLS {
        let database = Database::file();
        let Database::File(state) = &database else { panic!("a file") };
        let file = state.path().join("trade.db");
        let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
        let client = Client::new(&service, protocol);
        let other = Connection::open(file).expect("the database");
        other.execute_batch("BEGIN IMMEDIATE").expect("the lock for writing");
        let logout = || client.call("logout", json!({ "user": "000001" }));
        assert_eq!(logout(), Err(503));
        client.call("account", json!({ "user": "000001" })).expect("readers do not wait");
        other.execute_batch("ROLLBACK").expect("no lock");
        assert_eq!(logout().expect("an account")["logouts"], 1);
    }
}

#[test]
fn a_busy_request_is_tried_five_times_and_fails_its_action() {
    let Some(server) = Server::start() else { return };
    let (data, database, runtime) = (data(), Database::Postgres(server), runtime());
    let Database::Postgres(server) = &database else { panic!("a server") };
    let other = runtime.block_on(server.client());
    runtime.block_on(other.batch_execute("ALTER ROLE trade SET lock_timeout = '1ms'")).expect("set");
    let mut service = Service::direct(&database, data.path());
    // Readers do not wait.
    let locked = "BEGIN; LOCK TABLE account, profile IN EXCLUSIVE MODE";
    runtime.block_on(other.batch_execute(locked)).expect("the locks");
    // login, home, quote, buy, portfolio, sell, update, register, buy, home, buy, portfolio, logout
    let window = service.value("window 1 1 1 fine");
    for (operation, good, failed, retried) in [
        ("login", 0, 1, 4),
        ("account", 2, 0, 0),
        ("home", 2, 0, 0),
        ("holdings", 5, 0, 0),
        // One, and three holdings twice.
        ("quote", 7, 0, 0),
        ("portfolio", 2, 0, 0),
        ("buy", 0, 3, 12),
        // What was not bought is not sold, and not asked to be.
        ("sell", 0, 1, 0),
        ("sell-first", 0, 1, 0),
        ("update", 0, 1, 4),
        // Of the register, and the session's own.
        ("logout", 0, 2, 8),
        ("register", 0, 0, 0),
        ("switch-user", 0, 1, 4),
    ] {
        let told = &window["operations"][operation];
        let expected =
            json!({ "good": good, "failed": failed, "retried": retried, "times_ns": told["times_ns"] });
        assert_eq!(told, &expected, "{operation}");
    }
    let window = service.value("window 1 1 1 coarse");
    let switched = &window["operations"]["switch-user"];
    assert_eq!(switched, &json!({ "good": 0, "failed": 1, "retried": 4, "times_ns": [] }));
    runtime.block_on(other.batch_execute("ROLLBACK")).expect("no locks");
    service.answer("reset");
    let again = service.value("window 1 1 1 fine");
    assert_eq!(again["operations"]["switch-user"]["good"], 1, "{again}");
}

#[test]
fn a_deadlock_is_again() {
    let Some(server) = Server::start() else { return };
    let (data, database) = (data(), Database::Postgres(server));
    let Database::Postgres(server) = &database else { panic!("a server") };
    for protocol in PROTOCOLS {
        let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
        let client = Client::new(&service, protocol);
        let list = client.call("holdings", json!({ "user": "000001" })).expect("holdings");
        let holding = list["holdings"][0]["id"].as_i64().expect("an id");
        let (runtime, before) = (runtime(), client.dump());
        let other = runtime.block_on(server.client());
        // The other one has the holding and will want the account; it never gives up first.
        let locked = "SET deadlock_timeout = '1min'; BEGIN; SELECT * FROM holding WHERE id = ";
        runtime.block_on(other.batch_execute(&format!("{locked}{holding} FOR UPDATE"))).expect("the lock");
        let (told, answer) = mpsc::channel();
        thread::scope(|scope| {
            let client = &client;
            scope.spawn(move || {
                told.send(client.call("sell", json!({ "user": "000001", "holding": holding })))
            });
            // The service's transaction has the account and waits for the holding.
            server.wait_for_waiting();
            let wish = "UPDATE account SET logins = logins WHERE user_id = '000001'; COMMIT";
            runtime.block_on(other.batch_execute(wish)).expect("the account, once the service gives up");
        });
        assert_eq!(answer.recv().expect("an answer"), Err(503), "{protocol}");
        assert_eq!(client.dump(), before, "nothing has changed");
        client.call("sell", json!({ "user": "000001", "holding": holding })).expect("the next attempt");
    }
}

#[test]
fn calls_at_once_lose_nothing() {
    let data = data();
    for database in Database::all() {
        let service = Service::start(&database, data.path(), &[]);
        let (client, threads, times) = (Client::new(&service, "http1-json"), 8, 25);
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..times {
                        let order = json!({ "user": "000005", "symbol": "BR&D", "quantity": 1 });
                        client.call("buy", order).expect("an order");
                        client.call("logout", json!({ "user": "000005" })).expect("an account");
                    }
                });
            }
        });
        let account = client.call("account", json!({ "user": "000005" })).expect("an account");
        let orders = threads * times;
        assert_eq!(
            (&account["logouts"], &account["balance"]),
            (&json!(orders), &json!(600_000 - orders * (250 + 2495)))
        );
    }
}
