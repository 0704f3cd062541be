//! Keeps secrets out of the file. A header field whose name says that it contains one is written as `env:NAME`; in
//! recordings also a value of a query or a body. A note says which variable to set.
//!
//! It goes by names, as the record of a run does, and does not guess from values.

use weighbridge_model::experiment::Template;
use weighbridge_model::secret::is_secret;

use crate::Request;
use crate::parameters::{Parameter, Place, Put};

/// The variables that replace secrets, with their values, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Vault {
    held: Vec<(String, String)>,
    /// What to set, and what to check by hand.
    notes: Vec<String>,
}

impl Vault {
    /// The variable for the value of a field. Equal values of one field share it.
    fn variable(&mut self, field: &str, value: &str) -> String {
        let base: String = field
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        // A variable's name does not begin with a digit.
        let base = if base.starts_with(|c: char| c.is_ascii_digit()) { format!("_{base}") } else { base };
        let mut name = base.clone();
        for number in 2.. {
            match self.held.iter().find(|(taken, _)| *taken == name) {
                Some((_, held)) if held == value => return name,
                Some(_) => name = format!("{base}_{number}"),
                None => break,
            }
        }
        self.held.push((name.clone(), value.to_owned()));
        name
    }

    fn note(&mut self, note: String) {
        // One line per variable, even if it is used in several places.
        let begin = note.split(" to the ").next().filter(|begin| begin.starts_with("set `"));
        let is_same =
            |listed: &String| begin.is_some_and(|begin| listed.starts_with(&format!("{begin} to the ")));
        if !self.notes.contains(&note) && !self.notes.iter().any(is_same) {
            self.notes.push(note);
        }
    }

    /// The replacement of a value of a query or a body whose name says that it is a secret, or of cookies that did not
    /// come from the server. Whole header fields are [hidden](Self::hide) later.
    pub fn put(&mut self, parameter: &Parameter<'_>) -> Option<Put> {
        let what = match parameter.place {
            Place::Pair => "value of the query's or form's",
            Place::JsonText | Place::JsonNumber => "value of the body's",
            Place::Header if parameter.key == "Cookie" => "remaining cookies of the header",
            Place::Header | Place::Cookie | Place::Segment => return None,
        };
        if !is_secret(parameter.key) || parameter.value.is_empty() {
            return None;
        }
        let variable = self.variable(parameter.key, parameter.value);
        let shown: String = parameter.key.chars().filter(|c| !c.is_control()).take(60).collect();
        self.note(format!("set `{variable}` to the {what} `{shown}`: `export {variable}='…'`"));
        Some(Put::Variable(variable))
    }

    /// Replaces the secrets in all header fields; returns what to set before the experiment can run, and what to check
    /// by hand.
    pub fn hide(mut self, requests: &mut [Request]) -> Vec<String> {
        for request in &mut *requests {
            for (name, value) in &mut request.headers {
                // The source may have named a variable itself.
                let variable = match value.strip_prefix("env:") {
                    Some(variable) => variable.to_owned(),
                    None if !is_secret(name) || is_filled_in(value) => continue,
                    None => self.variable(name, value),
                };
                self.note(format!(
                    "set `{variable}` to the value of the header `{name}`: {}",
                    how(name, &variable, value)
                ));
                *value = format!("env:{variable}");
            }
        }
        for request in requests {
            let query = request.path.split_once('?').map_or("", |(_, query)| query);
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let secret = pairs.filter(|(name, value)| is_secret(name) && !is_filled_in(value));
            for (name, _) in secret {
                self.note(format!(
                    "the query's `{name}` looks like a secret and stands in the file as it is"
                ));
            }
        }
        self.notes
    }
}

/// Whether a text gets its values only when it is sent.
fn is_filled_in(text: &str) -> bool {
    Template::parse(text)
        .is_ok_and(|template| template.values().next().is_some() || template.variables().next().is_some())
}

/// [`Vault::hide`] if nothing was replaced before.
pub(crate) fn hide(requests: &mut [Request]) -> Vec<String> {
    Vault::default().hide(requests)
}

/// The command that sets a variable, without its value.
fn how(field: &str, variable: &str, value: &str) -> String {
    let (scheme, rest) = value.split_once(' ').unwrap_or(("", value));
    match scheme {
        _ if !field.eq_ignore_ascii_case("authorization") || rest.is_empty() => {
            format!("`export {variable}='…'`")
        }
        "Basic" => format!("`export {variable}=\"Basic $(printf %s 'user:password' | base64)\"`"),
        // Only known words: others may be the beginning of the secret.
        "Bearer" | "Token" | "ApiKey" | "Digest" => format!("`export {variable}='{scheme} …'`"),
        _ => format!("`export {variable}='…'`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_become_variables_and_equal_ones_share_one() {
        let with = |fields: &[(&str, &str)]| Request {
            headers: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Request::get("/a?api_key=1&page=2")
        };
        let mut requests = [
            with(&[("Authorization", "Bearer one"), ("Accept", "*/*")]),
            with(&[("authorization", "Bearer one"), ("X-Api-Key", "k")]),
            with(&[("Authorization", "Basic b25l"), ("Cookie", "env:MINE")]),
        ];
        let notes = hide(&mut requests);
        let values: Vec<&str> =
            requests.iter().flat_map(|request| &request.headers).map(|(_, value)| &**value).collect();
        let wanted = [
            "env:AUTHORIZATION",
            "*/*",
            "env:AUTHORIZATION",
            "env:X_API_KEY",
            "env:AUTHORIZATION_2",
            "env:MINE",
        ];
        assert_eq!(values, wanted);
        let text = notes.join("\n");
        assert!(text.contains("`export AUTHORIZATION='Bearer …'`"), "{text}");
        assert!(text.contains("`export AUTHORIZATION_2=\"Basic $("), "{text}");
        assert!(text.contains("`api_key`") && !text.contains("`page`"), "{text}");
        for secret in ["one'", "b25l"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
