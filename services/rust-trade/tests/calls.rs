//! Every call over each transport on each database, and what is refused.

mod support;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use support::client::{Answer, Client, PROTOCOLS};
use support::{Database, Service, data, soap};

const FEE: i64 = 2495;

/// The fields of a registration.
fn registration(user: &str) -> Value {
    json!({ "user": user, "password": "s<3>", "full_name": "first: Zoë last: O'Neil", "address": "1 & 2",
        "email": "z@x.org", "card": "9-9", "balance": 123_456 })
}

fn int(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn balance(client: &Client, user: &str) -> i64 {
    int(&client.call("account", json!({ "user": user })).expect("an account")["balance"])
}

fn holdings(client: &Client, user: &str) -> Vec<Value> {
    let list = client.call("holdings", json!({ "user": user })).expect("holdings");
    list["holdings"].as_array().expect("a list").clone()
}

fn buy(client: &Client, user: &str, symbol: &str, quantity: i64) -> Answer {
    client.call("buy", json!({ "user": user, "symbol": symbol, "quantity": quantity }))
}

#[test]
fn every_call_over_each_transport_on_each_database() {
    let data = data();
    let mut ends = Vec::new();
    for database in Database::all() {
        for protocol in PROTOCOLS {
            println!("{} over {protocol}", database.name());
            let service = Service::start(&database, data.path(), &[("PROTOCOL", protocol)]);
            let client = Client::new(&service, protocol);
            let (fresh, state) = (client.dump(), client.call("state", json!({})).expect("sums"));
            assert_eq!(state["sha256"], hex(&fresh), "of the dump");
            assert_eq!((int(&state["accounts"]), int(&state["stocks"]), int(&state["buys"])), (30, 4, 0));
            fine(&client);
            coarse(&client);
            let used = client.dump();
            assert_ne!(used, fresh);
            assert_eq!(client.call("reset", json!({})), Ok(json!({})));
            assert_eq!(client.dump(), fresh, "a reset is a fresh population");
            fine(&client);
            coarse(&client);
            assert_eq!(client.dump(), used, "what is done again after a reset ends alike");
            ends.push((fresh, used));
            assert_eq!(service.stop(), Some(0));
        }
    }
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "all databases and transports end alike");
}

fn fine(client: &Client) {
    let quote = client.call("quote", json!({ "symbol": "BR&D" })).expect("a quote");
    let expected = json!({ "symbol": "BR&D", "company": "Bread & Butter", "price": 250, "open": 250, "low": 250,
        "high": 250, "change": 0, "volume": 37_294_000_000_i64 / 250 / 1000 });
    assert_eq!(quote, expected);
    assert_eq!(client.call("quote", json!({ "symbol": "ÇE" })).expect("a quote")["company"], "Çelik 漢字");
    assert_eq!(client.call("quote", json!({ "symbol": "NONE" })), Err(404));
    assert_eq!(client.call("quote", json!({ "symbol": "" })), Err(404));

    assert_eq!(login(client, "000001", "pw"), Err(401));
    assert_eq!(login(client, "nobody", "pw"), Err(404));
    assert_eq!(
        client.call("account", json!({ "user": "000001" })).expect("an account")["last_login"],
        Value::Null
    );
    let account = login(client, "000001", "pw<1>").expect("an account");
    assert_eq!((int(&account["logins"]), int(&account["logouts"])), (1, 0));
    assert_eq!((int(&account["balance"]), int(&account["open_balance"])), (200_000, 200_000));
    assert!(
        int(&account["last_login"]) >= int(&account["created"])
            && int(&account["created"]) > 1_500_000_000_000
    );
    assert_eq!(client.call("account", json!({ "user": "000001" })), Ok(account));
    orders(client);
    profiles(client);
}

fn login(client: &Client, user: &str, password: &str) -> Answer {
    client.call("login", json!({ "user": user, "password": password }))
}

