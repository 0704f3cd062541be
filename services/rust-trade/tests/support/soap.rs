//! A client of SOAP 1.1 whose replies are JSON, as those of the other transports are.

use quick_xml::Reader;
use quick_xml::escape::escape;
use quick_xml::events::Event;
use reqwest::blocking::Client as Http;
use serde_json::{Map, Value, json};

use super::client::Answer;

/// The elements that are texts; others are numbers.
const TEXTS: [&str; 14] = [
    "user",
    "symbol",
    "company",
    "kind",
    "status",
    "full_name",
    "address",
    "email",
    "card",
    "faultcode",
    "faultstring",
    "code",
    "text",
    "password",
];

/// The operation of a call, and its body.
pub fn envelope(name: &str, fields: &Value) -> (&'static str, String) {
    let operation = match name {
        "account" => "getAccount",
        "holdings" => "listHoldings",
        "quote" => "getQuote",
        "sell-first" => "sellFirst",
        "switch-user" => "switchUser",
        "login" => "login",
        "logout" => "logout",
        "buy" => "buy",
        "sell" => "sell",
        "update" => "update",
        "register" => "register",
        "home" => "home",
        "portfolio" => "portfolio",
        other => panic!("{other}"),
    };
    let mut fields = fields.clone();
    if let Some(register) = fields.get("register").cloned() {
        let from = fields["user"].clone();
        fields = register;
        fields["from"] = from;
    }
    let elements = fields.as_object().expect("fields").iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("<{name}>{}</{name}>", escape(text))
    });
    let elements: String = elements.collect();
    let body = format!(
        "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><x:{operation} \
        xmlns:x=\"urn:weighbridge:trade:1\">{elements}</x:{operation}></e:Body></e:Envelope>"
    );
    (operation, body)
}

pub fn call(client: &Http, base: &str, name: &str, fields: &Value) -> Answer {
    let (operation, body) = envelope(name, fields);
    let request = client.post(format!("{base}/trade")).header("Content-Type", "text/xml; charset=utf-8");
    let reply = request.header("SOAPAction", format!("\"urn:weighbridge:trade:1/{operation}\"")).body(body);
    let reply = reply.send().expect("a reply");
    assert_eq!(reply.headers()["content-type"], "text/xml; charset=utf-8");
    let status = reply.status().as_u16();
    let tree = value(&reply.text().expect("text"));
    let body = &tree["Envelope"]["Body"];
    if status == 200 {
        let mut record = body[&format!("{operation}Response")]["return"].clone();
        complete(name, &mut record);
        return Ok(record);
    }
    assert_eq!(status, 500);
    let fault = &body["Fault"]["detail"]["TradeFault"];
    assert!(!fault["text"].as_str().expect("a text").is_empty());
    Err(match fault["code"].as_str().expect("a code") {
        "wrong" => 400,
        "denied" => 401,
        "missing" => 404,
        "exists" => 409,
        "again" => 503,
        other => panic!("{other}"),
    })
}

/// What XML leaves out: lists without elements, and an absent time.
fn complete(name: &str, record: &mut Value) {
    let lists: &[&str] = match name {
        "holdings" | "home" | "sell-first" => &["holdings"],
        "portfolio" => &["holdings", "quotes"],
        _ => &[],
    };
    if !record.is_object() {
        *record = json!({});
    }
    for list in lists {
        if record.get(list).is_none() {
            record[list] = json!([]);
        }
    }
}

/// Elements as objects.
fn value(xml: &str) -> Value {
    let mut reader = Reader::from_str(xml);
    let (mut open, mut content) = (vec![Map::new()], String::new());
    loop {
        match reader.read_event().expect("XML") {
            Event::Start(_) => {
                open.push(Map::new());
                content.clear();
            }
            Event::Text(text) => content.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let name = reference.xml10_content();
                let named = ["lt", "gt", "amp", "apos", "quot"].iter().position(|known| *known == name);
                let given = reference.resolve_char_ref().expect("a character");
                content.push(
                    named.map_or_else(|| given.expect("a number"), |place| ['<', '>', '&', '\'', '"'][place]),
                );
            }
            Event::End(end) => {
                let name = end.local_name().into_inner().to_owned();
                let own = open.pop().expect("it was open");
                let value = match content.as_str() {
                    _ if !own.is_empty() => Value::Object(own),
                    text if TEXTS.contains(&name.as_str()) => json!(text),
                    text => text.parse::<i64>().map_or(Value::Null, |number| json!(number)),
                };
                let parent = open.last_mut().expect("it is in another");
                if name == "holdings" || name == "quotes" {
                    let list = parent.entry(name).or_insert_with(|| json!([]));
                    list.as_array_mut().expect("a list").push(value);
                } else {
                    parent.insert(name, value);
                }
                content.clear();
            }
            Event::Eof => return Value::Object(open.remove(0)),
            _ => {}
        }
    }
}
