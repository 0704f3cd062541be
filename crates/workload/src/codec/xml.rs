//! XML in SOAP 1.1, document/literal: a record is the element of its name in the body of an envelope, its fields are elements
//! without a namespace. Of a record that a call returns, the value is such an element, and an exception the detail of a fault.
//! See <https://www.w3.org/TR/2000/NOTE-SOAP-20000508/>.

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Value};

use super::{DecodeError, Field, FieldType, Record, complete, field, int, list, long, offset, text};

/// The namespace of persons.
pub(crate) const PERSONS: &str = "urn:weighbridge:person:1";

const ENVELOPE: &str = "http://schemas.xmlsoap.org/soap/envelope/";
const START: &str = "<?xml version='1.0' encoding='UTF-8'?><S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body>";
const END: &[u8] = b"</S:Body></S:Envelope>";

/// Of attributes that may stand at any element.
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Most nodes of a document: 100,000 persons with blanks between all elements.
const NODES: u32 = 1 << 23;

/// What XML calls white space.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// Texts must be of characters that XML has: of the control characters, tab and the ends of lines alone.
pub(super) fn encode(record: &Record, value: &Value, bytes: &mut Vec<u8>) {
    let (plain, exceptions) = parts(record);
    let thrown = exceptions.iter().find_map(|one| Some((one.kind, value.get(one.name)?)));
    let Some((FieldType::Record(exception), value)) = thrown else {
        return encode_element(PERSONS, record.name, plain, value, bytes);
    };
    let fault = "<S:Fault><faultcode>S:Server</faultcode><faultstring>";
    bytes.extend(format!("{START}{fault}{}</faultstring><detail>", exception.name).into_bytes());
    put_global(PERSONS, exception.name, exception.fields, value, bytes);
    bytes.extend(b"</detail></S:Fault>");
    bytes.extend(END);
}

/// An envelope whose body is one element of a namespace.
pub(crate) fn encode_element(
    namespace: &str,
    name: &str,
    fields: &[Field],
    value: &Value,
    bytes: &mut Vec<u8>,
) {
    bytes.extend(START.as_bytes());
    put_global(namespace, name, fields, value, bytes);
    bytes.extend(END);
}

/// The fields that are elements, and the exceptions beside the value that a call returns.
fn parts(record: &Record) -> (&[Field], &[Field]) {
    let is_returned = record.fields.first().is_some_and(|first| first.number == 0);
    record.fields.split_at(if is_returned { 1 } else { record.fields.len() })
}

fn put_global(namespace: &str, name: &str, fields: &[Field], value: &Value, bytes: &mut Vec<u8>) {
    bytes.extend(format!("<ns2:{name} xmlns:ns2=\"{namespace}\">").into_bytes());
    put_fields(fields, value, bytes);
    bytes.extend(format!("</ns2:{name}>").into_bytes());
}

fn put_fields(fields: &[Field], value: &Value, bytes: &mut Vec<u8>) {
    for one in fields {
        match (one.kind, field(one, value)) {
            (_, None) => {}
            (FieldType::List(of), Some(values)) => {
                list(values).iter().for_each(|value| put(one.name, FieldType::Record(of), value, bytes));
            }
            (kind, Some(value)) => put(one.name, kind, value, bytes),
        }
    }
}

fn put(name: &str, kind: FieldType, value: &Value, bytes: &mut Vec<u8>) {
    bytes.extend(format!("<{name}>").into_bytes());
    match kind {
        FieldType::Text => put_text(text(value), bytes),
        FieldType::Int => bytes.extend(int(value).to_string().into_bytes()),
        FieldType::Long => bytes.extend(long(value).to_string().into_bytes()),
        FieldType::Record(record) | FieldType::List(record) => {
            put_fields(record.fields, value, bytes);
        }
    }
    bytes.extend(format!("</{name}>").into_bytes());
}

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'&' => bytes.extend(b"&amp;"),
            b'<' => bytes.extend(b"&lt;"),
            b'>' => bytes.extend(b"&gt;"),
            // A reader would take it for a line feed.
            b'\r' => bytes.extend(b"&#13;"),
            _ => bytes.push(byte),
        }
    }
}

pub(super) fn decode(record: &Record, bytes: &[u8]) -> Result<Value, DecodeError> {
    let (plain, exceptions) = parts(record);
    in_body(bytes, |content| {
        if is(content, Some(PERSONS), record.name) {
            read_fields(record, plain, content)
        } else if is(content, Some(ENVELOPE), "Fault") {
            read_fault(exceptions, content)
        } else {
            Err(foreign(content, PERSONS, record.name))
        }
    })
}

/// The value that a call returns: of the element with the call's name and `Response` behind it. A fault is an error.
pub(crate) fn decode_returned(
    namespace: &str,
    call: &str,
    returned: &'static Record,
    bytes: &[u8],
) -> Result<Value, DecodeError> {
    in_body(bytes, |content| {
        let name = format!("{call}Response");
        if is(content, Some(ENVELOPE), "Fault") {
            return read_fault(&[], content);
        }
        if !is(content, Some(namespace), &name) {
            return Err(foreign(content, namespace, &name));
        }
        let mut elements = content.children().filter(Node::is_element);
        match (elements.next().filter(|one| is(*one, None, "return")), elements.next()) {
            (Some(value), None) => read_fields(returned, returned.fields, value),
            _ => Err(error(content, format!("`{name}` has not one `return`"))),
        }
    })
}

