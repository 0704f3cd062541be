//! Requests with gaps, filled with new values each time they are sent.
//!
//! The fixed parts are rendered once; filling copies them, and the values between, into a [`RequestBuffer`] that keeps its
//! memory, so that the steady state allocates nothing. It refuses what [`crate::framer::request`] refuses, as far as
//! the text around the gaps decides it. Values must be valid where they go: the caller keeps line breaks out of targets
//! and fields.

use std::sync::Arc;

use weighbridge_model::id::OperationId;

use crate::framer::Framing;
use crate::framer::h2::{Http2Settings, hpack, render};
use crate::framer::request::{RenderError, Rendered, ReplyShape, Request, check, reply_to};
use crate::framer::resp::Opening;

/// A part of a text with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// What [`Gaps`] writes for this number.
    Gap(usize),
}

/// A request with gaps, independent of the framing that carries it. See [`Request`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestTemplate {
    pub method: String,
    /// The target in origin form.
    pub target: Vec<Piece>,
    /// Host, and port unless it is the default.
    pub authority: String,
    /// Header fields in order, without those the framing writes itself.
    pub headers: Vec<(String, Vec<Piece>)>,
    pub body: Vec<Piece>,
}

/// The values that fill gaps.
pub trait Gaps {
    /// Appends the value of gap `number`: in a target only printable ASCII, in a field no control characters.
    fn write(&self, number: usize, into: &mut Vec<u8>);
}

/// The memory in which a request is filled in; reused for the next.
#[derive(Debug, Clone)]
pub struct RequestBuffer {
    rendered: Rendered,
    body: Vec<u8>,
    field: Vec<u8>,
}

impl RequestBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self { rendered: Rendered::empty(), body: Vec::new(), field: Vec::new() }
    }

    /// An empty buffer for requests of connections that begin with `opening`.
    pub(crate) fn with_opening(opening: Option<Arc<Opening>>) -> Self {
        Self { rendered: Rendered::empty().with_opening(opening), ..Self::new() }
    }

    /// The request last filled in.
    pub fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    pub(crate) fn rendered_mut(&mut self) -> &mut Rendered {
        &mut self.rendered
    }
}

impl Default for RequestBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// A request with gaps, rendered for one framing.
#[derive(Debug, Clone)]
pub struct RenderedTemplate {
    operation: OperationId,
    reply: ReplyShape,
    head: Box<[HeadPart]>,
    body: Box<[Segment]>,
}

/// A part of a text, in bytes.
#[derive(Debug, Clone)]
enum Segment {
    Bytes(Box<[u8]>),
    Gap(usize),
}

#[derive(Debug, Clone)]
enum HeadPart {
    Plain(Segment),
    /// HTTP/1.1: the body's length in digits.
    Length,
    /// HTTP/2: a field whose value has gaps.
    Field(Box<str>, Box<[Segment]>),
    /// HTTP/2: the field `content-length`.
    LengthField,
}

impl RenderedTemplate {
    /// Renders a request.
    ///
    /// Errors: [`RenderError`] if a part is invalid on the wire.
    pub fn new(
        framing: &Framing,
        operation: OperationId,
        request: &RequestTemplate,
    ) -> Result<Self, RenderError> {
        let sample = sample(request);
        // A given length could only be right by chance.
        let varies = request.body.iter().any(|piece| matches!(piece, Piece::Gap(_)));
        if let Some((_, given)) = request.headers.iter().find(|(name, _)| is_length(name)).filter(|_| varies)
        {
            return Err(RenderError::Length { given: text(given), actual: sample.body.len() });
        }
        check(&sample)?;
        let head = match framing {
            Framing::Http1 => http1(request),
            Framing::Http2(settings) => http2(settings, request),
            _ => return Err(RenderError::NotCarried(framing.name())),
        };
        Ok(Self { operation, reply: reply_to(&sample), head: head.done(), body: segments(&request.body) })
    }

    /// The operation it belongs to.
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    pub fn fill(&self, gaps: &dyn Gaps, buffer: &mut RequestBuffer) {
        let RequestBuffer { rendered, body, field } = buffer;
        body.clear();
        fill(&self.body, gaps, body);
        rendered.refill(self.operation, self.reply, body, |into| {
            for part in &self.head {
                match part {
                    HeadPart::Plain(Segment::Bytes(bytes)) => into.extend_from_slice(bytes),
                    HeadPart::Plain(Segment::Gap(number)) => gaps.write(*number, into),
                    HeadPart::Length => digits(body.len(), |text| into.extend_from_slice(text)),
                    HeadPart::Field(name, value) => {
                        field.clear();
                        fill(value, gaps, field);
                        hpack::field(name, field.trim_ascii(), into);
                    }
                    HeadPart::LengthField => {
                        digits(body.len(), |text| hpack::field("content-length", text, into))
                    }
                }
            }
        });
    }
}

