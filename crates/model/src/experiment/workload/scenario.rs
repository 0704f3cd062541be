//! Sessions, rows of data, and values taken from replies, for the user's own requests.
//!
//! Types, read from the file and written. Names of values are checked as far as the file alone allows;
//! whoever reads the data files knows their columns.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::Equality;
use super::http::RequestSpec;
use crate::experiment::node::{Node, Read, Reader, Value, suggestion};
use crate::experiment::read;
use crate::experiment::template::{Template, is_value_name};

/// Most requests of a session.
pub const SESSION_LONGEST: usize = 1_000;

/// Longest value of a row or from a reply, in bytes.
pub const VALUE_LONGEST: usize = 8 * 1024;

/// What relates the requests to each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Sessions; a request in none of them is a session of its own.
    #[serde(default)]
    pub sessions: Vec<SessionSpec>,
    /// Data files; every session takes a row of each.
    #[serde(default)]
    pub data: Vec<DataSpec>,
    /// JSON pointers at which answers of variants may differ.
    #[serde(default)]
    pub ignore: Vec<String>,
}

/// An ordered list of requests that one client sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSpec {
    pub name: String,
    /// Names of its requests in order; at least one. A name may occur several times.
    pub requests: Vec<String>,
    /// Share of the mix, above zero.
    pub weight: f64,
}

/// A value taken from a reply, for later requests of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extract {
    pub name: String,
    pub from: ExtractFrom,
    /// Selects a part: the first group, or the whole match if there is no group.
    pub regex: Option<String>,
}

/// The source of a value in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractFrom {
    Body,
    /// The value at a JSON pointer (RFC 6901).
    Json(String),
    /// The first field of that name, case-insensitive; with a regular expression the first that matches.
    Header(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSpec {
    /// The CSV file, relative to the experiment's folder.
    pub file: String,
    pub order: RowOrder,
    /// Names of the columns, if the file's first line does not hold them.
    pub columns: Option<Vec<String>>,
    pub delimiter: char,
    /// SHA-256 of the file, once read.
    pub sha256: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// In order; after the last row the first follows.
    #[default]
    Sequential,
    /// In a random order that is drawn once: no row repeats before all were used.
    Shuffled,
    /// Drawn at random with equal probability.
    Random,
}

impl RowOrder {
    const NAMED: [(&str, Self); 3] =
        [("sequential", Self::Sequential), ("shuffled", Self::Shuffled), ("random", Self::Random)];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Shuffled => "shuffled",
            Self::Random => "random",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionPlan {
    /// For a request that is in no session, the request's name.
    pub name: String,
    /// Indices into the list of requests.
    pub requests: Vec<usize>,
    pub weight: f64,
}

/// Why the text of a request cannot be made from its template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error(
        "`${{{name}}}` has no value in session `{session}`: no data file has such a column and no earlier request of the session extracts it{hint}"
    )]
    Unknown {
        name: String,
        session: String,
        /// The available names, to follow the message.
        hint: String,
    },
    #[error("`{0}` is a column of a data file and is extracted too; give one of them another name")]
    Twice(String),
}

impl Scenario {
    /// All kinds of session: those in the file, then each request that is in none of them.
    pub fn plans(&self, requests: &[RequestSpec]) -> Vec<SessionPlan> {
        let place = |name: &String| requests.iter().position(|request| request.name == *name);
        let written = self.sessions.iter().map(|session| SessionPlan {
            name: session.name.clone(),
            requests: session.requests.iter().filter_map(place).collect(),
            weight: session.weight,
        });
        let single = requests.iter().enumerate().filter(|(_, request)| !self.holds(&request.name));
        let single = single.map(|(at, request)| SessionPlan {
            name: request.name.clone(),
            requests: vec![at],
            weight: request.weight,
        });
        written.chain(single).collect()
    }

    pub fn holds(&self, request: &str) -> bool {
        self.sessions.iter().any(|session| session.requests.iter().any(|name| name == request))
    }

    pub fn mean_length(&self, requests: &[RequestSpec]) -> f64 {
        let plans = self.plans(requests);
        let total: f64 = plans.iter().map(|plan| plan.weight).sum();
        plans.iter().map(|plan| plan.weight / total * plan.requests.len() as f64).sum()
    }

