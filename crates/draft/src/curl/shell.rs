//! Splits a command line into words as a POSIX shell does, including `$'…'`, which browsers write when they copy a
//! request. Nothing is expanded: the values of `$NAME` are not known here.

/// The words, or why the line cannot be split.
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    let plain = without_ansi_quotes(text.trim())?;
    shell_words::split(&plain).map_err(|_| "a quote is not closed; paste the whole line".to_owned())
}

/// The line with each `$'…'` written as an ordinary quoted word.
fn without_ansi_quotes(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '$') if letters.peek() == Some(&'\'') => {
                letters.next();
                plain.push_str(&shell_words::quote(&ansi(&mut letters)?));
                continue;
            }
            (None | Some('"'), '\\') => {
                plain.push(letter);
                plain.extend(letters.next());
                continue;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        plain.push(letter);
    }
    Ok(plain)
}

/// The content of `$'…'`, after the opening.
fn ansi(letters: &mut impl Iterator<Item = char>) -> Result<String, String> {
    let mut letters = letters.peekable();
    let mut bytes = Vec::new();
    let mut utf8 = [0; 4];
    loop {
        let letter = match letters.next() {
            None => return Err("a quote `$'` is not closed; paste the whole line".to_owned()),
            Some('\'') => break,
            Some('\\') => letters.next().ok_or("the line ends with a backslash; paste the whole line")?,
            Some(plain) => {
                bytes.extend_from_slice(plain.encode_utf8(&mut utf8).as_bytes());
                continue;
            }
        };
        let mut digits = |radix: u32, most: usize, first: Option<char>| {
            let mut number = first.and_then(|digit| digit.to_digit(radix));
            for _ in 0..most {
                let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
                letters.next();
                number = Some(number.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit));
            }
            number
        };
        match letter {
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'x' => bytes.push(digits(16, 2, None).ok_or("`\\x` without digits")? as u8),
            '0'..='7' => bytes.push(digits(8, 2, Some(letter)).unwrap_or(0) as u8),
            'u' | 'U' => {
                let most = if letter == 'u' { 4 } else { 8 };
                let code = digits(16, most, None).and_then(char::from_u32);
                let letter =
                    code.ok_or_else(|| format!("`\\{letter}` is followed by no character's number"))?;
                bytes.extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
            }
            // `\\`, `\'`, `\"`, `\?` stand for the second character, and so does any other pair.
            other => bytes.extend_from_slice(other.encode_utf8(&mut utf8).as_bytes()),
        }
    }
    String::from_utf8(bytes).map_err(|_| "a quoted word is no text in UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The words of bash 5.2 for the same line.
    #[test]
    fn words_are_those_of_a_shell() {
        let line = r#"curl 'http://h/a b' -H "X: \"y\"" \
  --data-raw $'{"a":"it\'s \u0021 \x41\101\n"}' plain\ word ''"#;
        let wanted = [
            "curl",
            "http://h/a b",
            "-H",
            "X: \"y\"",
            "--data-raw",
            "{\"a\":\"it's ! AA\n\"}",
            "plain word",
            "",
        ];
        assert_eq!(words(line).expect("a line"), wanted);
    }

    #[test]
    fn a_dollar_within_quotes_is_a_dollar() {
        assert_eq!(words(r#"'$'a "$'b" \$'c'"#).expect("a line"), ["$a", "$'b", "$c"]);
    }

    #[test]
    fn unclosed_quotes_are_refused() {
        for line in ["curl 'x", "curl \"x", "curl $'x", "curl $'x\\", "curl $'\\u'", "curl $'\\xff'"] {
            words(line).expect_err(line);
        }
    }
}
