//! Text with placeholders: `${name}` for a session's value, `${env:NAME}` for a variable of the environment.
//!
//! This module parses placeholders and never knows values, except where it expands the environment. A dollar
//! sign alone, braces alone and `$name` are plain text, so JSON, GraphQL and shell snippets stay unchanged.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub const NAME_LONGEST: usize = 64;

/// What [`ValueForm::Url`] encodes: all but the unreserved characters of RFC 3986, section 2.3.
pub const URL_ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    /// Plain text; never empty.
    Text(String),
    /// A value of the session: a column of its row, or a value extracted from a reply.
    Value { name: String, form: ValueForm },
    /// A variable of the environment, read when the run starts.
    Environment { name: String, form: ValueForm },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueForm {
    /// As it is; in a path, characters that a request target cannot contain are percent-encoded.
    #[default]
    Plain,
    /// As the inside of a JSON string, with quotes and control characters escaped.
    Json,
    /// Percent-encoded, except letters, digits, `-`, `.`, `_` and `~`.
    Url,
}

impl ValueForm {
    const NAMED: [(&str, Self); 2] = [("json", Self::Json), ("url", Self::Url)];
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`{0}` is not closed by `}}`; write `${{$}}` for a dollar sign that stands for itself")]
    Open(String),
    #[error(
        "`${{{0}}}` names no value; write `${{name}}`, `${{name:json}}`, `${{name:url}}` or `${{env:NAME}}`, and `${{$}}` for a dollar sign that stands for itself"
    )]
    Name(String),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            template.text(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside.find('}').ok_or_else(|| TemplateError::Open(beginning(&rest[at..])))?;
            template.place(&inside[..end])?;
            rest = &inside[end + 1..];
        }
        template.text(rest);
        Ok(template)
    }

    /// Parses a header field or a whole body, which may also be `env:NAME`.
    pub fn parse_value(text: &str) -> Result<Self, TemplateError> {
        match whole_environment(text) {
            Some(name) => {
                let name = name.to_owned();
                Ok(Self { pieces: vec![TemplatePiece::Environment { name, form: ValueForm::Plain }] })
            }
            None => Self::parse(text),
        }
    }

    /// Escapes text that is not meant as a template.
    pub fn escaped(text: &str) -> String {
        text.replace("${", "${$}{")
    }

    pub fn pieces(&self) -> &[TemplatePiece] {
        &self.pieces
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Value { name, .. } => Some(name.as_str()),
            TemplatePiece::Text(_) | TemplatePiece::Environment { .. } => None,
        })
    }

    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Environment { name, .. } => Some(name.as_str()),
            TemplatePiece::Text(_) | TemplatePiece::Value { .. } => None,
        })
    }

    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(TemplatePiece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(TemplatePiece::Text(text.to_owned())),
        }
    }

    fn place(&mut self, inside: &str) -> Result<(), TemplateError> {
        if inside == "$" {
            self.text("$");
            return Ok(());
        }
        let unknown = || TemplateError::Name(inside.to_owned());
        let (is_environment, named) = match inside.strip_prefix("env:") {
            Some(named) => (true, named),
            None => (false, inside),
        };
        let (name, form) = match named.split_once(':') {
            None => (named, ValueForm::Plain),
            Some((name, form)) => {
                let known = ValueForm::NAMED.into_iter().find(|(word, _)| *word == form);
                (name, known.ok_or_else(unknown)?.1)
            }
        };
        let good = if is_environment { is_variable(name) } else { is_value_name(name) };
        if !good {
            return Err(unknown());
        }
        let name = name.to_owned();
        self.pieces.push(match is_environment {
            true => TemplatePiece::Environment { name, form },
            false => TemplatePiece::Value { name, form },
        });
        Ok(())
    }
}

/// The text that parses as this template.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = |form: &ValueForm| match form {
            ValueForm::Plain => "",
            ValueForm::Json => ":json",
            ValueForm::Url => ":url",
        };
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(text) => f.write_str(&Self::escaped(text))?,
                TemplatePiece::Value { name, form } => write!(f, "${{{name}{}}}", suffix(form))?,
                TemplatePiece::Environment { name, form } => write!(f, "${{env:{name}{}}}", suffix(form))?,
            }
        }
        Ok(())
    }
}

