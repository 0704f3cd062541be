//! Calls over gRPC against messages that prost, another implementation, encodes and decodes.

use crate::canonical::message_text;
use std::path::Path;

use httparse::Header;
use proptest::prelude::*;
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{Experiment, GrpcSpec, GrpcStatus, WorkloadSpec};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::proto;
use super::*;
use crate::checks::Reset;

/// `PongReply` of services/proto/pong.proto.
#[derive(Clone, PartialEq, prost::Message)]
struct PongReply {
    #[prost(bytes = "vec", tag = "1")]
    body: Vec<u8>,
}

/// A message with a field of every kind that a check may ask for.
const PROTO: &str = r#"
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
enum Colour { COLOUR_UNKNOWN = 0; RED = 1; }
message Item {
  string name = 1;
  uint64 price_in_cents = 2;
  repeated Colour colours = 3;
  map<string, double> weights = 4;
  google.protobuf.Timestamp made = 5;
}
message Query { string name = 1; int32 limit = 2; }
service Shop {
  rpc Get(Query) returns (Item);
  rpc List(Query) returns (stream Item);
  rpc Store(stream Item) returns (Item);
  rpc Haggle(stream Query) returns (stream Item);
}
"#;

fn pong(size: usize) -> Vec<u8> {
    [&b"p"[..], &vec![b'o'; size - 3], b"ng"].concat()
}

fn shop() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("shop.proto"), PROTO).expect("written");
    folder
}

