//! A recording of a browser or proxy (HAR 1.2) as the requests of an experiment.
//!
//! It takes the requests in the order of the recording: as a session, in which later requests take values from earlier
//! replies, or as single requests, with equal ones merged into one with their frequency as weight. Times of the
//! recording are not replayed, and of replies only their status and the position of values needed later are kept.

mod flow;

use std::collections::HashMap;

use serde::Deserialize;
use weighbridge_model::experiment::{Protocol, SESSION_LONGEST, Url};

use crate::parameters::rewrite;
use crate::requests::{add_header, form, is_method, is_of_the_connection, name_all, target};
use crate::secret::Vault;
use crate::{Address, Draft, Request, Server};

/// Most different requests of one experiment.
pub const MOST_REQUESTS: usize = 1_000;

/// Fields by which a browser requests only what has changed; the reply then depends on the browser's cache.
const CONDITIONAL: [&str; 5] =
    ["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"];

/// Endings of paths of page assets.
const ENDINGS: [&str; 24] = [
    "avif",
    "bmp",
    "css",
    "eot",
    "gif",
    "ico",
    "jpeg",
    "jpg",
    "js",
    "map",
    "mjs",
    "mp3",
    "mp4",
    "otf",
    "png",
    "svg",
    "ttf",
    "wasm",
    "webm",
    "webmanifest",
    "webp",
    "woff",
    "woff2",
    "wav",
];

/// Which part of a recording to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Scheme, host and port of the requests; needed if the recording has several.
    pub origin: Option<String>,
    /// What to do with page assets: pictures, scripts, style sheets, fonts.
    pub assets: Assets,
    /// How to interpret the recording.
    pub taken_as: TakenAs,
}

/// How a recording is interpreted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TakenAs {
    /// As the requests of one client, in order.
    #[default]
    Session,
    /// As a sample of all clients' requests, each independent.
    Requests,
}

/// What to do with page assets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Assets {
    /// Included like everything else.
    #[default]
    Kept,
    /// Left out.
    Skipped,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    #[error(
        "{file}:{line}:{column}: this is no HAR recording: {message}; export one with `Save all as HAR` of a browser's network panel"
    )]
    Syntax {
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    #[error("{file}: no request is left of {count}{why}")]
    Nothing {
        file: String,
        /// Number of its requests.
        count: usize,
        /// What was left out.
        why: String,
    },
    #[error("{file}: requests went to {} origins; choose one with `--origin`: {}", origins.len(), origins.join(", "))]
    Origins {
        file: String,
        /// Each with its count, the most frequent first.
        origins: Vec<String>,
    },
    #[error("{file}: no request went to `{origin}`; the recording has {}", origins.join(", "))]
    NoSuchOrigin {
        file: String,
        /// The requested origin.
        origin: String,
        /// The origins in the recording.
        origins: Vec<String>,
    },
    #[error(
        "{file}: {count} requests are more than the {SESSION_LONGEST} of a session; leave some out with `--skip-assets`, take them one by one with `--as requests`, or record less"
    )]
    TooLong {
        file: String,
        /// How many.
        count: usize,
    },
    #[error(
        "{file}: {count} different requests are more than {MOST_REQUESTS}; leave some out with `--skip-assets`, or record less"
    )]
    TooMany {
        file: String,
        /// How many.
        count: usize,
    },
}

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    creator: Creator,
    entries: Vec<Entry>,
}

#[derive(Default, Deserialize)]
struct Creator {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Entry {
    request: HarRequest,
    #[serde(default)]
    response: Answered,
    /// Chrome's type of the requested resource.
    #[serde(default, rename = "_resourceType")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<Pair>,
    #[serde(default)]
    post_data: Option<Posted>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Posted {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
    #[serde(default)]
    encoding: Option<String>,
}

#[derive(Default, Deserialize)]
struct Answered {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    headers: Vec<Pair>,
    #[serde(default)]
    content: Content,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
}

impl Content {
    fn is_json(&self) -> bool {
        self.mime_type.to_ascii_lowercase().contains("json")
    }

