//! Replies that stand still between two of their parts, as Nagle's algorithm and a delayed acknowledgement make them.

use crate::support;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use support::{Fixed, HELLO, Server, closed, generator, read_head, run, send, settings};
use weighbridge_load::window::Stop;

const REQUESTS: u64 = 40;

/// As long as the kernel holds an acknowledgement back, with room for a late awakening.
const STILL: Duration = Duration::from_millis(40);

/// Of so many good replies of a server those that stood still.
fn held_up(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> u64 {
    let server =
        Server::start(move |mut stream| while read_head(&mut stream).is_some() && answer(&mut stream) {});
    let mut generator = generator(server.address, settings(1), Fixed::get().expecting(200, b"hello"));
    let figures = run(&mut generator, &closed(Stop::Count(REQUESTS))).figures;
    assert_eq!((figures.requests, figures.errors.total()), (REQUESTS, 0));
    figures.held_up
}

fn in_parts() -> (&'static [u8], &'static [u8]) {
    HELLO.split_at(HELLO.len() - 5)
}

#[test]
fn a_reply_that_stands_still_between_its_parts_is_counted() {
    let count = held_up(|stream| {
        let (head, body) = in_parts();
        send(stream, head) && {
            std::thread::sleep(STILL);
            send(stream, body)
        }
    });
    // A host that is busy wakes this server too late now and then.
    assert!((REQUESTS / 2..=REQUESTS).contains(&count), "{count}");
}

#[test]
fn a_server_that_leaves_nagle_on_and_writes_twice_is_counted() {
    let count = held_up(|stream| {
        let (head, body) = in_parts();
        stream.write_all(head).is_ok() && stream.write_all(body).is_ok()
    });
    // The kernel acknowledges the first segments of a connection at once.
    assert!((REQUESTS / 4..=REQUESTS).contains(&count), "{count}");
}

#[test]
fn one_that_takes_as_long_and_then_answers_at_once_is_not() {
    let count = held_up(|stream| {
        std::thread::sleep(STILL);
        send(stream, HELLO)
    });
    assert_eq!(count, 0);
    let count = held_up(|stream| {
        let (head, body) = in_parts();
        send(stream, head) && send(stream, body)
    });
    assert_eq!(count, 0, "two writes without Nagle's algorithm");
}
