//! Rows B1 to B10: the workload `trade`, over each protocol for which a service offers it.
//!
//! What is right comes from the workload's model of a brokerage, and passages travel as under load.

use std::fs;
use std::path::Path;

use serde_json::json;
use weighbridge_model::experiment::{Grain, TradeOperation as Op};
use weighbridge_workload::trade::TradeFault;

use super::harness::Harness;
use super::outcome::{Shortfall, Verdict, differs};
use super::running::Patience;
use super::trade_calls::{AskedBrokerage, over, spoken, start};
use super::trade_model::{Model, folder_of, profile, registration, script_folder};
use super::{Needs, Test, row, trade_by_hand, trade_direct};

pub(super) const ROWS: &[Test] = &[
    row("B1", "the database holds what the files in `DATA` say").tried(Needs::Brokerage, population),
    row("B2", "a missing file and a damaged line of `DATA` are refused, and named")
        .tried(Needs::Brokerage, damaged_files),
    row("B3", "each reply of a script in single calls, and the end of it, is the model's")
        .tried(Needs::Brokerage, |harness| passages(harness, Grain::Fine)),
    row("B4", "each reply of a script in coarse calls, and the end of it, is the model's")
        .tried(Needs::Brokerage, |harness| passages(harness, Grain::Coarse)),
    row("B5", "a reset makes the database what it was at first").tried(Needs::Brokerage, reset),
    row("B6", "a call that cannot be carried out is answered with its fault, and changes nothing")
        .tried(Needs::Brokerage, |harness| over_each(harness, faults)),
    row("B7", "texts come back as they were, whatever they hold, and what is updated stays")
        .tried(Needs::Brokerage, trade_by_hand::texts),
    row("B8", "an order has its price and fee, and moves the price by its factor alone; a holding has its owner, and is sold once")
        .tried(Needs::Brokerage, trade_by_hand::orders),
    row("B9", "orders of 0 and of 1,000,000,000 shares and overdrafts pass, others are refused")
        .tried(Needs::Brokerage, trade_by_hand::quantities),
    row("B10", "in process: windows, `reset` and `state` are answered, other lines with `error <text>`")
        .tried(Needs::Brokerage, trade_direct::lines),
];

/// Tries the service with the small script over each protocol.
fn over_each(harness: &mut Harness, mut row: impl FnMut(&AskedBrokerage) -> Verdict) -> Verdict {
    for protocol in spoken(harness) {
        let limits = harness.limits();
        let service = harness.with_data("script", protocol, |harness| {
            // The files are read before the service is ready.
            let folder = script_folder()?;
            start(harness, protocol, folder.path())
        })?;
        let asked = AskedBrokerage::new(protocol, service.address(), limits)?;
        row(&asked).map_err(|shortfall| over(protocol, shortfall))?;
    }
    Ok(())
}

fn population(harness: &mut Harness) -> Verdict {
    let opening = Model::of(Grain::Fine).opening;
    over_each(harness, |asked| {
        asked.reset()?;
        asked.has("at first", &opening)
    })?;
    trade_direct::population(harness, &opening)
}

/// One passage after the other, each from a restored database.
fn passages(harness: &mut Harness, grain: Grain) -> Verdict {
    let model = Model::of(grain);
    over_each(harness, |asked| {
        [1, 16].into_iter().try_for_each(|connections| asked.passage(&model, connections))
    })?;
    trade_direct::passages(harness, &model)
}

fn reset(harness: &mut Harness) -> Verdict {
    let opening = Model::of(Grain::Fine).opening;
    over_each(harness, |asked| {
        asked.reset()?;
        let user = json!({ "user": "000000" });
        let held = asked.reply(Op::Holdings, &user)?;
        let first = &held["holdings"][0];
        asked.reply(Op::Sell, &json!({ "user": "000000", "holding": first["id"] }))?;
        let lot = json!({ "user": "000001", "symbol": first["symbol"], "quantity": 3 });
        asked.reply(Op::Buy, &lot)?;
        asked.reply(Op::Update, &profile("000002"))?;
        asked.reply(Op::Register, &registration("newcomer"))?;
        asked.reply(Op::Logout, &user)?;
        if asked.state()? == opening {
            return Err(differs("state", "another one after a sell, a buy and a register", "that of before"));
        }
        asked.reset()?;
        asked.has("after a reset", &opening)
    })
}

