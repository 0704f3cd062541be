//! Envelopes of SOAP 1.1, document/literal wrapped: what a request says, and how records are written.

use std::collections::HashMap;

use quick_xml::NsReader;
use quick_xml::escape::escape;
use quick_xml::events::{BytesRef, Event};
use quick_xml::name::{Namespace, ResolveResult};

use crate::records::{
    Account, Holding, HoldingList, HomeReply, Order, PortfolioReply, Profile, Quote, SellFirstReply,
    SwitchUserReply,
};

/// The namespace of the interface, and what its actions begin with.
pub const NAMESPACE: &str = "urn:weighbridge:trade:1";
const ENVELOPE: &str = "http://schemas.xmlsoap.org/soap/envelope/";

// Requests

/// An operation with its fields, as texts.
#[derive(Default)]
pub struct Message {
    pub operation: String,
    fields: HashMap<String, String>,
}

impl Message {
    /// The error says what is wrong with the envelope.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = NsReader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let (mut message, mut open, mut content) = (Self::default(), Vec::new(), String::new());
        loop {
            let (space, event) = reader.read_resolved_event().map_err(|error| error.to_string())?;
            match event {
                Event::Start(start) => {
                    let name = start.local_name().into_inner().to_owned();
                    message.begin(&open, &name, space)?;
                    content.clear();
                    open.push(name);
                }
                Event::End(_) => {
                    let name = open.pop().unwrap_or_default();
                    if open.len() == 3 && open[1] == "Body" {
                        message.fields.insert(name, std::mem::take(&mut content));
                    }
                }
                Event::Text(text) => content.push_str(&text.xml10_content()),
                Event::CData(text) => content.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => content.push(character(&reference)?),
                Event::DocType(_) => return Err("a document type is not allowed in an envelope".to_owned()),
                Event::Eof if message.operation.is_empty() => {
                    return Err("the envelope has no operation in its body".to_owned());
                }
                Event::Eof if open.is_empty() => return Ok(message),
                Event::Eof => return Err("the envelope has no end".to_owned()),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::Empty(_) => {}
            }
        }
    }

    /// Checks an element within those that are open.
    fn begin(&mut self, open: &[String], name: &str, space: ResolveResult<'_>) -> Result<(), String> {
        let is_in = |wanted| space == ResolveResult::Bound(Namespace(wanted));
        let wrong = || Err(format!("the element `{name}` in `{}` is not expected", open.join("/")));
        match open.len() {
            0 if name == "Envelope" && is_in(ENVELOPE) => Ok(()),
            1 if (name == "Header" || name == "Body") && is_in(ENVELOPE) => Ok(()),
            // What is in a header is no affair of this service.
            2.. if open[1] == "Header" => Ok(()),
            2 if self.operation.is_empty() && is_in(NAMESPACE) => {
                name.clone_into(&mut self.operation);
                Ok(())
            }
            3 if !self.fields.contains_key(name) => Ok(()),
            _ => wrong(),
        }
    }

    pub fn text(&self, name: &str) -> Result<&str, String> {
        let missing = || format!("`{}` has no element `{name}`", self.operation);
        self.fields.get(name).map(String::as_str).ok_or_else(missing)
    }

    pub fn number(&self, name: &str) -> Result<i64, String> {
        let text = self.text(name)?;
        text.trim().parse().map_err(|_| format!("`{name}` is {text:?}, allowed: a whole number of 64 bits"))
    }

    /// None where there is no such element.
    pub fn maybe_number(&self, name: &str) -> Result<Option<i64>, String> {
        if self.fields.contains_key(name) { self.number(name).map(Some) } else { Ok(None) }
    }
}

/// The character of a reference; other entities need a document type.
fn character(reference: &BytesRef<'_>) -> Result<char, String> {
    if let Some(character) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character);
    }
    match &*reference.xml10_content() {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "apos" => Ok('\''),
        "quot" => Ok('"'),
        other => Err(format!("the entity `{other}` is not known")),
    }
}

// Replies

/// What can be an element.
pub trait Element {
    fn write(&self, name: &str, xml: &mut String);
}

impl Element for i64 {
    fn write(&self, name: &str, xml: &mut String) {
        wrap(name, xml, |xml| xml.push_str(&self.to_string()));
    }
}

impl Element for String {
    fn write(&self, name: &str, xml: &mut String) {
        wrap(name, xml, |xml| xml.push_str(&escape(self.as_str())));
    }
}