/// The record of a namespace in the detail of a fault, whatever else is there.
pub(crate) fn decode_detail(
    namespace: &str,
    record: &'static Record,
    bytes: &[u8],
) -> Result<Value, DecodeError> {
    in_body(bytes, |content| {
        if !is(content, Some(ENVELOPE), "Fault") {
            return Err(foreign(content, ENVELOPE, "Fault"));
        }
        let detail = content.children().find(|node| is(*node, None, "detail"));
        let mut parts = detail.iter().flat_map(|detail| detail.children());
        match parts.find(|node| is(*node, Some(namespace), record.name)) {
            Some(node) => read_fields(record, record.fields, node),
            None => Err(error(content, format!("the fault has no `{}` in its detail", record.name))),
        }
    })
}

/// Reads what is in the body of an envelope.
fn in_body(
    bytes: &[u8],
    read: impl FnOnce(Node<'_, '_>) -> Result<Value, DecodeError>,
) -> Result<Value, DecodeError> {
    let not_utf8 = |error: std::str::Utf8Error| DecodeError {
        message: "the text is not UTF-8".to_owned(),
        at: error.valid_up_to(),
    };
    let text = std::str::from_utf8(bytes).map_err(not_utf8)?;
    let options = ParsingOptions { nodes_limit: NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let (line, column) = (error.pos().row as usize, error.pos().col as usize);
        DecodeError { message: format!("not XML: {error}"), at: offset(bytes, line, column - 1) }
    })?;
    let root = document.root_element();
    if !is(root, Some(ENVELOPE), "Envelope") {
        return Err(error(root, format!("`{}` is no envelope of SOAP 1.1", root.tag_name().name())));
    }
    let body = root.children().find(|node| is(*node, Some(ENVELOPE), "Body"));
    let content = body.and_then(|body| body.first_element_child());
    read(content.ok_or_else(|| error(root, "the envelope has no body, or that is empty"))?)
}

fn foreign(content: Node<'_, '_>, namespace: &str, name: &str) -> DecodeError {
    let found = content.tag_name().name();
    error(content, format!("the body has `{found}`, not `{name}` of `{namespace}`"))
}

/// The exception in the detail of a fault.
fn read_fault(exceptions: &[Field], fault: Node<'_, '_>) -> Result<Value, DecodeError> {
    let detail = fault.children().find(|node| is(*node, None, "detail"));
    for node in detail.iter().flat_map(|detail| detail.children()) {
        for one in exceptions {
            if let FieldType::Record(record) = one.kind
                && is(node, Some(PERSONS), record.name)
            {
                let value = read_fields(record, record.fields, node)?;
                return Ok(Map::from_iter([(one.name.to_owned(), value)]).into());
            }
        }
    }
    let said = fault.children().find(|node| is(*node, None, "faultstring"));
    let said = said.and_then(|node| node.text()).unwrap_or("no reason");
    Err(error(fault, format!("a fault: {said}")))
}

fn read_fields(record: &Record, fields: &[Field], node: Node<'_, '_>) -> Result<Value, DecodeError> {
    if let Some(text) = texts(node)?.find(|text| !text.trim_matches(BLANKS).is_empty()) {
        return Err(error(node, format!("`{}` has a text: {text:.40}", record.name)));
    }
    let mut elements = node.children().filter(Node::is_element).peekable();
    let mut values = Map::new();
    for one in fields {
        let value = match one.kind {
            FieldType::List(of) => {
                let mut all = Vec::new();
                while let Some(element) = elements.next_if(|element| is(*element, None, one.name)) {
                    all.push(read_fields(of, of.fields, element)?);
                }
                Value::Array(all)
            }
            kind => match elements.next_if(|element| is(*element, None, one.name)) {
                Some(element) => read(kind, element)?,
                None => continue,
            },
        };
        values.insert(one.name.to_owned(), value);
    }
    if let Some(other) = elements.next() {
        return Err(error(other, format!("`{}` has no `{}` here", record.name, other.tag_name().name())));
    }
    complete(record, values, node.range().start)
}

fn read(kind: FieldType, node: Node<'_, '_>) -> Result<Value, DecodeError> {
    match kind {
        FieldType::Record(record) | FieldType::List(record) => read_fields(record, record.fields, node),
        FieldType::Text => Ok(leaf(node)?.into()),
        FieldType::Long => {
            let text = leaf(node)?;
            let long = text.trim_matches(BLANKS).parse::<i64>();
            Ok(long.map_err(|_| error(node, format!("{text:.40} is no whole number of 64 bits")))?.into())
        }
        FieldType::Int => {
            let text = leaf(node)?;
            let int = text.trim_matches(BLANKS).parse::<i32>();
            Ok(int.map_err(|_| error(node, format!("{text:.40} is no whole number of 32 bits")))?.into())
        }
    }
}

/// The text of an element that has nothing else.
fn leaf(node: Node<'_, '_>) -> Result<String, DecodeError> {
    match node.first_element_child() {
        Some(inner) => Err(error(inner, format!("`{}` is not a text", node.tag_name().name()))),
        None => Ok(texts(node)?.collect()),
    }
}

/// The pieces of text that an element has itself, if its attributes are none of the model's.
fn texts<'a>(node: Node<'a, '_>) -> Result<impl Iterator<Item = &'a str>, DecodeError> {
    match node.attributes().find(|one| one.namespace() != Some(INSTANCE)) {
        Some(other) => Err(error(node, format!("there is no attribute `{}`", other.name()))),
        None => Ok(node.children().filter(Node::is_text).filter_map(|node| node.text())),
    }
}

fn is(node: Node<'_, '_>, namespace: Option<&str>, name: &str) -> bool {
    let found = node.tag_name();
    node.is_element() && found.namespace() == namespace && found.name() == name
}

fn error(node: Node<'_, '_>, message: impl Into<String>) -> DecodeError {
    DecodeError { message: message.into(), at: node.range().start }
}
