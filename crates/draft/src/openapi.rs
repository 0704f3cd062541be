//! A description of an API (OpenAPI 3.0 or 3.1, JSON or YAML) as the requests of an experiment.
//!
//! Values of parameters and bodies are the description's own examples and defaults, or generated from its schemas, the
//! same each time. It follows references within the file, does not fetch others, and leaves out what it cannot fill in.

mod example;

use serde_json::Value;
use weighbridge_model::experiment::{Url, suggestion};

use crate::requests::{add_header, form, name_all};
use crate::{Address, Draft, Request, Server, secret};
use example::Examples;

/// Methods of operations, as descriptions write them.
const METHODS: [&str; 8] = ["get", "head", "options", "post", "put", "patch", "delete", "trace"];

/// Most operations of one experiment.
const MOST_REQUESTS: usize = 1_000;

/// Longest file; values in it can refer to each other, so that a short file can expand to a long one.
const LONGEST: usize = 32 << 20;

/// Which part of a description to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Where the API is served; by default the description's first server.
    pub url: Option<String>,
    /// Methods in lower case; empty means `GET`, and `all` means every method.
    pub methods: Vec<String>,
}

/// Why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenApiError {
    #[error("{file}:{line}: this is no description of an API: {message}")]
    Syntax {
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    #[error("{file}: `{place}`: {message}")]
    Wrong {
        file: String,
        /// Position, as a JSON pointer.
        place: String,
        /// What is wrong and what would be right.
        message: String,
    },
    #[error("`--methods`: `{method}` is not known{}", suggestion(method, &[&METHODS[..], &["all"]].concat()))]
    Method {
        /// As it was given.
        method: String,
    },
    #[error("{0}")]
    Url(String),
    #[error("{file}: no operation is left{why}")]
    Nothing {
        file: String,
        /// What was left out, and how to include it.
        why: String,
    },
}

type Parsed<T> = Result<T, OpenApiError>;

/// Reads a description. `file` names it in errors.
pub fn parse(file: &str, text: &str, wanted: &Selection) -> Parsed<Draft> {
    let root = tree(file, text)?;
    let api = Api { file, root: &root };
    api.check_version()?;
    let methods = methods(&wanted.methods)?;
    let base = api.server(wanted.url.as_deref())?;
    let mut omissions = Omissions::default();
    let mut requests = Vec::new();
    let no_paths = serde_json::Map::new();
    let paths = match root.get("paths") {
        None => &no_paths,
        Some(paths) => paths.as_object().ok_or_else(|| api.wrong("/paths", "must be a map of paths"))?,
    };
    for (path, item) in paths {
        requests.extend(api.operations(path, item, &methods, &base, &mut omissions)?);
    }
    if requests.is_empty() {
        return Err(OpenApiError::Nothing { file: file.to_owned(), why: omissions.why() });
    }
    if requests.len() > MOST_REQUESTS {
        let message =
            format!("{} operations are more than {MOST_REQUESTS}; choose with `--methods`", requests.len());
        return Err(api.wrong("/paths", message));
    }
    name_all(&mut requests);
    let mut notes = secret::hide(&mut requests);
    if requests.iter().any(|request| request.path.contains("=REPLACE")) {
        notes.push("put your key in the place of `REPLACE`".to_owned());
    }
    notes.extend(omissions.notes());
    let title = root.pointer("/info/title").and_then(Value::as_str).unwrap_or("an API").to_owned();
    let server = Server::Address(Box::new(Address::plain(Url { path: "/".to_owned(), ..base })));
    Ok(Draft { title, server, requests, session: None, timeout: None, notes })
}

/// Whether a text is the description of an API.
pub fn is_openapi(text: &str) -> bool {
    let keys = ["openapi", "swagger"];
    if text.trim_start().starts_with('{') {
        let tree = serde_json::from_str::<Value>(text);
        return tree.is_ok_and(|tree| keys.iter().any(|key| tree.get(key).is_some()));
    }
    let begins = |line: &str| keys.iter().any(|key| line.trim_start_matches(['"', '\'']).starts_with(key));
    text.lines().any(begins)
}