/// The only workload of a file, its `proto` embedded.
fn spec_in(folder: &Path, calls: &str) -> Result<WorkloadSpec, GrpcError> {
    let text = format!(
        "[workload]\nname = 'grpc'\nproto = 'shop.proto'\n{calls}\n[[variant]]\nservice = 'x'\nprotocol = 'grpc'"
    );
    let mut experiment = Experiment::parse("x.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    proto::embed(&mut experiment, folder)?;
    Ok(experiment.points.remove(0).workload)
}

fn calls_of(calls: &str) -> Result<(Vec<CallSpec>, Methods), GrpcError> {
    let WorkloadSpec::Grpc(GrpcSpec { source, calls, .. }) = spec_in(shop().path(), calls)? else {
        panic!("grpc")
    };
    let methods = Methods::read(&source)?;
    Ok((calls, methods))
}

/// The first of `calls`, bound.
fn bound(calls: &str) -> Result<BoundCall, GrpcError> {
    let (calls, methods) = calls_of(calls)?;
    bind(&calls[0], &methods)
}

fn call(line: &str) -> String {
    format!("[[workload.call]]\n{line}")
}

/// Feeds a whole reply: head, messages cut into pieces of `cut` bytes, trailers.
fn reply(check: &mut dyn Check, messages: &[Vec<u8>], status: &[u8], cut: usize) -> Outcome {
    let head = [Header { name: "content-type", value: b"application/grpc+proto" }];
    check.head(&Head { status: 200, fields: &head });
    for message in messages {
        message.chunks(cut.max(1)).for_each(|piece| check.data(piece));
        check.messages(1);
    }
    let trailers = [Header { name: "grpc-status", value: status }];
    check.trailers(&Head { status: 200, fields: &trailers });
    check.done()
}

#[test]
fn a_pong_message_is_checked_to_its_last_byte_however_it_is_cut() {
    for size in [4usize, 5, 64, 200, 20_000] {
        let message = PongReply { body: pong(size) }.encode_to_vec();
        let mut check = PongMessageCheck::new(Bytes::new(size as u64));
        let mut verdict = |message: &[u8], cut: usize| {
            check.reset();
            reply(&mut check, &[message.to_vec()], b"0", cut)
        };
        for cut in [1, 2, 3, 7, 1000, message.len()] {
            assert_eq!(verdict(&message, cut), Outcome::Ok, "size {size}, pieces of {cut}");
            for wrong in [0, 1, 2, message.len() / 2, message.len() - 1] {
                let mut changed = message.clone();
                changed[wrong] ^= 1;
                let outcome = verdict(&changed, cut);
                assert_eq!(outcome, Outcome::Error(ErrorKind::Check), "size {size}, byte {wrong}");
            }
            let longer = [&message[..], b"g"].concat();
            for other in [&message[..message.len() - 1], &longer, b""] {
                assert_eq!(verdict(other, cut), Outcome::Error(ErrorKind::Check));
            }
        }
        let next = PongReply { body: pong(size + 1) }.encode_to_vec();
        assert_eq!(verdict(&next, 4096), Outcome::Error(ErrorKind::Check));
        check.reset();
        let twice = [message.clone(), message];
        assert_eq!(reply(&mut check, &twice, b"0", 4096), Outcome::Error(ErrorKind::Check));
    }
}

proptest! {
    /// For any bytes the check accepts exactly what prost decodes to the one right reply.
    #[test]
    fn a_pong_message_check_accepts_what_prost_reads_as_that_pong(
        bytes in proptest::collection::vec(prop_oneof![Just(0x0a), Just(4), Just(b'p'), Just(b'o'), Just(b'n'), Just(b'g'), any::<u8>()], 0..9),
        cut in 1usize..4,
    ) {
        let mut check = PongMessageCheck::new(Bytes::new(4));
        let accepted = reply(&mut check, std::slice::from_ref(&bytes), b"0", cut) == Outcome::Ok;
        let canonical = PongReply { body: pong(4) }.encode_to_vec();
        let read = PongReply::decode(&bytes[..]).is_ok_and(|reply| reply.body == pong(4));
        prop_assert!(!accepted || read);
        prop_assert!(accepted || bytes != canonical);
    }

    /// A deadline on the wire is never longer than the deadline, and never shorter by more than its unit allows.
    #[test]
    fn a_deadline_keeps_eight_digits(nanos in 1u64..) {
        let text = timeout_text(Nanoseconds::from_nanos(nanos));
        let (digits, unit) = text.split_at(text.len() - 1);
        prop_assert!(digits.len() <= 8);
        let length: u128 = match unit {
            "n" => 1, "u" => 1_000, "m" => 1_000_000, "S" => 1_000_000_000,
            "M" => 60_000_000_000, "H" => 3_600_000_000_000, _ => unreachable!(),
        };
        let value = digits.parse::<u128>().unwrap() * length;
        prop_assert!(value <= u128::from(nanos) && u128::from(nanos) - value < length);
    }
}

#[test]
fn a_reply_is_checked_by_its_status_in_head_or_trailers() {
    let grpc: &[u8] = b"application/grpc";
    let ok = PongReply { body: pong(4) }.encode_to_vec();
    let judge = |status: u16, content_type: Option<&[u8]>, in_head: Option<&[u8]>, behind: Option<&[u8]>| {
        let mut check = PongMessageCheck::new(Bytes::new(4));
        let mut fields = Vec::new();
        fields.extend(content_type.map(|value| Header { name: "content-type", value }));
        fields.extend(in_head.map(|value| Header { name: "grpc-status", value }));
        check.head(&Head { status, fields: &fields });
        if in_head.is_none() {
            check.data(&ok);
            check.messages(1);
        }
        if let Some(value) = behind {
            check.trailers(&Head { status, fields: &[Header { name: "grpc-status", value }] });
        }
        check.done()
    };
    assert_eq!(judge(200, Some(grpc), None, Some(b"0")), Outcome::Ok);
    for (head, behind) in [(Some(&b"4"[..]), None), (None, Some(&b"4"[..])), (None, Some(b"99"))] {
        assert_eq!(judge(200, Some(grpc), head, behind), Outcome::Error(ErrorKind::Status));
    }
    // OK without a message is not a good reply.
    assert_eq!(judge(200, Some(grpc), Some(b"0"), None), Outcome::Error(ErrorKind::Check));
    assert_eq!(judge(503, Some(b"text/html"), None, None), Outcome::Error(ErrorKind::Status));
    for (content_type, behind) in [
        (Some(grpc), None),
        (Some(b"text/plain"), Some(&b"0"[..])),
        (None, Some(b"0")),
        (Some(grpc), Some(b"x")),
    ] {
        assert_eq!(judge(200, content_type, None, behind), Outcome::Error(ErrorKind::Protocol));
    }
}

/// Items as the descriptors' own encoder writes them.
fn items(texts: &[&str]) -> Vec<Vec<u8>> {
    let (_, methods) = calls_of(&call("method = 'shop.v1.Shop/Get'")).unwrap();
    let item = methods.0.get_message_by_name("shop.v1.Item").unwrap();
    let encode = |text: &&str| {
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        DynamicMessage::deserialize(item.clone(), json).unwrap().encode_to_vec()
    };
    texts.iter().map(encode).collect()
}

#[test]
fn the_users_conditions_on_messages_are_all_checked() {
    let one = items(&[
        r#"{"name": "hat", "priceInCents": "18446744073709551615", "colours": ["RED"], "weights": {"a": 1.5}, "made": "2026-01-01T00:00:00Z"}"#,
    ]);
    let two = items(&[r#"{"name": "hat"}"#, "{}"]);
    let error = |kind| Outcome::Error(kind);
    let (check, status) = (error(ErrorKind::Check), error(ErrorKind::Status));
    for (method, condition, messages, grpc_status, want) in [
        ("Get", "", &one, "0", Outcome::Ok),
        (
            "Get",
            "json = { '/name' = 'hat', '/colours/0' = 'RED', '/weights/a' = 1.5 }",
            &one,
            "0",
            Outcome::Ok,
        ),
        ("Get", "json = { '/made' = '2026-01-01T00:00:00Z' }", &one, "0", Outcome::Ok),
        ("Get", "json = { '/name' = 'cap' }", &one, "0", check),
        ("Get", "json = { '/nme' = 'hat' }", &one, "0", check),
        ("Get", "", &two, "0", check),
        ("Get", "messages = 2", &two, "0", Outcome::Ok),
        ("Get", "", &one, "5", status),
        ("Get", "status = 'NOT_FOUND'", &one, "0", status),
        ("Get", "status = 5", &vec![], "5", Outcome::Ok),
        ("List", "", &vec![], "0", Outcome::Ok),
        ("List", "messages = 2, json = { '/0/name' = 'hat', '/1/priceInCents' = 0 }", &two, "0", Outcome::Ok),
        ("List", "messages = 3", &two, "0", check),
        ("List", "json = { '/2/name' = '' }", &two, "0", check),
        ("Store", "", &two, "0", check),
    ] {
        let text = call(&format!("method = 'shop.v1.Shop/{method}'\ncheck = {{ {condition} }}"));
        let mut object = GrpcCheck::new(bound(&text).unwrap().expect);
        for cut in [1, 3, 4096] {
            let outcome = reply(&mut object, messages, grpc_status.as_bytes(), cut);
            assert_eq!(outcome, want, "{method} {condition}, pieces of {cut}");
            object.reset();
        }
        let broken = vec![vec![0x0a, 0xff]; messages.len()];
        if condition.contains("json") {
            assert_eq!(reply(&mut object, &broken, b"0", 9), check, "not a message: {condition}");
        }
    }
}

#[test]
fn messages_are_encoded_as_prost_encodes_them() {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Query {
        #[prost(string, tag = "1")]
        name: String,
        #[prost(int32, tag = "2")]
        limit: i32,
    }
    let want = Query { name: "hat".to_owned(), limit: -7 }.encode_to_vec();
    for message in [
        "message = { name = 'hat', limit = -7 }",
        r#"message = '{"limit": "-7", "name": "hat"}'"#,
        "messages = [{ name = 'hat', limit = -7 }]",
    ] {
        let bound = bound(&call(&format!("method = '/shop.v1.Shop/Get'\n{message}"))).unwrap();
        assert_eq!(bound.messages, std::slice::from_ref(&want), "{message}");
    }
    let bound = bound(&call("method = 'shop.v1.Shop/Haggle'\nmessages = [{}, { limit = 1 }]")).unwrap();
    assert_eq!(bound.messages, [vec![], vec![0x10, 1]]);
}

#[test]
fn kinds_and_operations_follow_from_the_descriptors() {
    let text: String = ["Get", "List", "Store", "Haggle"]
        .map(|method| call(&format!("method = 'shop.v1.Shop/{method}'\nname = '{method}'\n")))
        .concat();
    let spec = spec_in(shop().path(), &text).unwrap();
    assert_eq!(spec.operations(), ["Get", "List", "List message", "Store", "Haggle", "Haggle message"]);
    let WorkloadSpec::Grpc(GrpcSpec { calls, .. }) = spec else { panic!("grpc") };
    let kinds: Vec<_> = calls.iter().map(|call| call.kind.unwrap().name()).collect();
    assert_eq!(kinds, ["unary", "server-stream", "client-stream", "bidi-stream"]);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    let refusal = |text: &str| bound(&call(text)).unwrap_err().to_string();
    for (text, parts) in [
        ("method = 'shop.v1.Shp/Get'", &["no service `shop.v1.Shp`", "did you mean `shop.v1.Shop`?"][..]),
        ("method = 'shop.v1.Shop/Lis'", &["no method `Lis`", "did you mean `List`?", "`Haggle`"]),
        ("method = 'shop.v1.Shop/List'\nkind = 'unary'", &["`kind = \"server-stream\"`"]),
        ("method = 'shop.v1.Shop/Get'\nmessages = []", &["exactly one message, not 0"]),
        (
            "method = 'shop.v1.Shop/Get'\nmessage = { nme = 'x' }",
            &["message 1 is not a `shop.v1.Query`", "nme"],
        ),
        ("method = 'shop.v1.Shop/Haggle'\nmessages = [{}, { limit = 'x' }]", &["message 2 is not"]),
        ("method = 'shop.v1.Shop/Store'\nsending = 'alternating'", &["a stream each way", "`client-stream`"]),
    ] {
        let message = refusal(text);
        for part in parts {
            assert!(message.contains(part), "{text}: {message}");
        }
    }
    let text = call("method = 'shop.v1.Shop/List'\n")
        + &call("method = 'shop.v1.Shop/Get'\nname = 'Shop/List message'");
    let message = spec_in(shop().path(), &text).unwrap_err().to_string();
    assert!(message.contains("`Shop/List message` is the operation of another call's messages"), "{message}");
}

#[test]
fn files_that_do_not_compile_are_refused_with_their_place() {
    let folder = shop();
    let refusal = |file: &str, text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(folder.path().join(file), text).expect("written");
        }
        proto::compile(file, &[], folder.path()).unwrap_err().to_string()
    };
    let message = refusal("wrong.proto", Some("syntax = \"proto3\";\nmessage A { strin a = 1; }"));
    assert!(message.contains("wrong.proto:2:") && message.contains("strin"), "{message}");
    let message = refusal("wrong.proto", Some("syntax = \"proto3\";\nimport \"absent.proto\";"));
    assert!(message.contains("wrong.proto:2:") && message.contains("absent.proto"), "{message}");
    let message = refusal("absent.proto", None);
    assert!(message.contains("`proto = \"absent.proto\"`"), "{message}");
    assert!(!message.contains('\n'), "{message}");
}

#[test]
fn imports_are_sought_in_the_folders_given() {
    let folder = shop();
    let sub = folder.path().join("sub/deep");
    std::fs::create_dir_all(&sub).expect("made");
    std::fs::write(
        sub.join("a.proto"),
        "syntax = \"proto3\"; import \"shop.proto\"; message A { shop.v1.Item item = 1; }",
    )
    .expect("written");
    let include = [".".to_owned()];
    for (file, include) in
        [("sub/deep/a.proto", &include[..]), ("deep/a.proto", &[".".to_owned(), "sub".to_owned()])]
    {
        let source = proto::compile(file, include, folder.path()).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(Methods::read(&source).unwrap().0.get_service_by_name("shop.v1.Shop").is_some());
    }
}

#[test]
fn the_stored_experiment_needs_no_file() {
    let spec =
        spec_in(shop().path(), &call("method = 'shop.v1.Shop/List'\nmessage = { limit = 2 }")).unwrap();
    let text = format!(
        "[workload]\nname='grpc'\nreflection=true\n{}[[variant]]\nservice='x'",
        call("method='a.B/C'\n")
    );
    let mut experiment = Experiment::parse("x.toml", &text).unwrap();
    experiment.points[0].workload = spec.clone();
    let again = Experiment::parse("again.toml", &experiment.to_toml()).unwrap();
    assert_eq!(again, experiment);
    let WorkloadSpec::Grpc(GrpcSpec { source, calls, .. }) = &again.points[0].workload else {
        panic!("grpc")
    };
    assert_eq!(bind(&calls[0], &Methods::read(source).unwrap()).unwrap().messages, [vec![0x10, 2]]);
    let broken = DescriptorSource::Descriptors { base64: "????".to_owned() };
    assert!(Methods::read(&broken).unwrap_err().to_string().contains("not a FileDescriptorSet in base64"));
}

#[test]
fn the_services_interface_is_the_one_that_pingpong_speaks() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services/proto/pong.proto");
    let source = proto::compile(file.to_str().unwrap(), &[], Path::new("/")).unwrap();
    let methods = Methods::read(&source).unwrap();
    let mut call = CallSpec::new("weighbridge.pong.v1.Pong/Pong");
    call.messages = vec![serde_json::json!({ "size": 70_000 })];
    let by_descriptor = bind(&call, &methods).unwrap();
    let mut by_hand = vec![0x08];
    encode_varint(70_000, &mut by_hand);
    assert_eq!(by_descriptor.messages, [by_hand]);
    let expect = CallExpect::new(call.check.clone(), CallKind::Unary, methods.find(&call).unwrap().output);
    let message = PongReply { body: pong(4) }.encode_to_vec();
    assert_eq!(expect.json(&message, &[message.len()]).unwrap()["body"], "cG9uZw==");
    assert_eq!(expect.status(), GrpcStatus::OK);
}

