//! What is stored is what is read: by this crate to the last bit, and by others in the formats they know.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use weighbridge_model::histogram::*;
use weighbridge_model::id::*;
use weighbridge_model::legs::{KernelStamps, Leg, LegFigures, Legs, StampFigures};
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::network::{LayerFacts, LinkCounters, NetworkFacts};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::*;
use weighbridge_store::{Participant, RunFolder, RunWriter, WriteError};

use crate::support::*;

fn one(name: &str, variant: u16) -> Vec<Participant> {
    vec![Participant { variant: VariantId(variant), name: name.to_owned() }]
}

#[test]
fn blocks_come_back_identical_and_in_order() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "round trip", STARTED).unwrap();
    for number in [1, 0, 2] {
        run.write_block(&participants(), &block(number)).unwrap();
    }
    let read = RunFolder::open(run.folder().path()).unwrap();
    assert_eq!(read.blocks().unwrap(), [0, 1, 2]);
    assert_blocks(&read.load_blocks().unwrap(), &[block(0), block(1), block(2)], "");
}

#[test]
fn total_hlog_is_read_by_the_library_s_own_iterator() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "hlog", STARTED).unwrap();
    let trial = trial(0, VariantId(0));
    run.write_block(&one("a", 0), std::slice::from_ref(&trial)).unwrap();

    let log = std::fs::read(run.folder().path().join("trials/000/total.hlog")).unwrap();
    let mut found: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else { panic!("no time is logged") };
        // The measured windows of `support::trial` are its third and fourth.
        assert_eq!(interval.start_timestamp().as_millis(), 1040);
        let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
        let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        found.insert(interval.tag().unwrap().as_str().to_owned(), histogram);
    }
    let mut expected: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for (tallies, point) in trial.tallies.iter().zip(0..) {
        for tally in &tallies.entries {
            let tag =
                format!("point={point};operation={};outcome={}", tally.operation.0, tally.outcome.name());
            expected.insert(format!("{tag};time=response"), (*tally.response).clone());
            expected.insert(format!("{tag};time=service"), (*tally.service).clone());
        }
        for tally in &tallies.messages {
            let tag = format!("point={point};operation={};outcome=ok;time=message", tally.operation.0);
            expected.insert(tag, tally.times.clone());
        }
        for leg in Leg::ALL {
            if let Some(times) = tallies.legs.get(leg) {
                expected.insert(format!("point={point};time={}", leg.name()), times.clone());
            }
        }
        expected.insert(format!("point={point};time=lag"), (*tallies.lag).clone());
        expected.insert(format!("point={point};time=loop_delay"), (*tallies.loop_delay).clone());
    }
    assert_eq!(
        expected.len(),
        20,
        "two operations with three outcomes, one of messages and three legs at the first point, none at the second"
    );
    assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
    assert!(found == expected, "the right tags, with other counts");
}

#[test]
fn files_look_as_documented() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "Golden files", STARTED).unwrap();
    let mut golden = trial(3, VariantId(2));
    golden.void = Some(Void::ServiceDied("exit status 139".to_owned()));
    run.write_block(&participants(), &[golden]).unwrap();
    run.write_experiment("title = \"first\"\n").unwrap();
    run.write_experiment("title = \"golden files\"\n").unwrap();
    let folder = run.folder().path();
    for name in ["run.json", "blocks/003.json", "digests.json"] {
        compare_with_golden(&folder.join(name), name);
    }
    for name in [
        "trial.json",
        "windows.csv",
        "operations.csv",
        "resources.csv",
        "stamps.csv",
        "counts.csv",
        "samples.csv",
        "steps.csv",
    ] {
        compare_with_golden(&folder.join("trials/000").join(name), name);
    }
}

/// `UPDATE_GOLDEN=1 cargo test -p weighbridge-store` refreshes `testdata/`.
fn compare_with_golden(found: &Path, name: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name.replace('/', "-"));
    let text = without_hashes(&std::fs::read_to_string(found).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    assert_eq!(text, expected, "{} (refresh with UPDATE_GOLDEN=1)", golden.display());
}

/// Hashes depend on the compression library's version, which may change without any harm.
fn without_hashes(text: &str) -> String {
    let hash = |part: &&str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split('"').map(|part| if hash(&part) { "<sha256>" } else { part }).collect::<Vec<_>>().join("\"")
}

