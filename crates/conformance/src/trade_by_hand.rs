//! Rows B7 to B9: a brokerage of a few stocks and users whose figures are worked out by hand, with texts that are hard to carry.

use serde_json::{Value, json};
use weighbridge_model::experiment::TradeOperation as Op;
use weighbridge_workload::trade::{Cents, TradeFault, moved};

use super::harness::Harness;
use super::outcome::{Shortfall, Verdict, differs};
use super::trade_calls::{AskedBrokerage, over, spoken, start};
use super::trade_model::{folder_of, profile};

const STOCKS: &str = "A\tAgile <Tech> & \"Söhne\"\t17.87\t6.13B\nBR&D\tBread & Butter, O'Neil\t2.50\t372.94M\n\
    ÇE\tÇelik 漢字\t100.00\t1.00B\nD\tD'Arcy\t0.55\t500\n";
const USERS: &str = "000001\t2000\t1-2-3\tü@x.org\tpw<1>&'\tfirst: Ü last: O'Neil & <Co>\t1 Rue, É\tA 101, BR&D 7, A 101\n\
    o'&<ü> 漢字\t3000\t1-2-4\tx@y.org\t漢'&<字>\tfirst: A last: B\t2 Rue\tD 5\n000003\t4000\t1-2-5\tx@z.org\tpw\tx\ty\t\n";
const SCRIPT: &str = "000001\tpw<1>&'\th\n";

const USER: &str = "000001";
const HARD_USER: &str = "o'&<ü> 漢字";
const HARD_PASSWORD: &str = "漢'&<字>";
/// Of each order, in cents.
const FEE: i64 = 2_495;

fn over_each(harness: &mut Harness, row: impl Fn(&AskedBrokerage) -> Verdict) -> Verdict {
    for protocol in spoken(harness) {
        let limits = harness.limits();
        let service = harness.with_data("by hand", protocol, |harness| {
            let files = [("stocks.txt", STOCKS), ("users.txt", USERS), ("workload.txt", SCRIPT)];
            let folder = folder_of(files.map(|(name, text)| (name, text.as_bytes())))?;
            start(harness, protocol, folder.path())
        })?;
        let asked = AskedBrokerage::new(protocol, service.address(), limits)?;
        asked.reset().and_then(|()| row(&asked)).map_err(|shortfall| over(protocol, shortfall))?;
    }
    Ok(())
}

pub(super) fn texts(harness: &mut Harness) -> Verdict {
    over_each(harness, |asked| {
        for (symbol, company, price, volume) in [
            ("A", "Agile <Tech> & \"Söhne\"", 1_787, 343_033),
            ("BR&D", "Bread & Butter, O'Neil", 250, 149_176),
            ("ÇE", "Çelik 漢字", 10_000, 10_000),
            ("D", "D'Arcy", 55, 0),
        ] {
            let quote = json!({ "symbol": symbol, "company": company, "price": price, "open": price,
                "low": price, "high": price, "change": 0, "volume": volume });
            asked.answers(Op::Quote, &json!({ "symbol": symbol }), &quote)?;
        }
        let right = json!({ "user": HARD_USER, "password": HARD_PASSWORD });
        asked.answers(Op::Login, &right, &json!({ "user": HARD_USER, "logins": 1 }))?;
        asked.answers(
            Op::Account,
            &json!({ "user": HARD_USER }),
            &json!({ "user": HARD_USER, "logins": 1 }),
        )?;
        updated(asked, HARD_USER, HARD_PASSWORD)?;
        registered(asked)
    })
}

/// All five fields are replaced; of the password that shows at the next login.
fn updated(asked: &AskedBrokerage, user: &str, before: &str) -> Verdict {
    let fields = json!({ "user": user, "full_name": "<f> & 'O\"Neil'", "address": "漢字 🚲; ]]> %41 +",
        "email": "é@x.org?a=1&amp;b=2", "card": "  1 < 2  3", "password": "&lt;'\"]]>ü" });
    let mut profile = fields.clone();
    profile.as_object_mut().expect("fields").remove("password");
    asked.answers(Op::Update, &fields, &profile)?;
    asked.refuses(Op::Login, &json!({ "user": user, "password": before }), TradeFault::Denied)?;
    let login = json!({ "user": user, "password": fields["password"] });
    asked.answers(Op::Login, &login, &json!({ "user": user })).map(drop)
}