    /// Checks, in every session, that each value is known before a request uses it. `columns` are those of
    /// all data files. The error contains the index of its request.
    pub fn check_values(
        &self,
        requests: &[RequestSpec],
        columns: &[String],
    ) -> Result<(), (usize, ValueError)> {
        for (at, request) in requests.iter().enumerate() {
            if let Some(twice) = request.extract.iter().find(|extract| columns.contains(&extract.name)) {
                return Err((at, ValueError::Twice(twice.name.clone())));
            }
        }
        for plan in self.plans(requests) {
            let mut known: Vec<&str> = columns.iter().map(String::as_str).collect();
            for &at in &plan.requests {
                let missing = requests[at].values().into_iter().find(|name| !known.contains(&name.as_str()));
                if let Some(name) = missing {
                    let hint = match &known[..] {
                        [] => String::new(),
                        known => suggestion(&name, known),
                    };
                    return Err((at, ValueError::Unknown { name, session: plan.name, hint }));
                }
                known.extend(requests[at].extract.iter().map(|extract| extract.name.as_str()));
            }
        }
        Ok(())
    }
}

impl RequestSpec {
    /// Its texts with placeholders: path, header fields, body.
    fn templates(&self) -> impl Iterator<Item = Template> {
        let body = std::str::from_utf8(&self.body).unwrap_or_default();
        let values = self.headers.iter().map(|(_, value)| value.as_str()).chain([body]);
        // The texts were parsed before, so errors cannot occur.
        Template::parse(&self.path).into_iter().chain(values.flat_map(Template::parse_value))
    }

    /// Names of the session's values that it uses.
    pub fn values(&self) -> Vec<String> {
        self.templates()
            .flat_map(|template| template.values().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    /// Variables of the environment that it uses.
    pub fn variables(&self) -> Vec<String> {
        self.templates()
            .flat_map(|template| template.variables().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }
}

/// Reads sessions, data files and `ignore`. `places` holds the line of each request, and whether it has a
/// weight.
pub(super) fn read(
    reader: &Reader<'_>,
    requests: &[RequestSpec],
    places: &[(usize, bool)],
    equal: Equality,
) -> Read<Scenario> {
    let mut sessions = Vec::new();
    for table in reader.tables("session")? {
        sessions.push(session(table, requests)?);
    }
    let mut data = Vec::new();
    for table in reader.tables("data")? {
        data.push(data_file(table)?);
    }
    let scenario = Scenario { sessions, data, ignore: ignore(reader, equal)? };
    check_names(reader, &scenario, requests, places)?;
    let known: Option<Vec<String>> = scenario
        .data
        .iter()
        .map(|data| data.columns.clone())
        .collect::<Option<Vec<_>>>()
        .map(|all| all.concat());
    if let Some(columns) = known {
        check_columns(&columns).map_err(|message| reader.error(reader.line(), message))?;
        scenario.check_values(requests, &columns).map_err(|(at, error)| {
            reader.error(places[at].0, format!("request `{}`: {error}", requests[at].name))
        })?;
    }
    Ok(scenario)
}

pub fn check_columns(columns: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match columns.iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "two columns of data files are named `{name}`; give each a name of its own by `columns`"
        )),
    }
}

fn check_names(
    reader: &Reader<'_>,
    scenario: &Scenario,
    requests: &[RequestSpec],
    places: &[(usize, bool)],
) -> Read<()> {
    let mut names = BTreeSet::new();
    for plan in scenario.plans(requests) {
        if !names.insert(plan.name.clone()) {
            let message = format!("two sessions are named `{}`; give each a `name` of its own", plan.name);
            return Err(reader.error(reader.line(), message));
        }
    }
    let weighed =
        requests.iter().zip(places).find(|(request, (_, weight))| *weight && scenario.holds(&request.name));
    if let Some((request, (line, _))) = weighed {
        let message = format!(
            "request `{}` stands in a session, which has the `weight`; leave it out here",
            request.name
        );
        return Err(reader.error(*line, message));
    }
    Ok(())
}

