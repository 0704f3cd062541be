//! Splits one line of a trace into cells by the rules of CSV (RFC 4180), except that a quoted cell cannot
//! span lines.

use std::borrow::Cow;

/// A cell, without the quotes and blanks around it.
type Cell<'a> = Cow<'a, str>;

/// The first cell of a line, and the second if there is one.
pub(super) fn cells(line: &str) -> Result<(Cell<'_>, Option<Cell<'_>>), String> {
    let shown = || line.chars().take(60).collect::<String>();
    let (first, rest) = cell(line).map_err(|wrong| wrong.message(&shown()))?;
    let Some(rest) = rest else { return Ok((first, None)) };
    let (second, rest) = cell(rest).map_err(|wrong| wrong.message(&shown()))?;
    match rest {
        None => Ok((first, Some(second))),
        Some(_) => Err(format!(
            "`{}` has more than two columns; a line is `1.25` or `1.25,operation`, and a name that holds a comma stands in quotes",
            shown()
        )),
    }
}

/// What is wrong with a quoted cell.
enum Wrong {
    Open,
    Beyond,
}

impl Wrong {
    fn message(&self, line: &str) -> String {
        match self {
            Self::Open => {
                format!("`{line}` ends inside quotes; close them, and write a quote in a name twice")
            }
            Self::Beyond => format!(
                "`{line}` goes on behind closing quotes; put the whole cell in quotes, and write a quote in it twice"
            ),
        }
    }
}

/// The first cell of `text`, and the text after its comma, if there is one.
fn cell(text: &str) -> Result<(Cell<'_>, Option<&str>), Wrong> {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        return Ok(match text.split_once(',') {
            Some((cell, rest)) => (cell.trim_end().into(), Some(rest)),
            None => (text.trim_end().into(), None),
        });
    };
    let mut content = String::new();
    let mut rest = quoted;
    loop {
        let (part, behind) = rest.split_once('"').ok_or(Wrong::Open)?;
        content.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                content.push('"');
                rest = more;
            }
            None => {
                let behind = behind.trim_start();
                return match behind.strip_prefix(',') {
                    Some(rest) => Ok((content.into(), Some(rest))),
                    None if behind.is_empty() => Ok((content.into(), None)),
                    None => Err(Wrong::Beyond),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (String, Option<String>) {
        let (first, second) = cells(line).expect("cells");
        (first.into_owned(), second.map(Cow::into_owned))
    }

    #[test]
    fn cells_are_those_of_csv() {
        let two = |first: &str, second: &str| (first.to_owned(), Some(second.to_owned()));
        assert_eq!(read("1.5 ms"), ("1.5 ms".to_owned(), None));
        assert_eq!(read("1 , GET /a "), two("1", "GET /a"));
        assert_eq!(read("1,"), two("1", ""));
        assert_eq!(read("\"1\" , \"a,b\" "), two("1", "a,b"));
        assert_eq!(read("1,\"SET k \"\"a b\"\"\""), two("1", "SET k \"a b\""));
        assert_eq!(read("1,\"\""), two("1", ""));
        assert_eq!(
            read("1,5\" screen"),
            two("1", "5\" screen"),
            "quotes count at the beginning of a cell only"
        );
    }

    #[test]
    fn quotes_that_do_not_fit_are_refused() {
        let refused = |line: &str| cells(line).expect_err("no cells");
        assert!(refused("1,\"a").contains("ends inside quotes"));
        assert!(refused("1,\"a\"\"").contains("ends inside quotes"));
        assert!(refused("1,\"a\"b").contains("goes on behind closing quotes"));
        assert!(refused("1,a,b").contains("more than two columns"));
    }
}
