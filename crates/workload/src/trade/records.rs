//! The records of the brokerage's calls, as `services/trade/trade.proto` has them, and the canonical text of a reply: without
//! ids and times, holdings sorted, quotes by symbol.

use std::fmt::Write as _;

use serde_json::Value;

use crate::codec::{Field, FieldType, Record};

/// The namespace of its messages over SOAP.
pub(super) const NAMESPACE: &str = "urn:weighbridge:trade:1";

const TEXT: FieldType = FieldType::Text;
const LONG: FieldType = FieldType::Long;

macro_rules! records {
    ($($name:ident $word:literal [$($kind:ident $number:literal $field:literal $type:expr),* $(,)?])+) => {
        $(pub(super) static $name: Record =
            Record { name: $word, fields: &[$(Field::$kind($number, $field, $type)),*] };)+
    };
}

records! {
    ACCOUNT "Account" [
        required 1 "id" LONG, required 2 "user" TEXT, required 3 "balance" LONG, required 4 "open_balance" LONG,
        required 5 "logins" LONG, required 6 "logouts" LONG, optional 7 "last_login" LONG, required 8 "created" LONG,
    ]
    HOLDING "Holding" [
        required 1 "id" LONG, required 2 "symbol" TEXT, required 3 "quantity" LONG, required 4 "price" LONG,
        required 5 "bought" LONG,
    ]
    HOLDING_LIST "HoldingList" [required 1 "holdings" FieldType::List(&HOLDING)]
    QUOTE "Quote" [
        required 1 "symbol" TEXT, required 2 "company" TEXT, required 3 "price" LONG, required 4 "open" LONG,
        required 5 "low" LONG, required 6 "high" LONG, required 7 "change" LONG, required 8 "volume" LONG,
    ]
    ORDER "Order" [
        required 1 "id" LONG, required 2 "kind" TEXT, required 3 "status" TEXT, required 4 "symbol" TEXT,
        required 5 "quantity" LONG, required 6 "price" LONG, required 7 "fee" LONG, required 8 "holding" LONG,
        required 9 "opened" LONG, required 10 "completed" LONG,
    ]
    PROFILE "Profile" [
        required 1 "user" TEXT, required 2 "full_name" TEXT, required 3 "address" TEXT, required 4 "email" TEXT,
        required 5 "card" TEXT,
    ]
    HOME "HomeReply" [
        required 1 "account" FieldType::Record(&ACCOUNT), required 2 "holdings" FieldType::List(&HOLDING),
    ]
    PORTFOLIO "PortfolioReply" [
        required 1 "holdings" FieldType::List(&HOLDING), required 2 "quotes" FieldType::List(&QUOTE),
    ]
    SELL_FIRST "SellFirstReply" [
        required 1 "holdings" FieldType::List(&HOLDING), required 2 "order" FieldType::Record(&ORDER),
    ]
    SWITCH_USER "SwitchUserReply" [
        required 1 "account" FieldType::Record(&ACCOUNT), required 2 "registered" FieldType::Record(&ACCOUNT),
    ]
    STATE "State" [
        required 1 "stocks" LONG, required 2 "accounts" LONG, required 3 "profiles" LONG, required 4 "holdings" LONG,
        required 5 "buys" LONG, required 6 "sells" LONG, required 7 "logins" LONG, required 8 "logouts" LONG,
        required 9 "balance" LONG, required 10 "sha256" TEXT,
    ]
    DUMP "Dump" [required 1 "text" TEXT]
    TRADE_FAULT "TradeFault" [required 1 "code" TEXT, required 2 "text" TEXT]

    LOGIN_REQUEST "LoginRequest" [required 1 "user" TEXT, required 2 "password" TEXT]
    USER_REQUEST "UserRequest" [required 1 "user" TEXT]
    QUOTE_REQUEST "QuoteRequest" [required 1 "symbol" TEXT]
    BUY_REQUEST "BuyRequest" [
        required 1 "user" TEXT, required 2 "symbol" TEXT, required 3 "quantity" LONG, optional 4 "factor" LONG,
    ]
    SELL_REQUEST "SellRequest" [required 1 "user" TEXT, required 2 "holding" LONG, optional 3 "factor" LONG]
    UPDATE_REQUEST "UpdateRequest" [
        required 1 "user" TEXT, required 2 "full_name" TEXT, required 3 "address" TEXT, required 4 "email" TEXT,
        required 5 "card" TEXT, required 6 "password" TEXT,
    ]
    REGISTER_REQUEST "RegisterRequest" [
        required 1 "user" TEXT, required 2 "password" TEXT, required 3 "full_name" TEXT, required 4 "address" TEXT,
        required 5 "email" TEXT, required 6 "card" TEXT, required 7 "balance" LONG,
    ]
    SWITCH_USER_REQUEST "SwitchUserRequest" [
        required 1 "user" TEXT, required 2 "register" FieldType::Record(&REGISTER_REQUEST),
    ]
}

/// The canonical text of a reply, as [`TradeReply`](super::TradeReply) has it; of several records, one after another.
pub(super) fn append_canonical(record: &'static Record, reply: &Value, text: &mut String) {
    let kind = match record.name {
        "Account" => "account\n",
        "Quote" => "quote\n",
        "Order" => "order\n",
        "Profile" => "profile\n",
        "Holding" => "holding\n",
        // Others have no fields of their own, but records.
        _ => "",
    };
    text.push_str(kind);
    for Field { name, kind, .. } in record.fields {
        match (*kind, &reply[*name]) {
            _ if !is_compared(record, name) => {}
            (FieldType::Record(inner), value) => append_canonical(inner, value, text),
            (FieldType::List(inner), value) => append_list(inner, value, text),
            (FieldType::Text, value) => {
                writeln!(text, "{name}={}", value.as_str().unwrap_or_default()).expect("memory takes it");
            }
            (FieldType::Int | FieldType::Long, value) => {
                writeln!(text, "{name}={value}").expect("memory takes it");
            }
        }
    }
}

/// Not what each database gives as it likes.
fn is_compared(record: &Record, field: &str) -> bool {
    !matches!(
        (record.name, field),
        ("Account" | "Holding" | "Order", "id")
            | ("Account", "last_login" | "created")
            | ("Holding", "bought")
            | ("Order", "holding" | "opened" | "completed")
    )
}

fn append_list(record: &'static Record, list: &Value, text: &mut String) {
    let mut values: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    if record.name == HOLDING.name {
        text.push_str("holdings\n");
        values.sort_by_key(|one| (one["symbol"].as_str(), one["quantity"].as_i64(), one["price"].as_i64()));
    } else {
        values.sort_by_key(|one| one["symbol"].as_str());
    }
    values.into_iter().for_each(|value| append_canonical(record, value, text));
}
