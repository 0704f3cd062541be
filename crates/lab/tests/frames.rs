//! The packet relay between real network namespaces: what it carries, delays and loses.
//!
//! Needs root. Without it each test says so, and tests only what needs no namespace.

mod ground;
mod skips;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use ground::{Ground, HOSTS, HOSTS_V6, may_make_namespaces};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::{CoreId, CoreLayout, pin_current_thread};
use weighbridge_lab::layers::frames::impairment::DEFAULT_LIMIT;
use weighbridge_lab::layers::frames::schedule::{Direction, Fate, Fates};
use weighbridge_lab::layers::frames::{self, Impairment, Settings};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::relayed::Relayed;

/// Long enough for a loaded machine, short enough to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Packets per frame up to the default limit of TCP's segmentation offload.
const MANY: u32 = 65_535;

/// Tests run one at a time, since the streams of one would affect another's delays.
static TURN: Mutex<()> = Mutex::new(());

/// Permission to run, if this process may make networks.
fn turn() -> Option<MutexGuard<'static, ()>> {
    may_make_namespaces().then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn impairment(text: &str) -> Impairment {
    text.parse().expect("an impairment")
}

/// Sends `bytes` of a seeded stream, then closes; returns the digest.
fn pour(mut stream: TcpStream, seed: u64, bytes: usize) -> [u8; 32] {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut digest = Sha256::new();
    let mut piece = vec![0; 65_536];
    for _ in 0..bytes / piece.len() {
        random.fill_bytes(&mut piece);
        digest.update(&piece);
        stream.write_all(&piece).expect("the other side reads");
    }
    stream.shutdown(Shutdown::Write).expect("connected");
    digest.finalize().into()
}

/// Reads to the end; returns the digest.
fn drink(mut stream: TcpStream) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut piece = vec![0; 65_536];
    loop {
        match stream.read(&mut piece).expect("the other side writes") {
            0 => return digest.finalize().into(),
            length => digest.update(&piece[..length]),
        }
    }
}

/// Sends in both directions of one connection at once; returns the digests of what each end sent and
/// received.
fn exchange(stream: TcpStream, seed: u64, bytes: usize) -> [[u8; 32]; 2] {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let other = stream.try_clone().expect("a descriptor");
    // A thread is in the namespace of the thread that starts it; sockets stay in theirs anyway.
    let sending = std::thread::spawn(move || pour(other, seed, bytes));
    let received = drink(stream);
    [sending.join().expect("it sends"), received]
}

