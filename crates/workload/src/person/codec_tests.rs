//! Every codec against its table of lengths, against another implementation where one is at hand, and against what is not of
//! the model.

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};
use weighbridge_model::experiment::{CodecName, PersonIds, PersonOperation, PersonSpec};

use super::people::{CallOfPerson, LINK_LIST, PERSON, PERSON_LIST, People, PersonReply};
use crate::codec::{Record, decode, encode};

const CODECS: [CodecName; 6] = CodecName::ALL;

/// The call of an operation for the person of that number, from 1.
fn call(operation: PersonOperation, number: usize) -> CallOfPerson {
    let spec = PersonSpec { ids: PersonIds::All, ..PersonSpec::default() };
    let ids = if operation == PersonOperation::CreatePerson { PersonIds::One } else { spec.ids };
    People::of(&spec).calls(operation, ids).swap_remove(number - 1)
}

/// Its reply.
fn reply(operation: PersonOperation, number: usize) -> (&'static Record, Value) {
    found(call(operation, number).reply)
}

fn found(reply: PersonReply) -> (&'static Record, Value) {
    match reply {
        PersonReply::Found(record, value) => (record, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn replies_have_the_lengths_of_the_contract() {
    for (operation, number, lengths) in [
        (PersonOperation::GetPerson, 1, [246, 121, 108, 174, 122, 517]),
        (PersonOperation::ListPersons, 1, [1540, 948, 868, 1213, 941, 2111]),
        (PersonOperation::GetPersonLinks, 1, [2068, 1203, 1084, 1582, 1194, 2708]),
        (PersonOperation::GetPersonLinks, 3, [1547, 939, 853, 1211, 932, 2092]),
        (PersonOperation::CreatePerson, 1, [245, 120, 107, 173, 121, 522]),
    ] {
        let call = call(operation, number);
        let lengths_found = CODECS.map(|codec| {
            // XML has all of the reply, as JAX-WS writes it.
            let reply = if codec == CodecName::Xml { call.returned() } else { call.reply.clone() };
            let (record, value) = found(reply);
            encode(codec, record, &value).len()
        });
        assert_eq!(lengths_found, lengths, "{}", operation.name());
    }
}

#[test]
fn what_is_written_reads_back() {
    for operation in
        [PersonOperation::GetPerson, PersonOperation::ListPersons, PersonOperation::GetPersonLinks]
    {
        for codec in CODECS {
            let (record, value) = reply(operation, 1);
            let bytes = encode(codec, record, &value);
            assert_eq!(decode(codec, record, &bytes), Ok(value), "{}", codec.name());
        }
    }
}

#[test]
fn protobuf_is_what_another_implementation_writes_and_reads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../services/person");
    let files = protox::compile(["person.proto"], [folder]).expect("it compiles");
    let pool = DescriptorPool::from_file_descriptor_set(files).expect("descriptors");
    for (operation, record) in [
        (PersonOperation::GetPerson, &PERSON),
        (PersonOperation::ListPersons, &PERSON_LIST),
        (PersonOperation::GetPersonLinks, &LINK_LIST),
    ] {
        let (_, value) = reply(operation, 1);
        let message = pool.get_message_by_name(&format!("weighbridge.person.v1.{}", record.name));
        let theirs =
            DynamicMessage::deserialize(message.expect("a message"), value.clone()).expect("the same model");
        assert_eq!(encode(CodecName::Protobuf, record, &value), theirs.encode_to_vec());
    }
}

/// By the reference implementation of JAX-WS, 4.0.3.
const BY_JAXWS: &str = "<?xml version='1.0' encoding='UTF-8'?>\
<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body>\
<ns2:getPersonResponse xmlns:ns2=\"urn:weighbridge:person:1\"><return><id>1</id>\
<name><title>mr</title><first>walter</first><last>brinkman</last></name><gender>male</gender>\
<location><street>4093 admiraal kortenaer dijkweg</street><city>oudendijk</city><state>drenthe</state>\
<postCode>70318</postCode></location><email>walter.brinkman@example.com</email></return>\
</ns2:getPersonResponse></S:Body></S:Envelope>";

/// The same.
const FAULT_BY_JAXWS: &str = "<?xml version='1.0' encoding='UTF-8'?>\
<S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\"><S:Body>\
<S:Fault xmlns:ns4=\"http://www.w3.org/2003/05/soap-envelope\"><faultcode>S:Server</faultcode>\
<faultstring>no person has this id</faultstring><detail>\
<ns2:PersonNotFound xmlns:ns2=\"urn:weighbridge:person:1\"><id>0</id></ns2:PersonNotFound>\
</detail></S:Fault></S:Body></S:Envelope>";

/// By Python's xml.etree, with a picture and blanks.
const BY_ETREE: &str = include_str!("etree.xml");

#[test]
fn xml_is_what_other_implementations_write() {
    let (record, value) = found(call(PersonOperation::GetPerson, 1).returned());
    assert_eq!(String::from_utf8_lossy(&encode(CodecName::Xml, record, &value)), BY_JAXWS);
    assert_eq!(decode(CodecName::Xml, record, BY_JAXWS.as_bytes()), Ok(value.clone()));

    let mut pictured = value;
    let texts = ["a&b <c> \"d\" 'e' ]]>", "", "tab\tü漢🚲\n "];
    pictured["return"]["picture"] = json!({ "large": texts[0], "medium": texts[1], "thumbnail": texts[2] });
    let written = BY_ETREE.replace("brinkman</", "<![CDATA[brink]]>man</");
    assert_eq!(decode(CodecName::Xml, record, written.as_bytes()), Ok(pictured.clone()));
    pictured["return"]["picture"]["medium"] = json!("\r\n\r");
    let bytes = encode(CodecName::Xml, record, &pictured);
    assert_eq!(decode(CodecName::Xml, record, &bytes), Ok(pictured));

    let (_, missing) = found(call(PersonOperation::GetMissing, 1).returned());
    assert_eq!(decode(CodecName::Xml, record, FAULT_BY_JAXWS.as_bytes()), Ok(missing.clone()));
    let bytes = encode(CodecName::Xml, record, &missing);
    assert_eq!(decode(CodecName::Xml, record, &bytes), Ok(missing));
}

#[test]
fn xml_that_is_not_of_the_model_is_refused_in_words() {
    let (record, _) = found(call(PersonOperation::GetPerson, 1).returned());
    let refused = |text: &str, expected: &str| {
        let error = decode(CodecName::Xml, record, text.as_bytes()).expect_err(text).to_string();
        assert!(error.contains(expected), "{error}: {text:.300}");
    };
    let long = "x".repeat(70_000);
    for (part, other, expected) in [
        ("soap/envelope/", "soap-envelope/", "is no envelope of SOAP 1.1"),
        ("person:1", "person:2", "the body has `getPersonResponse`, not `getPersonResponse` of `urn:"),
        ("getPersonResponse", "createPersonResponse", "the body has `createPersonResponse`, not"),
        ("<gender>", "x<gender>", "`Person` has a text: x"),
        ("<gender>male</gender>", "", "`gender` of `Person` is missing"),
        ("<gender>", "<age/><gender>", "`Person` has no `age` here"),
        ("<gender>", "<gender xmlns='urn:weighbridge:person:1'>", "`Person` has no `gender` here"),
        ("<gender>", "<gender old='1'>", "there is no attribute `old`"),
        ("male", "<b>male</b>", "`gender` is not a text"),
        ("male", "\u{1}", "not XML"),
        ("male", "&eacute;", "not XML"),
        ("70318", "2147483648", "2147483648 is no whole number of 32 bits"),
        ("70318", "", " is no whole number of 32 bits"),
        ("<title>", "<first>", "not XML"),
        ("<S:Body>", "<S:Body/><S:Body>", "the envelope has no body, or that is empty"),
        ("<S:Envelope", "<!DOCTYPE x><S:Envelope", "DTD"),
        ("<S:Envelope", "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><S:Envelope", "DTD"),
        ("<S:Envelope", "<!DOCTYPE x [<!ENTITY a '&#38;a;&#38;a;'>]><S:Envelope", "DTD"),
        ("</S:Envelope>", "</S:Envelope><a/>", "not XML"),
        ("male", &format!("<{long}"), "not XML"),
    ] {
        let text = BY_JAXWS.replace(part, other);
        assert_ne!(text, BY_JAXWS, "{part}");
        refused(&text, expected);
    }
    refused(&FAULT_BY_JAXWS.replace("PersonNotFound", "Other"), "a fault: no person has this id");
    let deep = format!("{}{}", "<a>".repeat(1_000_000), "</a>".repeat(1_000_000));
    refused(&BY_JAXWS.replace("male", &deep), "`gender` is not a text");
    refused(&"<a>".repeat(1_000_000), "not XML");
    let error = decode(CodecName::Xml, record, b"<a>\xff</a>").expect_err("it is wrong").to_string();
    assert!(error.contains("not UTF-8 (byte 3)"), "{error}");
}

#[test]
fn other_legal_spellings_are_read() {
    let (record, value) = reply(PersonOperation::GetPerson, 1);
    let spaced = format!("{{ \"picture\" : null,\n{}", &serde_json::to_string(&value).expect("JSON")[1..]);
    assert_eq!(decode(CodecName::Json, record, spaced.as_bytes()), Ok(value.clone()));

    // The location apart, field by field, with a field that nobody knows and a number twice.
    let mut bytes = encode(CodecName::Protobuf, record, &value);
    bytes.extend([0x22, 3, 0x20, 0x81, 0x01]);
    bytes.extend([0x7a, 1, b'x']);
    let mut merged = value.clone();
    merged["location"]["postCode"] = 129.into();
    assert_eq!(decode(CodecName::Protobuf, record, &bytes), Ok(merged));

    let (record, list) = reply(PersonOperation::ListPersons, 1);
    let mut blocks = Vec::new();
    for person in list["persons"].as_array().expect("a list") {
        let one = encode(CodecName::Avro, &PERSON, person);
        // One of so many bytes, both below 8,192 in zigzag.
        let length = one.len() * 2;
        blocks.extend([1, (length & 0x7f) as u8 | 0x80, (length >> 7) as u8]);
        blocks.extend(one);
    }
    blocks.extend([0, 8]);
    assert_eq!(decode(CodecName::Avro, record, &blocks), Ok(list));
}

#[test]
fn what_is_not_of_the_model_is_refused_in_words() {
    let (record, value) = reply(PersonOperation::GetPerson, 1);
    for codec in CODECS {
        let bytes = encode(codec, record, &value);
        for end in 0..bytes.len() {
            let cut = decode(codec, record, &bytes[..end]);
            // Between two fields of Protocol Buffers a message may end: the others are empty then.
            let is_legal = codec == CodecName::Protobuf && cut.as_ref().is_ok_and(|cut| *cut != value);
            assert!(cut.is_err() || is_legal, "{}: cut at {end}", codec.name());
        }
    }
    for (codec, bytes, expected) in [
        (CodecName::Json, &b"{\"id\":1}"[..], "`id` of `Person`: not a text"),
        (CodecName::Json, b"{\"ids\":\"1\"}", "`Person` has no field `ids`"),
        (CodecName::Json, b"[1", "not JSON"),
        (CodecName::Protobuf, b"\x0a\x05ab", "5 bytes are announced, and 2 are left"),
        (CodecName::Protobuf, b"\x08\x01", "`id` has wire type 0, not 2"),
        (CodecName::Protobuf, b"", "`name` of `Person` is missing"),
        (CodecName::Avro, b"\x01", "a length of -1"),
        (CodecName::Avro, b"\x02\xff", "not UTF-8"),
        (CodecName::Binary, b"\x0b\x00\x01\xff\xff\xff\xff", "a length of -1"),
        (CodecName::Binary, b"\x08\x00\x01\x00\x00\x00\x01\x00", "`id` is a Int32"),
        (CodecName::Compact, b"\x1d", "type 13"),
        (CodecName::Compact, b"\x00", "`id` of `Person` is missing"),
    ] {
        let error = decode(codec, record, bytes).expect_err("it is wrong").to_string();
        assert!(error.contains(expected), "{}: {error}", codec.name());
    }
    let many = b"\x0f\x00\x01\x0c\x7f\xff\xff\xff";
    let error = decode(CodecName::Binary, &PERSON_LIST, many).expect_err("it is wrong").to_string();
    assert!(error.contains("a list of 2147483647 in 0 bytes"), "{error}");
}

fn any_person() -> impl Strategy<Value = Value> {
    let text = || "\\PC{0,40}";
    let location = (text(), text(), text(), any::<i32>()).prop_map(|(street, city, state, post)| {
        json!({ "street": street, "city": city, "state": state, "postCode": post })
    });
    let name = (text(), text(), text()).prop_map(|(a, b, c)| json!({ "title": a, "first": b, "last": c }));
    let picture =
        (text(), text(), text()).prop_map(|(a, b, c)| json!({ "large": a, "medium": b, "thumbnail": c }));
    let rest = (text(), text(), text(), proptest::option::of(picture));
    (name, location, rest).prop_map(|(name, location, (id, gender, email, picture))| {
        let mut person =
            json!({ "id": id, "name": name, "gender": gender, "location": location, "email": email });
        if let Some(picture) = picture {
            person["picture"] = picture;
        }
        person
    })
}

proptest! {
    #[test]
    fn every_person_reads_back(persons in proptest::collection::vec(any_person(), 0..20)) {
        let list = json!({ "count": persons.len(), "persons": persons });
        for codec in CODECS {
            let bytes = encode(codec, &PERSON_LIST, &list);
            prop_assert_eq!(decode(codec, &PERSON_LIST, &bytes), Ok(list.clone()));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for codec in CODECS {
            if let Ok(value) = decode(codec, &LINK_LIST, &bytes) {
                prop_assert_eq!(decode(codec, &LINK_LIST, &encode(codec, &LINK_LIST, &value)), Ok(value));
            }
        }
    }
}
