//! Citations of this program and of runs: sentences, BibTeX, JSON, and the Citation File Format, in which
//! `CITATION.cff` is written. The facts come from here and from `Cargo.toml`.

use std::fmt::Write;

use serde::Serialize;

use crate::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Software {
    pub title: &'static str,
    pub about: &'static str,
    pub author: &'static str,
    pub version: &'static str,
    pub year: &'static str,
    /// An SPDX expression.
    pub license: &'static str,
    pub url: &'static str,
}

pub const WEIGHBRIDGE: Software = Software {
    title: "Weighbridge",
    about: "Measures what a design decision costs a networked service: runs the alternatives side by side under the \
            same load, interleaved, and answers with the difference, its confidence interval and a verdict.",
    author: "The Weighbridge authors",
    version: env!("CARGO_PKG_VERSION"),
    year: "2026",
    license: env!("CARGO_PKG_LICENSE"),
    url: env!("CARGO_PKG_REPOSITORY"),
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedRun {
    /// Name of its folder.
    pub run: String,
    pub title: String,
    /// RFC 3339 in UTC.
    pub started: String,
    /// The host in words, if it is known.
    pub host: Option<String>,
    /// The version of `weigh` that measured it; `None` for imported runs.
    pub weigh: Option<String>,
    pub variants: Vec<CitedVariant>,
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitedVariant {
    pub name: String,
    /// Version of its service.
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    pub software: Software,
    pub run: Option<CitedRun>,
}

impl CitedRun {
    fn day(&self) -> &str {
        self.started.split('T').next().unwrap_or(&self.started)
    }

    fn year(&self) -> &str {
        self.started.split('-').next().unwrap_or(&self.started)
    }

    /// With which program and on which host it was measured.
    fn by(&self) -> String {
        let program = match &self.weigh {
            Some(version) => format!("measured with Weighbridge {version}"),
            None => "imported into Weighbridge from another program's log".to_owned(),
        };
        self.host.as_ref().map_or(program.clone(), |host| format!("{program} on {host}"))
    }

    fn variants(&self) -> String {
        let one = |CitedVariant { name, version }: &CitedVariant| match version {
            Some(version) => format!("{name} ({version})"),
            None => name.clone(),
        };
        self.variants.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

pub fn json(citation: &Citation) -> String {
    json::pretty(citation)
}

pub fn text(citation: &Citation) -> String {
    let Software { title, author, version, year, license, url, .. } = citation.software;
    let mut text = format!("{author}: {title}, version {version} ({year}). {license}. {url}\n");
    if let Some(run) = &citation.run {
        let _ = write!(
            text,
            "\n{}. Run {}, {}; {}.\nVariants: {}.\nRecord sha256:{}\n",
            run.title,
            run.run,
            run.day(),
            run.by(),
            run.variants(),
            run.digest
        );
    }
    text
}

/// Entries for BibTeX and biblatex.
pub fn bibtex(citation: &Citation) -> String {
    let Software { title, author, version, year, license, url, .. } = citation.software;
    let mut text = entry(
        "weighbridge",
        &[
            ("author", format!("{{{}}}", escape(author))),
            ("title", format!("{{{}}}", escape(title))),
            ("howpublished", format!("\\url{{{url}}}")),
            ("year", year.to_owned()),
            ("note", format!("Version {}. {}", escape(version), escape(license))),
        ],
    );
    if let Some(run) = &citation.run {
        let note = format!(
            "{}. Variants: {}. Record sha256:{}",
            escape(&capital(&run.by())),
            escape(&run.variants()),
            run.digest
        );
        text.push('\n');
        text.push_str(&entry(
            &format!("weighbridge-{}", key(&run.run)),
            &[
                ("title", format!("{{{}}}", escape(&run.title))),
                ("howpublished", format!("Data set, run {}", escape(&run.run))),
                ("year", escape(run.year())),
                ("note", format!("{}. {note}", escape(run.day()))),
            ],
        ));
    }
    text
}

fn entry(key: &str, fields: &[(&str, String)]) -> String {
    let mut text = format!("@misc{{{key},\n");
    for (name, value) in fields {
        let _ = writeln!(text, "  {name:12} = {{{value}}},");
    }
    text.push_str("}\n");
    text
}

/// A BibTeX key: one word without special characters.
fn key(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':');
    text.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

/// Escapes what TeX reads as a command.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::text::clean(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' => out.extend(['\\', c]),
            // BibTeX counts braces, even escaped ones.
            '{' => out.push_str("\\textbraceleft{}"),
            '}' => out.push_str("\\textbraceright{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            c => out.push(c),
        }
    }
    out
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The contents of `CITATION.cff`, in Citation File Format 1.2.
pub fn cff(software: &Software) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let licenses: String = software.license.split(" OR ").map(|license| format!("  - {license}\n")).collect();
    format!(
        "# Written by `weigh cite --format cff`; a test holds it to that.\n\
         cff-version: 1.2.0\n\
         message: \"If you use Weighbridge, please cite it as below; `weigh cite RUN` says how to cite a measurement.\"\n\
         type: software\n\
         title: {}\n\
         abstract: {}\n\
         authors:\n  - name: {}\n\
         version: {}\n\
         license:\n{licenses}\
         url: {}\n",
        quoted(software.title),
        quoted(software.about),
        quoted(software.author),
        quoted(software.version),
        quoted(software.url),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tex_would_read_as_a_command_is_text() {
        assert_eq!(
            escape(r"50 % of a_b\c{d} & $x^2~#"),
            r"50 \% of a\_b\textbackslash{}c\textbraceleft{}d\textbraceright{} \& \$x\textasciicircum{}2\textasciitilde{}\#"
        );
        let lone = escape("go {fast");
        assert_eq!(lone.matches('{').count(), lone.matches('}').count(), "BibTeX counts them: {lone}");
        assert_eq!(key("20260101-120000-a b,c"), "20260101-120000-a-b-c");
    }
}
