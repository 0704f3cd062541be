//! Several servers, and requests that wait in the probe: who was served when, as the record says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;

use weighbridge_model::experiment::Protocol;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_probe::record::Served;
use weighbridge_probe::runner::Sampler;
use weighbridge_probe::{Canned, Options};

use crate::common::{Client, Probe, pong};
use crate::wire::{PREFACE, frame, get};

fn options(law: &str, servers: usize) -> Options {
    Options::new(law.parse().unwrap()).with_servers(NonZeroUsize::new(servers).unwrap()).unwrap()
}

/// Whether all were in service at one moment.
fn overlap(records: &[Served]) -> bool {
    let last_begin = records.iter().map(|served| served.begin).max();
    last_begin < records.iter().map(|served| served.end).min()
}

/// The most requests that were in service at once.
fn most_at_once(records: &[Served]) -> usize {
    let in_service =
        |at: Timestamp| records.iter().filter(|served| served.begin <= at && at < served.end).count();
    records.iter().map(|served| in_service(served.begin)).max().unwrap_or(0)
}

/// Conditions on every record of a queue, whatever its servers; returns it in the order of begins.
fn in_order(mut records: Vec<Served>) -> Vec<Served> {
    assert!(records.is_sorted_by_key(|served| served.written));
    records.sort_by_key(|served| served.begin);
    assert!(records.is_sorted_by_key(|served| served.read), "who came first was not served first");
    for served in &records {
        assert_eq!(served.begin, served.read.max(served.turned), "{served:?}");
        assert!(served.end <= served.written && served.spent() >= served.drawn, "{served:?}");
    }
    records
}

fn ask_once(clients: &mut [Client]) {
    clients.iter_mut().for_each(|client| client.get("/pong/4"));
    clients.iter_mut().for_each(|client| assert_eq!(client.reply().text(), "pong"));
}

#[test]
fn four_servers_serve_four_at_once_and_the_fifth_waits() {
    let probe = Probe::start(options("constant:time=300ms", 4));
    let mut clients: Vec<_> = (0..5).map(|_| probe.client()).collect();
    ask_once(&mut clients);
    let records = in_order(probe.finish().records);
    assert_eq!(records.len(), 5);
    assert!(overlap(&records[..4]), "{records:?}");
    assert_eq!(records[4].turned, records[0].written, "the fifth got the server that was free first");
}

#[test]
fn no_more_than_the_servers_are_in_service_and_the_draws_are_the_laws() {
    let probe = Probe::start(options("exponential:mean=2ms,seed=5", 3));
    let mut clients: Vec<_> = (0..8).map(|_| probe.client()).collect();
    (0..20).for_each(|_| ask_once(&mut clients));
    let records = in_order(probe.finish().records);
    assert_eq!(most_at_once(&records), 3);
    let mut sampler = Sampler::new("exponential:mean=2ms".parse().unwrap(), 5);
    let mut drawn: Vec<Nanoseconds> = (0..160).map(|_| sampler.draw()).collect();
    let mut recorded: Vec<_> = records.iter().map(|served| served.drawn).collect();
    drawn.sort_unstable();
    recorded.sort_unstable();
    assert_eq!(recorded, drawn);
}

#[test]
fn requests_of_one_connection_are_served_one_after_another() {
    let probe = Probe::start(options("bimodal:low=1ms,high=20ms,share=50%", 4));
    let mut client = probe.client();
    let sizes = [4, 2_000_000, 5, 100_000, 6, 7];
    for n in sizes {
        client.get(&format!("/pong/{n}"));
    }
    client.get("/version");
    for n in sizes {
        assert!(client.reply().body == pong(n), "{n}");
    }
    assert!(client.reply().text().contains(",share=0.5,seed=1 servers=4 "));
    let records = probe.finish().records;
    assert_eq!(records.iter().map(|served| served.size.get()).collect::<Vec<_>>(), sizes.map(|n| n as u64));
    assert_eq!(most_at_once(&records), 1);
}

