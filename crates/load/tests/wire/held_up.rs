//! Replies that pause between two of their parts, as with Nagle's algorithm and a delayed acknowledgement.

use crate::support;

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use support::{Fixed, HELLO, Server, closed, generator, read_head, run, send, settings};
use weighbridge_load::window::Stop;

const REQUESTS: u64 = 40;

/// As long as the kernel delays an acknowledgement, with a margin for late wake-ups.
const STILL: Duration = Duration::from_millis(40);

/// How many good replies of a server paused.
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
fn a_reply_that_pauses_between_its_parts_is_counted() {
    let count = held_up(|stream| {
        let (head, body) = in_parts();
        send(stream, head) && {
            std::thread::sleep(STILL);
            send(stream, body)
        }
    });
    // On a busy host this server sometimes wakes too late.
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
fn a_reply_that_is_late_as_a_whole_is_not_counted() {
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