#[test]
fn what_the_format_cannot_hold_is_refused_before_anything_is_written() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "refused", STARTED).unwrap();
    let mut bad = block(0);
    bad[1].steal = f64::NAN;
    let error = run.write_block(&participants(), &bad).unwrap_err();
    assert!(matches!(&error, WriteError::NotStorable { what, .. } if what.contains("grpc")), "{error}");
    assert_eq!(std::fs::read_dir(run.folder().path().join("trials")).unwrap().count(), 0);
    run.write_block(&participants(), &block(0)).unwrap();
}

fn time() -> impl Strategy<Value = Nanoseconds> {
    any::<u64>().prop_map(Nanoseconds::from_nanos)
}

fn any_operation() -> impl Strategy<Value = OperationFigures> {
    (any::<u16>(), any::<u64>(), [time(), time(), time(), time()], [time(), time(), time()]).prop_map(
        |(operation, ok, [response_sum, service_sum, response_p50, service_p50], [p90, service_p90, max])| {
            OperationFigures {
                operation: OperationId(operation),
                ok,
                response_sum,
                service_sum,
                response_p50,
                service_p50,
                response_p90: p90,
                service_p90,
                response_max: max,
            }
        },
    )
}

fn any_figures() -> impl Strategy<Value = WindowFigures> {
    let operations = prop::collection::vec(any_operation(), 0..4);
    let ends = prop::sample::select(vec![WindowEnd::Complete, WindowEnd::Saturated, WindowEnd::Aborted]);
    let counts = prop::array::uniform32(any::<u64>());
    (operations, prop::option::of(any_operation()), ends, counts).prop_map(|(operations, all, end, c)| {
        let errors = ErrorCounts {
            connect: c[0],
            tls: c[22],
            reset: c[1],
            timeout: c[2],
            protocol: c[3],
            status: c[4],
            check: c[5],
        };
        WindowFigures {
            started: Timestamp::from_nanos(c[6]),
            ended: Timestamp::from_nanos(c[7]),
            end,
            offered: c[8],
            requests: c[9],
            not_sent: c[10],
            errors,
            resent: c[2],
            held_up: 0,
            connects: c[11],
            handshakes: c[23],
            resumed: c[24],
            operations,
            all,
            traffic: Traffic {
                sent: Bytes::new(c[12]),
                received: Bytes::new(c[13]),
                segments_out: c[14],
                segments_in: c[15],
                retransmits: c[16],
                payload_sent: Bytes::new(c[12] / 2),
                payload_received: Bytes::new(c[13] / 3),
            },
            health: LoopHealth {
                busy: Nanoseconds::from_nanos(c[17]),
                wall: Nanoseconds::from_nanos(c[18]),
                cpu: Nanoseconds::from_nanos(c[19]),
                loop_delay_p50: Nanoseconds::from_nanos(c[20]),
                lag_p99: Nanoseconds::from_nanos(c[21]),
            },
            stamps: any_stamps(c),
            counts: any_counts(c),
        }
    })
}

fn any_counts(c: [u64; 32]) -> Option<Counts> {
    let mut counts = Counts::default();
    Count::ALL.into_iter().zip(c).for_each(|(count, n)| counts.add(count, n));
    c[31].is_multiple_of(2).then_some(counts)
}

fn any_stamps(c: [u64; 32]) -> Option<KernelStamps> {
    let time = |at: usize| Nanoseconds::from_nanos(c[at]);
    let leg = LegFigures { sum: time(25), p50: time(26), p90: time(27), p99: time(28) };
    match c[29] % 3 {
        0 => None,
        1 => Some(KernelStamps::Unavailable("\u{fc}, \n\"".repeat(c[30] as usize % 3))),
        _ => Some(KernelStamps::Taken(StampFigures {
            requests: c[30],
            unmatched: c[31],
            clock_error: time(25),
            round_trip: c[26].is_multiple_of(2).then_some(time(27)),
            legs: [leg, LegFigures::default(), LegFigures { sum: time(28), ..leg }],
        })),
    }
}

