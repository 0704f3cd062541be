//! The workload `http`: the user's own requests, with checks of replies. Their keys, read and written.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::scenario::{self, DataSpec, Extract, Scenario};
use super::{Equality, Spec, TextVisitor};
use crate::experiment::node::{Read, Reader};
use crate::experiment::read::{json_conditions, pairs, refuse_empty, weight};
use crate::experiment::template::{Template, TemplateError, TemplatePiece};
use crate::experiment::write;
use crate::id::OperationId;
use crate::quantity::Bytes;
use crate::secret::shown_path;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// At least one.
    pub requests: Vec<RequestSpec>,
    pub equal: Equality,
    /// Sessions of several requests, rows of data, and allowed differences.
    #[serde(default)]
    pub scenario: Scenario,
}

/// A request, which is one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSpec {
    pub name: String,
    /// `GET`, `POST` …
    pub method: String,
    /// Appended to the path of the variant's URL; may be empty. Path, headers and body are [`Template`]s.
    pub path: String,
    /// Name and value, in order; a value `env:NAME` is read from the environment when the run starts.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// Share of the mix, above zero.
    pub weight: f64,
    pub check: ReplyCheck,
    #[serde(default)]
    pub extract: Vec<Extract>,
}

/// Conditions for a good reply. Without `status`, any 2xx is good.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplyCheck {
    pub status: Option<u16>,
    /// Exactly this many body bytes.
    pub length: Option<Bytes>,
    /// These headers with exactly these values; names are case-insensitive.
    pub headers: Vec<(String, String)>,
    /// JSON pointers (RFC 6901) with the expected values.
    pub json: Vec<(String, serde_json::Value)>,
}

impl Spec for HttpSpec {
    const NAME: &'static str = "http";

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let equal = super::equality(reader)?;
        let (mut requests, mut places) = (Vec::new(), Vec::new());
        for table in reader.tables("request")? {
            places.push((table.line(), table.node("weight").is_some()));
            requests.push(request(table)?);
        }
        if requests.is_empty() {
            requests.push(RequestSpec {
                name: "request".to_owned(),
                method: "GET".to_owned(),
                path: String::new(),
                headers: Vec::new(),
                body: Vec::new(),
                weight: 1.0,
                check: ReplyCheck::default(),
                extract: Vec::new(),
            });
            places.push((reader.line(), false));
        }
        let mut names = BTreeSet::new();
        for request in &requests {
            if !names.insert(&request.name) {
                let message =
                    format!("two requests are named `{}`; give each a `name` of its own", request.name);
                return Err(reader.error(reader.line(), message));
            }
        }
        let scenario = scenario::read(reader, &requests, &places, equal)?;
        Ok(Self { requests, equal, scenario })
    }

    fn write(&self, table: &mut Table) {
        table.insert("equal".into(), self.equal.name().into());
        let request = |one: &RequestSpec| write_request(one, self.scenario.holds(&one.name));
        table.insert("request".into(), self.requests.iter().map(request).collect::<Vec<Value>>().into());
        scenario::write(table, &self.scenario);
    }

    fn operations(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.name.clone()).collect()
    }

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        let plans = self.scenario.plans(&self.requests);
        let first: Vec<_> = plans.iter().map(|plan| plan.requests[0]).collect();
        let numbered = (0..).map(OperationId).zip(self.operations());
        numbered.filter(|(operation, _)| first.contains(&operation.index())).collect()
    }

    fn session_length(&self) -> f64 {
        self.scenario.mean_length(&self.requests)
    }

    fn has_long_sessions(&self) -> bool {
        self.scenario.sessions.iter().any(|session| session.requests.len() > 1)
    }

    fn words(&self) -> String {
        if let [request] = &self.requests[..] {
            let path = shown_path(&request.path);
            let path = if path.is_empty() { Cow::Borrowed("URL") } else { path.into() };
            return format!("http, {} {path}", request.method);
        }
        let kinds = format!("http, {} kinds of request", self.requests.len());
        match &self.scenario.sessions[..] {
            [] => kinds,
            [one] => format!("{kinds}, sessions of {}", one.requests.len()),
            several => format!("{kinds}, {} kinds of session", several.len()),
        }
    }

    fn data_files(&mut self) -> &mut [DataSpec] {
        &mut self.scenario.data
    }

    fn visit_texts(&mut self, visitor: &mut dyn TextVisitor) {
        for request in &mut self.requests {
            request.headers.iter_mut().for_each(|(name, value)| visitor.named(name, value));
            visitor.text(&mut request.path);
            visitor.bytes(&mut request.body);
        }
    }
}