#[test]
fn streams_of_one_connection_are_served_at_once() {
    let canned = Canned::over(Protocol::HTTP2_JSON).unwrap();
    let options = Options { canned: Arc::new(canned), ..options("constant:time=100ms", 4) };
    let probe = Probe::start(options);
    let mut stream = TcpStream::connect(("127.0.0.1", probe.port)).unwrap();
    let asked = (0..4).flat_map(|n| get("/else", 2 * n + 1, 1));
    let asked: Vec<u8> = [PREFACE, &frame(4, 0, 0, b"")].concat().into_iter().chain(asked).collect();
    stream.write_all(&asked).unwrap();
    probe.request_stop();
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).unwrap();
    let errors = replies.windows(8).filter(|bytes| bytes == b"no reply").count();
    assert_eq!(errors, 4, "each stream has its reply");
    let records = in_order(probe.finish().records);
    assert!(records.len() == 4 && overlap(&records), "{records:?}");
}

#[test]
fn who_ends_his_side_gets_his_reply_and_who_leaves_is_served() {
    let probe = Probe::start(options("constant:time=30ms", 1));
    let (mut ending, mut leaving, mut last) = (probe.client(), probe.client(), probe.client());
    ending.get("/pong/4");
    ending.stream().shutdown(Shutdown::Write).unwrap();
    assert_eq!(ending.reply().text(), "pong");
    assert!(ending.is_closed());
    leaving.get("/pong/5");
    // The reply to another shows that it was read.
    last.get("/probe/summary");
    last.reply();
    drop(leaving);
    last.get("/pong/6");
    assert_eq!(last.reply().text(), "pooong");
    // Its slot is used again.
    assert_eq!(probe.get("/pong/7").text(), "poooong");
    let records = in_order(probe.finish().records);
    assert_eq!(records.iter().map(|served| served.size.get()).collect::<Vec<_>>(), [4, 5, 6, 7]);
}

#[test]
fn stopping_serves_those_that_wait() {
    let probe = Probe::start(options("constant:time=30ms", 2));
    let mut clients: Vec<_> = (0..6).map(|_| probe.client()).collect();
    clients.iter_mut().for_each(|client| client.get("/pong/4"));
    probe.request_stop();
    for client in &mut clients {
        assert_eq!(client.reply().text(), "pong");
        assert!(client.is_closed());
    }
    assert_eq!(in_order(probe.finish().records).len(), 6);
}

/// A crowd of eight and then two alone, against the law's rule applied to the recorded moments.
fn assert_crowded(options: Options, above: usize, below: usize) {
    let probe = Probe::start(options);
    let mut clients: Vec<_> = (0..8).map(|_| probe.client()).collect();
    (0..2).for_each(|_| ask_once(&mut clients));
    (0..2).for_each(|_| ask_once(&mut clients[..2]));
    let records = in_order(probe.finish().records);
    let (mut is_crowded, mut crowded) = (false, 0);
    for (at, served) in records.iter().enumerate() {
        let waiting = records[at + 1..].iter().filter(|other| other.read <= served.begin).count();
        is_crowded = waiting > above || is_crowded && waiting >= below;
        crowded += usize::from(is_crowded);
        let wanted = if is_crowded { 60_000_000 } else { 20_000_000 };
        assert_eq!(served.drawn.as_nanos(), wanted, "{at}: {waiting} wait; {records:?}");
    }
    assert!(0 < crowded && crowded < records.len(), "{crowded} of {}", records.len());
}

#[test]
fn a_crowded_probe_is_slower_while_more_wait_alone_and_with_servers() {
    let law = |rest: &str| format!("crowded:time=20ms,above=3,factor=3{rest}");
    assert_crowded(Options::new(law("").parse().unwrap()), 3, 4);
    assert_crowded(Options::new(law(",below=2").parse().unwrap()), 3, 2);
    assert_crowded(options(&law(",below=1"), 2), 3, 1);
}

#[test]
fn servers_need_a_law_of_single_requests() {
    for law in ["null", "stall:requests=1,length=1s", "periodic-stall:every=2s,length=1s"] {
        let error = Options::new(law.parse().unwrap()).with_servers(NonZeroUsize::MIN).unwrap_err();
        let message = error.to_string();
        let kind = law.split(':').next().unwrap();
        assert!(message.contains(&format!("`{kind}`")) && message.contains("`crowded`"), "{message}");
    }
    for law in ["constant:time=1us", "cliff:above=1", "trend:from=1us,to=2us,over=1s"] {
        assert_eq!(options(law, 3).servers, NonZeroUsize::new(3));
    }
}
