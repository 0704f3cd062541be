//! Requests and checks of the workload, without a service: replies are spelled here.

use httparse::Header;
use serde_json::Value;
use weighbridge_load::framer::Head;
use weighbridge_model::experiment::{Experiment, PersonIds, Protocol, WorkloadSpec};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::*;
use crate::canonical::Received;
use crate::checks::explain::FailureLog;
use crate::codec::{decode, encode};
use crate::person::people::{LINK_LIST, PersonReply};
use crate::{Address, UrlScheme};

fn experiment(workload: &str, protocol: &str) -> Experiment {
    let text = format!(
        "[workload]\nname = 'person'\n{workload}\n[[variant]]\nservice = 'go'\nprotocol = '{protocol}'\n"
    );
    Experiment::parse("x.toml", &text).expect("an experiment")
}

fn bound(workload: &str, protocol: &str) -> Workload {
    let mut experiment = experiment(workload, protocol);
    let point = experiment.points.remove(0);
    let address = Address { authority: "h:1".to_owned(), base: "/".to_owned(), scheme: UrlScheme::default() };
    let protocol = experiment.variants[0].protocol;
    Workload::new(&point.workload, &point.load, protocol, &address, &|_| None).expect("it is bound")
}

fn people() -> People {
    People::of(&PersonSpec::default())
}

/// The outcome of a reply that comes in two pieces.
fn outcome(workload: &Workload, status: u16, body: &[u8], cut: usize) -> Outcome {
    let mut check = workload.entries[0].expect.check(&FailureLog::default());
    check.head(&Head { status, fields: &[] });
    check.data(&body[..cut]);
    check.data(&body[cut..]);
    check.done()
}

/// The same over gRPC, with these messages.
fn call_outcome(workload: &Workload, messages: &[&[u8]], status: &str) -> Outcome {
    let mut check = workload.entries[0].expect.check(&FailureLog::default());
    let kind = Header { name: "content-type", value: b"application/grpc" };
    check.head(&Head { status: 200, fields: &[kind] });
    for message in messages {
        check.data(message);
        check.messages(1);
    }
    let status = Header { name: "grpc-status", value: status.as_bytes() };
    check.trailers(&Head { status: 200, fields: &[status] });
    check.done()
}

const WRONG: Outcome = Outcome::Error(ErrorKind::Check);
const WRONG_STATUS: Outcome = Outcome::Error(ErrorKind::Status);

#[test]
fn requests_are_those_of_the_contract() {
    let line = |operation: &str, protocol: &str| {
        let workload = bound(&format!("operation = '{operation}'"), protocol);
        (workload.title(0).to_owned(), String::from_utf8_lossy(workload.rendered(0).bytes()).into_owned())
    };
    assert_eq!(line("listPersons", "http1-avro").1, "GET /person HTTP/1.1\r\nHost: h:1\r\n\r\n");
    assert_eq!(line("getPerson", "http1-json").0, "GET /person/1");
    assert_eq!(line("getMissing", "http2-protobuf").0, "GET /person/0");
    assert_eq!(line("getPersonLinks", "http1-json").0, "GET /person/1/links");
    let (title, create) = line("createPerson", "http1-json");
    assert_eq!(title, "POST /person");
    let head = "POST /person HTTP/1.1\r\nHost: h:1\r\nContent-Type: application/json\r\nContent-Length: 245\r\n\r\n{\"id\":\"5\",";
    assert!(create.starts_with(head), "{create}");
    assert_eq!(line("streamPersons", "grpc").0, "weighbridge.person.v1.People/StreamPersons");
    let (title, get) = line("getPerson", "thrift-binary");
    assert_eq!(title, "People.getPerson");
    assert!(get.ends_with("getPerson\0\0\0\0\u{b}\0\u{1}\0\0\0\u{1}1\0"), "{get:?}");
    let (title, get) = line("getMissing", "soap");
    assert_eq!(title, "People.getPerson");
    let head = "POST /person HTTP/1.1\r\nHost: h:1\r\nContent-Type: text/xml; charset=utf-8\r\n\
                SOAPAction: \"urn:weighbridge:person:1/getPerson\"\r\nContent-Length: ";
    assert!(get.starts_with(head), "{get}");
    let body = "<S:Body><ns2:getPerson xmlns:ns2=\"urn:weighbridge:person:1\"><id>0</id></ns2:getPerson></S:Body></S:Envelope>";
    assert!(get.ends_with(body), "{get}");
    assert!(line("listPersons", "soap").1.contains("<ns2:listPersons xmlns:ns2="));
}

