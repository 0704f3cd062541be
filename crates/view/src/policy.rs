//! Content security policies: what a page may run and load. Only what the page itself contains is allowed; scripts and
//! styles are named by their hashes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Directives of every page, whatever its own policy says.
const ALWAYS: &str = "base-uri 'none'; frame-ancestors 'none'";

/// Directives that this header sets itself for a page that states its own policy. Browsers report duplicates.
const SET_BY_HEADER: [&str; 3] = ["form-action", "base-uri", "frame-ancestors"];

/// The content security policy of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy(String);

impl Policy {
    /// Allows these inline styles and scripts and no others; scripts may request data from this server only.
    pub fn allowing(styles: &[&str], scripts: &[&str]) -> Self {
        let list = |texts: &[&str]| match texts {
            [] => "'none'".to_owned(),
            texts => texts.iter().map(|text| hash(text)).collect::<Vec<_>>().join(" "),
        };
        let connect = if scripts.is_empty() { "'none'" } else { "'self'" };
        Self(format!(
            "default-src 'none'; style-src {}; script-src {}; connect-src {connect}; img-src data:; form-action 'self'; \
             {ALWAYS}",
            list(styles),
            list(scripts)
        ))
    }

    /// Repeats in the header the policy that a page, such as the report, states in `<meta
    /// http-equiv="Content-Security-Policy">`. A page without one may use inline styles and nothing else.
    pub fn stated_in(page: &str) -> Self {
        let own = stated(page).unwrap_or("default-src 'none'; style-src 'unsafe-inline'; img-src data:");
        let directives = own.split(';').map(str::trim);
        let is_own = |directive: &&str| {
            directive.split(' ').next().is_some_and(|name| !name.is_empty() && !SET_BY_HEADER.contains(&name))
        };
        let own = directives.filter(is_own).collect::<Vec<_>>().join("; ");
        Self(format!("{own}; form-action 'none'; {ALWAYS}"))
    }

    /// For responses that are not pages.
    pub(crate) fn nothing() -> Self {
        Self(format!("default-src 'none'; {ALWAYS}"))
    }

    /// The header's value.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The policy in a page's head, if a header can hold it. Browsers enforce both policies, so reading it wrongly can only
/// forbid more.
fn stated(page: &str) -> Option<&str> {
    let head = &page[..page.find("</head>")?];
    let after = head.split_once("http-equiv=\"Content-Security-Policy\"")?.1;
    let content = after.split_once("content=\"")?.1;
    let text = content.split_once('"')?.0;
    let fits = |c: char| (' '..='~').contains(&c) && c != '&';
    text.chars().all(fits).then_some(text)
}

/// The hash of a text as a source expression: `'sha256-…'`.
pub fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_the_one_that_browsers_compute() {
        // The example in the specification (CSP level 3).
        assert_eq!(hash("doSomething();"), "'sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc='");
    }

    #[test]
    fn the_header_repeats_the_policy_of_the_page() {
        let page = "<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-x='; base-uri 'self'; form-action 'self';\">\n</head>";
        assert_eq!(
            Policy::stated_in(page).text(),
            format!("default-src 'none'; script-src 'sha256-x='; form-action 'none'; {ALWAYS}")
        );
        for odd in [
            "",
            "<head></head>",
            "<head><meta http-equiv=\"Content-Security-Policy\" content=\"a\r\nb\"></head>",
        ] {
            assert!(
                Policy::stated_in(odd).text().starts_with("default-src 'none'; style-src 'unsafe-inline'")
            );
        }
    }
}
