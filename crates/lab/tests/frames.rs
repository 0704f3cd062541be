//! The packet relay between real network namespaces: what it carries, what it delays, what it loses.
//!
//! Needs root; without it each test says so and what needs no namespace is tried alone.

mod ground;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::time::Duration;

use ground::{Ground, HOSTS, HOSTS_V6, may_make_namespaces};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use weighbridge_lab::frames::schedule::{Direction, Fate, Fates};
use weighbridge_lab::frames::{self, Way};

/// Long enough for a loaded machine, short enough to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// An ordinary segment's worth of packets for one frame: what TCP hands down unless told otherwise.
const MANY: u32 = 65_535;

fn way(text: &str) -> Way {
    text.parse().expect("a way")
}

/// Sends `bytes` of a seeded stream and ends; the digest.
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

/// Reads to the end; the digest.
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

/// Both directions of one connection at a time; the digests of what each end sent and received.
fn exchange(stream: TcpStream, seed: u64, bytes: usize) -> [[u8; 32]; 2] {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let other = stream.try_clone().expect("a descriptor");
    // A thread is where the one that starts it is; sockets stay where they were made anyway.
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

/// Sends `count` numbered datagrams of `length` bytes from the first host to the second, with a pause after each; the numbers
/// that came, in their order, once as many as are `awaited` came or none for a while.
fn datagrams(ground: &Ground, count: u32, awaited: usize, length: usize, pause: Duration) -> Vec<u32> {
    let (tell, port) = mpsc::channel();
    let receiver = ground.at_host(1, move || {
        let socket = UdpSocket::bind((HOSTS[1], 0)).expect("an address of its own");
        socket.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
        tell.send(socket.local_addr().expect("bound").port()).expect("somebody waits");
        let (mut came, mut room) = (Vec::new(), vec![0; 65_536]);
        while came.len() < awaited
            && let Ok(received) = socket.recv(&mut room)
        {
            let number = u32::from_be_bytes(room[..4].try_into().expect("four bytes"));
            assert_eq!(received, length);
            assert!(room[4..length].iter().all(|byte| *byte == number as u8), "datagram {number}");
            came.push(number);
        }
        came
    });
    let port = port.recv().expect("the receiver is bound");
    let sender = ground.at_host(0, move || {
        let socket = UdpSocket::bind((HOSTS[0], 0)).expect("an address of its own");
        for number in 0..count {
            let mut datagram = vec![number as u8; length];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            socket.send_to(&datagram, (HOSTS[1], port)).expect("there is a way");
            std::thread::sleep(pause);
        }
    });
    sender.join().expect("the sender");
    receiver.join().expect("the receiver")
}

#[test]
fn a_null_relay_carries_every_frame_as_it_came() {
    if !may_make_namespaces() {
        return;
    }
    for (mtu, segments) in [(1500, 1), (1500, MANY), (9000, 1), (1280, 1)] {
        let ground = Ground::new(mtu, segments);
        let relay = ground.relay(|_| {});
        stream_both_ways(&ground, HOSTS, 4 << 20);
        stream_both_ways(&ground, HOSTS_V6, 4 << 20);
        let length = mtu as usize - 28;
        let came = datagrams(&ground, 500, 500, length, Duration::from_micros(50));
        assert_eq!(came, Vec::from_iter(0..500), "MTU {mtu}");
        let report = relay.stop();
        for way in [&report.forth, &report.back] {
            assert_eq!((way.came, way.waiting, way.lost, way.full), (way.sent, 0, 0, 0), "{report:?}");
            assert_eq!((way.refused, way.cut, way.overflowed), (0, 0, 0), "{report:?}");
            assert!(way.sent_bytes.get() > 8 << 20, "{report:?}");
            // A packet that waits for nobody to cut it is one packet.
            assert_eq!(way.whole > 0, segments > 1, "{report:?}");
        }
    }
}

#[test]
fn exactly_the_frames_that_the_seed_says_are_lost() {
    if !may_make_namespaces() {
        return;
    }
    let ground = Ground::new(1500, 1);
    ground.introduce();
    let lossy = way("loss=20%");
    let relay = ground.relay(|settings| (settings.forth, settings.seed) = (lossy, 7));
    let mut fates = Fates::new(&lossy, 7, Direction::Forth);
    let kept: Vec<u32> = (0..1000).filter(|_| fates.draw() != Fate::Lost).collect();
    let came = datagrams(&ground, 1000, kept.len(), 100, Duration::from_micros(20));
    assert_eq!(came, kept);
    let report = relay.stop();
    assert_eq!((report.forth.came, report.forth.lost), (1000, 1000 - kept.len() as u64));
    assert_eq!((report.back.came, report.back.lost), (0, 0), "{report:?}");
}
