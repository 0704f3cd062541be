//! What the probe does and records: laws, records, stopping, and the refusal to listen beyond loopback.

use std::io::Read;
use std::num::NonZeroUsize;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_probe::record::{Served, from_csv};
use weighbridge_probe::runner::Sampler;
use weighbridge_probe::{LoopbackHost, Options, Recording, ServeError, Stop, serve};

use crate::common::{Probe, pong};

/// Conditions on every probe's record: one request at a time, in order, none shorter than drawn.
fn assert_one_at_a_time(records: &[Served]) {
    for served in records {
        assert!(served.turned <= served.begin && served.read <= served.begin, "{served:?}");
        assert!(served.begin == served.read.max(served.turned), "{served:?}");
        assert!(served.begin <= served.end && served.end <= served.written, "{served:?}");
        assert!(served.spent() >= served.drawn && served.occupied() >= served.spent(), "{served:?}");
    }
    for pair in records.windows(2) {
        assert!(pair[0].written <= pair[1].turned, "{pair:?}");
    }
}

#[test]
fn every_request_is_recorded_with_the_time_drawn_for_it() {
    let probe = Probe::obeying("exponential:mean=20us,seed=3");
    let mut client = probe.client();
    for n in 4..204 {
        client.get(&format!("/pong/{n}"));
        client.reply();
    }
    // Not under the law, so neither delayed nor recorded.
    for path in ["/version", "/probe/summary", "/probe/record", "/pong/3"] {
        client.get(path);
        client.reply();
    }
    let finished = probe.finish();
    assert_one_at_a_time(&finished.records);
    let mut sampler = Sampler::new("exponential:mean=20us".parse().unwrap(), 3);
    let drawn: Vec<Nanoseconds> = (0..200).map(|_| sampler.draw()).collect();
    let recorded: Vec<Nanoseconds> = finished.records.iter().map(|served| served.drawn).collect();
    assert_eq!(recorded, drawn);
    let sizes: Vec<u64> = finished.records.iter().map(|served| served.size.get()).collect();
    assert_eq!(sizes, (4..204).collect::<Vec<u64>>());
    assert_eq!(finished.totals.requests, 200);
    assert_eq!(finished.totals.spent, finished.records.iter().map(Served::spent).sum());
    assert_eq!(finished.totals.drawn, drawn.into_iter().sum());
}

#[test]
fn requests_of_several_connections_are_served_one_at_a_time() {
    let probe = Probe::obeying("uniform:low=5us,high=50us");
    let mut clients: Vec<_> = (0..8).map(|_| probe.client()).collect();
    for _ in 0..20 {
        for client in &mut clients {
            // Two at a time, so that some are pipelined.
            client.send("GET /pong/4 HTTP/1.1\r\n\r\nGET /pong/5 HTTP/1.1\r\n\r\n");
        }
        for client in &mut clients {
            assert_eq!(client.reply().text(), "pong");
            assert_eq!(client.reply().text(), "poong");
        }
    }
    let finished = probe.finish();
    assert_eq!(finished.records.len(), 320);
    assert_one_at_a_time(&finished.records);
}

#[test]
fn the_records_clock_is_the_hosts_monotonic_clock() {
    // The clock read by another binding, as a client would.
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Timestamp::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    };
    let probe = Probe::obeying("constant:time=50us");
    let mut client = probe.client();
    let sent = now();
    client.get("/pong/4");
    client.reply();
    let done = now();
    let served = probe.finish().records[0];
    assert!(sent <= served.read && served.end <= done, "{sent:?} {served:?} {done:?}");
}

#[test]
fn a_cliff_delays_replies_by_their_size() {
    let probe = Probe::obeying("cliff:above=1000,step=300us,slope=1ns/B,corner=1500,slope_above=3ns/B");
    let mut client = probe.client();
    for n in [4, 1000, 1001, 2000] {
        client.get(&format!("/pong/{n}"));
        assert!(client.reply().body == pong(n));
    }
    let finished = probe.finish();
    let drawn: Vec<u64> = finished.records.iter().map(|served| served.drawn.as_nanos()).collect();
    assert_eq!(drawn, [4, 1000, 301_001, 303_000]);
    assert_one_at_a_time(&finished.records);
}

#[test]
fn a_stall_stops_one_request_and_all_behind_it() {
    let probe = Probe::obeying("stall:requests=2,length=30ms");
    let mut client = probe.client();
    client.send("GET / HTTP/1.1\r\n\r\n".repeat(4));
    for _ in 0..4 {
        assert_eq!(client.reply().text(), "ok\n");
    }
    let finished = probe.finish();
    let drawn: Vec<u64> = finished.records.iter().map(|served| served.drawn.as_nanos()).collect();
    assert_eq!(drawn, [0, 0, 30_000_000, 0]);
    assert_one_at_a_time(&finished.records);
}

#[test]
fn a_periodic_stall_stops_in_each_period() {
    let probe = Probe::obeying("periodic-stall:every=20ms,length=5ms");
    let mut client = probe.client();
    for _ in 0..5 {
        client.get("/");
        client.reply();
        std::thread::sleep(std::time::Duration::from_millis(12));
    }
    let finished = probe.finish();
    assert_one_at_a_time(&finished.records);
    // Each gap is longer than 10 ms and counts 10: of the served times 0, 10, 20, 30, 40 ms the second is the first to
    // reach 7.5 ms, the fourth 22.5 ms and the fifth 37.5 ms.
    let drawn: Vec<u64> = finished.records.iter().map(|served| served.drawn.as_nanos() / 1_000_000).collect();
    assert_eq!(drawn, [0, 5, 0, 5, 5]);
}