#[test]
fn a_reply_is_right_by_its_value_however_it_is_cut_and_spelled() {
    let person = people().calls(PersonOperation::GetPerson, PersonIds::One).remove(0);
    let PersonReply::Found(record, value) = person.reply else { panic!("a person") };
    for codec in [CodecName::Json, CodecName::Protobuf, CodecName::Avro] {
        let workload = bound("", &format!("http1-{}", codec.name()));
        let right = encode(codec, record, &value);
        for cut in 0..=right.len() {
            assert_eq!(outcome(&workload, 200, &right, cut), Outcome::Ok, "{} {cut}", codec.name());
        }
        for end in 0..right.len() {
            assert_eq!(outcome(&workload, 200, &right[..end], end / 2), WRONG, "{} {end}", codec.name());
        }
        assert_eq!(outcome(&workload, 200, &[&right[..], b"x"].concat(), 3), WRONG);
        assert_eq!(outcome(&workload, 500, &right, 3), WRONG_STATUS);
        let mut other = value.clone();
        other["location"]["city"] = other["location"]["street"].clone();
        assert_eq!(outcome(&workload, 200, &encode(codec, record, &other), 9), WRONG);
    }
    let workload = bound("", "http1-json");
    let spaced = format!(" {}", serde_json::to_string(&value).expect("JSON"));
    for cut in [0, 1, 100, spaced.len()] {
        assert_eq!(outcome(&workload, 200, spaced.as_bytes(), cut), Outcome::Ok);
    }
}

#[test]
fn a_wrong_reply_is_named_by_its_place() {
    let person = people().calls(PersonOperation::GetPerson, PersonIds::One).remove(0);
    let PersonReply::Found(record, mut value) = person.reply else { panic!("a person") };
    value["location"]["city"] = value["location"]["street"].clone();
    let body = encode(CodecName::Avro, record, &value);
    let workload = bound("", "http2-avro");
    let received = Received { status: 200, headers: &[], body: &body, messages: &[] };
    let error = workload.canonical(0, &received).expect_err("it is wrong");
    assert!(error.contains("at `/location/city`") && error.contains("`\"oudendijk\"`"), "{error}");
}

