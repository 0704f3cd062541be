//! Rust, read as far as the rules need it: comments and literals blanked, functions counted, words found.

/// `file:line: what` for every line of code in which one of `words` stands as a word.
pub(crate) fn places(file: &str, code: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (line, number) in code.lines().zip(1..) {
        for word in words {
            if line.match_indices(word).any(|(at, _)| stands_alone(line, at, word)) {
                found.push(format!("{file}:{number}: `{word}`"));
            }
        }
    }
    found
}

/// Whether no letter, digit or underscore continues the word on either side.
pub(crate) fn stands_alone(line: &str, at: usize, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let before = line[..at].chars().next_back().is_some_and(part) && word.starts_with(part);
    let after = line[at + word.len()..].chars().next().is_some_and(part) && word.ends_with(part);
    !before && !after
}

/// `source` with comments, texts and characters blanked and every line break kept.
pub(crate) fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let after_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = comment(rest).or_else(|| literal(rest, after_word));
        let (token, next) = rest.split_at(length.unwrap_or(c.len_utf8()));
        match length {
            None => code.push_str(token),
            Some(_) => code.extend(token.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
        }
        rest = next;
    }
    code
}

/// The length of the comment that `text` begins with.
pub(crate) fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut depth = 0;
    let mut at = 0;
    while text.starts_with("/*") {
        match text.get(at..at + 2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 || at >= text.len() {
            return Some(at.min(text.len()));
        }
    }
    None
}

/// The length of the text, raw text or character that `text` begins with.
pub(crate) fn literal(text: &str, after_word: bool) -> Option<usize> {
    if let Some(end) = raw_end(text).filter(|_| !after_word) {
        let open = end.len() + usize::from(text.starts_with('b')) + 1;
        return Some(text[open..].find(&*end).map_or(text.len(), |at| open + at + end.len()));
    }
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut letters = text.char_indices().skip(1);
    while let Some((at, c)) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            c if c == quote => return Some(at + 1),
            // A lifetime, unless the quote ends after one character or an escape.
            _ if quote == '\''
                && !text[1..].starts_with('\\')
                && !text[at + c.len_utf8()..].starts_with('\'') =>
            {
                return None;
            }
            _ => {}
        }
    }
    Some(text.len())
}

/// What ends the raw text that `text` begins with: `"#` of `r#"…"#`.
pub(crate) fn raw_end(text: &str) -> Option<String> {
    let rest = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let marks = rest.bytes().take_while(|byte| *byte == b'#').count();
    rest[marks..].starts_with('"').then(|| format!("\"{}", "#".repeat(marks)))
}

/// Code up to the test module, which is the last in a file.
pub(crate) fn without_tests(code: &str) -> &str {
    let cut = code.match_indices("#[cfg(test)]").map(|(at, _)| at).find(|at| {
        let rest = code[at + "#[cfg(test)]".len()..].trim_start();
        rest.strip_prefix("mod ")
            .is_some_and(|rest| rest.trim_start_matches(is_word).trim_start().starts_with('{'))
    });
    &code[..cut.unwrap_or(code.len())]
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Name and number of lines of every function with a body.
pub(crate) fn functions(code: &str) -> Vec<(&str, usize)> {
    let starts = code.match_indices("fn ").filter(|(at, _)| stands_alone(code, *at, "fn"));
    starts
        .filter_map(|(at, _)| {
            let rest = code[at + "fn ".len()..].trim_start();
            let name = &rest[..rest.find(|c| !is_word(c))?];
            let end = at + body_end(&code[at..]).filter(|_| !name.is_empty())?;
            Some((name, code[at..end].matches('\n').count() + 1))
        })
        .collect()
}

/// Every function's name with its parameters as they are written, functions without a body included.
pub(crate) fn parameters(code: &str) -> Vec<(&str, Vec<&str>)> {
    let starts = code.match_indices("fn ").filter(|(at, _)| stands_alone(code, *at, "fn"));
    starts
        .filter_map(|(at, _)| {
            let rest = &code[at + "fn ".len()..];
            let name = &rest[..rest.find(|c| !is_word(c)).filter(|end| *end > 0)?];
            let list = &rest[name.len()..];
            let list = &list[generics_end(list)..];
            let end = list.strip_prefix('(').and(closing(list))?;
            Some((name, split_at_commas(&list[1..end])))
        })
        .collect()
}

/// Where the list of generic parameters ends that `text` may begin with.
fn generics_end(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { at + 1 } else { at };
        }
    }
    text.len()
}

/// Where the bracket closes with which `text` begins.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        (depth == 0).then_some(at)
    })
}

/// The parts between commas that stand in no bracket.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Where the body ends that begins at the first brace outside brackets; `None` where a semicolon comes first.
pub(crate) fn body_end(code: &str) -> Option<usize> {
    let (mut brackets, mut braces) = (0_i32, 0_i32);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' if brackets == 0 || braces > 0 => braces += 1,
            '}' if braces > 0 => {
                braces -= 1;
                if braces == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn comments_and_literals_are_blanked_and_lines_kept() {
    for (source, code) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b\n/* c */ d */ e", "a     \n             e"),
        ("f(\"a\\\"}\", b)", "f(      , b)"),
        ("x = r#\"a\"b\"# + 1", "x =          + 1"),
        ("br\"}\";for\"{\"", "     ;for   "),
        ("match c { '{' | '\\'' | 'µ' => 'a: loop {} }", "match c {     |      |     => 'a: loop {} }"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("'\\u{1F600}' b", "            b"),
    ] {
        assert_eq!(code_of(source), code, "{source}");
    }
}

#[test]
fn functions_are_counted_from_their_name_to_their_last_brace() {
    let source = "trait T { fn a(&self); }\nfn b([x; 2]: [u8; 2]) {\n  if x { y }\n}\nlet f: fn (u8) = c;\n\
                  impl X {\n  fn d() -> [(); { 1 }]\n  {\n    ()\n  }\n}\n";
    assert_eq!(functions(source), [("b", 3), ("d", 4)]);
    let tested = "fn a() {}\n#[cfg(test)]\nuse x;\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\n";
    assert_eq!(functions(without_tests(tested)), [("a", 1)]);
}

#[test]
fn words_are_found_whole() {
    let found = places(
        "f",
        "reprint!(x)\nprint!(y)\n  std::process::exit(2)\nunsafely",
        &["print!", "process::exit", "unsafe"],
    );
    assert_eq!(found, ["f:2: `print!`", "f:3: `process::exit`"]);
}

#[test]
fn parameters_are_split_at_commas_outside_brackets() {
    let source = "fn a(&self, (b, c): (u8, u8), d: Vec<(u8, u8)>) {}\nfn e<F: Fn(u8) -> u8, G>(f: F, g: &dyn Fn(u8, u8) -> G);\n\
                  let x: fn (u8) = y; fn h() {}";
    let found: Vec<_> = parameters(source);
    assert_eq!(found[0], ("a", vec!["&self", "(b, c): (u8, u8)", "d: Vec<(u8, u8)>"]));
    assert_eq!(found[1], ("e", vec!["f: F", "g: &dyn Fn(u8, u8) -> G"]));
    assert_eq!(found[2], ("h", vec![""]));
}