fn any_window() -> impl Strategy<Value = WindowRecord> {
    let kinds = prop::sample::select(vec![
        WindowKind::WarmUp,
        WindowKind::LeadIn,
        WindowKind::Measured,
        WindowKind::Check,
    ]);
    let role = (any::<String>(), time(), any::<u64>()).prop_map(|(role, cpu, requests)| RoleCpu {
        role,
        cpu,
        requests,
    });
    let place = (any::<u32>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u16>());
    let pauses = (any::<u64>(), time()).prop_map(|(count, time)| JvmPauses { count, time });
    let optional = ([(); 2].map(|()| prop::option::of(time())), prop::option::of(pauses));
    (kinds, place, any_figures(), prop::collection::vec(role, 0..3), optional).prop_map(
        |(
            kind,
            (block, point, round, position, variant),
            figures,
            cpu,
            ([core_latency, restore], pauses),
        )| {
            WindowRecord {
                kind,
                block,
                point: PointId(point),
                round,
                position,
                variant: VariantId(variant),
                figures,
                cpu,
                core_latency,
                restore,
                pauses,
            }
        },
    )
}

fn any_histogram() -> impl Strategy<Value = TimeHistogram> {
    prop::collection::vec((1u64..=3_600_000_000_000, 1u64..1 << 40), 0..20).prop_map(|records| {
        let mut histogram = time_histogram();
        for (value, count) in records {
            histogram.record_n(value, count).unwrap();
        }
        histogram
    })
}

fn any_tallies() -> impl Strategy<Value = Tallies> {
    let outcome = prop::sample::select(
        ErrorKind::ALL.map(Outcome::Error).into_iter().chain([Outcome::Ok]).collect::<Vec<_>>(),
    );
    let tally = (any::<u16>(), outcome.clone(), any_histogram(), any_histogram()).prop_map(
        |(operation, outcome, response, service)| Tally {
            operation: OperationId(operation),
            outcome,
            response: response.into(),
            service: service.into(),
        },
    );
    let messages =
        (any::<u16>(), outcome.clone(), any_histogram()).prop_map(|(operation, outcome, times)| {
            MessageTally { operation: OperationId(operation), outcome, times }
        });
    let lists = (prop::collection::vec(tally, 0..3), prop::collection::vec(messages, 0..2));
    (lists, any_histogram(), any_histogram()).prop_map(|((entries, messages), lag, loop_delay)| {
        let mut handshakes = Handshakes::default();
        if lag.len() % 2 == 1 {
            handshakes.add(HandshakeKind::Resumed, &lag);
        }
        let mut legs = Legs::default();
        if lag.len() % 3 == 1 {
            legs.add(Leg::Outside, &loop_delay);
        }
        Tallies { entries, messages, lag: lag.into(), loop_delay: loop_delay.into(), handshakes, legs }
    })
}

fn any_pairings() -> impl Strategy<Value = Vec<Pairing>> {
    let one = prop_oneof![
        Just(Pairing::Duet),
        Just(Pairing::Windows),
        Just(Pairing::Requests),
        Just(Pairing::Sequential)
    ];
    prop::collection::vec(one, 0..3)
}

fn any_void() -> impl Strategy<Value = Void> {
    prop_oneof![
        Just(Void::Stopped),
        Just(Void::ClockJump),
        any::<String>().prop_map(Void::ServiceDied),
        any::<String>().prop_map(Void::OutOfMemory),
        any::<String>().prop_map(Void::Steal),
        any::<String>().prop_map(Void::GivenUp),
    ]
}

fn any_machine() -> impl Strategy<Value = Option<MachineCpu>> {
    let machine = (time(), time(), time(), time(), time());
    prop::option::of(machine.prop_map(|(span, busy, resolution, generator, service)| MachineCpu {
        span,
        busy,
        resolution,
        generator,
        service,
    }))
}

/// A trial that a failing property prints without its histograms of 30,000 counts each.
#[derive(Clone)]
struct Quiet(TrialRecord);

impl std::fmt::Debug for Quiet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TrialRecord {
            batch,
            variant,
            service,
            windows,
            tallies,
            samples: _,
            pairings,
            memory,
            steal,
            machine,
            void,
            ..
        } = &self.0;
        let tags: Vec<Vec<_>> = tallies
            .iter()
            .map(|point| point.entries.iter().map(|tally| (tally.operation, tally.outcome)).collect())
            .collect();
        f.debug_tuple("Trial")
            .field(&(batch, variant, service, windows, tags, pairings, memory, (steal, machine), void))
            .finish()
    }
}

