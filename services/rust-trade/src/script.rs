//! The script: sessions of users, and the steps of each.

use crate::population::{Lot, dollars, lot, named};
use crate::records::{RegisterRequest, UpdateRequest};

/// A user's visit, from login to logout.
pub struct Session {
    pub user: String,
    pub password: String,
    pub steps: Vec<Step>,
}

/// What a user does.
pub enum Step {
    Home,
    Portfolio,
    Quote(String),
    Buy(Lot),
    Sell(Lot),
    /// Of whoever is the session's user then; the request names nobody.
    Update(UpdateRequest),
    /// The session's user from then on.
    Register(RegisterRequest),
}

impl Session {
    /// `user password step …`, a tab between them.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut columns = line.split('\t');
        let (Some(user), Some(password)) = (columns.next(), columns.next()) else {
            return Err("it has no user and password with a tab between them".to_owned());
        };
        let steps = columns.filter_map(|text| step(text).transpose()).collect::<Result<_, _>>()?;
        Ok(Self { user: named(user, "user")?, password: password.to_owned(), steps })
    }
}

/// A step; none where it is one that is left out.
fn step(text: &str) -> Result<Option<Step>, String> {
    let (letter, rest) = text.split_once(' ').unwrap_or((text, ""));
    let step = match letter {
        "h" if letter == text => Step::Home,
        "p" if letter == text => Step::Portfolio,
        // DaCapo's files have it, and its driver leaves it out.
        "a" if letter == text => return Ok(None),
        "q" => Step::Quote(named(rest, "symbol")?),
        "b" => Step::Buy(lot(rest)?),
        "s" => Step::Sell(lot(rest)?),
        "u" => Step::Update(update(rest)?),
        "r" => Step::Register(register(rest)?),
        _ => {
            return Err(format!(
                "{text:?} is no step; allowed: `h`, `p`, `a`, `q SYMBOL`, `b SYMBOL QUANTITY`, `s SYMBOL QUANTITY`, `u …`, `r …`"
            ));
        }
    };
    Ok(Some(step))
}

/// `card|email|password|full-name|address`.
fn update(text: &str) -> Result<UpdateRequest, String> {
    let fields: Vec<_> = text.split('|').collect();
    let [card, email, password, full_name, address] = fields[..] else {
        return Err(format!("the update {text:?} has {} fields instead of 5", fields.len()));
    };
    Ok(UpdateRequest {
        user: String::new(),
        full_name: full_name.to_owned(),
        address: address.to_owned(),
        email: email.to_owned(),
        card: card.to_owned(),
        password: password.to_owned(),
    })
}

/// `user|balance|card|email|password|full-name|address`.
fn register(text: &str) -> Result<RegisterRequest, String> {
    let fields: Vec<_> = text.split('|').collect();
    let [user, balance, card, email, password, full_name, address] = fields[..] else {
        return Err(format!("the registration {text:?} has {} fields instead of 7", fields.len()));
    };
    Ok(RegisterRequest {
        user: named(user, "user")?,
        password: password.to_owned(),
        full_name: full_name.to_owned(),
        address: address.to_owned(),
        email: email.to_owned(),
        card: card.to_owned(),
        balance: dollars(balance)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_its_steps_without_those_that_are_left_out() {
        let line = "000001\tpw\th\tp\ta\tq GM\tb GM 0\ts GM 7\tu c|e|p|f|a\tr 9|10|c|e|p|f|a";
        let session = Session::parse(line).expect("a session");
        assert_eq!((session.user.as_str(), session.password.as_str()), ("000001", "pw"));
        assert!(matches!(
            &session.steps[..],
            [
                Step::Home,
                Step::Portfolio,
                Step::Quote(_),
                Step::Buy(Lot { quantity: 0, .. }),
                Step::Sell(Lot { quantity: 7, .. }),
                Step::Update(_),
                Step::Register(RegisterRequest { balance: 1000, .. })
            ]
        ));
    }

    #[test]
    fn damaged_steps_say_what_is_wrong() {
        for (line, problem) in [
            ("000001", "no user and password"),
            ("\tpw", "user is empty"),
            ("1\tpw\t", "no step"),
            ("1\tpw\tx", "no step"),
            ("1\tpw\th 1", "no step"),
            ("1\tpw\tq ", "symbol is empty"),
            ("1\tpw\tb GM", "no symbol and quantity"),
            ("1\tpw\tu a|b", "2 fields instead of 5"),
            ("1\tpw\tr 9|10", "2 fields instead of 7"),
            ("1\tpw\tr 9|ten|c|e|p|f|a", "balance"),
        ] {
            let said = Session::parse(line).err().expect(line);
            assert!(said.contains(problem), "{line}: {said}");
        }
    }
}