fn tree(file: &str, text: &str) -> Parsed<Value> {
    let text = text.trim_start_matches('\u{feff}');
    let syntax = |line, message: String| OpenApiError::Syntax { file: file.to_owned(), line, message };
    if text.len() > LONGEST {
        return Err(syntax(1, format!("{} bytes are more than {LONGEST}", text.len())));
    }
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let full = error.to_string();
            syntax(error.line(), full.split(" at line ").next().unwrap_or_default().to_owned())
        });
    }
    yaml_serde::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |place| place.line().max(1));
        let full = error.to_string().replace('\n', " ");
        syntax(line, full.split(" at line ").next().unwrap_or_default().to_owned())
    })
}

fn methods(given: &[String]) -> Parsed<Vec<&'static str>> {
    if given.is_empty() {
        return Ok(vec!["get"]);
    }
    let mut wanted = Vec::new();
    for name in given {
        let lower = name.trim().to_ascii_lowercase();
        match METHODS.iter().find(|known| **known == lower) {
            _ if lower == "all" => wanted.extend(METHODS),
            Some(known) => wanted.push(*known),
            None => return Err(OpenApiError::Method { method: name.clone() }),
        }
    }
    // In the order of the list: methods that only read come first.
    Ok(METHODS.into_iter().filter(|method| wanted.contains(method)).collect())
}

/// Operations that were left out.
#[derive(Default)]
struct Omissions {
    methods: Vec<String>,
    reasons: Vec<String>,
}

impl Omissions {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.methods.is_empty() {
            let count = self.methods.len();
            let mut kinds: Vec<String> = self
                .methods
                .iter()
                .filter_map(|name| name.split(' ').next())
                .map(str::to_lowercase)
                .collect();
            kinds.sort();
            kinds.dedup();
            notes.push(format!(
                "left out: {count} operations of other methods; `--methods get,{}` takes them too",
                kinds.join(",")
            ));
        }
        notes.extend(self.reasons.iter().map(|reason| format!("left out: {reason}")));
        notes
    }

    fn why(&self) -> String {
        let notes = self.notes();
        if notes.is_empty() {
            "; its `paths` are empty".to_owned()
        } else {
            format!("; {}", notes.join("; "))
        }
    }
}

/// A description, with lookup of its parts.
struct Api<'a> {
    file: &'a str,
    root: &'a Value,
}

impl<'a> Api<'a> {
    fn wrong(&self, place: impl Into<String>, message: impl Into<String>) -> OpenApiError {
        OpenApiError::Wrong { file: self.file.to_owned(), place: place.into(), message: message.into() }
    }

    fn check_version(&self) -> Parsed<()> {
        if let Some(old) = self.root.get("swagger") {
            let message = format!(
                "version {old} is older than OpenAPI 3.0; convert it, for one with `swagger2openapi`"
            );
            return Err(self.wrong("/swagger", message.replace('"', "")));
        }
        let version = self.root.get("openapi").ok_or_else(|| {
            self.wrong("/openapi", "is missing; a description of an API begins with `openapi: 3.1.0`")
        })?;
        let shown = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
        match shown.starts_with("3.0") || shown.starts_with("3.1") {
            true => Ok(()),
            false => Err(self.wrong("/openapi", format!("version `{shown}` is not read; allowed: 3.0, 3.1"))),
        }
    }

