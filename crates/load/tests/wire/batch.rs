//! Gets of several keys over memcached and Redis: which value is whose, whole and cut, and what is refused.

use crate::events;

use events::{After, Seen, assert_same_however_cut, run};
use weighbridge_load::framer::{Framer, Framing};
use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::request::Rendered;
use weighbridge_load::{memcached, resp};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

const MEMCACHED: KeyedDialect = KeyedDialect::Memcached;
const RESP: KeyedDialect = KeyedDialect::Resp(None);

fn batch(dialect: &KeyedDialect, keys: &[&str]) -> Rendered {
    let mut buffer = dialect.buffer();
    dialect.fill_batch(OperationId(0), keys.iter().map(|key| key.as_bytes()), &mut buffer);
    buffer.rendered().clone()
}

fn framer(dialect: &KeyedDialect) -> Box<dyn Framer> {
    Box::new(match dialect {
        KeyedDialect::Memcached => Framing::Memcached.framer(),
        KeyedDialect::Resp(_) => Framing::Resp.framer(),
    })
}

fn seen(dialect: &KeyedDialect, requests: &[Rendered], bytes: &str) -> Vec<Seen> {
    assert_same_however_cut(&|| framer(dialect), requests, bytes.as_bytes(), After::Eof, &[]);
    run(&mut *framer(dialect), requests, std::iter::once(bytes.as_bytes()), After::Nothing)
}

fn data(text: &str) -> Seen {
    Seen::Data(0, text.as_bytes().to_vec())
}

const fn done() -> Seen {
    Seen::Done(0, Outcome::Ok)
}

/// The oracle: the command as it is rendered from its words.
#[test]
fn a_batch_is_the_command_of_its_keys() {
    for keys in [&["a"][..], &["key:1", "b", "another"], &["a", "a", "a"]] {
        let words = [&["get"], keys].concat();
        let plain = memcached::command(OperationId(0), &words, None).expect("a command");
        assert_eq!(batch(&MEMCACHED, keys).bytes(), plain.bytes());
        let words = [&["MGET"], keys].concat();
        let plain = resp::command(OperationId(0), &words, None).expect("a command");
        assert_eq!(batch(&RESP, keys).bytes(), plain.bytes());
    }
}

#[test]
fn every_value_comes_with_the_index_of_its_key() {
    let keys = ["a", "bc", "d", "a"];
    for (memcached, redis, values) in [
        (
            "VALUE a 0 1\r\nx\r\nVALUE bc 0 2\r\n\r\n\r\nVALUE d 0 0\r\n\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
            "*4\r\n$1\r\nx\r\n$2\r\n\r\n\r\n$0\r\n\r\n$1\r\nx\r\n",
            &[(0, "x"), (1, "\r\n"), (2, ""), (3, "x")][..],
        ),
        ("VALUE d 0 3\r\nEND\r\nEND\r\n", "*4\r\n$-1\r\n$-1\r\n$3\r\nEND\r\n_\r\n", &[(2, "END")]),
        // Of the same key asked for twice the second may be the one that is found.
        (
            "VALUE d 0 1\r\ny\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
            "*4\r\n_\r\n_\r\n$1\r\ny\r\n$1\r\nx\r\n",
            &[(2, "y"), (3, "x")],
        ),
    ] {
        for (dialect, bytes) in [(MEMCACHED, memcached), (RESP, redis)] {
            let mut expected = vec![Seen::Head(0, 200)];
            for (index, text) in values {
                expected.push(Seen::Value(0, *index));
                expected.extend((!text.is_empty()).then(|| data(text)));
            }
            expected.push(done());
            assert_eq!(seen(&dialect, &[batch(&dialect, &keys)], bytes), expected, "{bytes:?}");
        }
    }
}

#[test]
fn where_no_key_is_there_no_value_comes() {
    let keys = ["a", "b"];
    assert_eq!(seen(&MEMCACHED, &[batch(&MEMCACHED, &keys)], "END\r\n"), [Seen::Head(0, 404), done()]);
    let nulls = seen(&RESP, &[batch(&RESP, &keys)], "*2\r\n$-1\r\n_\r\n");
    assert_eq!(nulls, [Seen::Head(0, 200), done()]);
}

#[test]
fn an_error_in_the_middle_is_told_after_the_values() {
    let late =
        seen(&MEMCACHED, &[batch(&MEMCACHED, &["a", "b"])], "VALUE a 0 1\r\nx\r\nSERVER_ERROR out\r\n");
    assert_eq!(late, [Seen::Head(0, 200), Seen::Value(0, 0), data("x"), Seen::Late(0, 500), done()]);
    let late = seen(&RESP, &[batch(&RESP, &["a", "b"])], "*2\r\n$1\r\nx\r\n-ERR out\r\n");
    assert_eq!(late[..3], [Seen::Head(0, 200), Seen::Value(0, 0), data("xERR out")]);
    assert_eq!(late[3..], [Seen::Late(0, 500), done()]);
    let refused = seen(&RESP, &[batch(&RESP, &["a", "b"])], "-LOADING\r\n");
    assert_eq!(refused[0], Seen::Head(0, 500));
}

#[test]
fn batches_and_plain_gets_share_a_pipeline() {
    let requests = [
        memcached::command(OperationId(0), &["get", "z"], None).expect("a command"),
        batch(&MEMCACHED, &["a", "b"]),
        batch(&MEMCACHED, &["b", "c"]),
    ];
    let bytes = "VALUE z 0 1\r\nz\r\nEND\r\nVALUE b 0 1\r\nx\r\nEND\r\nVALUE b 0 1\r\ny\r\nEND\r\n";
    let all = seen(&MEMCACHED, &requests, bytes);
    let values: Vec<_> = all.iter().filter(|event| matches!(event, Seen::Value(..))).collect();
    assert_eq!(values, [&Seen::Value(1, 1), &Seen::Value(2, 0)], "{all:?}");
}

#[test]
fn what_answers_no_batch_breaks_the_connection() {
    let foreign = [
        "VALUE c 0 1\r\nx\r\nEND\r\n",
        // Out of their order, twice, and a part of a key.
        "VALUE b 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
        "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
        "VALUE a b 0 1\r\nx\r\nEND\r\n",
        "STORED\r\n",
    ];
    let miscounted = [
        "*1\r\n$1\r\nx\r\n",
        "*3\r\n",
        "*-1\r\n",
        "*?\r\n",
        "*2\r\n*1\r\n",
        "%1\r\n",
        "_\r\n",
        "$1\r\nx\r\n",
        ":2\r\n",
    ];
    for (dialect, all) in [(MEMCACHED, &foreign[..]), (RESP, &miscounted)] {
        for bytes in all {
            let all = seen(&dialect, &[batch(&dialect, &["a", "b"])], bytes);
            assert_eq!(all.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "{bytes:?}: {all:?}");
        }
    }
}