/// A newcomer's name is in the paths of HTTP too.
fn registered(asked: &AskedBrokerage) -> Verdict {
    let name = "né & <b> 'q' 🚲 100% ?#+;=";
    let mut fields = profile(name);
    fields["balance"] = 12_345.into();
    let account =
        json!({ "user": name, "balance": 12_345, "open_balance": 12_345, "logins": 1, "logouts": 0 });
    asked.answers(Op::Register, &fields, &account)?;
    updated(asked, name, "p")?;
    let left = json!({ "user": name, "logins": 2, "logouts": 1 });
    asked.answers(Op::Logout, &json!({ "user": name }), &left).map(drop)
}

/// The lots of a user's holdings; their ids must rise.
fn lots(asked: &AskedBrokerage, user: &str) -> Result<Vec<Value>, Shortfall> {
    let held = asked.reply(Op::Holdings, &json!({ "user": user }))?;
    let held = held["holdings"].as_array().cloned().unwrap_or_default();
    let ids: Vec<_> = held.iter().map(|one| one["id"].as_i64()).collect();
    if !ids.is_sorted_by(|one, next| one < next) {
        return Err(differs(format_args!("holdings of {user}"), "ids that rise", format_args!("{ids:?}")));
    }
    Ok(held.iter().map(|one| json!([one["symbol"], one["quantity"], one["price"]])).collect())
}

fn has_lots(asked: &AskedBrokerage, expected: &[Value]) -> Verdict {
    let came = lots(asked, USER)?;
    if came == expected {
        return Ok(());
    }
    let list = |lots: &[Value]| format!("`{}`", Value::from(lots.to_vec()));
    Err(differs(
        format_args!("symbol, quantity, price of the holdings of {USER}"),
        list(expected),
        list(&came),
    ))
}

fn has_balance(asked: &AskedBrokerage, expected: i64) -> Verdict {
    asked.answers(Op::Account, &json!({ "user": USER }), &json!({ "balance": expected })).map(drop)
}

pub(super) fn orders(harness: &mut Harness) -> Verdict {
    over_each(harness, |asked| {
        let at_first = [json!(["A", 101, 1_787]), json!(["BR&D", 7, 250]), json!(["A", 101, 1_787])];
        has_lots(asked, &at_first)?;
        let order = |kind: &str| json!({ "kind": kind, "status": "closed", "symbol": "BR&D", "quantity": 11, "price": 250, "fee": FEE });
        let lot = json!({ "user": USER, "symbol": "BR&D", "quantity": 11 });
        let bought = asked.answers(Op::Buy, &lot, &order("buy"))?;
        has_balance(asked, 200_000 - 11 * 250 - FEE)?;
        has_lots(asked, &[&at_first[..], &[json!(["BR&D", 11, 250])]].concat())?;
        let sale = |user: &str| json!({ "user": user, "holding": bought["holding"] });
        asked.refuses(Op::Sell, &sale("000003"), TradeFault::Missing)?;
        let sold = asked.answers(Op::Sell, &sale(USER), &order("sell"))?;
        if sold["holding"] != bought["holding"] {
            return Err(differs("`holding` of the sale", &bought["holding"], &sold["holding"]));
        }
        has_balance(asked, 200_000 - 2 * FEE)?;
        asked.refuses(Op::Sell, &sale(USER), TradeFault::Missing)?;
        has_balance(asked, 200_000 - 2 * FEE)?;
        has_lots(asked, &at_first)?;
        sold_first(asked)?;
        asked.reset()?;
        prices_move(asked)?;
        prices_are_halved(asked)
    })
}

