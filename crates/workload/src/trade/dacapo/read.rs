//! Reads the files of a script, which may be anybody's, and sees to it that they fit together.

use std::collections::HashSet;

use super::super::counts::ActionCounts;
use weighbridge_model::experiment::{SESSIONS_MOST, STOCKS_MOST};

use super::super::law::ScriptLaw;
use super::super::script::{Action, Cents, Lot, Session, Stock, StockId, TradeScript, User};
use super::row::{ScriptFileError, ScriptRow, ScriptRows, Symbols};
use super::{STOCKS, USERS, WORKLOAD};

/// Highest price of a share in dollars.
const PRICE_MOST: u64 = 10_000;
/// All money that a script can move must stay below this in cents, so that no sum of it overflows.
const MONEY_MOST: i128 = 1 << 62;

/// The contents of the files.
#[derive(Debug, Clone, Copy)]
pub struct ScriptFiles<'a> {
    pub stocks: &'a [u8],
    pub users: &'a [u8],
    pub workload: &'a [u8],
}

/// Reads a script; of `sessions` only so many, and half as many users again.
///
/// Errors: the first thing that is wrong. What a session cannot do when it comes to that, such as selling what is not held,
/// is for the brokerage to say.
pub fn read(files: &ScriptFiles<'_>, sessions: Option<u32>) -> Result<TradeScript, ScriptFileError> {
    let (stocks, symbols) = read_stocks(files.stocks)?;
    let users = read_users(files.users, &symbols, sessions)?;
    let names: HashSet<&str> = users.iter().map(|user| &*user.user).collect();
    let mut read = Vec::new();
    let last = each_session(files.workload, WORKLOAD, sessions, Some(&symbols), |row, session| {
        if !names.contains(&*session.user) {
            return Err(row.error(
                0,
                format_args!("there is no user `{}` among the {} of {USERS}", session.user, names.len()),
            ));
        }
        read.push(session);
        Ok(())
    })?;
    let script = TradeScript { stocks, users, sessions: read };
    if money(&script) >= MONEY_MOST {
        let message = "the script moves more money than can be counted in 64 bits of cents; make it shorter";
        let (file, message) = (WORKLOAD.to_owned(), message.to_owned());
        return Err(ScriptFileError { file, line: last, column: 1, message });
    }
    Ok(script)
}

/// Counts the actions of a `workload.txt`, whatever its stocks and users are; of `sessions` only so many.
pub fn count(workload: &[u8], file: &str, sessions: Option<u32>) -> Result<ActionCounts, ScriptFileError> {
    let mut counts = ActionCounts::default();
    each_session(workload, file, sessions, None, |_, session| {
        counts.add(&session);
        Ok(())
    })?;
    Ok(counts)
}

/// All that is ever owned or traded, at the script's prices.
fn money(script: &TradeScript) -> i128 {
    let worth = |lot: &Lot| i128::from(script.stock(lot.stock).price.get()) * i128::from(lot.quantity);
    let owned = script
        .users
        .iter()
        .map(|user| i128::from(user.balance.get()) + user.holdings.iter().map(worth).sum::<i128>());
    let actions = script.sessions.iter().flat_map(|session| &session.actions);
    let moved = actions.map(|action| match action {
        Action::Buy(lot) | Action::Sell(lot) => worth(lot),
        Action::Register(user) => user.balance.get().into(),
        _ => 0,
    });
    owned.chain(moved).sum()
}

fn read_stocks(bytes: &[u8]) -> Result<(Vec<Stock>, Symbols), ScriptFileError> {
    let (mut stocks, mut symbols) = (Vec::new(), Symbols::new());
    for row in ScriptRows::new(bytes, STOCKS) {
        let row = row?;
        row.columns_are(4, 4, "symbol, company, price, capitalisation")?;
        let stock = Stock {
            symbol: row.symbol(0, row.columns[0])?.to_owned(),
            company: row.text(1, row.columns[1])?,
            price: row.dollars(2, PRICE_MOST)?,
            capitalisation: row.capitalisation(3)?,
        };
        if stock.price == Cents::default() {
            return Err(row.error(2, "a price of 0.00; allowed: 0.01 to 10000.00 dollars"));
        }
        if stocks.len() == STOCKS_MOST as usize {
            return Err(row.error(0, format_args!("more than {STOCKS_MOST} stocks")));
        }
        if symbols.insert(stock.symbol.clone(), StockId(stocks.len() as u32)).is_some() {
            return Err(
                row.error(0, format_args!("`{}` stands above already; each symbol once", stock.symbol))
            );
        }
        stocks.push(stock);
    }
    Ok((stocks, symbols))
}

fn read_users(bytes: &[u8], symbols: &Symbols, sessions: Option<u32>) -> Result<Vec<User>, ScriptFileError> {
    let most = ScriptLaw::users_of(sessions.unwrap_or(SESSIONS_MOST).min(SESSIONS_MOST)) as usize;
    let mut users: Vec<User> = Vec::new();
    let mut names = HashSet::new();
    for row in ScriptRows::new(bytes, USERS) {
        let row = row?;
        if users.len() == most {
            if sessions.is_some() {
                break;
            }
            return Err(row.error(0, format_args!("more than {most} users")));
        }
        // Who holds nothing may have no column of holdings either.
        row.columns_are(7, 8, "user, balance, card, e-mail, password, name, address, holdings")?;
        let texts = &row.columns[2..7];
        let user = User {
            user: row.user(0, row.columns[0])?,
            balance: row.balance(1, row.columns[1])?,
            profile: row.profile(2, texts, true)?,
            holdings: row.holdings(7, symbols)?,
        };
        if !names.insert(user.user.clone()) {
            return Err(row.error(0, format_args!("`{}` stands above already; each user once", user.user)));
        }
        users.push(user);
    }
    Ok(users)
}

/// Reads session after session; the number of the last line that was read. `symbols` are those that may occur; `None` for any.
fn each_session(
    bytes: &[u8],
    file: &str,
    sessions: Option<u32>,
    symbols: Option<&Symbols>,
    mut each: impl FnMut(&ScriptRow<'_>, Session) -> Result<(), ScriptFileError>,
) -> Result<usize, ScriptFileError> {
    let (mut count, mut last) = (0, 1);
    for row in ScriptRows::new(bytes, file) {
        if sessions == Some(count) {
            return Ok(last);
        }
        let row = row?;
        if count == SESSIONS_MOST {
            return Err(row.error(0, format_args!("more than {SESSIONS_MOST} sessions")));
        }
        (count, last) = (count + 1, row.line);
        let session = row.session(symbols)?;
        each(&row, session)?;
    }
    if let Some(sessions) = sessions.filter(|sessions| *sessions > count) {
        let message = format!(
            "the file has {count} sessions, and {sessions} are asked for; at most {count} are allowed"
        );
        return Err(ScriptFileError { file: file.to_owned(), line: last, column: 1, message });
    }
    Ok(last)
}