fn orders(client: &Client) {
    let before = holdings(client, "000001");
    let lots: Vec<_> = before
        .iter()
        .map(|lot| (lot["symbol"].as_str().expect("text"), int(&lot["quantity"]), int(&lot["price"])))
        .collect();
    assert_eq!(lots, [("A", 101, 1787), ("BR&D", 7, 250), ("A", 101, 1787)]);
    assert!(before.windows(2).all(|pair| int(&pair[0]["id"]) < int(&pair[1]["id"])), "by id");
    assert_eq!(holdings(client, "000002"), Vec::<Value>::new());

    let order = buy(client, "000001", "BR&D", 11).expect("an order");
    assert_eq!(
        (&order["kind"], &order["status"], int(&order["price"]), int(&order["fee"])),
        (&json!("buy"), &json!("closed"), 250, FEE)
    );
    assert_eq!(balance(client, "000001"), 200_000 - 11 * 250 - FEE);
    let after = holdings(client, "000001");
    assert_eq!(after.last().expect("a holding")["id"], order["holding"]);
    let sell = |user: &str, holding: &Value| client.call("sell", json!({ "user": user, "holding": holding }));
    assert_eq!(sell("000003", &order["holding"]), Err(404), "another's");
    let sold = sell("000001", &order["holding"]).expect("an order");
    assert_eq!(
        (&sold["kind"], &sold["symbol"], &sold["holding"]),
        (&json!("sell"), &json!("BR&D"), &order["holding"])
    );
    assert_eq!(sell("000001", &order["holding"]), Err(404), "sold twice");
    assert_eq!(balance(client, "000001"), 200_000 - 2 * FEE);
    assert_eq!(holdings(client, "000001"), before);

    // Both are carried out, as DaCapo's script needs it.
    buy(client, "000001", "A", 1_000_000).expect("an overdraft");
    assert_eq!(balance(client, "000001"), 200_000 - 2 * FEE - 1_787_000_000 - FEE);
    assert_eq!(int(&buy(client, "000001", "A", 0).expect("an order of no shares")["quantity"]), 0);
    assert_eq!(buy(client, "000001", "A", -1), Err(400));
    assert_eq!(buy(client, "000001", "A", 1_000_000_001), Err(400));
    assert_eq!(buy(client, "000001", "NONE", 1), Err(404));
    assert_eq!(buy(client, "nobody", "A", 1), Err(404));
    assert_eq!(sell("nobody", &json!(1)), Err(404));
}

fn profiles(client: &Client) {
    let fields = json!({ "user": "000001", "password": "new", "full_name": "<f>", "address": "&a", "email": "e", "card": "c" });
    let profile = client.call("update", fields.clone()).expect("a profile");
    assert_eq!(
        profile,
        json!({ "user": "000001", "full_name": "<f>", "address": "&a", "email": "e", "card": "c" })
    );
    assert_eq!(login(client, "000001", "pw<1>"), Err(401));
    login(client, "000001", "new").expect("the new password");
    let mut nobody = fields;
    nobody["user"] = json!("nobody");
    assert_eq!(client.call("update", nobody), Err(404));

    let account = client.call("register", registration("000200")).expect("an account");
    assert_eq!(
        (int(&account["logins"]), int(&account["logouts"]), int(&account["balance"])),
        (1, 0, 123_456)
    );
    assert_eq!(client.call("register", registration("000200")), Err(409));
    assert_eq!(client.call("register", registration("000001")), Err(409));
    let account = client.call("logout", json!({ "user": "000200" })).expect("an account");
    assert_eq!((int(&account["logins"]), int(&account["logouts"])), (1, 1));
    for call in ["logout", "account", "holdings", "home", "portfolio"] {
        assert_eq!(client.call(call, json!({ "user": "nobody" })), Err(404), "{call}");
    }
}

