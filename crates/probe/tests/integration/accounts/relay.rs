//! Every misbehaviour of the probe behind a relay that counts: to the generator, the relay is the server.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;

use weighbridge_load::KeepAlive;
use weighbridge_load::generator::LoopOptions;
use weighbridge_probe::hostile::{Authority, Case, Hostile, Protocol, cases, serve};
use weighbridge_probe::{LoopbackHost, Stop};

use super::wire::{Split, Wire};
use super::{Counts, End, Server, TIMEOUT, Trial, end, load};

/// The framing in which a case is asked; those over TLS are opaque to a relay.
fn wire_of(case: &Case) -> Option<Wire> {
    match case.protocol {
        Protocol::Http1 => Some(Wire::Http1),
        Protocol::Http2 => Some(Wire::Http2),
        Protocol::Grpc => Some(Wire::Grpc),
        Protocol::Memcached => Some(Wire::Memcached),
        Protocol::Resp => Some(Wire::Resp),
        Protocol::Tls => None,
    }
}

/// Passes everything on, and reads what the client sends to its end, whatever the server does.
fn relay(client: &TcpStream, upstream: SocketAddr, mut split: Split, counts: &Counts) {
    let Ok(server) = TcpStream::connect(upstream) else { return end(client) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; 64 * 1024];
            let (mut from, mut to) = (&server, client);
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                counts.written.fetch_add(count as u64, SeqCst);
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            end(client);
        });
        let mut buffer = [0; 16 * 1024];
        let (mut from, mut to) = (client, &server);
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            counts.read.fetch_add(count as u64, SeqCst);
            split.add(&buffer[..count]);
            while split.take().is_some() {
                counts.requests.fetch_add(1, SeqCst);
            }
            let _ = to.write_all(&buffer[..count]);
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}

#[test]
fn every_account_of_a_misbehaving_server_agrees_with_a_relays() {
    let asked: Vec<&'static Case> = cases().filter(|case| wire_of(case).is_some()).collect();
    let stop = Stop::new().expect("a descriptor");
    let (sender, ready) = mpsc::channel();
    let hostile = Hostile {
        host: LoopbackHost::default(),
        port: 0,
        cases: asked.clone(),
        authority: Authority::new().expect("an authority"),
    };
    let theirs = stop.clone();
    let serving = std::thread::spawn(move || {
        serve(hostile, &theirs, |case, port| sender.send((case.name, port)).expect("awaited"))
    });
    let ports: BTreeMap<&str, u16> = ready.iter().take(asked.len()).collect();
    for (case, seed) in asked.iter().zip(0..) {
        let wire = wire_of(case).expect("asked in a framing");
        let (upstream, length) =
            (SocketAddr::from(([127, 0, 0, 1], ports[case.name])), wire.request().bytes().len());
        let server = Server::start(move |stream, _, counts| {
            relay(&stream, upstream, Split::new(wire, length), counts);
        });
        // What the script answers is not looked into.
        server.counts.good.store(u64::MAX, SeqCst);
        let trial = Trial {
            seed,
            wire,
            connections: 2,
            in_flight: 2,
            keep_alive: KeepAlive::Reuse,
            timeout: TIMEOUT,
            acts: Vec::new(),
            end: End::Count(6),
            tls: None,
        };
        let account = load(server.address, &trial, None, LoopOptions::default());
        account.hold(&server.finish(), case.name);
    }
    stop.request();
    serving.join().expect("no panic").expect("served");
}