fn session(reader: Reader<'_>, requests: &[RequestSpec]) -> Read<SessionSpec> {
    let known: Vec<&str> = requests.iter().map(|request| request.name.as_str()).collect();
    let names = reader.value("requests", |node| match &node.value {
        Value::List(items) if (1..=SESSION_LONGEST).contains(&items.len()) => {
            let named = |item: &Node| match item.show() {
                name if known.contains(&&*name) => Ok(name),
                name => Err(format!("no request is named `{name}`{}", suggestion(&name, &known))),
            };
            items.iter().map(named).collect::<Result<Vec<_>, _>>()
        }
        _ => Err(format!("must be a list of 1 to {SESSION_LONGEST} names of requests")),
    })?;
    let Some(names) = names else {
        let message = "`workload.session.requests` is missing; write the names of its requests in order";
        return Err(reader.error(reader.line(), message));
    };
    let name = reader.name("name")?.unwrap_or_else(|| names.join(", "));
    let session = SessionSpec { name, requests: names, weight: read::weight(&reader)? };
    reader.finish()?;
    Ok(session)
}

fn data_file(reader: Reader<'_>) -> Read<DataSpec> {
    let Some(file) = reader.text("file")? else {
        let message = "`workload.data.file` is missing; name a CSV file, relative to the experiment's folder";
        return Err(reader.error(reader.line(), message));
    };
    let columns = reader.value("columns", |node| match &node.value {
        Value::List(items) if !items.is_empty() => {
            let named = |item: &Node| match item.show() {
                name if is_value_name(&name) => Ok(name),
                name => Err(format!("`{name}` is no name; use letters, digits, `_`, `-` and `.`")),
            };
            items.iter().map(named).collect::<Result<Vec<_>, _>>()
        }
        _ => Err("must be a list of names, one for each column".to_owned()),
    })?;
    let delimiter = reader.value("delimiter", |node| {
        let text = node.show();
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(one), None)
                if one.is_ascii() && !one.is_ascii_alphanumeric() && !"\"\r\n".contains(one) =>
            {
                Ok(one)
            }
            _ => Err(format!("`{text}` must be one character such as `;` or a tab")),
        }
    })?;
    let data = DataSpec {
        file,
        order: reader.choice("order", &RowOrder::NAMED)?.unwrap_or_default(),
        columns,
        delimiter: delimiter.unwrap_or(','),
        sha256: reader.text("sha256")?,
    };
    reader.finish()?;
    Ok(data)
}

fn ignore(reader: &Reader<'_>, equal: Equality) -> Read<Vec<String>> {
    let ignored = reader.value("ignore", |node| match &node.value {
        Value::List(items) if !items.is_empty() => {
            let pointer = |item: &Node| match item.show() {
                pointer if pointer.starts_with('/') => Ok(pointer),
                other => Err(format!("`{other}` is not a JSON pointer; write `\"/{other}\"`")),
            };
            items.iter().map(pointer).collect::<Result<Vec<_>, _>>()
        }
        _ => Err("must be a list of JSON pointers".to_owned()),
    })?;
    if ignored.is_some() && equal != Equality::Json {
        let message = "`workload.ignore` belongs to `equal = \"json\"`: without it, values are not compared";
        return Err(reader.error(reader.line(), message));
    }
    Ok(ignored.unwrap_or_default())
}

pub(super) fn extracts(reader: &Reader<'_>) -> Read<Vec<Extract>> {
    let Some(table) = reader.table("extract")? else { return Ok(Vec::new()) };
    table.free_entries().iter().map(|(name, node)| extract(&table, name, node)).collect()
}

fn extract(table: &Reader<'_>, name: &str, node: &Node) -> Read<Extract> {
    if !is_value_name(name) {
        let message = format!("`{name}` is no name for a value; use letters, digits, `_`, `-` and `.`");
        return Err(table.error(node.line, message));
    }
    let reader = table.entry_table(name, node)?;
    let json = reader.value("json", |node| match node.show() {
        pointer if pointer.is_empty() || pointer.starts_with('/') => Ok(pointer),
        other => Err(format!("`{other}` is not a JSON pointer; write `\"/{other}\"`")),
    })?;
    let header = reader.text("header")?;
    let regex = reader.text("regex")?;
    let from = match (json, header, &regex) {
        (Some(pointer), None, _) => ExtractFrom::Json(pointer),
        (None, Some(field), _) => ExtractFrom::Header(field),
        (None, None, Some(_)) => ExtractFrom::Body,
        _ => {
            let message = format!(
                "`{}` needs `json = \"/pointer\"`, `header = \"Name\"` or `regex = '…'`; `regex` may stand beside either of the others",
                table.full_key(name)
            );
            return Err(reader.error(node.line, message));
        }
    };
    reader.finish()?;
    Ok(Extract { name: name.to_owned(), from, regex })
}

