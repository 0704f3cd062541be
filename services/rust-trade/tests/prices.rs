//! Orders that move the price of their stock: what they change and what they refuse, and that orders at once lose nothing.

mod support;

use std::fs;
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use support::client::{Answer, Client, PROTOCOLS};
use support::postgres::{Server, runtime};
use support::{Database, Service, data};

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Price, open, low, high, change and volume.
fn quote(client: &Client, symbol: &str) -> [i64; 6] {
    let quote = client.call("quote", json!({ "symbol": symbol })).expect("a quote");
    ["price", "open", "low", "high", "change", "volume"].map(|field| int(&quote[field]))
}

/// An order of `000001`; the factor is left out where it is null.
fn order(client: &Client, call: &str, mut fields: Value, factor: Value) -> Answer {
    fields["user"] = json!("000001");
    if !factor.is_null() {
        fields["factor"] = factor;
    }
    client.call(call, fields)
}

#[test]
fn an_order_with_a_factor_moves_its_stock() {
    let data = data();
    // A stock of one cent, whose next price is the law's own.
    let stocks = fs::read_to_string(data.path().join("stocks.txt")).expect("stocks");
    fs::write(data.path().join("stocks.txt"), stocks.replace("\t0.55\t", "\t0.01\t")).expect("written");
    let mut ends = Vec::new();
    for database in Database::all() {
        for protocol in PROTOCOLS {
            println!("{} over {protocol}", database.name());
            let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
            let client = Client::new(&service, protocol);
            let fresh = client.dump();
            let first = ["A", "BR&D", "ÇE", "D"].map(|symbol| quote(&client, symbol));
            orders(&client);
            extremes(&client);
            let used = client.dump();
            assert_eq!(client.call("reset", json!({})), Ok(json!({})));
            assert_eq!(client.dump(), fresh, "a reset is a fresh population");
            assert_eq!(["A", "BR&D", "ÇE", "D"].map(|symbol| quote(&client, symbol)), first);
            orders(&client);
            extremes(&client);
            assert_eq!(client.dump(), used, "what is done again after a reset ends alike");
            ends.push(used);
        }
    }
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "all databases and transports end alike");
}

/// Each of the three calls is carried out at the price that it finds.
fn orders(client: &Client) {
    let balance =
        || int(&client.call("account", json!({ "user": "000001" })).expect("an account")["balance"]);
    let volume = quote(client, "A")[5];
    assert_eq!(quote(client, "A"), [1787, 1787, 1787, 1787, 0, volume]);

    let lot = json!({ "symbol": "A", "quantity": 10 });
    let bought = order(client, "buy", lot.clone(), json!(93)).expect("an order");
    assert_eq!(int(&bought["price"]), 1787);
    assert_eq!(balance(), 200_000 - 17_870 - 2495);
    assert_eq!(quote(client, "A"), [1662, 1787, 1662, 1787, -125, volume + 10]);
    let list = client.call("holdings", json!({ "user": "000001" })).expect("holdings");
    assert_eq!(int(&list["holdings"][3]["price"]), 1787);

    let holding = json!({ "holding": bought["holding"] });
    let sold = order(client, "sell", holding, json!(110)).expect("an order");
    assert_eq!((int(&sold["price"]), int(&sold["quantity"])), (1662, 10));
    assert_eq!(balance(), 200_000 - 17_870 - 2495 + 16_620 - 2495);
    assert_eq!(quote(client, "A"), [1828, 1787, 1662, 1828, 41, volume + 20]);

    let first = json!({ "symbol": "A", "quantity": 101 });
    let sold = order(client, "sell-first", first.clone(), json!(100)).expect("a reply");
    assert_eq!(int(&sold["order"]["price"]), 1828);
    assert_eq!(quote(client, "A"), [1828, 1787, 1662, 1828, 41, volume + 121]);

    // Without a factor nothing moves, and the volume does not either.
    let bought = order(client, "buy", lot, Value::Null).expect("an order");
    order(client, "sell", json!({ "holding": bought["holding"] }), Value::Null).expect("an order");
    order(client, "sell-first", first, Value::Null).expect("a reply");
    assert_eq!(quote(client, "A"), [1828, 1787, 1662, 1828, 41, volume + 121]);
    let bread = quote(client, "BR&D");
    assert_eq!(bread[..5], [250, 250, 250, 250, 0], "another stock");
}

/// Above 400 dollars a stock is split, and one of a cent is raised.
fn extremes(client: &Client) {
    let volume = quote(client, "ÇE")[5];
    let none = json!({ "symbol": "ÇE", "quantity": 0 });
    let prices =
        (0..16).map(|_| int(&order(client, "buy", none.clone(), json!(110)).expect("an order")["price"]));
    let expected = [
        10_000, 11_000, 12_100, 13_310, 14_641, 16_105, 17_716, 19_488, 21_437, 23_581, 25_939, 28_533,
        31_386, 34_525, 37_978, 41_776,
    ];
    assert_eq!(prices.collect::<Vec<_>>(), expected);
    assert_eq!(quote(client, "ÇE"), [20_888, 10_000, 10_000, 41_776, 10_888, volume]);
    let cent = json!({ "symbol": "D", "quantity": 3 });
    assert_eq!(int(&order(client, "buy", cent, json!(90)).expect("an order")["price"]), 1);
    assert_eq!(quote(client, "D"), [600, 1, 1, 600, 599, 53]);
}