impl<T: Element> Element for Option<T> {
    fn write(&self, name: &str, xml: &mut String) {
        self.iter().for_each(|element| element.write(name, xml));
    }
}

impl<T: Element> Element for Vec<T> {
    fn write(&self, name: &str, xml: &mut String) {
        self.iter().for_each(|element| element.write(name, xml));
    }
}

macro_rules! element {
    ($kind:ident, $($field:ident),*) => {
        impl Element for $kind {
            fn write(&self, name: &str, xml: &mut String) {
                wrap(name, xml, |xml| { $(self.$field.write(stringify!($field), xml);)* });
            }
        }
    };
}

element!(Account, id, user, balance, open_balance, logins, logouts, last_login, created);
element!(Holding, id, symbol, quantity, price, bought);
element!(HoldingList, holdings);
element!(Quote, symbol, company, price, open, low, high, change, volume);
element!(Order, id, kind, status, symbol, quantity, price, fee, holding, opened, completed);
element!(Profile, user, full_name, address, email, card);
element!(HomeReply, account, holdings);
element!(PortfolioReply, holdings, quotes);
element!(SellFirstReply, holdings, order);
element!(SwitchUserReply, account, registered);

fn wrap(name: &str, xml: &mut String, content: impl FnOnce(&mut String)) {
    xml.extend(["<", name, ">"]);
    content(xml);
    xml.extend(["</", name, ">"]);
}

/// The envelope of a reply to an operation.
pub fn reply(operation: &str, record: &impl Element) -> String {
    envelope(|xml| {
        xml.extend(["<t:", operation, "Response xmlns:t=\"", NAMESPACE, "\">"]);
        record.write("return", xml);
        xml.extend(["</t:", operation, "Response>"]);
    })
}

/// The envelope of a fault: whose it is, `Client` or `Server`, and its code in the interface.
pub fn fault(whose: &str, code: &str, text: &str) -> String {
    let text = text.to_owned();
    envelope(|xml| {
        xml.extend(["<soap:Fault><faultcode>soap:", whose, "</faultcode>"]);
        text.write("faultstring", xml);
        xml.extend(["<detail><t:TradeFault xmlns:t=\"", NAMESPACE, "\">"]);
        code.to_owned().write("code", xml);
        text.write("text", xml);
        xml.push_str("</t:TradeFault></detail></soap:Fault>");
    })
}

fn envelope(body: impl FnOnce(&mut String)) -> String {
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><soap:Envelope xmlns:soap=\"{ENVELOPE}\"><soap:Body>"
    );
    body(&mut xml);
    xml.push_str("</soap:Body></soap:Envelope>");
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPELLED: &str = "<?xml version='1.0'?><e:Envelope xmlns:e='http://schemas.xmlsoap.org/soap/envelope/'>\
        <e:Header><x><y/></x></e:Header> <e:Body> <buy xmlns='urn:weighbridge:trade:1'> <!-- c --> \
        <user xmlns=''>&lt;&#252;&amp;<![CDATA[<&]]></user><symbol/><quantity> 7 </quantity></buy></e:Body></e:Envelope>";

    #[test]
    fn prefixes_references_sections_and_comments_are_read() {
        let message = Message::parse(SPELLED).expect("a message");
        assert_eq!(
            (message.operation.as_str(), message.text("user"), message.text("symbol")),
            ("buy", Ok("<ü&<&"), Ok(""))
        );
        assert_eq!(message.number("quantity"), Ok(7));
        assert!(message.text("holding").is_err() && message.number("user").is_err());
        assert_eq!(
            (message.maybe_number("quantity"), message.maybe_number("factor")),
            (Ok(Some(7)), Ok(None))
        );
        assert!(message.maybe_number("symbol").is_err(), "an element without a number");
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        let damaged = [
            ("<e:Body>", "<e:Corpse>"),
            ("</e:Envelope>", ""),
            ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"),
            ("urn:weighbridge:trade:1", "urn:other"),
            ("<symbol/>", "<symbol/><symbol/>"),
            ("<symbol/>", "<symbol><a/></symbol>"),
            ("&lt;", "&nbsp;"),
            ("<?xml version='1.0'?>", "<!DOCTYPE a [<!ENTITY b 'c'>]>"),
            ("<symbol/>", "<symbol>"),
        ];
        for (from, to) in damaged {
            assert!(Message::parse(&SPELLED.replace(from, to)).is_err(), "{to}");
        }
        assert!(Message::parse("").is_err() && Message::parse("{}").is_err());
    }
}