/// Streams `bytes` in either direction between the hosts.
fn stream_both_ways(ground: &Ground, hosts: [&'static str; 2], bytes: usize) {
    let (tell, port) = mpsc::channel();
    let server = ground.at_host(1, move || {
        let listener = TcpListener::bind((hosts[1], 0)).expect("an address of its own");
        tell.send(listener.local_addr().expect("bound").port()).expect("somebody waits");
        exchange(listener.accept().expect("a client").0, 2, bytes)
    });
    let port = port.recv().expect("the server listens");
    let client = ground.at_host(0, move || {
        let address = SocketAddr::new(hosts[1].parse().expect("an address"), port);
        exchange(TcpStream::connect_timeout(&address, PATIENCE).expect("the server"), 1, bytes)
    });
    let ([client_sent, client_received], [server_sent, server_received]) =
        (client.join().expect("client"), server.join().expect("server"));
    assert!(client_sent == server_received && server_sent == client_received, "{hosts:?}");
}

/// Sends `count` numbered datagrams of `length` bytes from the first host to the second, at most `ahead` more
/// than have arrived. Returns the numbers that arrived, in order, once `awaited` have arrived or none for a
/// while.
///
/// With an unlimited `ahead` all datagrams together must fit into a socket's buffer, since the receiver may
/// not get a core meanwhile.
fn datagrams(ground: &Ground, count: u32, awaited: usize, length: usize, ahead: usize) -> Vec<u32> {
    let (tell, port) = mpsc::channel();
    let received = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&received);
    let receiver = ground.at_host(1, move || {
        let socket = UdpSocket::bind((HOSTS[1], 0)).expect("an address of its own");
        socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
        tell.send(socket.local_addr().expect("bound").port()).expect("somebody waits");
        let (mut arrived, mut room) = (Vec::new(), vec![0; 65_536]);
        while arrived.len() < awaited
            && let Ok(size) = socket.recv(&mut room)
        {
            let number = u32::from_be_bytes(room[..4].try_into().expect("four bytes"));
            assert_eq!(size, length);
            assert!(room[4..length].iter().all(|byte| *byte == number as u8), "datagram {number}");
            arrived.push(number);
            heard.store(arrived.len(), Ordering::SeqCst);
        }
        arrived
    });
    let port = port.recv().expect("the receiver is bound");
    let sender = ground.at_host(0, move || {
        let socket = UdpSocket::bind((HOSTS[0], 0)).expect("an address of its own");
        for number in 0..count {
            let mut datagram = vec![number as u8; length];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            socket.send_to(&datagram, (HOSTS[1], port)).expect("there is a way");
            let begun = monotonic_now();
            while number as usize >= received.load(Ordering::SeqCst).saturating_add(ahead)
                && monotonic_now().since(begun).as_duration() < PATIENCE
            {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    });
    sender.join().expect("the sender");
    receiver.join().expect("the receiver")
}

#[test]
fn a_null_relay_carries_every_frame_as_it_came() {
    let Some(_turn) = turn() else { return };
    for (mtu, segments) in [(1500, 1), (1500, MANY), (9000, 1), (1280, 1)] {
        let ground = Ground::new(mtu, segments);
        let relay = ground.relay(|_| {});
        stream_both_ways(&ground, HOSTS, 4 << 20);
        stream_both_ways(&ground, HOSTS_V6, 4 << 20);
        let length = mtu as usize - 28;
        let arrived = datagrams(&ground, 500, 500, length, 8);
        assert_eq!(arrived, Vec::from_iter(0..500), "MTU {mtu}");
        let report = relay.stop();
        for way in [&report.forth, &report.back] {
            assert_eq!((way.came, way.waiting, way.lost, way.full), (way.sent, 0, 0, 0), "{report:?}");
            assert_eq!((way.refused, way.cut, way.overflowed), (0, 0, 0), "{report:?}");
            assert!(way.sent_bytes.get() > 8 << 20, "{report:?}");
            // A frame without segmentation is one packet.
            assert_eq!(way.whole > 0, segments > 1, "{report:?}");
        }
    }
}

/// Prints each frame with its tag in place; the kernel removes it before a socket receives the frame.
const TAG_READER: &str = "
import socket, struct
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
s.bind(('eth0', 3))
s.setsockopt(263, 8, 1)
s.settimeout(20)
print('bound', flush=True)
for _ in range(3):
    frame, beside, _, _ = s.recvmsg(2048, 64)
    status, _, _, _, _, control, protocol = struct.unpack('IIIHHHH', beside[0][2][:20])
    print(((struct.pack('!HH', protocol, control) if status & 16 else b'') + frame[12:]).decode('latin-1'), flush=True)
";
/// Sends a frame with a VLAN tag, one without, one with two.
const TAG_WRITER: &str = "
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('eth0', 0))
for tags in [b'\\x81\\x00\\x20\\x64', b'', b'\\x88\\xa8\\x00\\x05\\x81\\x00\\x00\\x07']:
    s.send(b'\\xff' * 6 + b'\\x02\\x00\\x00\\x00\\x00\\x01' + tags + b'\\x88\\xb5' + b'payload' * 7)
";

#[test]
fn tags_of_vlans_pass_with_their_frames() {
    let Some(_turn) = turn() else { return };
    let ground = Ground::new(1500, 1);
    ground.introduce();
    let relay = ground.relay(|_| {});
    let python = |script: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", script]).env("PYTHONUTF8", "1").stdout(Stdio::piped());
        python.spawn().expect("python3")
    };
    let (mut reader, lines) = ground
        .at_host(1, move || {
            let mut reader = python(TAG_READER);
            let lines = BufReader::new(reader.stdout.take().expect("piped")).lines();
            (reader, lines)
        })
        .join()
        .expect("it starts");
    let mut lines = lines.map(|line| line.expect("text"));
    assert_eq!(lines.next().as_deref(), Some("bound"));
    let mut writer = ground.at_host(0, move || python(TAG_WRITER)).join().expect("it starts");
    assert!(writer.wait().expect("it is ours").success());
    let payload = format!("\u{88}\u{b5}{}", "payload".repeat(7));
    let expected = ["\u{81}\0\u{20}\u{64}", "", "\u{88}\u{a8}\0\u{5}\u{81}\0\0\u{7}"]
        .map(|tag| format!("{tag}{payload}"));
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert!(reader.wait().expect("it is ours").success());
    assert_eq!(relay.stop().forth.sent, 3);
}