#[test]
fn what_is_refused_moves_nothing() {
    let data = data();
    for database in Database::all() {
        for protocol in PROTOCOLS {
            println!("{} over {protocol}", database.name());
            let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
            let client = Client::new(&service, protocol);
            let fresh = client.dump();
            let list = client.call("holdings", json!({ "user": "000001" })).expect("holdings");
            let (holding, lot) = (&list["holdings"][0]["id"], json!({ "symbol": "A", "quantity": 101 }));
            for factor in [i64::MIN, -100, 0, 1, 89, 111, i64::MAX] {
                for (call, fields) in [
                    ("buy", lot.clone()),
                    ("sell", json!({ "holding": holding })),
                    ("sell-first", lot.clone()),
                    // The factor is looked at before what is not there.
                    ("sell", json!({ "holding": -1 })),
                    ("sell-first", json!({ "symbol": "A", "quantity": 7 })),
                ] {
                    assert_eq!(order(&client, call, fields, json!(factor)), Err(400), "{call} {factor}");
                }
            }
            for (call, fields, status) in [
                ("buy", json!({ "symbol": "NONE", "quantity": 1 }), 404),
                ("buy", json!({ "symbol": "A", "quantity": -1 }), 400),
                ("sell", json!({ "holding": -1 }), 404),
                ("sell-first", json!({ "symbol": "A", "quantity": 7 }), 404),
            ] {
                assert_eq!(order(&client, call, fields.clone(), json!(101)), Err(status), "{call} {fields}");
            }
            let nobody = json!({ "user": "nobody", "symbol": "A", "quantity": 1, "factor": 101 });
            assert_eq!(client.call("buy", nobody.clone()), Err(404));
            assert_eq!(client.call("sell-first", nobody), Err(404));
            assert_eq!(client.dump(), fresh);
        }
    }
}

#[test]
fn orders_at_once_on_one_stock_lose_nothing() {
    let (data, threads, times) = (data(), 8, 10);
    for database in Database::all() {
        for protocol in PROTOCOLS {
            println!("{} over {protocol}", database.name());
            let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
            let (client, found) = (Client::new(&service, protocol), Mutex::new(Vec::new()));
            let [first, .., volume] = quote(&client, "A");
            thread::scope(|scope| {
                for thread in 0..threads {
                    let (client, found) = (&client, &found);
                    // Two threads each have a user, so that they wait for accounts as well as for the stock.
                    let user = format!("{:06}", 10 + thread / 2);
                    scope.spawn(move || {
                        for quantity in 1..=times {
                            let lot =
                                json!({ "user": user, "symbol": "A", "quantity": quantity, "factor": 101 });
                            let bought = client.call("buy", lot).expect("an order");
                            let lot = json!({ "user": user, "holding": bought["holding"], "factor": 101 });
                            let sold = client.call("sell", lot).expect("an order");
                            let prices = [&bought, &sold].map(|order| int(&order["price"]));
                            found.lock().expect("a list").extend(prices);
                        }
                    });
                }
            });
            // Each order has found the price that the one before it has left.
            let orders = 2 * threads * times;
            let mut expected: Vec<i64> = vec![first];
            for order in 0..orders {
                expected.push((expected[order as usize] * 101 + 50) / 100);
            }
            let last = expected.pop().expect("a price");
            let mut found = found.into_inner().expect("a list");
            found.sort_unstable();
            assert_eq!(found, expected);
            let shares = 2 * threads * (1..=times).sum::<i64>();
            assert_eq!(quote(&client, "A"), [last, first, first, last, last - first, volume + shares]);
        }
    }
}

#[test]
fn an_order_with_a_factor_waits_for_its_stock_and_others_do_not() {
    let Some(server) = Server::start() else { return };
    let (data, database, runtime) = (data(), Database::Postgres(server), runtime());
    let Database::Postgres(server) = &database else { panic!("a server") };
    let service = Service::start(&database, data.path(), &[]);
    let client = Client::new(&service, "http1-json");
    let other = runtime.block_on(server.client());
    let run = |text: &str| runtime.block_on(other.batch_execute(text));
    let lot = json!({ "symbol": "A", "quantity": 1 });
    run("BEGIN; SELECT * FROM stock WHERE symbol = 'A' FOR UPDATE").expect("the lock");
    let bought = order(&client, "buy", lot.clone(), Value::Null).expect("an order that waits for nobody");
    order(&client, "sell", json!({ "holding": bought["holding"] }), Value::Null).expect("another");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| order(&client, "buy", lot, json!(110)).expect("an order"));
        server.wait_for_waiting();
        // Whoever waits for a stock has its account already.
        let account = "SELECT id FROM account WHERE user_id = '000001' FOR UPDATE NOWAIT";
        run(&format!("SAVEPOINT before; {account}")).expect_err("the account is locked");
        run("ROLLBACK TO before; UPDATE stock SET price = 3000 WHERE symbol = 'A'; COMMIT").expect("a price");
        let bought = waiting.join().expect("an answer");
        assert_eq!(int(&bought["price"]), 3000, "the price that the other one has left");
    });
    assert_eq!(quote(&client, "A")[..5], [3300, 1787, 1787, 3300, 1513]);
}
