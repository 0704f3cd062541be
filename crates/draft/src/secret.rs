//! Secrets on their way into a file: they do not get there. A header field whose name says that it holds one is
//! written as `env:NAME`, and a note says what to set.
//!
//! It goes by names, as the record of a run does, and refuses to guess from values.

use weighbridge_model::secret::is_secret;

use crate::Request;

/// The variables that stand for secrets, with what each holds, in the order of their finding.
#[derive(Debug, Default)]
pub(crate) struct Vault {
    held: Vec<(String, String)>,
}

impl Vault {
    /// The value as the file has it: `env:NAME` where the name of the field names a secret. Equal values of one field
    /// share a variable.
    fn keep(&mut self, field: &str, value: &str) -> String {
        if !is_secret(field) || value.starts_with("env:") {
            return value.to_owned();
        }
        let base: String = field
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        // A variable's name does not begin with a digit.
        let base = if base.starts_with(|c: char| c.is_ascii_digit()) { format!("_{base}") } else { base };
        let mut name = base.clone();
        for number in 2.. {
            match self.held.iter().find(|(taken, _)| *taken == name) {
                Some((_, held)) if held == value => return format!("env:{name}"),
                Some(_) => name = format!("{base}_{number}"),
                None => break,
            }
        }
        self.held.push((name.clone(), value.to_owned()));
        format!("env:{name}")
    }
}

/// Takes the secrets out of all header fields; what to set before the experiment can be run, and what is left to be
/// looked at.
pub(crate) fn hide(requests: &mut [Request]) -> Vec<String> {
    let mut vault = Vault::default();
    let mut notes = Vec::new();
    for request in &mut *requests {
        for (name, value) in &mut request.headers {
            let kept = vault.keep(name, value);
            if let Some(variable) = kept.strip_prefix("env:") {
                let note = format!(
                    "set `{variable}` to the value of the header `{name}`: {}",
                    how(name, variable, value)
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            *value = kept;
        }
    }
    for request in requests {
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        let names = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name);
        for name in names.filter(|name| is_secret(name)) {
            let note = format!("the query's `{name}` looks like a secret and stands in the file as it is");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// The command that sets a variable, without what it is to hold.
fn how(field: &str, variable: &str, value: &str) -> String {
    let (scheme, rest) = value.split_once(' ').unwrap_or(("", value));
    match scheme {
        _ if !field.eq_ignore_ascii_case("authorization") || rest.is_empty() => {
            format!("`export {variable}='…'`")
        }
        "Basic" => format!("`export {variable}=\"Basic $(printf %s 'user:password' | base64)\"`"),
        // Known words only: the first of others may be part of the secret.
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
        let told = notes.join("\n");
        assert!(told.contains("`export AUTHORIZATION='Bearer …'`"), "{told}");
        assert!(told.contains("`export AUTHORIZATION_2=\"Basic $("), "{told}");
        assert!(told.contains("`api_key`") && !told.contains("`page`"), "{told}");
        for secret in ["one'", "b25l"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
}