fn any_quota() -> impl Strategy<Value = QuotaFacts> {
    let throttling = (any::<u64>(), any::<u64>(), time()).prop_map(|(periods, throttled, time)| Throttling {
        periods,
        throttled,
        time,
    });
    (time(), time(), any::<bool>(), prop::option::of(throttling)).prop_map(
        |(quota, period, ours, throttling)| {
            let origin = if ours { QuotaOrigin::Experiment } else { QuotaOrigin::Host };
            QuotaFacts { quota: CpuQuota { time: quota, period }, origin, throttling }
        },
    )
}

fn any_runtime() -> impl Strategy<Value = RuntimeFacts> {
    let said = prop::collection::btree_map(any::<String>(), any::<String>(), 0..3);
    (any::<u32>(), prop::collection::vec(any::<u32>(), 0..4), said)
        .prop_map(|(threads, cores, said)| RuntimeFacts { threads, cores, said })
}

fn peer_of(version: Option<String>, start: Option<Nanoseconds>, runtime: Option<RuntimeFacts>) -> PeerFacts {
    let start = start.unwrap_or_default();
    PeerFacts { service: "go".to_owned(), binary_sha256: version.clone(), version, start, runtime }
}

fn database_of(start: Nanoseconds) -> DatabaseFacts {
    DatabaseFacts {
        engine: "postgres".to_owned(),
        version: "15.13 \"x\"\n".to_owned(),
        start,
        settings: [("fsync".to_owned(), "off".to_owned())].into(),
    }
}

fn network_of(name: Option<String>) -> NetworkFacts {
    let link = LinkCounters { host: "client".to_owned(), sent_packets: 12, ..LinkCounters::default() };
    NetworkFacts {
        layers: vec![LayerFacts {
            layer: "rate".to_owned(),
            name: name.clone().unwrap_or_default(),
            by: "tbf".to_owned(),
        }],
        mtu: Some(1450),
        congestion_control: name,
        links: vec![link],
        unproved: None,
        ..NetworkFacts::default()
    }
}