/// Adds sessions, data files and `ignore` to the table of `[workload]`.
pub(super) fn write(table: &mut Table, scenario: &Scenario) {
    let session = |session: &SessionSpec| -> Toml {
        let mut table = Table::new();
        table.insert("name".into(), session.name.clone().into());
        table.insert("requests".into(), session.requests.clone().into());
        table.insert("weight".into(), session.weight.into());
        table.into()
    };
    let data = |data: &DataSpec| -> Toml {
        let mut table = Table::new();
        table.insert("file".into(), data.file.clone().into());
        table.insert("order".into(), data.order.name().into());
        if let Some(columns) = &data.columns {
            table.insert("columns".into(), columns.clone().into());
        }
        table.insert("delimiter".into(), data.delimiter.to_string().into());
        if let Some(sha256) = &data.sha256 {
            table.insert("sha256".into(), sha256.clone().into());
        }
        table.into()
    };
    if !scenario.sessions.is_empty() {
        table.insert("session".into(), scenario.sessions.iter().map(session).collect::<Vec<_>>().into());
    }
    if !scenario.data.is_empty() {
        table.insert("data".into(), scenario.data.iter().map(data).collect::<Vec<_>>().into());
    }
    if !scenario.ignore.is_empty() {
        table.insert("ignore".into(), scenario.ignore.clone().into());
    }
}