/// The variable of a value that is `env:NAME` as a whole.
pub fn whole_environment(text: &str) -> Option<&str> {
    text.strip_prefix("env:").filter(|name| is_variable(name))
}

/// Whether a session's value can have this name: letters, digits, `_`, `-`, `.`, and blanks between them.
pub fn is_value_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    !name.is_empty() && name.len() <= NAME_LONGEST && name.trim() == name && name.chars().all(good)
}

/// Whether a variable of the environment can have this name.
fn is_variable(name: &str) -> bool {
    let good = |b: u8| b.is_ascii_graphic() && !b"=:{}$".contains(&b);
    !name.is_empty() && name.bytes().all(good)
}

/// Expands the environment in text that cannot contain values of a session: `env:NAME` as a whole, and
/// `${env:NAME}` within it. `${$}` is a dollar sign; any other `${` stays as it is.
///
/// Errors: the name of a variable that `lookup` does not know.
pub fn expand_environment(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    if let Some(name) = whole_environment(text) {
        return lookup(name).ok_or_else(|| name.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    for part in environment_parts(text) {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Variable(name, form) => {
                let value = lookup(name).ok_or_else(|| name.to_owned())?;
                write_form(&value, form, &mut out);
            }
        }
    }
    Ok(out)
}

/// Expands `${env:NAME}` and `${env:NAME:-default}` in an address: where a server is can differ from host to host. A
/// variable that is empty counts as unset.
///
/// Errors: what is wrong, with the next step, where a variable without a default is unset or a placeholder has no end.
pub(super) fn expand_address(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env:") {
        let (inside, behind) = after.split_once('}').ok_or_else(|| {
            format!("`{text}`: `${{env:` has no end; write `${{env:NAME}}` or `${{env:NAME:-localhost}}`")
        })?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = lookup(name).filter(|value| !value.is_empty());
        let value = value.as_deref().or(default).ok_or_else(|| {
            format!(
                "`{text}`: the variable `{name}` is not set; set it, or write `${{env:{name}:-localhost}}`"
            )
        })?;
        out.extend([before, value]);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// The variables that [`expand_environment`] would look up.
pub fn environment_names(text: &str) -> Vec<&str> {
    if let Some(name) = whole_environment(text) {
        return vec![name];
    }
    let names = environment_parts(text).into_iter().filter_map(|part| match part {
        TemplatePart::Variable(name, _) => Some(name),
        TemplatePart::Text(_) => None,
    });
    names.collect()
}

enum TemplatePart<'a> {
    Text(&'a str),
    Variable(&'a str, ValueForm),
}

fn environment_parts(text: &str) -> Vec<TemplatePart<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find("${") {
        let inside = &rest[at + 2..];
        let Some(end) = inside.find('}') else { break };
        let mut read = Template::default();
        let variable = match (inside[..end].strip_prefix("env:"), read.place(&inside[..end])) {
            (Some(named), Ok(())) => Some(named.split(':').next().unwrap_or(named)),
            _ => None,
        };
        match (variable, read.pieces.first()) {
            (Some(name), Some(TemplatePiece::Environment { form, .. })) => {
                parts.push(TemplatePart::Text(&rest[..at]));
                parts.push(TemplatePart::Variable(name, *form));
                rest = &inside[end + 1..];
            }
            _ if &inside[..end] == "$" => {
                parts.push(TemplatePart::Text(&rest[..=at]));
                rest = &inside[end + 1..];
            }
            _ => {
                parts.push(TemplatePart::Text(&rest[..at + 2]));
                rest = inside;
            }
        }
    }
    parts.push(TemplatePart::Text(rest));
    parts
}

fn write_form(value: &str, form: ValueForm, out: &mut String) {
    match form {
        ValueForm::Plain => out.push_str(value),
        ValueForm::Json => {
            let quoted = serde_json::Value::from(value).to_string();
            out.push_str(&quoted[1..quoted.len() - 1]);
        }
        ValueForm::Url => out.extend(utf8_percent_encode(value, URL_ESCAPED)),
    }
}

fn beginning(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TemplatePiece {
        TemplatePiece::Text(text.to_owned())
    }

    fn value(name: &str, form: ValueForm) -> TemplatePiece {
        TemplatePiece::Value { name: name.to_owned(), form }
    }

    fn variable(name: &str, form: ValueForm) -> TemplatePiece {
        TemplatePiece::Environment { name: name.to_owned(), form }
    }

    #[test]
    fn places_are_told_from_text() {
        use ValueForm::{Json, Plain, Url};
        let all = [
            ("", vec![]),
            ("/items/1", vec![text("/items/1")]),
            ("/items/${id}/x", vec![text("/items/"), value("id", Plain), text("/x")]),
            ("${a}${b:json}", vec![value("a", Plain), value("b", Json)]),
            ("${user name:url}", vec![value("user name", Url)]),
            ("Bearer ${env:TOKEN}", vec![text("Bearer "), variable("TOKEN", Plain)]),
            ("${env:A:json}", vec![variable("A", Json)]),
            (r#"{"a": {"$b": 1}}"#, vec![text(r#"{"a": {"$b": 1}}"#)]),
            ("query($id: ID!) { x }", vec![text("query($id: ID!) { x }")]),
            ("$${price}", vec![text("$"), value("price", Plain)]),
            ("${$}{a} and ${$}", vec![text("${a} and $")]),
        ];
        for (written, pieces) in all {
            let template = Template::parse(written).expect(written);
            assert_eq!(template.pieces(), pieces, "{written}");
            assert_eq!(Template::parse(&template.to_string()), Ok(template), "{written}");
        }
        assert_eq!(Template::parse_value("env:A").expect("whole").pieces(), [variable("A", Plain)]);
        assert_eq!(Template::parse_value("env: A").expect("text").pieces(), [text("env: A")]);
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for (written, says) in [
            ("/${id", "`${id` is not closed"),
            ("${}", "`${}` names no value"),
            ("${ id}", "`${ id}` names no value"),
            ("${id:xml}", "`${id:xml}` names no value"),
            ("${env:}", "`${env:}` names no value"),
            ("${a/b}", "`${a/b}` names no value"),
            ("${env:A B}", "`${env:A B}` names no value"),
        ] {
            let message = Template::parse(written).expect_err(written).to_string();
            assert!(message.contains(says) && message.contains("`${$}`"), "{written}: {message}");
        }
        assert!(Template::parse(&format!("${{{}}}", "x".repeat(65))).is_err());
    }

    #[test]
    fn the_environment_is_put_in_where_there_are_no_values() {
        let lookup = |name: &str| (name == "A").then(|| "s\"w d".to_owned());
        for (written, expanded) in [
            ("env:A", "s\"w d"),
            ("x ${env:A} y ${env:A:url}", "x s\"w d y s%22w%20d"),
            ("${env:A:json}", "s\\\"w d"),
            ("${HOME}/${x:-y} $A ${", "${HOME}/${x:-y} $A ${"),
            ("${$}{env:A}", "${env:A}"),
            ("plain", "plain"),
        ] {
            assert_eq!(expand_environment(written, &lookup).as_deref(), Ok(expanded), "{written}");
        }
        assert_eq!(expand_environment("a ${env:B}", &lookup), Err("B".to_owned()));
        assert_eq!(environment_names("a ${env:B} ${c} ${env:D:json}"), ["B", "D"]);
        assert_eq!(environment_names("env:B"), ["B"]);
    }

    #[test]
    fn addresses_take_the_environment_and_defaults() {
        let lookup = |name: &str| match name {
            "HOST" => Some("10.0.0.7".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (written, expanded) in [
            ("http://a:1/b", "http://a:1/b"),
            ("http://${env:HOST}/", "http://10.0.0.7/"),
            ("http://${env:HOST:-localhost}:${env:PORT:-8080}/${x}", "http://10.0.0.7:8080/${x}"),
            ("${env:EMPTY:-a}${env:EMPTY:-}", "a"),
        ] {
            assert_eq!(expand_address(written, &lookup).as_deref(), Ok(expanded), "{written}");
        }
        for (written, told) in [
            ("http://${env:PORT}/", "the variable `PORT` is not set"),
            ("http://${env:EMPTY}/", "write `${env:EMPTY:-localhost}`"),
            ("http://${env:PORT:-1", "has no end"),
        ] {
            let error = expand_address(written, &lookup).expect_err(written);
            assert!(error.contains(told), "{error}");
        }
    }
}
