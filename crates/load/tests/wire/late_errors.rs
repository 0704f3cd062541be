//! The text of an error that follows values: reported once the reply is over, however its bytes arrive.

use weighbridge_load::framer::{ERROR_FIELD, Event, Framer, In, Out};
use weighbridge_load::memcached::{self, Memcached};
use weighbridge_load::request::Rendered;
use weighbridge_load::resp::{self, Resp};
use weighbridge_model::id::OperationId;

/// The texts of late errors in `replies`, which are passed in pieces of `piece` bytes.
fn texts(mut framer: impl Framer, request: &Rendered, replies: &[u8], piece: usize) -> Vec<String> {
    let (mut out, mut rest, mut texts) = (Out::default(), Vec::new(), Vec::new());
    for id in 0..2 {
        framer.start(id, request, &mut out).expect("room");
    }
    for bytes in replies.chunks(piece) {
        rest.extend_from_slice(bytes);
        let mut input = In::new(&rest);
        framer.receive(&mut input, &mut out, &mut |event| {
            if let Event::Trailers(_, head) = event {
                assert_eq!(head.status, 500);
                let text = head.field(ERROR_FIELD).expect("a text");
                texts.push(String::from_utf8_lossy(text).into_owned());
            }
            assert!(!matches!(event, Event::Broken(_)), "{event:?}");
        });
        let consumed = input.consumed();
        rest.drain(..consumed);
    }
    texts
}

#[test]
fn memcached_reports_the_line() {
    let request =
        memcached::command(OperationId(0), &[b"get".to_vec(), b"a".to_vec()], None).expect("a command");
    let replies = b"VALUE a 0 1\r\nx\r\nSERVER_ERROR out of memory\r\nVALUE a 0 1\r\nx\r\nSERVER_ERROR\r\n";
    for piece in [1, 7, replies.len()] {
        let texts = texts(Memcached::new(), &request, replies, piece);
        assert_eq!(texts, ["SERVER_ERROR out of memory", "SERVER_ERROR"], "{piece}");
    }
}

#[test]
fn redis_reports_the_first_of_several_truncated() {
    let request = resp::command(OperationId(0), &[b"EXEC"], None).expect("a command");
    let long = "x".repeat(100_000);
    let replies = format!("*4\r\n+OK\r\n-ERR one\r\n:1\r\n!7\r\nERR two\r\n*1\r\n*1\r\n-{long}\r\n");
    for piece in [1, 7, replies.len()] {
        let texts = texts(Resp::new(), &request, replies.as_bytes(), piece);
        assert_eq!(texts[0], "ERR one", "{piece}");
        assert!(texts[1].len() == 256 && long.starts_with(&texts[1]), "{piece}: {}", texts[1].len());
    }
}