#[test]
fn answers_of_all_protocols_are_one_value() {
    for (operation, number) in
        [("getPerson", 1), ("getPersonLinks", 1), ("listPersons", 1), ("createPerson", 1)]
    {
        let mut answers = Vec::new();
        for row in Protocol::NAMED.into_iter().filter(|row| row.protocol.codec().is_some()) {
            let workload = bound(&format!("operation = '{operation}'"), row.name);
            let expect = &workload.entries[number - 1].expect;
            let operation =
                PersonOperation::ALL.into_iter().find(|one| one.name() == operation).expect("known");
            let call = people().calls(operation, PersonIds::One).remove(0);
            let codec = row.protocol.codec().expect("one");
            let is_returned = row.name.starts_with("thrift") || row.name == "soap";
            let reply = if is_returned { call.returned() } else { call.reply.clone() };
            let PersonReply::Found(record, value) = reply else { panic!("a value") };
            let body = encode(codec, record, &value);
            let ends = [body.len()];
            let received = Received {
                status: 200,
                headers: &[],
                body: &body,
                messages: if row.protocol.has_calls() { &ends } else { &[] },
            };
            answers.push(expect.json(&received, &|text| text.to_owned()).expect("a value"));
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{operation}");
    }
}

#[test]
fn not_to_be_found_is_good_where_nobody_is_asked_for() {
    let rest = bound("operation = 'getMissing'", "http1-protobuf");
    assert_eq!(outcome(&rest, 404, b"{\"error\":\"nobody\"}", 3), Outcome::Ok);
    assert_eq!(outcome(&rest, 200, b"", 0), WRONG_STATUS);
    let grpc = bound("operation = 'getMissing'", "grpc-avro");
    assert_eq!(call_outcome(&grpc, &[], "5"), Outcome::Ok);
    assert_eq!(call_outcome(&grpc, &[], "0"), WRONG_STATUS);
    let thrift = bound("operation = 'getMissing'", "thrift-binary");
    assert_eq!(outcome(&thrift, 200, b"\x0c\0\x01\x0b\0\x01\0\0\0\x010\0\0", 4), Outcome::Ok);
    assert_eq!(outcome(&thrift, 200, b"\0", 0), WRONG);
    let soap = bound("operation = 'getMissing'", "soap");
    let call = people().calls(PersonOperation::GetMissing, PersonIds::One).remove(0);
    let PersonReply::Found(record, value) = call.returned() else { panic!("a fault") };
    let fault = String::from_utf8(encode(CodecName::Xml, record, &value)).expect("UTF-8");
    for text in [
        fault.clone(),
        fault.replace("<faultstring>", "<faultstring>no: "),
        fault.replace("S:", "s:").replace(":S=", ":s="),
    ] {
        assert_eq!(outcome(&soap, 500, text.as_bytes(), 40), Outcome::Ok, "{text}");
    }
    assert_eq!(outcome(&soap, 500, fault.replace("<id>0", "<id>1").as_bytes(), 40), WRONG);
    assert_eq!(outcome(&soap, 500, fault.replace("PersonNotFound", "Broken").as_bytes(), 40), WRONG);
    assert_eq!(outcome(&soap, 500, b"", 0), WRONG);
    assert_eq!(outcome(&soap, 200, fault.as_bytes(), 40), WRONG_STATUS);
    assert_eq!(outcome(&soap, 404, fault.as_bytes(), 40), WRONG_STATUS);
    let found = bound("operation = 'getPerson'", "soap");
    assert_eq!(outcome(&found, 500, fault.as_bytes(), 40), WRONG_STATUS);
    assert_eq!(outcome(&found, 200, fault.as_bytes(), 40), WRONG);
}

#[test]
fn bodies_of_trials_are_another_spelling_of_the_same_value_and_none() {
    for codec in CodecName::ALL {
        for person in trial::hard_persons(codec) {
            let (operation, reply) = (PersonOperation::CreatePerson, PersonReply::NotFound);
            let call = CallOfPerson { operation, id: String::new(), person: Some(person.clone()), reply };
            let (record, value) = if codec == CodecName::Xml { call.arguments() } else { (&PERSON, person) };
            let other = Respelling::Other.of(codec, record, &value);
            assert!(codec == CodecName::Avro || other != encode(codec, record, &value), "{}", codec.name());
            assert_eq!(decode(codec, record, &other), Ok(value.clone()), "{}", codec.name());
            let cut = Respelling::Truncated.of(codec, record, &value);
            assert!(decode(codec, record, &cut).is_err(), "{}", codec.name());
        }
    }
}

#[test]
fn a_stream_has_a_message_for_each_person() {
    let workload = bound("operation = 'streamPersons'", "grpc");
    let calls = people().calls(PersonOperation::GetPerson, PersonIds::All);
    let messages: Vec<Vec<u8>> = calls
        .iter()
        .map(|call| match &call.reply {
            PersonReply::Found(record, value) => encode(CodecName::Protobuf, record, value),
            other => panic!("{other:?}"),
        })
        .collect();
    let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    assert_eq!(call_outcome(&workload, &all, "0"), Outcome::Ok);
    assert_eq!(call_outcome(&workload, &all[..3], "0"), WRONG);
    assert_eq!(call_outcome(&workload, &[&all.concat()], "0"), WRONG);
    assert_eq!(call_outcome(&workload, &[all[1], all[0], all[2], all[3]], "0"), WRONG);
}

#[test]
fn a_larger_people_file_is_the_same_every_time_and_read_by_our_own_codec() {
    let spec = PersonSpec { persons: 1_000, text: 3, ..PersonSpec::default() };
    let (file, again) = (People::of(&spec).file(), People::of(&spec).file());
    assert_eq!(file, again);
    let value: Value = serde_json::from_slice(&file).expect("JSON");
    let persons = value["persons"].as_array().expect("persons");
    assert_eq!((persons.len(), persons[999]["id"].as_str()), (1_000, Some("1000")));
    for person in persons {
        let bytes = serde_json::to_vec(person).expect("JSON");
        assert_eq!(decode(CodecName::Json, &PERSON, &bytes).as_ref(), Ok(person));
    }
    let calls = People::of(&spec).calls(PersonOperation::GetPersonLinks, PersonIds::All);
    assert_eq!(calls.len(), 1_000);
    assert!(
        calls
            .iter()
            .all(|call| matches!(call.reply, PersonReply::Found(record, _) if record.name == LINK_LIST.name))
    );
}

#[test]
fn services_get_the_file_that_lies_with_them() {
    let spec = WorkloadSpec::Person(PersonSpec::default());
    let files = crate::service_data(&spec, None);
    assert_eq!(files.len(), 1);
    let kept = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../services/person/people.json"));
    assert_eq!(
        (files[0].name.as_str(), Ok(&files[0].contents)),
        ("people.json", kept.as_ref().map_err(|_| ()))
    );
}