    /// The target of a reference; any other value unchanged.
    fn follow(&self, place: &str, value: &'a Value) -> Parsed<&'a Value> {
        let mut value = value;
        for _ in 0..16 {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
            value = self.resolve(reference).ok_or_else(|| {
                let message = match reference.starts_with('#') {
                    true => format!("`{reference}` is not in the file"),
                    false => format!("`{reference}` lies outside the file; bundle it into one"),
                };
                self.wrong(place, message)
            })?;
        }
        Err(self.wrong(place, "references lead in a circle"))
    }

    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&decoded)
    }

    /// Where the API is served.
    fn server(&self, given: Option<&str>) -> Parsed<Url> {
        let described = self.root.pointer("/servers/0");
        let text = described.and_then(|server| server.get("url")).and_then(Value::as_str);
        let text = text.map(|text| self.filled(text, described));
        let base = match (given, text) {
            (Some(given), text) => {
                let url = Url::parse(given).map_err(OpenApiError::Url)?;
                // A bare address gets the path of the description's server.
                let path =
                    text.filter(|_| url.path == "/").map_or_else(|| url.path.clone(), |text| path_of(&text));
                Url { path, ..url }
            }
            (None, Some(text)) if text.contains("://") => {
                Url::parse(&text).map_err(|why| self.wrong("/servers/0/url", why))?
            }
            (None, _) => {
                let message =
                    "gives no absolute URL; say where the API is served: `--url http://127.0.0.1:8080`";
                return Err(self.wrong("/servers/0/url", message));
            }
        };
        if !["http", "https"].contains(&base.scheme.name()) {
            return Err(OpenApiError::Url(format!(
                "`{base}` is not served over HTTP; allowed: `http://`, `https://`"
            )));
        }
        Ok(base)
    }

    /// A server's address with its variables at their defaults.
    fn filled(&self, text: &str, server: Option<&Value>) -> String {
        let variables = server.and_then(|server| server.get("variables")).and_then(Value::as_object);
        let mut text = text.to_owned();
        for (name, variable) in variables.into_iter().flatten() {
            let value = variable.get("default").map(plain).unwrap_or_default();
            text = text.replace(&format!("{{{name}}}"), &value);
        }
        text
    }

    /// The requests of one path, without those of other methods and those that cannot be made.
    fn operations(
        &self,
        path: &str,
        item: &'a Value,
        methods: &[&'static str],
        base: &Url,
        omissions: &mut Omissions,
    ) -> Parsed<Vec<Request>> {
        let place = format!("/paths/{}", escaped(path));
        if !path.starts_with('/') {
            // Fields `x-…` are extensions.
            return if path.starts_with("x-") {
                Ok(Vec::new())
            } else {
                Err(self.wrong(place, "a path begins with `/`"))
            };
        }
        let item = self.follow(&place, item)?;
        let mut requests = Vec::new();
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let upper = method.to_uppercase();
            if !methods.contains(&method) {
                omissions.methods.push(format!("{upper} {path}"));
                continue;
            }
            let place = format!("{place}/{method}");
            let mut building = Building { api: self, place: &place, examples: Examples { api: self } };
            match building.request(path, item, operation, &upper, base)? {
                Ok(request) => requests.push(request),
                Err(reason) => omissions.reasons.push(format!("{upper} {path}: {reason}")),
            }
        }
        Ok(requests)
    }
}

/// The path of an address or of a part of one.
fn path_of(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    crate::requests::target(rest)
}

