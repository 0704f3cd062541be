//! The files in `DATA`, in DaCapo's form: stocks, users, and the sessions of the script.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::records::{Quote, RegisterRequest};
use crate::script::Session;
use crate::{refusal, variable};

/// What the database holds at first, and the script.
pub struct Population {
    pub stocks: Vec<Quote>,
    pub users: Vec<User>,
    pub sessions: Vec<Session>,
}

/// A user of `users.txt`: who registered with these fields, and has never logged in.
pub struct User {
    pub fields: RegisterRequest,
    pub holdings: Vec<Lot>,
}

/// So many shares.
pub struct Lot {
    pub symbol: String,
    pub quantity: i64,
}

impl Population {
    /// Reads the files in the folder that `DATA` names. The error is the line for stderr.
    pub fn read() -> Result<Self, String> {
        let folder = variable("DATA").unwrap_or_default();
        let refused = |problem: String| {
            let allowed = "a folder with `stocks.txt`, `users.txt` and `workload.txt`";
            refusal("DATA", &folder, &format!("{allowed} ({problem})"))
        };
        if folder.is_empty() {
            return Err(refused("it is required by `WORKLOAD` `trade`".to_owned()));
        }
        Self::from_folder(Path::new(&folder)).map_err(refused)
    }

    /// The error tells file, line, and what is wrong there.
    fn from_folder(folder: &Path) -> Result<Self, String> {
        let mut symbols = HashSet::new();
        let stocks = lines(folder, "stocks.txt", |line| {
            let stock = stock(line)?;
            let new = symbols.insert(stock.symbol.clone());
            new.then_some(stock).ok_or_else(|| "the symbol is a stock's before".to_owned())
        })?;
        let mut names = HashSet::new();
        let users = lines(folder, "users.txt", |line| {
            let user = user(line)?;
            if !names.insert(user.fields.user.clone()) {
                return Err("the user is there before".to_owned());
            }
            let unknown = user.holdings.iter().find(|lot| !symbols.contains(&lot.symbol));
            unknown.map_or(Ok(()), |lot| {
                Err(format!("the symbol {:?} of a holding is no stock's in `stocks.txt`", lot.symbol))
            })?;
            Ok(user)
        })?;
        let sessions = lines(folder, "workload.txt", Session::parse)?;
        Ok(Self { stocks, users, sessions })
    }

    /// The price of each stock.
    pub fn prices(&self) -> HashMap<&str, i64> {
        self.stocks.iter().map(|stock| (stock.symbol.as_str(), stock.price)).collect()
    }
}

/// What each line of a file says. Lines that begin with `#` are comments.
fn lines<T>(
    folder: &Path,
    file: &str,
    mut parse: impl FnMut(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let bytes = fs::read(folder.join(file)).map_err(|error| format!("`{file}`: {error}"))?;
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Err(format!("`{file}` is empty"));
    }
    let mut parsed = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let at = |problem: String| format!("`{file}`, line {}: {problem}", index + 1);
        let line = str::from_utf8(line).map_err(|_| at("it is not UTF-8".to_owned()))?;
        if !line.starts_with('#') {
            parsed.push(parse(line).map_err(at)?);
        }
    }
    Ok(parsed)
}

/// `symbol company price capitalisation`, a tab between them.
fn stock(line: &str) -> Result<Quote, String> {
    let columns: Vec<_> = line.split('\t').collect();
    let [symbol, company, price, capitalisation] = columns[..] else {
        return Err(format!("it has {} columns instead of 4", columns.len()));
    };
    let cents = decimal(price).filter(|cents| *cents > 0);
    let price =
        cents.ok_or_else(|| format!("the price {price:?} is no number of dollars such as `17.87`"))?;
    let capitalisation = capitalised(capitalisation).ok_or_else(|| {
        format!("the capitalisation {capitalisation:?} is no number of dollars such as `6.13B`, `372.94M`")
    })?;
    Ok(Quote {
        symbol: named(symbol, "symbol")?,
        company: company.to_owned(),
        price,
        open: price,
        low: price,
        high: price,
        change: 0,
        volume: capitalisation / price / 1000,
    })
}