#[test]
fn exactly_the_frames_that_the_seed_says_are_lost() {
    let Some(_turn) = turn() else { return };
    let ground = Ground::new(1500, 1);
    ground.introduce();
    let lossy = impairment("loss=20%");
    let relay = ground.relay(|settings| (settings.forward, settings.seed) = (lossy, 7));
    let mut fates = Fates::new(&lossy, 7, Direction::Forward);
    let kept: Vec<u32> = (0..250).filter(|_| fates.draw() != Fate::Lost).collect();
    let arrived = datagrams(&ground, 250, kept.len(), 100, usize::MAX);
    assert_eq!(arrived, kept);
    let report = relay.stop();
    assert_eq!((report.forth.came, report.forth.lost), (250, 250 - kept.len() as u64));
    assert_eq!((report.back.came, report.back.lost), (0, 0), "{report:?}");
}

/// A socket at the first host and an echo at the second, for datagrams there and back.
struct Echo {
    socket: UdpSocket,
}

impl Echo {
    /// Runs the second host's echo on this core.
    fn new(ground: &Ground, core: CoreId) -> Self {
        let (tell, port) = mpsc::channel();
        // It ends with the test's process at the latest, or when it receives an empty datagram.
        ground.at_host(1, move || {
            pin_current_thread(core).expect("a core that may be used");
            let socket = UdpSocket::bind((HOSTS[1], 0)).expect("an address of its own");
            tell.send(socket.local_addr().expect("bound").port()).expect("somebody waits");
            let mut room = [0; 2048];
            while let Ok((length @ 1.., from)) = socket.recv_from(&mut room) {
                let _ = socket.send_to(&room[..length], from);
            }
        });
        let port = port.recv().expect("the echo is bound");
        let socket = ground.at_host(0, move || {
            let socket = UdpSocket::bind((HOSTS[0], 0)).expect("an address of its own");
            socket.connect((HOSTS[1], port)).expect("there is a way");
            socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
            socket
        });
        Self { socket: socket.join().expect("it connects") }
    }

    /// How long one datagram takes there and back.
    fn round_trip(&self) -> Nanoseconds {
        let sent = monotonic_now();
        self.socket.send(b"ping").expect("there is a way");
        self.socket.recv(&mut [0; 16]).expect("it comes back");
        monotonic_now().since(sent)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.socket.send(b"");
    }
}