/// A part of a JSON pointer.
fn escaped(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// A value as it is written in a path, a query or a header.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// State while a request is built from one operation.
struct Building<'a, 'b> {
    api: &'b Api<'a>,
    place: &'b str,
    examples: Examples<'a, 'b>,
}

impl<'a> Building<'a, '_> {
    /// The request, or why it cannot be filled in.
    fn request(
        &mut self,
        path: &str,
        item: &'a Value,
        operation: &'a Value,
        method: &str,
        base: &Url,
    ) -> Parsed<Result<Request, String>> {
        let mut filled = path.to_owned();
        let (mut query, mut headers, mut cookies) = (Vec::new(), Vec::new(), Vec::new());
        for parameter in self.parameters(item, operation)? {
            let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
            let within = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
            let required = within == "path" || parameter.get("required") == Some(&Value::Bool(true));
            let value = self.examples.of_parameter(parameter, required);
            let value = match value {
                Ok(Some(value)) => value,
                Ok(None) => continue,
                Err(why) if required => return Ok(Err(format!("parameter `{name}`: {why}"))),
                Err(_) => continue,
            };
            match within {
                "path" => filled = filled.replace(&format!("{{{name}}}"), &form(&joined(&value, ","))),
                "query" => query.extend(in_query(parameter, name, &value)),
                "header" if !add_header(&mut headers, name, &joined(&value, ",")) && required => {
                    return Ok(Err(format!("its header `{name}` cannot be sent")));
                }
                "cookie" => cookies.push(format!("{name}={}", joined(&value, ","))),
                _ => {}
            }
        }
        if let Some(at) = filled.find('{') {
            let name = filled[at..].split_inclusive('}').next().unwrap_or_default();
            return Ok(Err(format!("`{name}` of its path is no parameter")));
        }
        self.security(operation, &mut headers, &mut query, &mut cookies)?;
        let body = match self.body(operation, &mut headers)? {
            Ok(body) => body,
            Err(reason) => return Ok(Err(reason)),
        };
        if !cookies.is_empty() {
            let _ = add_header(&mut headers, "Cookie", &cookies.join("; "));
        }
        let mut whole = format!("{}{filled}", base.path.trim_end_matches('/'));
        if !query.is_empty() {
            whole = format!("{whole}?{}", query.join("&"));
        }
        let own = operation.get("operationId").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        let name = own.map_or_else(|| format!("{method} {path}"), str::to_owned);
        let status = self.status(operation);
        Ok(Ok(Request { name, method: method.to_owned(), headers, body, status, ..Request::get(&whole) }))
    }

    /// The parameters of the path and of the operation; the operation's override the path's.
    fn parameters(&self, item: &'a Value, operation: &'a Value) -> Parsed<Vec<&'a Value>> {
        let mut found: Vec<&'a Value> = Vec::new();
        for (owner, place) in [(operation, self.place.to_owned()), (item, self.place.to_owned())] {
            let list = owner.get("parameters").and_then(Value::as_array);
            for (number, parameter) in list.into_iter().flatten().enumerate() {
                let parameter = self.api.follow(&format!("{place}/parameters/{number}"), parameter)?;
                let same = |other: &&&Value| {
                    other.get("name") == parameter.get("name") && other.get("in") == parameter.get("in")
                };
                if !found.iter().any(|other| same(&other)) {
                    found.push(parameter);
                }
            }
        }
        Ok(found)
    }

    /// Adds the credentials of the first security requirement.
    fn security(
        &self,
        operation: &'a Value,
        headers: &mut Vec<(String, String)>,
        query: &mut Vec<String>,
        cookies: &mut Vec<String>,
    ) -> Parsed<()> {
        let ways =
            operation.get("security").or_else(|| self.api.root.get("security")).and_then(Value::as_array);
        let Some(way) = ways.and_then(|ways| ways.first()).and_then(Value::as_object) else { return Ok(()) };
        for name in way.keys() {
            let pointer = format!("/components/securitySchemes/{}", escaped(name));
            let Some(scheme) = self.api.root.pointer(&pointer) else { continue };
            let scheme = self.api.follow(&pointer, scheme)?;
            let text = |key: &str| scheme.get(key).and_then(Value::as_str).unwrap_or_default();
            let kind = (text("type"), text("in"), text("scheme").to_ascii_lowercase());
            // A placeholder for the secret: `hide` replaces it with a variable.
            let field = match (kind.0, kind.1, &*kind.2) {
                ("apiKey", "header", _) => Some((text("name"), variable(text("name")))),
                ("apiKey", "query", _) => {
                    query.push(format!("{}=REPLACE", form(text("name"))));
                    None
                }
                ("apiKey", "cookie", _) => {
                    cookies.push(format!("{}=REPLACE", text("name")));
                    None
                }
                ("http", _, "basic") => Some(("Authorization", "Basic credentials".to_owned())),
                ("http" | "oauth2" | "openIdConnect", ..) => {
                    Some(("Authorization", "Bearer token".to_owned()))
                }
                _ => None,
            };
            if let Some((name, value)) = field {
                // An invalid name cannot be sent, and the request is refused then.
                let _ = add_header(headers, name, &value);
            }
        }
        Ok(())
    }

    /// The body, with its type among the headers; or why it cannot be filled in.
    fn body(
        &mut self,
        operation: &'a Value,
        headers: &mut Vec<(String, String)>,
    ) -> Parsed<Result<Option<String>, String>> {
        let Some(wanted) = operation.get("requestBody") else { return Ok(Ok(None)) };
        let wanted = self.api.follow(&format!("{}/requestBody", self.place), wanted)?;
        let Some(content) = wanted.get("content").and_then(Value::as_object) else { return Ok(Ok(None)) };
        let json = |kind: &str| {
            kind.split(';').next().is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
        };
        let chosen = content.iter().find(|(kind, _)| json(kind)).or_else(|| content.iter().next());
        let Some((kind, media)) = chosen else { return Ok(Ok(None)) };
        let optional = wanted.get("required") != Some(&Value::Bool(true));
        let value = match self.examples.of_media(media) {
            Ok(value) => value,
            Err(_) if optional => return Ok(Ok(None)),
            Err(why) => return Ok(Err(format!("its body: {why}"))),
        };
        let body = match value {
            value if json(kind) => value.to_string(),
            Value::Object(fields) if kind.starts_with("application/x-www-form-urlencoded") => {
                let pair =
                    |(name, value): (&String, &Value)| format!("{}={}", form(name), form(&plain(value)));
                fields.iter().map(pair).collect::<Vec<_>>().join("&")
            }
            Value::String(text) => text,
            _ if optional => return Ok(Ok(None)),
            _ => return Ok(Err(format!("a body of type `{kind}` is not made here"))),
        };
        let kind = if kind.contains('*') { "application/octet-stream" } else { kind };
        if !add_header(headers, "Content-Type", kind) {
            return Ok(Err("its type of body cannot be sent".to_owned()));
        }
        Ok(Ok(Some(body)))
    }

    /// The status of a good reply, if the description has one.
    fn status(&self, operation: &Value) -> Option<u16> {
        let codes = operation.get("responses").and_then(Value::as_object)?;
        let good = |code: &String| code.parse::<u16>().ok().filter(|code| (200..300).contains(code));
        let found: Vec<u16> = codes.keys().filter_map(good).collect();
        let others = codes.keys().any(|code| code.eq_ignore_ascii_case("2xx"));
        (found.len() == 1 && !others).then(|| found[0])
    }
}