    /// The body, if it is JSON and was recorded.
    fn json(&self) -> Option<serde_json::Value> {
        let text = self.text.as_deref().filter(|_| self.is_json())?;
        match self.encoding.as_deref() {
            Some("base64") => serde_json::from_slice(&base64_bytes(text)?).ok(),
            _ => serde_json::from_str(text).ok(),
        }
    }
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text.trim()).ok()
}

/// Whether a text is a recording, not another JSON file.
pub fn is_har(text: &str) -> bool {
    serde_json::from_str::<Har>(text).is_ok()
}

/// Reads a recording. `file` names it in errors.
pub fn parse(file: &str, text: &str, wanted: &Selection) -> Result<Draft, HarError> {
    // Some tools begin the file with a byte order mark.
    let har: Har = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let full = error.to_string();
        let message = full.split(" at line ").next().unwrap_or_default().to_owned();
        HarError::Syntax { file: file.to_owned(), line: error.line(), column: error.column(), message }
    })?;
    let mut omissions = Omissions::default();
    let mut taken: Vec<(Url, &Entry, Request)> = Vec::new();
    for entry in &har.log.entries {
        if let Some((origin, request)) = take(entry, wanted.assets, &mut omissions) {
            taken.push((origin, entry, request));
        }
    }
    let count = har.log.entries.len();
    if taken.is_empty() {
        let why = omissions.notes().iter().map(|note| format!("; {note}")).collect();
        return Err(HarError::Nothing { file: file.to_owned(), count, why });
    }
    let origin = choose(file, &taken, wanted.origin.as_deref())?;
    let elsewhere = taken.iter().filter(|(at, ..)| *at != origin).count();
    taken.retain(|(at, ..)| *at == origin);
    let second = taken.iter().filter(|(_, entry, _)| is_http2(&entry.request.http_version)).count();
    let http2 = origin.scheme.is_secured() && second * 2 > taken.len();
    let taken = taken.into_iter().map(|(_, entry, request)| (request, &entry.response)).collect();
    let mut vault = Vault::default();
    let (mut requests, session, more) = arrange(file, taken, wanted.taken_as, &mut vault)?;
    let mut notes = vault.hide(&mut requests);
    notes.extend(more);
    if elsewhere > 0 {
        notes.push(format!("left out: requests to other origins ({elsewhere})"));
    }
    notes.extend(omissions.notes());
    let by = if har.log.creator.name.is_empty() {
        String::new()
    } else {
        format!(", by {}", har.log.creator.name)
    };
    let protocol = http2.then_some(Protocol::HTTP2_JSON);
    let address = Address { protocol, ..Address::plain(origin.clone()) };
    Ok(Draft {
        title: format!("a recording of {}{by}", origin.authority()),
        server: Server::Address(Box::new(address)),
        requests,
        session,
        timeout: None,
        notes,
    })
}

/// The different requests, their order if they are a session, and notes.
type Arranged = (Vec<Request>, Option<Vec<usize>>, Vec<String>);

fn arrange(
    file: &str,
    mut taken: Vec<(Request, &Answered)>,
    taken_as: TakenAs,
    vault: &mut Vault,
) -> Result<Arranged, HarError> {
    // A session of one request is the same as a single request.
    let taken_as = if taken.len() > 1 { taken_as } else { TakenAs::Requests };
    if taken_as == TakenAs::Session && taken.len() > SESSION_LONGEST {
        return Err(HarError::TooLong { file: file.to_owned(), count: taken.len() });
    }
    let mut notes = Vec::new();
    if taken_as == TakenAs::Session {
        let values = flow::connect(&mut taken, vault);
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|name| format!("`{name}`")).collect();
            notes.push(format!(
                "values that later requests take from earlier replies, by `extract`: {}",
                values.join(", ")
            ));
        }
        let unread = taken.iter().filter(|(_, to)| to.content.is_json() && to.content.text.is_none()).count();
        if unread > 0 {
            notes.push(format!(
                "replies in JSON that were recorded without their text: {unread}; what later requests took from them stands as it was"
            ));
        }
    } else {
        for (request, _) in &mut taken {
            rewrite(request, &mut |parameter| vault.put(parameter));
        }
    }
    let (mut requests, order) = merge(taken.into_iter().map(|(request, _)| request), taken_as);
    if requests.len() > MOST_REQUESTS {
        return Err(HarError::TooMany { file: file.to_owned(), count: requests.len() });
    }
    name_all(&mut requests);
    Ok((requests, (taken_as == TakenAs::Session).then_some(order), notes))
}

fn is_http2(version: &str) -> bool {
    let version = version.to_ascii_lowercase();
    version == "h2" || version.starts_with("http/2")
}

/// What is left out, by reason.
#[derive(Default)]
struct Omissions {
    reasons: Vec<(String, usize)>,
}

impl Omissions {
    fn out(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        match self.reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((reason, 1)),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.reasons.iter().map(|(reason, count)| format!("left out: {reason} ({count})")).collect()
    }
}

/// An entry as a request and its server.
fn take(entry: &Entry, assets: Assets, omissions: &mut Omissions) -> Option<(Url, Request)> {
    let asked = &entry.request;
    let Some((origin, path)) = split(&asked.url) else {
        omissions.out("requests that are not of HTTP (`data:`, `blob:`, `ws:` …)");
        return None;
    };
    if entry.kind.as_deref() == Some("websocket") || entry.response.status == 101 {
        omissions.out("web sockets");
        return None;
    }
    if assets == Assets::Skipped && is_asset(entry, &path) {
        omissions.out("pictures, scripts, style sheets and fonts");
        return None;
    }
    if entry.response.status == 0 && entry.response.content.mime_type.is_empty() && entry.kind.is_some() {
        omissions.out("requests that were blocked or got no reply");
        return None;
    }
    if !is_method(&asked.method) {
        omissions.out("requests with an invalid method");
        return None;
    }
    let mut request = Request { method: asked.method.to_uppercase(), ..Request::get(&path) };
    let mut conditional = false;
    for Pair { name, value } in &asked.headers {
        let of_condition = CONDITIONAL.iter().any(|known| known.eq_ignore_ascii_case(name));
        conditional |= of_condition;
        let own = is_of_the_connection(name) || of_condition;
        if !own && !add_header(&mut request.headers, name, value) {
            omissions.out(format!("the header `{}`, which cannot be sent as it is", printable(name)));
        }
    }
    if let Some(posted) = &asked.post_data {
        match body(posted) {
            Ok(body) => request.body = body,
            Err(reason) => {
                omissions.out(reason);
                return None;
            }
        }
    }
    let status = u16::try_from(entry.response.status).ok().filter(|status| (200..600).contains(status));
    // Without its condition it is answered in full.
    request.status = status.filter(|status| *status != 304 && !(conditional && *status == 412));
    Some((origin, request))
}

