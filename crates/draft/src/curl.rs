//! A command line of curl as one request and the server that it is sent to.
//!
//! It accepts what curl accepts, and refuses options that it does not know, because it cannot know whether they have a
//! value. Options that only affect curl's output are ignored; ignored options that would change the request are
//! reported in a note.

mod options;
mod shell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weighbridge_model::experiment::{Protocol, TlsSpec, TlsVersion, Url, suggestion};
use weighbridge_model::quantity::Nanoseconds;

use crate::parameters::rewrite;
use crate::requests::{add_header, is_method, is_of_the_connection, name_all, target};
use crate::{Address, Draft, ReadFile, Request, Server, secret};
use options::{Does, KNOWN, Known};

/// Why a text is not a command line of curl, or not one that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CurlError {
    #[error("this is no command line: {0}")]
    Words(String),
    #[error("`{0}` is not `curl`; paste the line from `curl` on")]
    NotCurl(String),
    #[error("word {word}: curl's option `{option}` is not known{hint}")]
    Unknown {
        /// Its position, from 1, including `curl` itself.
        word: usize,
        /// As it was written.
        option: String,
        /// The nearest known option.
        hint: String,
    },
    #[error("word {word}: `{option}` wants a value behind it")]
    NoValue {
        /// Its position.
        word: usize,
        option: String,
    },
    #[error("word {word}: `{option}`: {why}")]
    Value {
        /// Its position.
        word: usize,
        option: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    #[error("word {word}: `{option}` cannot be taken over: {why}")]
    Refused {
        /// Its position.
        word: usize,
        option: String,
        /// Why not, and what to do instead.
        why: String,
    },
    #[error("there is no URL in the line; add it")]
    NoUrl,
    #[error("word {word}: `{url}` is a second URL; one request at a time")]
    SecondUrl {
        /// Its position.
        word: usize,
        url: String,
    },
    #[error("{0}")]
    Url(String),
}

type Parsed<T> = Result<T, CurlError>;

/// Whether text looks like a command line of curl.
pub fn is_curl(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let first = first.strip_prefix('$').filter(|rest| !rest.is_empty()).unwrap_or(first);
    matches!(first, "curl" | "curl.exe" | "$") && text.trim().contains(char::is_whitespace)
}

/// Parses a whole line.
pub fn parse_line(text: &str, read: ReadFile<'_>) -> Parsed<Draft> {
    let text = text.trim().trim_start_matches("$ ");
    if text.lines().any(|line| line.trim_end().ends_with('^')) {
        let why = "lines that end with `^` are of Windows' `cmd`; choose `Copy as cURL (bash)`";
        return Err(CurlError::Words(why.to_owned()));
    }
    let words = shell::words(text).map_err(CurlError::Words)?;
    let mut draft = parse(&words, read)?;
    if let Some(name) = expanded(text) {
        draft.notes.push(format!("a shell would have replaced `{name}`, which stands in the file as it is"));
    }
    Ok(draft)
}

