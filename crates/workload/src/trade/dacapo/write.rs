//! Lines of the files of a script.

use std::fmt::Write as _;

use crate::bind::DataFile;

use super::super::script::{Action, Cents, Lot, Profile, Session, Stock, StockId, TradeScript, User};
use super::{STOCKS, USERS, WORKLOAD};

/// The three files.
pub fn write(script: &TradeScript) -> [DataFile; 3] {
    let mut texts = [String::new(), String::new(), String::new()];
    let [stocks, users, workload] = &mut texts;
    script.stocks.iter().for_each(|stock| stock_line(stocks, stock));
    script.users.iter().for_each(|user| user_line(users, &script.stocks, user));
    script.sessions.iter().for_each(|session| session_line(workload, &script.stocks, session));
    let [stocks, users, workload] = texts.map(String::into_bytes);
    let file = |name: &str, contents| DataFile { name: name.to_owned(), contents };
    [file(STOCKS, stocks), file(USERS, users), file(WORKLOAD, workload)]
}

/// Adds the line of a stock.
pub fn stock_line(text: &mut String, stock: &Stock) {
    let Stock { symbol, company, price, capitalisation } = stock;
    add(text, format_args!("{symbol}\t{company}\t{}\t{}\n", InDollars(*price), Scaled(*capitalisation)));
}

/// Adds the line of a user.
pub fn user_line(text: &mut String, stocks: &[Stock], user: &User) {
    let User { user, balance, profile, holdings } = user;
    let Profile { card, email, password, full_name, address } = profile;
    let dollars = balance.get() / 100;
    add(text, format_args!("{user}\t{dollars}\t{card}\t{email}\t{password}\t{full_name}\t{address}\t"));
    for (place, Lot { stock, quantity }) in holdings.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        add(text, format_args!("{comma}{} {quantity}", symbol(stocks, *stock)));
    }
    text.push('\n');
}

/// Adds the line of a session.
pub fn session_line(text: &mut String, stocks: &[Stock], session: &Session) {
    add(text, format_args!("{}\t{}", session.user, session.password));
    for action in &session.actions {
        match action {
            Action::Home => text.push_str("\th"),
            Action::Portfolio => text.push_str("\tp"),
            Action::Quote(stock) => add(text, format_args!("\tq {}", symbol(stocks, *stock))),
            Action::Buy(Lot { stock, quantity }) => {
                add(text, format_args!("\tb {} {quantity}", symbol(stocks, *stock)));
            }
            Action::Sell(Lot { stock, quantity }) => {
                add(text, format_args!("\ts {} {quantity}", symbol(stocks, *stock)));
            }
            Action::Update(profile) => {
                text.push_str("\tu ");
                add_profile(text, profile);
            }
            Action::Register(user) => {
                add(text, format_args!("\tr {}|{}|", user.user, user.balance.get() / 100));
                add_profile(text, &user.profile);
            }
            // They begin and end every session, and are not written.
            Action::Login | Action::Logout => {}
        }
    }
    text.push('\n');
}

fn add_profile(text: &mut String, profile: &Profile) {
    let Profile { card, email, password, full_name, address } = profile;
    add(text, format_args!("{card}|{email}|{password}|{full_name}|{address}"));
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("memory takes it");
}

fn symbol(stocks: &[Stock], id: StockId) -> &str {
    &stocks[id.0 as usize].symbol
}

/// Money in dollars with two decimals.
struct InDollars(Cents);

impl std::fmt::Display for InDollars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0.get() / 100, self.0.get() % 100)
    }
}

/// Money in the largest of billions, millions, thousands and ones of dollars in which two decimals say all of it.
struct Scaled(Cents);

impl std::fmt::Display for Scaled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cents = self.0.get();
        let exact = |scale: &(i64, &str)| cents >= 100 * scale.0 && cents % scale.0 == 0;
        let scales = [(1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")];
        let (scale, suffix) = scales.into_iter().find(exact).unwrap_or((1, ""));
        write!(f, "{}{suffix}", InDollars(Cents::new(cents / scale)))
    }
}