fn request(reader: Reader<'_>) -> Read<RequestSpec> {
    let token = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    let method = reader.text("method")?.unwrap_or_else(|| "GET".to_owned()).to_uppercase();
    if !method.bytes().all(|b| b.is_ascii_alphabetic()) || method.is_empty() {
        return Err(
            reader.error(reader.line(), format!("`{method}` is not a method such as `GET` or `POST`"))
        );
    }
    let path = reader.text("path")?.unwrap_or_default();
    let plain = plain_text(&template(&reader, "path", Template::parse(&path))?);
    let begins = path.starts_with('/') || path.starts_with('?') || path.starts_with("${");
    if !path.is_empty() && !(begins && (plain.is_empty() || token(&plain))) {
        let message = format!("path `{path}` must start with `/` and hold no blanks; percent-encode them");
        return Err(reader.error(reader.line(), message));
    }
    let name = reader.name("name")?.unwrap_or_else(|| {
        format!("{method} {}", if path.is_empty() { "/".to_owned() } else { shown_path(&path) })
    });
    let headers = pairs(&reader, "headers")?;
    for (_, value) in &headers {
        template(&reader, "headers", Template::parse_value(value))?;
    }
    let body = reader.text("body")?.unwrap_or_default();
    template(&reader, "body", Template::parse_value(&body))?;
    let weight = weight(&reader)?;
    let check = match reader.table("check")? {
        Some(table) => reply_check(table)?,
        None => ReplyCheck::default(),
    };
    let extract = scenario::extracts(&reader)?;
    reader.finish()?;
    Ok(RequestSpec { name, method, path, headers, body: body.into_bytes(), weight, check, extract })
}

/// Adds the key and its line to a template's error.
fn template(reader: &Reader<'_>, key: &'static str, read: Result<Template, TemplateError>) -> Read<Template> {
    read.map_err(|error| {
        let line = reader.node(key).map_or(reader.line(), |node| node.line);
        reader.error(line, format!("`{}`: {error}", reader.full_key(key)))
    })
}

fn plain_text(template: &Template) -> String {
    let text = template.pieces().iter().filter_map(|piece| match piece {
        TemplatePiece::Text(text) => Some(text.as_str()),
        TemplatePiece::Value { .. } | TemplatePiece::Environment { .. } => None,
    });
    text.collect()
}

fn reply_check(reader: Reader<'_>) -> Read<ReplyCheck> {
    let status = reader.integer("status", 100, 599)?.map(|n| n as u16);
    let length = reader.quantity("length")?;
    let headers = pairs(&reader, "headers")?;
    refuse_empty(&reader, "headers")?;
    let json = json_conditions(&reader)?;
    reader.finish()?;
    Ok(ReplyCheck { status, length, headers, json })
}

/// Writes a request. In a session it must not have a weight, since sessions have one.
fn write_request(request: &RequestSpec, in_session: bool) -> Value {
    let mut table = Table::new();
    table.insert("name".into(), request.name.clone().into());
    table.insert("method".into(), request.method.clone().into());
    table.insert("path".into(), request.path.clone().into());
    table.insert("headers".into(), write::pairs(&request.headers).into());
    table.insert("body".into(), String::from_utf8_lossy(&request.body).into_owned().into());
    if !in_session {
        table.insert("weight".into(), request.weight.into());
    }
    if !request.extract.is_empty() {
        table.insert("extract".into(), scenario::write_extracts(&request.extract).into());
    }
    let mut check = Table::new();
    if let Some(status) = request.check.status {
        check.insert("status".into(), i64::from(status).into());
    }
    if let Some(length) = request.check.length {
        check.insert("length".into(), length.get().to_string().into());
    }
    if !request.check.headers.is_empty() {
        check.insert("headers".into(), write::pairs(&request.check.headers).into());
    }
    if !request.check.json.is_empty() {
        check.insert("json".into(), write::json_conditions(&request.check.json).into());
    }
    table.insert("check".into(), check.into());
    table.into()
}