fn printable(text: &str) -> String {
    text.chars().take(40).filter(|c| !c.is_control()).collect()
}

/// Splits a URL into scheme, host and port, and the request target.
fn split(url: &str) -> Option<(Url, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&&*scheme) {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let origin = Url::parse(&format!("{scheme}://{host}/")).ok()?;
    Some((origin, target(path)))
}

fn is_asset(entry: &Entry, path: &str) -> bool {
    let kinds = ["image", "stylesheet", "script", "font", "media", "manifest", "texttrack"];
    if let Some(kind) = &entry.kind {
        return kinds.contains(&&**kind);
    }
    let mime = entry.response.content.mime_type.to_ascii_lowercase();
    let of_page =
        ["image/", "font/", "audio/", "video/", "text/css"].iter().any(|kind| mime.starts_with(kind))
            || mime.contains("javascript")
            || mime.starts_with("application/wasm");
    let path = path.split('?').next().unwrap_or_default();
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    of_page || ending.is_some_and(|ending| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

/// The body as text, or why there is none.
fn body(posted: &Posted) -> Result<Option<String>, &'static str> {
    match (&posted.text, posted.encoding.as_deref()) {
        (Some(text), Some("base64")) => {
            let text = base64_bytes(text).and_then(|bytes| String::from_utf8(bytes).ok());
            text.map(Some).ok_or("requests whose body is no text in UTF-8")
        }
        (Some(text), _) if !text.is_empty() => Ok(Some(text.clone())),
        _ if posted.params.is_empty() => Ok(None),
        _ if posted.mime_type.starts_with("multipart/") => Err("multipart forms whose body was not recorded"),
        _ => {
            let pairs =
                posted.params.iter().map(|pair| format!("{}={}", form(&pair.name), form(&pair.value)));
            Ok(Some(pairs.collect::<Vec<_>>().join("&")))
        }
    }
}

/// The origin to use.
fn choose(file: &str, taken: &[(Url, &Entry, Request)], wanted: Option<&str>) -> Result<Url, HarError> {
    let mut counts: Vec<(&Url, usize)> = Vec::new();
    for (origin, ..) in taken {
        match counts.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, count)) => *count += 1,
            None => counts.push((origin, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown =
        |(origin, count): &(&Url, usize)| format!("`{}` ({count})", origin.to_string().trim_end_matches('/'));
    let origins: Vec<String> = counts.iter().map(shown).collect();
    match wanted {
        None => match counts[..] {
            [(only, _)] => Ok(only.clone()),
            _ => Err(HarError::Origins { file: file.to_owned(), origins }),
        },
        Some(wanted) => {
            let found = counts.iter().find(|(origin, _)| {
                let url = Url::parse(wanted.trim_end_matches('/'));
                origin.authority() == wanted || url.is_ok_and(|url| url == **origin)
            });
            let missing =
                || HarError::NoSuchOrigin { file: file.to_owned(), origin: wanted.to_owned(), origins };
            found.map(|(origin, _)| (*origin).clone()).ok_or_else(missing)
        }
    }
}

/// What makes two requests equal; the last part only in a session.
type Sameness = (String, String, Vec<(String, String)>, Option<String>, Option<(Vec<String>, Option<u16>)>);

/// Merges equal requests, by first appearance, and returns the index of each in the order of the recording. In a
/// session each has the status that it got there, and a weight of 1; otherwise a request that got different statuses
/// has no status to check.
fn merge(all: impl Iterator<Item = Request>, taken_as: TakenAs) -> (Vec<Request>, Vec<usize>) {
    let mut merged: Vec<Request> = Vec::new();
    let mut order = Vec::new();
    let mut places: HashMap<Sameness, usize> = HashMap::new();
    for request in all {
        // Names of values are unique.
        let values = || request.extract.iter().map(|extract| extract.name.clone()).collect();
        let given = (taken_as == TakenAs::Session).then(|| (values(), request.status));
        let key = (
            request.method.clone(),
            request.path.clone(),
            request.headers.clone(),
            request.body.clone(),
            given,
        );
        let place = *places.entry(key).or_insert(merged.len());
        order.push(place);
        match merged.get_mut(place) {
            Some(_) if taken_as == TakenAs::Session => {}
            Some(known) => {
                known.weight += 1;
                if known.status != request.status {
                    known.status = None;
                }
            }
            None => merged.push(request),
        }
    }
    (merged, order)
}

#[cfg(test)]
mod tests;