/// Orders with a factor are carried out at the price they find, and move it.
fn prices_move(asked: &AskedBrokerage) -> Verdict {
    let order = |factor: i64| json!({ "user": USER, "symbol": "A", "quantity": 3, "factor": factor });
    let quote = |price: i64, low: i64, high: i64, volume: i64| {
        let right = json!({ "symbol": "A", "price": price, "open": 1_787, "low": low, "high": high,
            "change": price - 1_787, "volume": volume });
        asked.answers(Op::Quote, &json!({ "symbol": "A" }), &right).map(drop)
    };
    asked.answers(Op::Buy, &order(93), &json!({ "price": 1_787 }))?;
    quote(1_662, 1_662, 1_787, 343_036)?;
    let bought = asked.answers(Op::Buy, &order(110), &json!({ "price": 1_662 }))?;
    quote(1_828, 1_662, 1_828, 343_039)?;
    let sale = json!({ "user": USER, "holding": bought["holding"], "factor": 100 });
    asked.answers(Op::Sell, &sale, &json!({ "price": 1_828 }))?;
    quote(1_828, 1_662, 1_828, 343_042)?;
    let first = json!({ "user": USER, "symbol": "A", "quantity": 101, "factor": 90 });
    let sold = asked.reply(Op::SellFirst, &first)?;
    if sold["order"]["price"] != 1_828 {
        return Err(differs("`price` of a sale", "`1828`", format_args!("`{}`", sold["order"]["price"])));
    }
    let last = || quote(1_645, 1_645, 1_828, 343_143);
    last()?;
    // Without a factor nothing moves, and so it is after a refusal.
    let plain = json!({ "user": USER, "symbol": "A", "quantity": 3 });
    asked.answers(Op::Buy, &plain, &json!({ "price": 1_645 }))?;
    last()?;
    for factor in [89, 111, 0, -100, i64::MAX] {
        asked.refuses(Op::Buy, &order(factor), TradeFault::Wrong)?;
    }
    last()?;
    asked.reset()?;
    quote(1_787, 1_787, 1_787, 343_033)
}

/// A price that rises above 400 dollars.
fn prices_are_halved(asked: &AskedBrokerage) -> Verdict {
    const FACTOR: u32 = 110;
    let order = json!({ "user": USER, "symbol": "ÇE", "quantity": 0, "factor": FACTOR });
    let mut price = Cents::new(10_000);
    // It is above after 15.
    for _ in 0..17 {
        asked.answers(Op::Buy, &order, &json!({ "price": price.get() }))?;
        price = moved(price, FACTOR);
    }
    asked.answers(Op::Quote, &json!({ "symbol": "ÇE" }), &json!({ "price": price.get() })).map(drop)
}

/// Two holdings of one lot: the older one goes first.
fn sold_first(asked: &AskedBrokerage) -> Verdict {
    let lot = json!({ "user": USER, "symbol": "A", "quantity": 101 });
    for holdings in [3, 2] {
        let reply = asked.reply(Op::SellFirst, &lot)?;
        let held = reply["holdings"].as_array().cloned().unwrap_or_default();
        let first = held.iter().find(|one| one["symbol"] == "A").map_or(Value::Null, |one| one["id"].clone());
        if held.len() != holdings || first != reply["order"]["holding"] {
            let what = format_args!("sell first of 101 A, with {holdings} holdings before");
            return Err(differs(
                what,
                "these holdings, and the order of the first",
                format_args!("`{reply}`"),
            ));
        }
    }
    asked.refuses(Op::SellFirst, &lot, TradeFault::Missing)?;
    has_lots(asked, &[json!(["BR&D", 7, 250])])?;
    has_balance(asked, 200_000 + 2 * 101 * 1_787 - 4 * FEE)
}

pub(super) fn quantities(harness: &mut Harness) -> Verdict {
    over_each(harness, |asked| {
        let lot = |quantity: i64| json!({ "user": USER, "symbol": "ÇE", "quantity": quantity });
        let before = asked.state()?;
        for quantity in [-1, 1_000_000_001, i64::MAX, i64::MIN] {
            asked.refuses(Op::Buy, &lot(quantity), TradeFault::Wrong)?;
        }
        asked.has("after orders that were refused", &before)?;
        asked.answers(Op::Buy, &lot(0), &json!({ "quantity": 0, "price": 10_000, "fee": FEE }))?;
        has_balance(asked, 200_000 - FEE)?;
        let most = 1_000_000_000;
        let bought = asked.answers(Op::Buy, &lot(most), &json!({ "quantity": most }))?;
        has_balance(asked, 200_000 - 2 * FEE - most * 10_000)?;
        let sale = json!({ "user": USER, "holding": bought["holding"] });
        asked.answers(Op::Sell, &sale, &json!({ "quantity": most, "price": 10_000, "fee": FEE }))?;
        has_balance(asked, 200_000 - 3 * FEE)
    })
}