fn fill(segments: &[Segment], gaps: &dyn Gaps, into: &mut Vec<u8>) {
    for segment in segments {
        match segment {
            Segment::Bytes(bytes) => into.extend_from_slice(bytes),
            Segment::Gap(number) => gaps.write(*number, into),
        }
    }
}

/// Writes a number in digits, without allocating.
pub(crate) fn digits(number: usize, write: impl FnOnce(&[u8])) {
    let mut text = [0; 20];
    let (mut at, mut rest) = (text.len(), number);
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return write(&text[at..]);
        }
    }
}

/// The request with a harmless value in every gap, to be checked like any other.
fn sample(request: &RequestTemplate) -> Request {
    let headers = request.headers.iter().map(|(name, value)| (name.clone(), text(value)));
    let target = request.target.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_str(),
        // The target may begin with a gap; its value then begins with `/`.
        Piece::Gap(_) => "/",
    });
    Request {
        method: request.method.clone(),
        target: target.collect(),
        authority: request.authority.clone(),
        headers: headers.collect(),
        body: text(&request.body).into_bytes(),
    }
}

/// A text with its gaps empty.
fn text(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        Piece::Gap(_) => None,
    });
    texts.collect()
}

fn segments(pieces: &[Piece]) -> Box<[Segment]> {
    let segment = |piece: &Piece| match piece {
        Piece::Text(text) => Segment::Bytes(text.as_bytes().into()),
        Piece::Gap(number) => Segment::Gap(*number),
    };
    pieces.iter().map(segment).collect()
}

fn is_length(name: &str) -> bool {
    name.eq_ignore_ascii_case("content-length")
}

/// Whether the framing announces the body's length: methods that normally have a body announce an empty one too (RFC
/// 9110, section 8.6).
fn announces(request: &RequestTemplate) -> bool {
    let expects = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    (expects || !request.body.is_empty()) && !request.headers.iter().any(|(name, _)| is_length(name))
}

/// Joins adjacent text while a head is built.
#[derive(Debug, Default)]
struct HeadBuilder {
    parts: Vec<HeadPart>,
    open: Vec<u8>,
}

impl HeadBuilder {
    fn bytes(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.bytes(text.as_bytes()),
                Piece::Gap(number) => self.part(HeadPart::Plain(Segment::Gap(*number))),
            }
        }
    }

    fn part(&mut self, part: HeadPart) {
        self.close();
        self.parts.push(part);
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            let bytes = std::mem::take(&mut self.open).into_boxed_slice();
            self.parts.push(HeadPart::Plain(Segment::Bytes(bytes)));
        }
    }

    /// A field of HTTP/2; one without gaps is encoded now.
    fn field(&mut self, name: &str, value: &[Piece]) {
        match value.iter().any(|piece| matches!(piece, Piece::Gap(_))) {
            true => self.part(HeadPart::Field(name.into(), segments(value))),
            false => hpack::field(name, text(value).trim().as_bytes(), &mut self.open),
        }
    }

    fn done(mut self) -> Box<[HeadPart]> {
        self.close();
        self.parts.into_boxed_slice()
    }
}

fn http1(request: &RequestTemplate) -> HeadBuilder {
    let mut head = HeadBuilder::default();
    head.bytes(format!("{} ", request.method).as_bytes());
    head.pieces(&request.target);
    head.bytes(b" HTTP/1.1\r\n");
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.bytes(format!("Host: {}\r\n", request.authority).as_bytes());
    }
    for (name, value) in &request.headers {
        head.bytes(format!("{name}: ").as_bytes());
        head.pieces(&trimmed(value));
        head.bytes(b"\r\n");
    }
    if announces(request) {
        head.bytes(b"Content-Length: ");
        head.part(HeadPart::Length);
        head.bytes(b"\r\n");
    }
    head.bytes(b"\r\n");
    head
}

/// The value without leading and trailing blanks in its text.
fn trimmed(value: &[Piece]) -> Vec<Piece> {
    let mut value = value.to_vec();
    if let Some(Piece::Text(first)) = value.first_mut() {
        *first = first.trim_start().to_owned();
    }
    if let Some(Piece::Text(last)) = value.last_mut() {
        *last = last.trim_end().to_owned();
    }
    value
}