pub(super) fn write_extracts(extracts: &[Extract]) -> Table {
    let one = |extract: &Extract| {
        let mut table = Table::new();
        match &extract.from {
            ExtractFrom::Body => {}
            ExtractFrom::Json(pointer) => drop(table.insert("json".into(), pointer.clone().into())),
            ExtractFrom::Header(field) => drop(table.insert("header".into(), field.clone().into())),
        }
        if let Some(regex) = &extract.regex {
            table.insert("regex".into(), regex.clone().into());
        }
        (extract.name.clone(), Toml::from(table))
    };
    extracts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Experiment, HttpSpec, WorkloadSpec};

    fn parse(requests: &str) -> Result<Experiment, String> {
        let text = format!("[workload]\nname = 'http'\n{requests}\n[[variant]]\nurl = 'h:1'\n");
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    const LOGIN: &str = "[[workload.request]]\nname = 'login'\npath = '/login'\n\
        extract.token = { json = '/token' }\n";
    const READ: &str = "[[workload.request]]\nname = 'read'\npath = '/${token}'\n";

    #[test]
    fn sessions_values_and_rows_are_read_and_written() {
        let text = format!(
            "equal = 'json'\nignore = ['/a', '/list/*/b']\n{LOGIN}extract.id = {{ header = 'X', regex = '([0-9]+)' }}\n\
             {READ}[[workload.request]]\nname = 'front'\nweight = 2\n\
             [[workload.session]]\nname = 'both'\nrequests = ['login', 'read', 'read']\nweight = 3\n\
             [[workload.data]]\nfile = 'a.csv'\norder = 'random'\ndelimiter = ';'\ncolumns = ['x', 'y z']\n"
        );
        let experiment = parse(&text).expect("an experiment");
        assert_eq!(Experiment::parse("again", &experiment.to_toml()), Ok(experiment.clone()));
        let workload = &experiment.points[0].workload;
        let WorkloadSpec::Http(HttpSpec { requests, scenario, .. }) = workload else { panic!("http") };
        let plans = scenario.plans(requests);
        let told: Vec<_> =
            plans.iter().map(|plan| (plan.name.as_str(), &plan.requests[..], plan.weight)).collect();
        assert_eq!(told, [("both", &[0, 1, 1][..], 3.0), ("front", &[2][..], 2.0)]);
        assert!((workload.session_length() - (3.0 * 3.0 + 2.0) / 5.0).abs() < 1e-12);
        let begin: Vec<String> = workload.first_operations().into_iter().map(|(_, name)| name).collect();
        assert_eq!(begin, ["login", "front"]);
        assert_eq!((scenario.data[0].order, scenario.data[0].delimiter), (RowOrder::Random, ';'));
        let plain = parse(LOGIN).expect("an experiment");
        assert_eq!(Experiment::parse("again", &plain.to_toml()), Ok(plain));
    }

    #[test]
    fn mistakes_name_their_place() {
        let session = |requests: &str| format!("[[workload.session]]\nname = 's'\nrequests = {requests}\n");
        for (text, parts) in [
            (
                format!("{LOGIN}{READ}"),
                &["x.toml:7:", "request `read`", "`${token}` has no value in session `read`"][..],
            ),
            (format!("{LOGIN}{READ}{}", session("['read', 'login']")), &["x.toml:7:", "session `s`"]),
            (
                format!("{LOGIN}{}", session("['logon']")),
                &["x.toml:9:", "no request is named `logon`", "did you mean `login`?"],
            ),
            (format!("{LOGIN}{}", session("[]")), &["x.toml:9:", "1 to 1000 names"]),
            ("[[workload.session]]\nname = 's'".to_owned(), &["`workload.session.requests` is missing"]),
            (format!("{LOGIN}weight = 2\n{}", session("['login']")), &["x.toml:3:", "leave it out here"]),
            (
                format!("{LOGIN}{}[[workload.request]]\nname = 's'\n", session("['login']")),
                &["two sessions are named `s`"],
            ),
            (LOGIN.replace("json", "jsn"), &["x.toml:6:", "`workload.request.extract.token` needs `json"]),
            (LOGIN.replace("'/token'", "'token'"), &["x.toml:6:", "write `\"/token\"`"]),
            (LOGIN.replace("extract.token", "extract.'a/b'"), &["`a/b` is no name for a value"]),
            (
                "[[workload.request]]\npath = '/${'\n".to_owned(),
                &["x.toml:4:", "`workload.request.path`", "is not closed"],
            ),
            (
                "[[workload.request]]\nbody = '${a:b}'\n".to_owned(),
                &["x.toml:4:", "`workload.request.body`", "names no value"],
            ),
            (
                "[[workload.request]]\nheaders = { A = '${}' }\n".to_owned(),
                &["x.toml:4:", "`workload.request.headers`"],
            ),
            ("[[workload.request]]\npath = 'x${a}'\n".to_owned(), &["must start with `/`"]),
            ("[[workload.data]]\norder = 'random'\n".to_owned(), &["`workload.data.file` is missing"]),
            (
                "[[workload.data]]\nfile = 'a'\norder = 'randm'\n".to_owned(),
                &["x.toml:5:", "did you mean `random`?"],
            ),
            ("[[workload.data]]\nfile = 'a'\ndelimiter = 'xx'\n".to_owned(), &["one character"]),
            (
                "[[workload.data]]\nfile = 'a'\ncolumns = ['x', 'x']\n".to_owned(),
                &["two columns of data files are named `x`"],
            ),
            ("ignore = ['/a']\n".to_owned(), &["`workload.ignore` belongs to `equal = \"json\"`"]),
            ("equal = 'json'\nignore = ['a']\n".to_owned(), &["write `\"/a\"`"]),
            (
                "[[workload.request]]\nname = \"a\\u001b[2J\"\n".to_owned(),
                &["x.toml:4:", "`\\u{1b}`, which cannot be shown"],
            ),
        ] {
            let message = parse(&text).expect_err(&text);
            parts.iter().for_each(|part| assert!(message.contains(part), "{text}: {message}"));
        }
        let open = format!("{LOGIN}{READ}{}[load]\nmodel = 'open'\nrate = 5\n", session("['login', 'read']"));
        assert!(parse(&open).expect_err("refused").contains("partly-open"));
    }

    #[test]
    fn names_hold_no_secret_of_a_query() {
        let experiment =
            parse("[[workload.request]]\npath = '/a?token=swordfish&x=1'\n").expect("an experiment");
        assert_eq!(experiment.points[0].workload.operations(), ["GET /a?token=…&x=1"]);
    }
}