/// Every fault but *again* and *broken*, which nobody can bring about from outside.
fn faults(asked: &AskedBrokerage) -> Verdict {
    asked.reset()?;
    let before = asked.state()?;
    let of = |user: &str| json!({ "user": user });
    let lot = |user: &str, symbol: &str| json!({ "user": user, "symbol": symbol, "quantity": 1 });
    for operation in [Op::Logout, Op::Account, Op::Holdings, Op::Home, Op::Portfolio] {
        asked.refuses(operation, &of("nobody"), TradeFault::Missing)?;
    }
    let held = asked.reply(Op::Holdings, &of("000000"))?;
    let (symbol, anothers) = (held["holdings"][0]["symbol"].clone(), held["holdings"][0]["id"].clone());
    let symbol = symbol.as_str().unwrap_or_default();
    let switch = |from: &str, to: &str| json!({ "user": from, "register": registration(to) });
    for (operation, arguments, fault) in [
        (Op::Login, json!({ "user": "000000", "password": "wrong" }), TradeFault::Denied),
        (Op::Login, json!({ "user": "nobody", "password": "wrong" }), TradeFault::Missing),
        (Op::Quote, json!({ "symbol": "nothing" }), TradeFault::Missing),
        (Op::Buy, lot("nobody", symbol), TradeFault::Missing),
        (Op::Buy, lot("000000", "nothing"), TradeFault::Missing),
        (Op::Sell, json!({ "user": "nobody", "holding": anothers }), TradeFault::Missing),
        (Op::Sell, json!({ "user": "000001", "holding": anothers }), TradeFault::Missing),
        (Op::Sell, json!({ "user": "000000", "holding": 0 }), TradeFault::Missing),
        (Op::Update, profile("nobody"), TradeFault::Missing),
        (Op::SellFirst, lot("nobody", symbol), TradeFault::Missing),
        (Op::SellFirst, lot("000000", "nothing"), TradeFault::Missing),
        (Op::Register, registration("000001"), TradeFault::Exists),
        // Nobody is logged out either, since it is one transaction.
        (Op::SwitchUser, switch("000000", "000001"), TradeFault::Exists),
        (Op::SwitchUser, switch("nobody", "newcomer"), TradeFault::Missing),
    ] {
        asked.refuses(operation, &arguments, fault)?;
    }
    for operation in [Op::Login, Op::Register] {
        asked.refuses_half(operation, &registration("newcomer"))?;
    }
    asked.has("after calls that were refused", &before)
}

/// Each of the files is left out, then damaged in its second line.
fn damaged_files(harness: &mut Harness) -> Verdict {
    let environment = match spoken(harness).next() {
        Some(protocol) => [("PROTOCOL", protocol.name())],
        None => [("DIRECT", "1")],
    };
    let (empty, whole) = (folder_of([])?, script_folder()?);
    for folder in [String::new(), "/nowhere".to_owned(), shown(empty.path())] {
        refuses_data(harness, &environment, &folder, &[])?;
    }
    for file in ["stocks.txt", "users.txt", "workload.txt"] {
        let path = whole.path().join(file);
        let unread = |error: std::io::Error| Shortfall::Skipped(error.to_string());
        let text = fs::read_to_string(&path).map_err(unread)?;
        fs::remove_file(&path).map_err(unread)?;
        refuses_data(harness, &environment, &shown(whole.path()), &[file])?;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(1, "damaged");
        fs::write(&path, lines.join("\n") + "\n").map_err(unread)?;
        refuses_data(harness, &environment, &shown(whole.path()), &[file, "2"])?;
        fs::write(&path, text).map_err(unread)?;
    }
    Ok(())
}

/// With this folder the service ends, and says why in words that hold these.
fn refuses_data(harness: &Harness, how: &[(&str, &str)], folder: &str, words: &[&str]) -> Verdict {
    let words = [&["DATA", folder], words].concat();
    let expected = "exit code 2, nothing on stdout, one line on stderr";
    let what = format!("`DATA={folder}`");
    let environment = [&[("WORKLOAD", "trade"), ("DATA", folder)], how].concat();
    let ended = harness.run(&[], &environment, Patience::UntilItSpeaks)?;
    let ended = ended.map_err(|came| differs(&what, expected, came))?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let is_right = ended.code() == Some(2)
        && ended.stdout.is_empty()
        && said.lines().count() == 1
        && words.iter().all(|word| said.contains(word));
    if is_right {
        return Ok(());
    }
    Err(differs(what, format_args!("{expected} that holds `{}`", words.join("`, `")), ended))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