fn any_trial() -> impl Strategy<Value = Quiet> {
    let texts = (prop::option::of(any::<String>()), prop::option::of(any::<String>()));
    let service =
        (texts, prop::option::of(time()), prop::option::of(any_quota()), prop::option::of(any_runtime()))
            .prop_map(|((version, binary_sha256), start, quota, runtime)| ServiceFacts {
                peer: runtime.is_some().then(|| Box::new(peer_of(version.clone(), start, runtime.clone()))),
                network: start.map(|_| Box::new(network_of(version.clone()))),
                version,
                binary_sha256,
                start,
                memory: quota.map(|quota| MemoryFacts {
                    limit: Bytes::new(quota.quota.time.as_nanos()),
                    peak: start.map(|start| Bytes::new(start.as_nanos())),
                    met: 3,
                    killed: 1,
                }),
                quota,
                database: start.map(|start| Box::new(database_of(start))),
                runtime,
            });
    let memory = prop::collection::vec(
        (any::<String>(), any::<u16>(), any::<u64>()).prop_map(|(role, point, peak)| RoleMemory {
            role,
            point: PointId(point),
            peak: Bytes::new(peak),
        }),
        0..3,
    );
    let windows = prop::collection::vec(any_window(), 0..5);
    let tallies = prop::collection::vec(any_tallies(), 0..3);
    let steal = any::<f64>().prop_filter("shares are finite", |share| share.is_finite());
    let block_wide = (any_pairings(), memory, steal, any_machine());
    ((any::<u16>(), any::<u32>()), service, windows, tallies, block_wide, prop::option::of(any_void()))
        .prop_map(
            |((variant, batch), service, windows, tallies, (pairings, memory, steal, machine), void)| {
                let variant = VariantId(variant);
                Quiet(TrialRecord {
                    batch,
                    variant,
                    service,
                    windows,
                    tallies,
                    pairings,
                    memory,
                    steal,
                    machine,
                    void,
                    ..Default::default()
                })
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_trial_comes_back_identical(Quiet(trial) in any_trial(), name in any::<String>()) {
        let out = tempfile::tempdir().unwrap();
        let mut run = RunWriter::create(out.path(), &name, STARTED).unwrap();
        run.write_block(&one(&name, trial.variant.0), std::slice::from_ref(&trial)).unwrap();
        let read = RunFolder::open(run.folder().path()).unwrap().load_blocks().unwrap();
        prop_assert!(read == [[trial]]);
    }
}

/// Changes texts in a file that must have them.
fn change(path: &Path, from: &[(&str, &str)]) {
    let text = std::fs::read_to_string(path).unwrap();
    let changed = from.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
    assert_ne!(text, changed, "{}", path.display());
    std::fs::write(path, changed).unwrap();
}

fn hash(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn records_of_before_there_were_batches_are_still_read() {
    let out = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(out.path(), "old", STARTED).unwrap();
    run.write_block(&participants(), &block(0)).unwrap();
    let folder = run.folder().path().to_owned();
    for trial in ["000", "001"].map(|number| folder.join("trials").join(number)) {
        let [windows, json] = ["windows.csv", "trial.json"].map(|name| trial.join(name));
        let before = [&windows, &json].map(|path| hash(path));
        // The column and its cell, which follows `kind` and `block`.
        let kinds = ["warm-up", "lead-in", "measured", "check"]
            .map(|kind| (format!("{kind},0,0,"), format!("{kind},0,")));
        let mut cells: Vec<(&str, &str)> = vec![("block,batch,", "block,")];
        cells.extend(kinds.iter().map(|(from, to)| (from.as_str(), to.as_str())));
        change(&windows, &cells);
        change(&json, &[("  \"batch\": 0,\n", ""), (&before[0], &hash(&windows))]);
        change(&folder.join("blocks/000.json"), &[(&before[1], &hash(&json))]);
    }
    change(&folder.join("blocks/000.json"), &[("      \"batch\": 0,\n", "")]);
    assert!(RunFolder::open(&folder).unwrap().load_blocks().unwrap() == [block(0)]);
}

/// Earlier versions asked for further sizes in windows of a kind of their own, and at first samples had no
/// kind: the window of a sample was told by its times.
#[test]
fn further_sizes_of_older_records_are_left_out() {
    for has_kind in [true, false] {
        let out = tempfile::tempdir().unwrap();
        let mut run = RunWriter::create(out.path(), "old", STARTED).unwrap();
        let mut trial = trial(0, VariantId(0));
        let origin = trial.windows[0].figures.started;
        let at = |nanos| Nanoseconds::from_nanos(nanos);
        let further = &mut trial.windows[4];
        (further.kind, further.point, further.round) = (WindowKind::Check, PointId(0), 1);
        (further.figures.started, further.figures.ended) = (origin + at(95_000), origin + at(200_000));
        let [mut good, mut lost] = trial.samples[..] else { panic!("two") };
        (good.done, lost.done) = (at(90_000), at(100_000));
        let elsewhere = Sample { round: 0, ..lost };
        trial.samples = vec![good, lost, elsewhere];
        run.write_block(&one("v", 0), std::slice::from_ref(&trial)).unwrap();
        let folder = run.folder().path().to_owned();
        let [windows, samples, json] = ["windows.csv", "samples.csv", "trial.json"]
            .map(|name| folder.join("trials").join("000").join(name));
        let before = [&windows, &samples, &json].map(|path| hash(path));
        change(&windows, &[("4,check,", "4,extra,")]);
        match has_kind {
            true => change(
                &samples,
                &[("measured,0,1,0,87380,1000,1200,100000", "extra,0,1,0,87380,1000,1200,100000")],
            ),
            false => change(&samples, &[("kind,point,", "point,"), ("measured,", "")]),
        }
        change(&json, &[(&before[0], &hash(&windows)), (&before[1], &hash(&samples))]);
        change(&folder.join("blocks/000.json"), &[(&before[2], &hash(&json))]);
        trial.windows.remove(4);
        trial.samples.remove(1);
        assert!(RunFolder::open(&folder).unwrap().load_blocks().unwrap() == [[trial]]);
    }
}