fn coarse(client: &Client) {
    let user = json!({ "user": "000003" });
    let home = client.call("home", user.clone()).expect("a reply");
    assert_eq!(home["account"], client.call("account", user.clone()).expect("an account"));
    assert_eq!(home["holdings"], json!(holdings(client, "000003")));
    let portfolio = client.call("portfolio", user.clone()).expect("a reply");
    assert_eq!(portfolio["holdings"], home["holdings"]);
    let symbols: Vec<_> =
        portfolio["quotes"].as_array().expect("a list").iter().map(|quote| &quote["symbol"]).collect();
    assert_eq!(symbols, ["A", "BR&D", "A"]);
    let first = json!({ "user": "000003", "symbol": "A", "quantity": 103 });
    let sold = client.call("sell-first", first.clone()).expect("a reply");
    assert_eq!(sold["holdings"], home["holdings"], "as they were");
    assert_eq!(sold["order"]["holding"], home["holdings"][0]["id"], "the first");
    client.call("sell-first", first.clone()).expect("the second");
    assert_eq!(client.call("sell-first", first), Err(404));
    let switch = json!({ "user": "000003", "register": registration("000201") });
    let switched = client.call("switch-user", switch.clone()).expect("a reply");
    assert_eq!((&switched["account"]["user"], int(&switched["account"]["logouts"])), (&json!("000003"), 1));
    assert_eq!(
        (&switched["registered"]["user"], int(&switched["registered"]["logins"])),
        (&json!("000201"), 1)
    );
    assert_eq!(client.call("switch-user", switch), Err(409));
    let account = client.call("account", user).expect("an account");
    assert_eq!(int(&account["logouts"]), 1, "what is refused has logged nobody out");
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn requests_that_cannot_be_read_are_refused_and_change_nothing() {
    let data = data();
    for protocol in ["http1-json", "http2-json"] {
        let service = Service::start(&Database::Memory, data.path(), &[("PROTOCOL", protocol)]);
        let client = Client::new(&service, protocol);
        let fresh = client.dump();
        let status = |method: &str, path: &str, body: Option<&str>| {
            let reply = client.send(method, path, body);
            let status = reply.status().as_u16();
            assert_eq!(reply.headers()["content-type"], "application/json", "{path}");
            let value: Value = reply.json().expect("JSON");
            assert!(value["error"].as_str().is_some_and(|text| !text.is_empty()), "{path}: {value}");
            status
        };
        for body in [
            "",
            "{",
            "[]",
            "{\"symbol\":\"A\"}",
            "{\"symbol\":\"A\",\"quantity\":\"1\"}",
            "{\"symbol\":1,\"quantity\":1}",
            "{\"symbol\":\"A\",\"quantity\":1.5}",
            "{\"symbol\":\"A\",\"quantity\":9223372036854775808}",
            "{\"symbol\":\"A\",\"quantity\":1,\"factor\":\"100\"}",
            "{\"symbol\":\"A\",\"quantity\":1,\"factor\":99.5}",
        ] {
            assert_eq!(status("POST", "/users/000001/buy", Some(body)), 400, "{body}");
        }
        assert_eq!(status("POST", "/login", Some("{\"user\":\"000001\"}")), 400);
        assert_eq!(status("PUT", "/users/000001/profile", Some("{\"card\":\"1\"}")), 400);
        assert_eq!(status("GET", "/quotes/%zz", None), 400);
        for path in ["/", "/quotes", "/users/000001", "/users/000001/account/", "/login/x", "/control"] {
            assert_eq!(status("GET", path, None), 404, "{path}");
        }
        assert_eq!(status("GET", "/login", None), 405);
        assert_eq!(status("DELETE", "/users/000001/account", None), 405);
        assert_eq!(client.send("HEAD", "/quotes/A", None).status().as_u16(), 200);
        assert_eq!(client.dump(), fresh);
        let none = Some("{\"symbol\":\"A\",\"quantity\":1,\"factor\":null}");
        assert_eq!(client.send("POST", "/users/000001/buy", none).status().as_u16(), 200, "no factor");
        assert_eq!(client.call("quote", json!({ "symbol": "A" })).expect("a quote")["change"], 0);
    }
}

#[test]
fn envelopes_that_cannot_be_read_are_faults_and_change_nothing() {
    let data = data();
    let service = Service::start(&Database::Memory, data.path(), &[("PROTOCOL", "soap")]);
    let client = Client::new(&service, "soap");
    let Client::Soap { client: http, base } = &client else { panic!("SOAP") };
    let fresh = client.dump();
    let (operation, whole) =
        soap::envelope("buy", &json!({ "user": "000001", "symbol": "A", "quantity": 1 }));
    let action = |operation: &str| format!("\"urn:weighbridge:trade:1/{operation}\"");
    let ask = |action: &str, body: String| {
        let request = http.post(format!("{base}/trade")).header("SOAPAction", action);
        let reply = request.header("Content-Type", "text/xml").body(body).send().expect("a reply");
        (reply.status().as_u16(), reply.text().expect("text"))
    };
    for (action, body) in [
        (action(operation), whole[..whole.len() / 2].to_owned()),
        (action(operation), String::new()),
        (action(operation), whole.replace("<quantity>1<", "<quantity>one<")),
        (action(operation), whole.replace("<quantity>1</quantity>", "")),
        (action(operation), whole.replace("<user>", "<factor/><user>")),
        (action(operation), whole.replace("<user>", "<factor>99.5</factor><user>")),
        (action("nothing"), whole.replace(":buy", ":nothing")),
        (action("sell"), whole.clone()),
        (String::new(), whole.clone()),
    ] {
        let (status, text) = ask(&action, body);
        assert_eq!(status, 500, "{text}");
        assert!(text.contains("<code>wrong</code>") && text.contains("faultcode>soap:Client<"), "{text}");
    }
    assert_eq!(client.dump(), fresh);
    let (status, text) = ask(&action(operation), whole);
    assert!(status == 200 && text.contains("buyResponse"), "{text}");
    let interface = client.send("GET", "/trade?wsdl", None).text().expect("text");
    assert!(
        interface.contains(&format!("{base}/trade")) && interface.contains("</definitions>"),
        "{interface}"
    );
}