/// `user balance card e-mail password full-name address holdings`, a tab between them.
fn user(line: &str) -> Result<User, String> {
    let columns: Vec<_> = line.split('\t').collect();
    let [user, balance, card, email, password, full_name, address, holdings] = columns[..] else {
        return Err(format!("it has {} columns instead of 8", columns.len()));
    };
    let fields = RegisterRequest {
        user: named(user, "user")?,
        password: password.to_owned(),
        full_name: full_name.to_owned(),
        address: address.to_owned(),
        email: email.to_owned(),
        card: card.to_owned(),
        balance: dollars(balance)?,
    };
    let holdings = holdings.split(", ").filter(|_| !holdings.is_empty()).map(lot);
    Ok(User { fields, holdings: holdings.collect::<Result<_, _>>()? })
}

/// A text that must not be empty.
pub fn named(text: &str, what: &str) -> Result<String, String> {
    if text.is_empty() { Err(format!("the {what} is empty")) } else { Ok(text.to_owned()) }
}

/// `symbol quantity`.
pub fn lot(text: &str) -> Result<Lot, String> {
    let wrong = || format!("{text:?} is no symbol and quantity such as `GM 1498`");
    let (symbol, quantity) = text.split_once(' ').ok_or_else(wrong)?;
    let quantity = whole(quantity).ok_or_else(wrong)?;
    Ok(Lot { symbol: named(symbol, "symbol")?, quantity })
}

/// A balance in whole dollars, as cents.
pub fn dollars(text: &str) -> Result<i64, String> {
    let cents = whole(text).and_then(|dollars| dollars.checked_mul(100));
    cents.ok_or_else(|| format!("the balance {text:?} is no whole number of dollars"))
}

/// Digits only.
fn whole(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A number with at most two digits behind the point, in hundredths.
fn decimal(text: &str) -> Option<i64> {
    let (units, rest) = text.split_once('.').unwrap_or((text, "0"));
    let hundredths = match rest.len() {
        1 => whole(rest)? * 10,
        2 => whole(rest)?,
        _ => return None,
    };
    whole(units)?.checked_mul(100)?.checked_add(hundredths)
}

/// `6.13B` dollars, as cents.
fn capitalised(text: &str) -> Option<i64> {
    let (number, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'B' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    decimal(number)?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_has_its_price_and_volume_in_whole_numbers() {
        let quote = stock("A\tAGILENT TECH INC\t17.87\t6.13B").expect("a stock");
        assert_eq!((quote.price, quote.open, quote.change), (1787, 1787, 0));
        assert_eq!(quote.volume, 613_000_000_000 / 1787 / 1000);
        assert_eq!(stock("B\tb\t20\t372.94M").expect("a stock").volume, 37_294_000_000 / 2000 / 1000);
        assert_eq!(stock("B\tb\t0.5\t1000").expect("a stock").volume, 2);
    }

    #[test]
    fn damaged_lines_say_what_is_wrong() {
        for (line, problem) in [
            ("A\tx\t17.87", "3 columns instead of 4"),
            ("A\tx\t-1.00\t1B", "price"),
            ("A\tx\t0.00\t1B", "price"),
            ("A\tx\t1.005\t1B", "price"),
            ("A\tx\t1.00\t1T", "capitalisation"),
            ("\tx\t1.00\t1B", "symbol is empty"),
        ] {
            let said = stock(line).expect_err(line);
            assert!(said.contains(problem), "{line}: {said}");
        }
        for (line, problem) in [
            ("1\t10\tc\te\tp\tf\ta", "7 columns instead of 8"),
            ("1\tten\tc\te\tp\tf\ta\t", "balance"),
            ("1\t+1\tc\te\tp\tf\ta\t", "balance"),
            ("1\t10\tc\te\tp\tf\ta\tGM", "no symbol and quantity"),
            ("1\t10\tc\te\tp\tf\ta\tGM -1", "no symbol and quantity"),
            ("1\t10\tc\te\tp\tf\ta\tGM 1,A 2", "no symbol and quantity"),
        ] {
            let said = user(line).err().expect(line);
            assert!(said.contains(problem), "{line}: {said}");
        }
    }
}