/// An environment variable for a field whose name does not say that it is secret.
fn variable(name: &str) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("env:{}", name.chars().map(upper).collect::<String>())
}

/// A value as one text; the parts of lists and objects are joined.
fn joined(value: &Value, between: &str) -> String {
    match value {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(between),
        Value::Object(fields) => {
            let parts = fields.iter().flat_map(|(name, value)| [name.clone(), plain(value)]);
            parts.collect::<Vec<_>>().join(between)
        }
        other => plain(other),
    }
}

/// A parameter in a query, by the styles `form`, `spaceDelimited`, `pipeDelimited` and `deepObject`.
fn in_query(parameter: &Value, name: &str, value: &Value) -> Vec<String> {
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
    let explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let pair = |name: &str, value: &str| format!("{}={}", form(name), form(value));
    match value {
        Value::Array(items) if explode => items.iter().map(|item| pair(name, &plain(item))).collect(),
        Value::Array(items) => {
            let between = match style {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "%7C",
                _ => ",",
            };
            let items: Vec<String> = items.iter().map(|item| form(&plain(item))).collect();
            vec![format!("{}={}", form(name), items.join(between))]
        }
        Value::Object(fields) if style == "deepObject" => {
            fields.iter().map(|(field, value)| pair(&format!("{name}[{field}]"), &plain(value))).collect()
        }
        Value::Object(fields) if explode => {
            fields.iter().map(|(field, value)| pair(field, &plain(value))).collect()
        }
        other => vec![pair(name, &joined(other, ","))],
    }
}

#[cfg(test)]
mod tests;