#[test]
fn record_and_summary_can_be_asked_for_while_it_runs() {
    let probe = Probe::obeying("constant:time=10us");
    for _ in 0..10 {
        probe.get("/pong/64");
    }
    let csv = probe.get("/probe/record");
    assert_eq!(csv.header("content-type"), Some("text/csv"));
    let records = from_csv(csv.text()).unwrap();
    let summary = probe.get("/probe/summary");
    assert_eq!(summary.header("content-type"), Some("application/json"));
    let json: serde_json::Value = serde_json::from_slice(&summary.body).unwrap();
    assert_eq!(json["law"], "constant:time=10us");
    assert_eq!((json["requests"].as_u64(), json["recorded"].as_u64()), (Some(10), Some(10)));
    // Requests for the record are not in it.
    assert_eq!(json["connections"], 10);
    assert_eq!(json["drawn_ns"]["sum"], 100_000);
    let spent: u64 = records.iter().map(|served| served.spent().as_nanos()).sum();
    assert_eq!(json["spent_ns"]["sum"], spent);
    let longest = records.iter().map(|served| served.occupied().as_nanos()).max();
    assert_eq!(json["occupied_ns"]["max"].as_u64(), longest);
    assert_eq!(probe.finish().records, records);
}

#[test]
fn a_large_record_is_sent_whole() {
    let probe = Probe::obeying("constant:time=0ns");
    let mut client = probe.client();
    let batch = "GET / HTTP/1.1\r\n\r\n".repeat(500);
    for _ in 0..100 {
        client.send(&batch);
        for _ in 0..500 {
            client.reply();
        }
    }
    client.get("/probe/record");
    assert_eq!(from_csv(client.reply().text()).unwrap().len(), 50_000);
}

#[test]
fn the_null_probe_counts_without_a_clock_and_keeps_records_when_asked() {
    let probe = Probe::obeying("null");
    probe.get("/pong/4");
    let json: serde_json::Value = serde_json::from_slice(&probe.get("/probe/summary").body).unwrap();
    assert_eq!((json["requests"].as_u64(), json["spent_ns"].is_null()), (Some(1), true));
    let finished = probe.finish();
    assert_eq!((finished.records.len(), finished.totals.requests), (0, 1));

    let recording = Recording::Keep(NonZeroUsize::new(2).unwrap());
    let probe = Probe::start(Options { recording, ..Options::new("null".parse().unwrap()) });
    for _ in 0..3 {
        probe.get("/pong/4");
    }
    let finished = probe.finish();
    assert_eq!(
        (finished.records.len(), finished.totals.requests),
        (2, 3),
        "records are bounded, totals are not"
    );
    assert!(finished.records.iter().all(|served| served.spent() == Nanoseconds::ZERO));
}

#[test]
fn stopping_finishes_what_is_outstanding_and_writes_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let record_folder = Some(folder.path().join("records"));
    let options = Options { record_folder, ..Options::new("constant:time=20ms".parse().unwrap()) };
    let probe = Probe::start(options);
    let mut idle = probe.client();
    let mut busy = probe.client();
    busy.send("GET /pong/4 HTTP/1.1\r\n\r\nGET /pong/2000000 HTTP/1.1\r\n\r\n");
    // The first byte shows that the probe has read both.
    let mut first = [0];
    busy.stream().read_exact(&mut first).unwrap();
    probe.request_stop();
    let mut rest = Vec::new();
    busy.stream().read_to_end(&mut rest).unwrap();
    let text = [&first[..], &rest].concat();
    assert!(text.starts_with(b"HTTP/1.1 200 OK\r\n") && text.ends_with(&pong(2_000_000)[1_999_000..]));
    assert!(idle.is_closed());
    let finished = probe.finish();
    let file = finished.record_file.unwrap();
    assert_eq!(file, folder.path().join(format!("records/{}.csv", std::process::id())));
    assert_eq!(from_csv(&std::fs::read_to_string(file).unwrap()).unwrap(), finished.records);
    assert_eq!(finished.records.len(), 2);
}

#[test]
fn only_loopback_is_listened_on() {
    for host in ["0.0.0.0", "::", "192.168.1.1", "example.org", ""] {
        let message = host.parse::<LoopbackHost>().unwrap_err().to_string();
        assert!(message.contains(&format!("`{host}`")) && message.contains("`127.0.0.1`"), "{message}");
    }
    for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] {
        assert!(host.parse::<LoopbackHost>().is_ok(), "{host}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let probe = Probe::obeying("null");
    let options = Options { port: probe.port, ..Options::new("null".parse().unwrap()) };
    let error = serve(options, &Stop::new().unwrap(), |_| panic!("it listens twice")).unwrap_err();
    assert!(matches!(error, ServeError::PortInUse { port } if port == probe.port), "{error}");
    assert!(error.to_string().contains("0 for a free one"));
}

#[test]
fn an_invalid_record_folder_is_an_error_before_serving() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let record_folder = Some(file.path().join("below-a-file"));
    let options = Options { record_folder, ..Options::new("null".parse().unwrap()) };
    let error = serve(options, &Stop::new().unwrap(), |_| panic!("it serves")).unwrap_err();
    assert!(matches!(error, ServeError::Record { .. }), "{error}");
}