#[test]
fn status_messages_are_decoded_as_the_protocol_encodes_them() {
    for (encoded, text) in [
        ("plain", "plain"),
        ("a%20b%C3%A4", "a b\u{e4}"),
        ("50%", "50%"),
        ("%zz%4", "%zz%4"),
        ("%0Aline", " line"),
        ("%FF", "\u{fffd}"),
    ] {
        assert_eq!(message_text(encoded), text, "{encoded}");
    }
}

/// Method defect 15: conditions that no reply could break. Each condition, a reply that keeps it, and one that breaks
/// it.
#[test]
fn defect_15_every_condition_on_a_call_is_broken_by_some_reply() {
    let hat = items(&[r#"{"name": "hat"}"#]);
    let cap = items(&[r#"{"name": "cap"}"#]);
    let none = Vec::new();
    let both = [hat.clone(), cap.clone()].concat();
    let cut: Vec<Vec<u8>> = hat.iter().map(|message| message[..message.len() - 1].to_vec()).collect();
    for (method, condition, kept, broken) in [
        // Without a condition: one message and the status OK.
        ("Get", "", (&hat, "0"), vec![(&none, "0"), (&both, "0"), (&hat, "13"), (&hat, "x")]),
        ("Get", "status = 'NOT_FOUND'", (&none, "5"), vec![(&hat, "0"), (&none, "13")]),
        ("Get", "json = { '/name' = 'hat' }", (&hat, "0"), vec![(&cap, "0"), (&cut, "0"), (&none, "0")]),
        ("List", "messages = 2", (&both, "0"), vec![(&hat, "0"), (&none, "0")]),
        ("List", "json = { '/1/name' = 'cap' }", (&both, "0"), vec![(&hat, "0"), (&none, "0")]),
    ] {
        let text = call(&format!("method = 'shop.v1.Shop/{method}'\ncheck = {{ {condition} }}"));
        let mut check = GrpcCheck::new(bound(&text).expect("a call").expect);
        let mut outcome = |(messages, status): (&Vec<Vec<u8>>, &str)| {
            check.reset();
            reply(&mut check, messages, status.as_bytes(), 4)
        };
        assert_eq!(outcome(kept), Outcome::Ok, "{method} {condition}");
        assert!(!broken.is_empty(), "{method} {condition}: nothing breaks it");
        for mutant in broken {
            assert_ne!(outcome(mutant), Outcome::Ok, "{method} {condition}: {mutant:?} goes unnoticed");
        }
    }
}
