//! Many connections that are lost and reopened together while slots wait to send: each slot is listed once, no request
//! is lost, and every connection is used again.

use crate::support;

use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Fixed, HELLO, Server, VARIANT, closed, generator, read_head, run, send, settings};
use weighbridge_load::Recording;
use weighbridge_load::generator::WindowSpec;
use weighbridge_load::pace::{Flow, Source};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_model::experiment::{Arrivals, Profile};
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::WindowEnd;

/// Fewer than the standard library's listen queue, so that none is turned away when all come at once.
const CONNECTIONS: u64 = 100;

/// State of the server's connections.
#[derive(Default)]
struct Book {
    /// Requests in all.
    served: AtomicU64,
    /// Incremented to close all earlier connections.
    epoch: AtomicU64,
    /// Requests of each connection, in the order of acceptance.
    uses: Mutex<Vec<u64>>,
}

impl Book {
    /// Serves a connection until its client or its epoch ends; the epoch ends after `last` requests in all.
    fn serve(&self, mut stream: TcpStream, last: u64) {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let number = {
            let mut uses = self.uses.lock().expect("no panic");
            uses.push(0);
            uses.len() - 1
        };
        stream.set_read_timeout(Some(Duration::from_millis(5))).expect("a socket");
        loop {
            match stream.peek(&mut [0]) {
                Ok(0) => return,
                Ok(_) => {
                    if read_head(&mut stream).is_none() {
                        return;
                    }
                    self.uses.lock().expect("no panic")[number] += 1;
                    if !send(&mut stream, HELLO) {
                        return;
                    }
                    if self.served.fetch_add(1, Ordering::SeqCst) + 1 == last {
                        self.epoch.fetch_add(1, Ordering::SeqCst);
                    }
                }
                Err(_) if self.epoch.load(Ordering::SeqCst) != epoch => return,
                Err(_) => {}
            }
        }
    }
}

#[test]
fn all_connections_lost_at_once_are_all_opened_again_and_all_used() {
    let book = Arc::new(Book::default());
    let theirs = Arc::clone(&book);
    // Each connection is used first: one that is closed before its first request would count as refused.
    let server = Server::start(move |stream| theirs.serve(stream, CONNECTIONS + 50));
    let mut generator = generator(server.address, settings(CONNECTIONS as u32), Fixed::get());
    assert_eq!(u64::from(generator.connect(VARIANT).expect("connects").opened), CONNECTIONS);

    // Connections served from now on existed before the epoch ends.
    support::eventually(|| book.uses.lock().expect("no panic").len() as u64 == CONNECTIONS);
    // A request every 5 ms: nearly all slots wait in the list when their connections are closed.
    let rate = PerSecond::new(200.0).expect("positive");
    let source = Source::Law { profile: Profile::Constant { rate }, arrivals: Arrivals::Constant };
    let end = OpenEnd::Drain { stop: Stop::Count(300), limit: Nanoseconds::from_secs(10) };
    let load = Load::Open { flow: Flow::new(source), queue: 1_000, end };
    let report = run(&mut generator, &WindowSpec { substream: 1, load, recording: Recording::Exact });
    assert_eq!((report.figures.requests, report.figures.end), (300, WindowEnd::Complete));
    // A request on its way when its connection is closed is lost with it.
    let errors = report.figures.errors;
    assert_eq!(errors.total(), errors.reset, "{errors:?}");
    assert!(errors.reset < 20, "{errors:?}");
    assert_eq!(report.figures.connects, CONNECTIONS);
    assert_eq!(server.accepted.load(Ordering::SeqCst), 2 * CONNECTIONS);

    let uses = |book: &Book| book.uses.lock().expect("no panic")[CONNECTIONS as usize..].to_vec();
    let before = uses(&book);
    let report = run(&mut generator, &closed(Stop::Count(CONNECTIONS)));
    assert_eq!((report.figures.errors.total(), report.figures.connects), (0, 0));
    let after = uses(&book);
    assert_eq!((before.len(), after.len()), (CONNECTIONS as usize, CONNECTIONS as usize));
    assert!(before.iter().zip(&after).all(|(before, after)| after - before == 1), "{before:?} {after:?}");
}

/// Several times as many as are begun at once.
#[test]
fn a_thousand_connections_are_opened_in_turns() {
    let server = Server::start(|mut stream| support::wait_for_close(&mut stream));
    let mut generator = generator(server.address, settings(1_000), Fixed::get());
    assert_eq!(generator.connect(VARIANT).expect("connects").opened, 1_000);
    assert_eq!(generator.connect(VARIANT).expect("they are open").opened, 0);
}