/// The first `$NAME`, `${…}` or `$(…)` that a shell would have replaced.
fn expanded(text: &str) -> Option<String> {
    let mut single = false;
    let mut double = false;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if !single => drop(letters.next()),
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '$' if !single => {
                let next = letters.peek().map(|(_, next)| *next).unwrap_or_default();
                if next.is_ascii_alphabetic() || "_{(".contains(next) {
                    let rest = &text[at + 1..];
                    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_{(".contains(c));
                    return Some(text[at..at + 1 + end.unwrap_or(rest.len())].to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

/// Parses words, the first of which is `curl` itself.
pub fn parse(words: &[String], read: ReadFile<'_>) -> Parsed<Draft> {
    match words.first().map(|word| word.rsplit('/').next().unwrap_or_default()) {
        Some("curl" | "curl.exe") => {}
        other => return Err(CurlError::NotCurl(other.unwrap_or_default().to_owned())),
    }
    let mut request = PartialRequest::default();
    let mut at = 1;
    let mut only_urls = false;
    while let Some(word) = words.get(at) {
        let number = at + 1;
        at += 1;
        if ends_the_command(word) {
            request.notes.push(format!("what follows `{word}` is left out"));
            break;
        }
        match word.strip_prefix("--") {
            _ if only_urls || !word.starts_with('-') || word == "-" => request.address(number, word)?,
            Some("") => only_urls = true,
            Some(long) => {
                let known = KNOWN.iter().find(|known| known.long == long);
                let known = known.ok_or_else(|| unknown(number, word, long))?;
                let mut context = OptionContext { number, option: word, read: &mut *read };
                let value = if known.value { Some(take(words, &mut at, &context)?) } else { None };
                request.apply(known, value.as_deref().unwrap_or_default(), &mut context)?;
            }
            None => request.letters(&word[1..], words, &mut at, number, &mut *read)?,
        }
    }
    request.finish()
}

/// Whether a word would end the command in a shell.
fn ends_the_command(word: &str) -> bool {
    matches!(word, "|" | "||" | "&" | "&&" | ";" | ">" | ">>" | "<" | "2>" | "2>&1" | "&>" | "2>/dev/null")
}

fn unknown(word: usize, option: &str, long: &str) -> CurlError {
    let hint = match long.split_once('=') {
        Some((name, _)) if KNOWN.iter().any(|known| known.long == name) => {
            format!("; write `--{name}` and its value as two words")
        }
        _ => {
            let names: Vec<&str> = KNOWN.iter().map(|known| known.long).collect();
            let near = suggestion(long, &names);
            let near = near.split(" allowed:").next().unwrap_or_default();
            if near.contains('?') {
                format!("{} or leave it out", near.replace("mean `", "mean `--").trim_end_matches(';'))
            } else {
                "; leave it out, with its value where it has one".to_owned()
            }
        }
    };
    CurlError::Unknown { word, option: option.to_owned(), hint }
}

fn take(words: &[String], at: &mut usize, context: &OptionContext<'_>) -> Parsed<String> {
    let value = words.get(*at).cloned();
    *at += 1;
    value.ok_or_else(|| CurlError::NoValue { word: context.number, option: context.option.to_owned() })
}

/// The position of an option in the line, and the means to read files for it.
struct OptionContext<'a> {
    number: usize,
    option: &'a str,
    read: ReadFile<'a>,
}

impl OptionContext<'_> {
    fn error(&self, why: impl Into<String>) -> CurlError {
        CurlError::Value { word: self.number, option: self.option.to_owned(), why: why.into() }
    }

    /// A file's content.
    fn file(&mut self, name: &str) -> Parsed<String> {
        let bytes =
            (self.read)(name).map_err(|source| self.error(format!("could not read `{name}`: {source}")))?;
        String::from_utf8(bytes)
            .map_err(|_| self.error(format!("`{name}` is no text in UTF-8, and an experiment's body is")))
    }

    /// The value, or the content of the file that `@` names.
    fn content(&mut self, value: &str) -> Parsed<String> {
        match value.strip_prefix('@') {
            Some(name) => self.file(name),
            None => Ok(value.to_owned()),
        }
    }
}

/// A header field in the line.
enum Field {
    Value(String),
    /// `-H 'Name:'`: curl's own field of that name is removed.
    Gone,
}

/// The request as parsed so far.
#[derive(Default)]
struct PartialRequest {
    url: Option<String>,
    method: Option<String>,
    fields: Vec<(String, Field)>,
    /// Default fields, used unless one of that name is given.
    defaults: Vec<(&'static str, &'static str)>,
    body: Option<String>,
    upload: bool,
    query: bool,
    head: bool,
    tls: TlsSpec,
    http2: bool,
    redirects: bool,
    timeout: Option<Nanoseconds>,
    unix: Option<String>,
    notes: Vec<String>,
}

impl PartialRequest {
    fn address(&mut self, word: usize, url: &str) -> Parsed<()> {
        if self.url.is_some() {
            return Err(CurlError::SecondUrl { word, url: url.to_owned() });
        }
        self.url = Some(url.to_owned());
        Ok(())
    }

    /// Options of one letter each, the last possibly with its value.
    fn letters(
        &mut self,
        letters: &str,
        words: &[String],
        at: &mut usize,
        number: usize,
        read: ReadFile<'_>,
    ) -> Parsed<()> {
        for (index, letter) in letters.char_indices() {
            let option = format!("-{letter}");
            let known = KNOWN.iter().find(|known| known.short == Some(letter)).ok_or_else(|| {
                let hint = "; leave it out, with its value where it has one".to_owned();
                CurlError::Unknown { word: number, option: option.clone(), hint }
            })?;
            let mut context = OptionContext { number, option: &option, read: &mut *read };
            if !known.value {
                self.apply(known, "", &mut context)?;
                continue;
            }
            let rest = &letters[index + letter.len_utf8()..];
            let value = if rest.is_empty() { take(words, at, &context)? } else { rest.to_owned() };
            return self.apply(known, &value, &mut context);
        }
        Ok(())
    }

    fn apply(&mut self, known: &Known, value: &str, context: &mut OptionContext<'_>) -> Parsed<()> {
        let names_a_file = matches!(known.does, Does::CaCert | Does::Cert | Does::Key | Does::Unix);
        if names_a_file && value.is_empty() {
            return Err(context.error("the name of the file is empty"));
        }
        match known.does {
            Does::Address => self.address(context.number, value)?,
            Does::Method if is_method(value) => self.method = Some(value.to_uppercase()),
            Does::Method => return Err(context.error(format!("`{value}` is no method such as `GET`"))),
            Does::Header => self.header(value, context)?,
            Does::Field(name) => self.set(name, value),
            Does::Data
            | Does::DataRaw
            | Does::DataBinary
            | Does::DataUrlencode
            | Does::Json
            | Does::Upload => {
                self.data(known.does, value, context)?;
            }
            Does::Get => self.query = true,
            Does::Head => self.head = true,
            Does::User => self.login(value),
            Does::Bearer => self.set("Authorization", &format!("Bearer {value}")),
            Does::Cookie if value.contains('=') => self.set("Cookie", value),
            Does::Cookie => return Err(context.error("files of cookies are not read; write `name=value`")),
            Does::Range => self.set("Range", &format!("bytes={value}")),
            Does::Insecure => self.tls.insecure = true,
            Does::CaCert => self.tls.ca = Some(value.to_owned()),
            Does::Cert => self.tls.cert = Some(value.to_owned()),
            Does::Key => self.tls.key = Some(value.to_owned()),
            Does::TlsMin(version) => self.tls.min = tls_version(version).unwrap_or(self.tls.min),
            Does::TlsMax => {
                self.tls.max = tls_version(value).ok_or_else(|| context.error("allowed: `1.2`, `1.3`"))?;
            }
            Does::Http2 => self.http2 = true,
            Does::Http1 => self.http2 = false,
            Does::Compressed => {
                self.defaults.push(("Accept-Encoding", "deflate, gzip, br, zstd"));
                let note = "replies come compressed (`--compressed`): `length` and `json` of a `check` would see the compressed bytes";
                self.notes.push(note.to_owned());
            }
            Does::MaxTime => {
                let time = format!("{value} s").parse::<Nanoseconds>().ok();
                let time = time.filter(|time| *time > Nanoseconds::ZERO);
                self.timeout = Some(time.ok_or_else(|| context.error("want seconds, such as `2.5`"))?);
            }
            Does::Unix => self.unix = Some(value.to_owned()),
            Does::Redirects => self.redirects = true,
            Does::Nothing => {}
            Does::Left => self.notes.push(format!("`{}` is left out", context.option)),
            Does::Refused(why) => {
                let (word, option) = (context.number, context.option.to_owned());
                return Err(CurlError::Refused { word, option, why: why.to_owned() });
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) {
        self.fields.push((name.to_owned(), Field::Value(value.to_owned())));
    }

    fn login(&mut self, user: &str) {
        let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
        self.set("Authorization", &format!("Basic {}", STANDARD.encode(user)));
    }

    fn header(&mut self, value: &str, context: &mut OptionContext<'_>) -> Parsed<()> {
        if let Some(name) = value.strip_prefix('@') {
            let lines = context.file(name)?;
            return lines
                .lines()
                .filter(|line| !line.trim().is_empty())
                .try_for_each(|line| self.field(line, context));
        }
        self.field(value, context)
    }

    fn field(&mut self, line: &str, context: &OptionContext<'_>) -> Parsed<()> {
        match line.split_once(':') {
            Some((name, value)) if value.trim().is_empty() => {
                self.fields.push((name.trim().to_owned(), Field::Gone));
            }
            Some((name, value)) => self.set(name.trim(), value.trim()),
            None => match line.strip_suffix(';') {
                Some(name) => self.set(name.trim(), ""),
                None => return Err(context.error(format!("`{line}` is no header such as `Name: value`"))),
            },
        }
        Ok(())
    }

    fn data(&mut self, does: Does, value: &str, context: &mut OptionContext<'_>) -> Parsed<()> {
        let text = match does {
            Does::DataRaw => value.to_owned(),
            Does::DataUrlencode => urlencoded(value, context)?,
            Does::Upload if value == "." => return Err(context.error("name a file")),
            Does::Upload => context.file(value)?,
            // curl removes line ends and zero bytes from files.
            Does::Data if value.starts_with('@') => context.content(value)?.replace(['\r', '\n', '\0'], ""),
            _ => context.content(value)?,
        };
        match does {
            Does::Upload => self.upload = true,
            Does::Json => {
                self.defaults.extend([("Content-Type", "application/json"), ("Accept", "application/json")]);
            }
            _ => self.defaults.push(("Content-Type", "application/x-www-form-urlencoded")),
        }
        let between = if matches!(does, Does::Json | Does::Upload) { "" } else { "&" };
        self.body = Some(match self.body.take() {
            Some(before) => format!("{before}{between}{text}"),
            None => text,
        });
        Ok(())
    }

    /// Builds the request from the whole line.
    fn finish(mut self) -> Parsed<Draft> {
        let text = self.url.take().ok_or(CurlError::NoUrl)?;
        let (url, path, user) = split_url(&text)?;
        if let Some(user) = user
            && !self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        {
            self.login(&user);
        }
        if path.contains(['{', '[']) {
            self.notes.push("braces and brackets in the path are taken as they are, not expanded".to_owned());
        }
        let mut request = Request { headers: self.headers(), ..Request::get(&path) };
        self.place_body(&mut request);
        let asked = request.path.split('?').next().unwrap_or("/");
        let title = format!("{} {asked} at {}", request.method, url.authority());
        // What the line holds is sent as it is.
        rewrite(&mut request, &mut |_| None);
        if self.redirects {
            let note = "redirects are not followed (`-L`): where the server answers with one, give the address that it leads to";
            self.notes.push(note.to_owned());
        }
        let mut requests = vec![request];
        name_all(&mut requests);
        let mut notes = secret::hide(&mut requests);
        let address = self.server(url, &mut notes)?;
        notes.append(&mut self.notes);
        let server = Server::Address(Box::new(address));
        Ok(Draft { title, server, requests, session: None, timeout: self.timeout, notes })
    }

    /// Method and body; with `-G` the body goes into the query.
    fn place_body(&mut self, request: &mut Request) {
        let body = self.body.take();
        if let (true, Some(data)) = (self.query, &body) {
            let between = if request.path.contains('?') { '&' } else { '?' };
            request.path = target(&format!("{}{between}{data}", request.path));
        } else {
            request.body = body;
        }
        let method = match (&request.body, self.upload, self.head) {
            (_, _, true) => "HEAD",
            (Some(_), true, _) => "PUT",
            (Some(_), false, _) => "POST",
            (None, ..) => "GET",
        };
        request.method = self.method.take().unwrap_or_else(|| method.to_owned());
        request.body = request.body.take().filter(|body| !body.is_empty());
    }

    fn headers(&mut self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let named = |fields: &[(String, Field)], name: &str| {
            fields.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        let data_in_query = self.query;
        for (name, value) in std::mem::take(&mut self.defaults) {
            let of_body = data_in_query && name == "Content-Type";
            let given = headers.iter().any(|(given, _): &(String, String)| given == name);
            if !of_body && !given && !named(&self.fields, name) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        for (name, field) in &self.fields {
            let Field::Value(value) = field else { continue };
            let own = is_of_the_connection(name) && !name.eq_ignore_ascii_case("host");
            if own || !add_header(&mut headers, name, value) {
                let why = if own { "belongs to the connection" } else { "cannot be sent as it is" };
                self.notes.push(format!("the header `{name}` {why} and is left out"));
            }
        }
        headers
    }

    fn server(&self, url: Url, notes: &mut Vec<String>) -> Parsed<Address> {
        let mut tls = self.tls.clone();
        if tls.insecure && tls.ca.is_some() {
            // As in curl: without verification no authority is needed.
            tls.ca = None;
        }
        if tls.cert.is_some() != tls.key.is_some() {
            // One file may contain both.
            let file = tls.cert.clone().or_else(|| tls.key.clone());
            (tls.cert, tls.key) = (file.clone(), file);
        }
        let is_default = tls == TlsSpec::default();
        if !url.scheme.is_secured() && !is_default {
            notes.push(format!("`{url}` is plain text: options of TLS are left out"));
        }
        if tls.min > tls.max {
            return Err(CurlError::Url(
                "the oldest version of TLS is above the newest; lower one".to_owned(),
            ));
        }
        let tls = (url.scheme.is_secured() && !is_default).then_some(tls);
        let protocol = self.http2.then_some(Protocol::HTTP2_JSON);
        Ok(Address { url, protocol, tls, unix: self.unix.clone() })
    }
}

fn tls_version(text: &str) -> Option<TlsVersion> {
    match text {
        "1.2" => Some(TlsVersion::V12),
        "1.3" => Some(TlsVersion::V13),
        _ => None,
    }
}

/// `content`, `=content`, `name=content`, `@file` and `name@file`, as curl reads them.
fn urlencoded(value: &str, context: &mut OptionContext<'_>) -> Parsed<String> {
    let at = value.find(['=', '@']);
    let (name, content) = match at {
        None => ("", value.to_owned()),
        Some(at) if value[at..].starts_with('=') => (&value[..at], value[at + 1..].to_owned()),
        Some(at) => (&value[..at], context.file(&value[at + 1..])?),
    };
    let content = crate::requests::form(&content);
    Ok(if name.is_empty() { content } else { format!("{name}={content}") })
}

/// The server, the request target, and the user before the host.
fn split_url(text: &str) -> Parsed<(Url, String, Option<String>)> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&&*scheme) {
        return Err(CurlError::Url(format!(
            "`{text}`: `{scheme}://` is not supported; allowed: `http://`, `https://`"
        )));
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user.to_owned()), host),
        None => (None, authority),
    };
    let user = user.map(|user| percent_encoding::percent_decode_str(&user).decode_utf8_lossy().into_owned());
    let url = Url::parse(&format!("{scheme}://{host}/")).map_err(CurlError::Url)?;
    Ok((url, path.to_owned(), user))
}

#[cfg(test)]
mod tests;
