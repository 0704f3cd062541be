//! Every codec against its table of lengths, against another implementation where one is at hand, and against what is not of
//! the model.

use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};
use weighbridge_model::experiment::{CodecName, PersonIds, PersonOperation, PersonSpec};

use super::people::{LINK_LIST, PERSON, PERSON_LIST, People, PersonReply};
use crate::codec::{Record, decode, encode};

const CODECS: [CodecName; 5] =
    [CodecName::Json, CodecName::Protobuf, CodecName::Avro, CodecName::Binary, CodecName::Compact];

/// The reply of an operation for the person of that number, from 1.
fn reply(operation: PersonOperation, number: usize) -> (&'static Record, Value) {
    let spec = PersonSpec { ids: PersonIds::All, ..PersonSpec::default() };
    let ids = if operation == PersonOperation::CreatePerson { PersonIds::One } else { spec.ids };
    let call = People::of(&spec).calls(operation, ids).swap_remove(number - 1);
    match call.reply {
        PersonReply::Found(record, value) => (record, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn replies_have_the_lengths_of_the_contract() {
    for (operation, number, lengths) in [
        (PersonOperation::GetPerson, 1, [246, 121, 108, 174, 122]),
        (PersonOperation::ListPersons, 1, [1540, 948, 868, 1213, 941]),
        (PersonOperation::GetPersonLinks, 1, [2068, 1203, 1084, 1582, 1194]),
        (PersonOperation::GetPersonLinks, 3, [1547, 939, 853, 1211, 932]),
        (PersonOperation::CreatePerson, 1, [245, 120, 107, 173, 121]),
    ] {
        let (record, value) = reply(operation, number);
        let found = CODECS.map(|codec| encode(codec, record, &value).len());
        assert_eq!(found, lengths, "{}", operation.name());
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