fn http2(settings: &Http2Settings, request: &RequestTemplate) -> HeadBuilder {
    let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let own = [Piece::Text(request.authority.clone())];
    let mut head = HeadBuilder::default();
    hpack::field(":method", request.method.as_bytes(), &mut head.open);
    hpack::field(":scheme", settings.scheme.name().as_bytes(), &mut head.open);
    head.field(":authority", host.map_or(&own[..], |(_, value)| value));
    head.field(":path", &request.target);
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        if render::is_sent(&name, text(value).trim()) {
            head.field(&name, value);
        }
    }
    if announces(request) {
        head.part(HeadPart::LengthField);
    }
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Given<'a>(&'a [String]);

    impl Gaps for Given<'_> {
        fn write(&self, number: usize, into: &mut Vec<u8>) {
            into.extend_from_slice(self.0[number].as_bytes());
        }
    }

    /// The text with its gaps filled.
    fn filled(pieces: &[Piece], values: &[String]) -> String {
        let one = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Gap(number) => values[*number].clone(),
        };
        pieces.iter().map(one).collect()
    }

    fn framings() -> [Framing; 2] {
        [Framing::Http1, Framing::Http2(Http2Settings::default())]
    }

    /// The oracle: a filled template equals the rendered request with the same values.
    fn agrees(template: &RequestTemplate, values: &[String], buffer: &mut RequestBuffer) {
        let request = Request {
            method: template.method.clone(),
            target: filled(&template.target, values),
            authority: template.authority.clone(),
            headers: template.headers.iter().map(|(n, v)| (n.clone(), filled(v, values))).collect(),
            body: filled(&template.body, values).into_bytes(),
        };
        for framing in framings() {
            let rendered = RenderedTemplate::new(&framing, OperationId(4), template).expect("renders");
            rendered.fill(&Given(values), buffer);
            let want = framing.render(OperationId(4), &request).expect("renders");
            assert_eq!(buffer.rendered(), &want, "{framing:?}");
        }
    }

    fn pieces(values: usize, first: &str) -> impl Strategy<Value = Vec<Piece>> + use<> {
        let first = Piece::Text(first.to_owned());
        let piece = prop_oneof!["[a-z0-9/=&-]{1,6}".prop_map(Piece::Text), (0..values).prop_map(Piece::Gap),];
        prop::collection::vec(piece, 0..5).prop_map(move |mut rest| {
            rest.insert(0, first.clone());
            rest
        })
    }

    proptest! {
        #[test]
        fn a_filled_template_is_the_request_with_its_values(
            values in prop::collection::vec("[!-~]{1,40}", 3),
            method in prop::sample::select(vec!["GET", "POST", "HEAD", "DELETE"]),
            target in pieces(3, "/"),
            fields in prop::collection::vec(("[a-z]{1,8}", pieces(3, "x")), 0..4),
            host in prop::option::of(pieces(3, "h")),
            body in pieces(3, "{"),
            bodied in any::<bool>(),
        ) {
            let mut headers: Vec<_> = fields.into_iter().map(|(name, value)| (format!("X-{name}"), value)).collect();
            headers.push(("Connection".to_owned(), vec![Piece::Text("close".to_owned())]));
            headers.extend(host.map(|host| ("Host".to_owned(), host)));
            let body = if bodied { body } else { Vec::new() };
            let authority = "localhost:80".to_owned();
            let template = RequestTemplate { method: method.to_owned(), target, authority, headers, body };
            let mut buffer = RequestBuffer::new();
            agrees(&template, &values, &mut buffer);
            // Filling again must leave nothing of the last values.
            let short: Vec<String> = values.iter().map(|value| value[..1].to_owned()).collect();
            agrees(&template, &short, &mut buffer);
        }
    }

    #[test]
    fn invalid_parts_are_refused() {
        let text = |text: &str| vec![Piece::Text(text.to_owned())];
        let good = RequestTemplate {
            method: "POST".into(),
            target: vec![Piece::Gap(0), Piece::Text("?x".into())],
            authority: "h:1".into(),
            body: vec![Piece::Gap(0)],
            ..RequestTemplate::default()
        };
        let refused = |change: &dyn Fn(&mut RequestTemplate)| {
            let mut changed = good.clone();
            change(&mut changed);
            let refused =
                framings().map(|f| RenderedTemplate::new(&f, OperationId(0), &changed).expect_err("refused"));
            assert_eq!(refused[0], refused[1]);
            refused[0].clone()
        };
        framings()
            .iter()
            .for_each(|framing| drop(RenderedTemplate::new(framing, OperationId(0), &good).expect("good")));
        let with = |name: &str, value: &str| {
            let pair = (name.to_owned(), text(value));
            refused(&move |template: &mut RequestTemplate| template.headers.push(pair.clone()))
        };
        assert!(matches!(refused(&|o| o.target = text("a")), RenderError::Target(_)));
        assert!(matches!(refused(&|o| o.target = text("/a\r\nX: y")), RenderError::Target(_)));
        assert!(matches!(with("X", "1\r\nY: 2"), RenderError::HeaderValue(_)));
        assert!(matches!(with("X: y", "1"), RenderError::HeaderName(_)));
        assert!(matches!(with("content-length", "3"), RenderError::Length { .. }));
        assert!(matches!(
            RenderedTemplate::new(&Framing::Resp, OperationId(0), &good),
            Err(RenderError::NotCarried("RESP"))
        ));
    }
}