/// The lower quartile. A busy machine only lengthens round trips, so the shorter ones are closest to the
/// link's delay.
fn quarter(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

/// Round trips by a null relay and by another one, alternately, in nanoseconds.
struct Trips {
    null: Vec<f64>,
    other: Vec<f64>,
    /// The other relay's report of them.
    report: Relayed,
}

/// Round trips at the start that are not counted.
const FIRST: usize = 20;
const TRIPS: usize = 200;

fn trips(change: impl FnOnce(&mut Settings)) -> Trips {
    let grounds = [Ground::new(1500, 1), Ground::new(1500, 1)];
    grounds.iter().for_each(Ground::introduce);
    // Waking a thread on another core takes longer than on the same one, so both paths use the same cores.
    let cores = CoreLayout::detect().expect("two cores");
    let core = cores.service()[0];
    pin_current_thread(cores.client()).expect("a core that may be used");
    let null_relay = grounds[0].relay(|settings| settings.core = Some(core));
    let other = grounds[1].relay(|settings| {
        settings.core = Some(core);
        change(settings);
    });
    let echoes = grounds.each_ref().map(|ground| Echo::new(ground, core));
    let trip = |which: usize| {
        // All threads on either path have slept equally long, since waking takes longer after a longer sleep.
        std::thread::sleep(Duration::from_millis(2));
        echoes[which].round_trip().as_nanos() as f64
    };
    let (null, other_times): (Vec<f64>, Vec<f64>) = (0..FIRST + TRIPS).map(|_| (trip(0), trip(1))).unzip();
    drop(null_relay);
    Trips { null: null[FIRST..].to_vec(), other: other_times[FIRST..].to_vec(), report: other.stop() }
}

/// Keeps every processor awake with programs of the lowest priority. On some hosts a sleeping processor takes
/// tens of microseconds to wake, longer after a longer sleep, and a delay lets it sleep.
struct Awake(Vec<Child>);

impl Awake {
    fn all() -> Self {
        // Each in its own session: where the kernel first shares time among sessions, the session's priority
        // counts.
        const SPIN: &str = "echo 19 > /proc/self/autogroup; while :; do :; done";
        let words = ["nice", "-n", "19", "sh", "-c", SPIN];
        let spin = || Command::new("setsid").args(words).stderr(Stdio::null()).spawn();
        let processors = 0..std::thread::available_parallelism().map_or(1, usize::from);
        Self(processors.map(|_| spin().expect("`setsid`, `nice` and a shell")).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Repeats a claim about times if it does not hold, since other programs or the hypervisor may take the cores
/// for longer than one try. A wrong claim does not hold in any of them.
fn in_one_of_some_tries(claim: impl Fn() -> Result<(), String>) {
    let _awake = Awake::all();
    let begun = monotonic_now();
    let mut failures = Vec::new();
    while let Err(why) = claim() {
        failures.push(why);
        assert!(monotonic_now().since(begun).as_duration() < 2 * PATIENCE, "{failures:#?}");
    }
}

#[test]
fn a_planted_delay_is_recovered_against_the_null_relay() {
    let Some(_turn) = turn() else { return };
    in_one_of_some_tries(|| {
        let Trips { null, other, report } = trips(|settings| {
            (settings.forward, settings.reverse) = (impairment("delay=1ms"), impairment("delay=1ms"))
        });
        for direction in [&report.forth, &report.back] {
            // To the three digits of the histogram.
            let delay = direction.delay;
            assert!(delay.min_ns >= 999_000 && delay.max_ns <= 1_001_000, "{report:?}");
            assert_eq!(direction.sent as usize, FIRST + TRIPS);
        }
        let (planted, found) = (2e6, quarter(&other) - quarter(&null));
        if (found / planted - 1.0).abs() < 0.02 { Ok(()) } else { Err(format!("{found} ns: {report:?}")) }
    });
}

#[test]
fn planted_jitter_is_recovered_frame_by_frame() {
    let Some(_turn) = turn() else { return };
    let jittery = impairment("delay=1ms,jitter=400us");
    let mut fates = Fates::new(&jittery, 11, Direction::Forward);
    let mut held = || match fates.draw() {
        Fate::Held(held) => held.as_nanos() as f64,
        Fate::Lost => panic!("nothing is lost"),
    };
    let drawn: Vec<f64> = (0..FIRST + TRIPS).map(|_| held()).skip(FIRST).collect();
    in_one_of_some_tries(|| {
        let Trips { null, other, report } =
            trips(|settings| (settings.forward, settings.seed) = (jittery, 11));
        let left: Vec<f64> = other.iter().zip(&drawn).map(|(time, drawn)| time - drawn).collect();
        // Each trip without its own delay is a trip by the null relay, to 2 % of the delay.
        let off = quarter(&left) - quarter(&null);
        // One delay for all would leave a tenth of the trips within a tenth of the width.
        let near = left.iter().filter(|time| (*time - quarter(&left)).abs() < 40_000.0).count();
        match off.abs() < 20_000.0 && near > TRIPS / 2 {
            true => Ok(()),
            false => Err(format!("{off} ns off, {near} near: {report:?}")),
        }
    });
}

#[test]
fn order_is_kept_unless_it_is_free() {
    let Some(_turn) = turn() else { return };
    let ground = Ground::new(1500, 1);
    ground.introduce();
    for (order, sorted) in [("kept", true), ("free", false)] {
        let jittery = impairment(&format!("delay=20ms,jitter=20ms,order={order}"));
        let relay = ground.relay(|settings| settings.forward = jittery);
        let mut arrived = datagrams(&ground, 200, 200, 100, usize::MAX);
        assert_eq!(arrived.is_sorted(), sorted, "{order}");
        arrived.sort_unstable();
        assert_eq!(arrived, Vec::from_iter(0..200), "{order}");
        assert!(relay.stop().forth.waiting_max > 10);
    }
}

#[test]
fn what_exceeds_the_queue_is_dropped_and_counted() {
    let Some(_turn) = turn() else { return };
    let ground = Ground::new(1500, 1);
    ground.introduce();
    // Longer than any machine takes to send them all.
    let mut relay = ground.relay(|settings| settings.forward = impairment("delay=2s,limit=50"));
    let arrived = datagrams(&ground, 200, 50, 100, usize::MAX);
    assert_eq!(arrived, Vec::from_iter(0..50));
    let report = relay.ask();
    let forth = report.forth;
    assert_eq!((forth.came, forth.sent, forth.full, forth.waiting), (200, 50, 150, 0));
    assert_eq!(forth.waiting_max, 50);
    assert_eq!(relay.stop().forth, forth);
    assert!(DEFAULT_LIMIT.get() > 1000);
}

#[test]
fn a_relay_says_what_keeps_it_from_carrying() {
    let Some(_turn) = turn() else { return };
    let ground = Ground::new(1500, 1);
    let refusal = |ground: &Ground, first: &'static str, second: &'static str| {
        let refused = ground.in_the_middle(move || {
            let watch = frames::Watch {
                orders: std::fs::File::open("/dev/null").expect("it is there"),
                signals: None,
            };
            let settings = Settings::null(ground::pair(first, second));
            frames::run(&settings, watch, &mut Vec::new()).map(drop).expect_err("it cannot").to_string()
        });
        refused.join().expect("it does not panic")
    };
    assert_eq!(
        refusal(&ground, "left", "nowhere"),
        "there is no interface `nowhere` in this network namespace; `ip link` lists those that there are"
    );
    ground.ip_in_the_middle("link set right mtu 1400");
    assert_eq!(
        refusal(&ground, "left", "right"),
        "`left` has an MTU of 1500 and `right` one of 1400; give both the same"
    );
    ground.ip_in_the_middle("link set right down");
    assert_eq!(
        refusal(&ground, "left", "right"),
        "interface `right` is down; bring it up with `ip link set right up`"
    );
    ground.ip_in_the_middle("link set right up mtu 1500");
    // An interface that disappears meanwhile ends the relay.
    let relay = ground.relay(|_| {});
    ground.ip_in_the_middle("link delete right");
    let error = relay.fail().to_string();
    assert_eq!(error, "interface `right` went down or away; leave it up until the relay has ended");
}
