//! Overlays whose programs are in user space, with real packets: alone, stacked, and with layers of the link.
//! If they are not installed, or no network may be made, the test says so and checks nothing.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use weighbridge_lab::cleanup::registry::list;
use weighbridge_lab::layers::{Answered, Site, SiteConfig, probe};
use weighbridge_lab::net::FOLDER;
use weighbridge_model::network::{LinkCounters, NetworkFacts};

use crate::sites::{Bench, layers};
use crate::skips::{skipped, skipped_layers};

/// One small request and its reply.
const ONE: Answered = Answered { requests: 1, bytes: 2 };
/// What a download of a test carries.
const DOWNLOADED: Answered = Answered { requests: 1, bytes: 300_000 };

impl Bench {
    /// The site of those layers; `None` where this host cannot run them, after it was said.
    fn site_if_installed(&self, text: &str) -> Option<Site> {
        let layers = layers(text);
        if let Err(why) = probe(&layers) {
            // The kernel's own implementation may be missing even where everything is installed.
            let skip = if text.contains("'kernel'") { skipped } else { skipped_layers };
            skip(&format!("{text}: {why}"));
            return None;
        }
        let config = SiteConfig { variant: 3, cores: Vec::new(), logs: self.folder.path().join("log") };
        Some(Site::make(&self.lab, config, &layers).expect("the layers can be installed"))
    }

    fn assert_nothing_left(&self) {
        let listed = list(&self.folder.path().join("registry")).expect("registries");
        let resources: Vec<_> =
            listed.iter().flat_map(|listed| &listed.resources).map(ToString::to_string).collect();
        assert_eq!(resources, Vec::<String>::new());
        let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
        let ours = entries.filter(|path| path.to_string_lossy().contains(self.lab.prefix())).count();
        assert_eq!(ours, 0);
    }
}

/// Sends bytes from the server to the client over a new connection.
fn download(site: &Site, bytes: usize) {
    let listen = || TcpListener::bind((site.server_address(), 0));
    let listener = site.in_server(listen).expect("it can be entered").expect("it can be bound");
    let address: SocketAddr = listener.local_addr().expect("bound");
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&vec![7; bytes]).expect("it is read");
    });
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(60));
    let mut stream = site.in_client(connect).expect("entered").expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let mut came = Vec::new();
    stream.read_to_end(&mut came).expect("whole");
    sender.join().expect("sent");
    assert_eq!(came.len(), bytes);
}

fn link<'c>(counters: &'c [LinkCounters], host: &str, device: &str) -> &'c LinkCounters {
    counters.iter().find(|link| link.host == host && link.device == device).expect("the link is there")
}

/// Counts packets of each kind at the switch, independently of the layers, by the firewall of the switch's
/// network (which runs never use).
struct Witness {
    network: String,
}

impl Witness {
    /// Kinds of packets, as firewall rules.
    const KINDS: [(&'static str, &'static str); 6] = [
        ("UDP 4789", "udp dport 4789"),
        ("UDP 8472", "udp dport 8472"),
        ("UDP 14789", "udp dport 14789"),
        ("UDP 6081", "udp dport 6081"),
        ("UDP 51820", "udp dport 51820"),
        ("GRE", "ip protocol gre"),
    ];

    fn at(site: &Site) -> Self {
        let network = format!("--net={}", site.hosts().expect("hosts").switch.path().display());
        let witness = Self { network };
        let rules = Self::KINDS.iter().map(|(_, rule)| format!("{rule} counter\n"));
        let rules: String = rules.chain(["ip protocol tcp counter\n".to_owned()]).collect();
        let hook = |port: &str| {
            format!("chain {port} {{ type filter hook ingress device {port} priority 0;\n{rules}}}\n")
        };
        let table = format!("table netdev witness {{\n{}{}}}\n", hook("client0"), hook("server0"));
        witness.nft(&["-f", "-"], &table);
        witness
    }

    fn nft(&self, words: &[&str], input: &str) -> String {
        let mut command = Command::new("nsenter");
        command.arg(&self.network).arg("/usr/sbin/nft").args(words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run `scripts/setup --tests` as root");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Packets and bytes of a rule, both ways.
    fn counted(&self, rule: &str) -> (u64, u64) {
        let text = self.nft(&["list", "table", "netdev", "witness"], "");
        let mut sum = (0, 0);
        for line in text.lines().filter_map(|line| line.trim().strip_prefix(rule)) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let ["counter", "packets", packets, "bytes", bytes] = words[..] else { panic!("{line}") };
            sum.0 += packets.parse::<u64>().expect("a count");
            sum.1 += bytes.parse::<u64>().expect("a count");
        }
        sum
    }

    /// Whether all packets that crossed the switch were of the outermost tunnel's kind, and as many as it
    /// says.
    fn agrees(&self, text: &str, facts: &NetworkFacts) {
        let Some(outer) = facts.tunnels.iter().find(|end| end.host == "client") else { return };
        let (_, rule) =
            Self::KINDS.iter().find(|(kind, _)| *kind == outer.kind).expect("a kind that is known");
        let (packets, bytes) = self.counted(rule);
        assert!(bytes > 300_000, "{text}: {packets} packets with {bytes} bytes of {}: {facts:?}", outer.kind);
        let told = outer.received_bytes + outer.sent_bytes;
        assert!(bytes + bytes / 10 >= told, "{text}: {bytes} bytes of {}: {facts:?}", outer.kind);
        assert_eq!(self.counted("ip protocol tcp").0, 0, "{text}: some went beside the tunnel");
    }
}

/// Whether packets pass a daemon that may merge several.
fn has_tunnel(text: &str) -> bool {
    text.contains("wireguard")
}

/// What a layer adds to every packet, and that its packets passed it.
fn assert_carries(bench: &Bench, text: &str, mtu: u32) {
    let Some(mut site) = bench.site_if_installed(text) else { return };
    let address = SocketAddr::new(site.server_address(), 1);
    site.start_proxy(&bench.lab, address).expect("nothing in front");
    let witness = Witness::at(&site);
    download(&site, 300_000);
    let device = site.ends().expect("hosts").overlay.clone().expect("an overlay");
    let mut facts = site.facts(DOWNLOADED);
    // A user-space switch may still hold the last acknowledgements.
    for _ in 0..40 {
        let packets = |device| link(&facts.links, "server", device).sent_packets;
        if has_tunnel(text) || packets("eth0") >= packets(&device) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        facts = site.facts(DOWNLOADED);
    }
    assert_eq!((facts.unproved.as_deref(), facts.mtu), (None, Some(mtu)), "{text}");
    witness.agrees(text, &facts);
    let (above, below) = (link(&facts.links, "server", &device), link(&facts.links, "server", "eth0"));
    assert!(above.sent_bytes > 300_000 && below.sent_bytes >= above.sent_bytes, "{text}: {facts:?}");
    assert!(has_tunnel(text) || below.sent_packets >= above.sent_packets, "{text}: {facts:?}");
    // The kernel's device or a tunnel's daemon may merge several packets; a switch never does.
    let mean = above.sent_bytes as f64 / above.sent_packets as f64;
    let is_handed_whole = ["vxlan", "flannel", "wg"].iter().any(|name| device.starts_with(name));
    assert!(
        is_handed_whole || mean <= f64::from(mtu) + 14.0,
        "{text}: longer than the link carries: {facts:?}"
    );
    // Traffic beside the overlay is detected.
    let mut elsewhere = facts.links.clone();
    for link in elsewhere.iter_mut().filter(|link| link.device == device) {
        (link.sent_packets, link.received_packets) = (0, 0);
    }
    let why = site.unproved(&elsewhere, ONE).expect("no packet passed the overlay");
    assert!(why.contains("took another way"), "{why}");
    // With a switch this would wait until it has counted what never passed.
    if !text.contains("ovs") {
        let more = Answered { requests: 1, bytes: 3_000_000 };
        let why = site.facts(more).unproved.expect("so much did not pass");
        assert!(why.contains("took another way"), "{why}");
    }
    drop(site);
    bench.assert_nothing_left();
}

#[test]
fn each_switch_carries_what_fits_and_its_packets_are_counted() {
    let bench = Bench::new();
    for (layer, mtu) in [("ovs", 1500), ("ovs-vxlan", 1450), ("ovs-geneve", 1450), ("ovs-gre", 1458)] {
        assert_carries(&bench, &format!("['veth', '{layer}']"), mtu);
    }
}

#[test]
fn overlays_stand_on_each_other_and_on_what_a_link_does_to_packets() {
    let bench = Bench::new();
    for (text, mtu) in [
        ("[{ layer = 'veth', mtu = 9000 }, 'ovs-geneve']", 8950),
        ("['veth', { layer = 'rate', rate = '1 Gbit/s' }, 'ovs-geneve']", 1450),
        ("['veth', 'vxlan', 'ovs-gre']", 1408),
        ("['veth', 'ovs-geneve', 'vxlan']", 1400),
        // Both tunnels are of VXLAN, and neither may take the other's packets for its own.
        ("['veth', 'ovs-vxlan', 'vxlan']", 1400),
        ("['veth', 'ovs-vxlan', { layer = 'vxlan', layout = 'flannel' }]", 1400),
        ("['veth', 'vxlan', 'ovs-vxlan']", 1400),
    ] {
        assert_carries(&bench, text, mtu);
    }
}

/// Kernels still exchange acknowledgements after every reply has arrived, and repeat what is not
/// acknowledged.
#[test]
fn programs_that_carry_packets_run_on_while_their_variant_is_frozen() {
    let bench = Bench::new();
    for (text, roles) in [
        (
            "['veth', 'ovs-geneve']",
            &["ovs-server", "ovs-database-server", "ovs-client", "ovs-database-client"][..],
        ),
        ("['veth', 'wireguard']", &["wireguard-client", "wireguard-server"]),
    ] {
        let Some(mut site) = bench.site_if_installed(text) else { return };
        let mut programs = site.take_programs();
        let names: Vec<&str> = programs.iter().map(|(role, _)| role.as_str()).collect();
        // A kernel that makes such tunnels needs no daemons.
        assert!(names == roles || names.is_empty() && has_tunnel(text), "{text}: {names:?}");
        for (role, running) in &mut programs {
            running.freeze().unwrap_or_else(|error| panic!("{role}: {error}"));
        }
        download(&site, 100_000);
        for (role, running) in &mut programs {
            running.thaw().unwrap_or_else(|error| panic!("{role}: {error}"));
        }
        download(&site, 100_000);
        drop(programs);
        drop(site);
        bench.assert_nothing_left();
    }
}

/// UDP packets that arrived at the server's host, whatever carried them.
fn datagrams(site: &Site) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/snmp").expect("the kernel's counters");
    let text = site.in_server(read).expect("entered");
    let line = text.lines().filter(|line| line.starts_with("Udp:")).nth(1).expect("UDP's");
    line.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()).expect("datagrams in")
}

#[test]
fn a_tunnel_carries_packets_encrypted_by_whatever_implements_it() {
    let bench = Bench::new();
    for layer in [
        "'wireguard'",
        "{ layer = 'wireguard', implementation = 'kernel' }",
        "{ layer = 'wireguard', implementation = 'wireguard-go' }",
        "{ layer = 'wireguard', implementation = 'boringtun' }",
    ] {
        assert_carries(&bench, &format!("['veth', {layer}]"), 1440);
    }
}

#[test]
fn a_tunnel_stands_on_and_below_other_overlays_and_on_what_a_link_does_to_packets() {
    let bench = Bench::new();
    for (text, mtu) in [
        ("[{ layer = 'veth', mtu = 9000 }, 'wireguard']", 8940),
        ("['veth', { layer = 'rate', rate = '1 Gbit/s' }, 'wireguard']", 1440),
        ("['veth', 'vxlan', 'wireguard']", 1390),
        ("['veth', { layer = 'vxlan', layout = 'flannel' }, 'wireguard']", 1390),
        ("['veth', 'ovs-geneve', 'wireguard']", 1390),
        ("['veth', 'wireguard', 'vxlan']", 1390),
    ] {
        assert_carries(&bench, text, mtu);
    }
}

#[test]
fn both_ends_of_a_tunnel_agree_on_keys_before_anything_is_asked_and_keep_them_to_themselves() {
    let bench = Bench::new();
    let Some(mut site) = bench.site_if_installed("['veth', 'wireguard']") else { return };
    let address = SocketAddr::new(site.server_address(), 1);
    site.start_proxy(&bench.lab, address).expect("nothing in front");
    let before = datagrams(&site);
    assert!(before > 0, "the ends have agreed");
    let idle = site.facts(Answered::default());
    assert_eq!(idle.unproved, None, "without requests nothing has to pass");
    let why = site.facts(ONE).unproved.expect("nothing passed since");
    assert!(why.contains("layer `wireguard`") || why.contains("layer `veth`"), "{why}");
    download(&site, 300_000);
    assert!(datagrams(&site) > before, "what passed came as UDP packets");
    assert_eq!(site.facts(DOWNLOADED).unproved, None);
    // Both hosts have a device and a socket of the same name, which do not conflict.
    let mut programs = site.take_programs();
    let roles: Vec<&str> = programs.iter().map(|(role, _)| role.as_str()).collect();
    assert!(roles.is_empty() || roles == ["wireguard-client", "wireguard-server"], "{roles:?}");
    for (role, running) in &mut programs {
        assert!(running.is_alive(), "{role}");
        let told = fs::read(format!("/proc/{}/cmdline", running.pid())).expect("it runs");
        assert!(!String::from_utf8_lossy(&told).contains("key"), "{role}");
    }
    drop(programs);
    drop(site);
    let mut logs = String::new();
    for entry in fs::read_dir(bench.folder.path()).expect("logs").flatten() {
        logs += &fs::read_to_string(entry.path()).unwrap_or_default();
    }
    assert!(!logs.to_lowercase().contains("private"), "{logs}");
    assert!(!std::path::Path::new("/var/run/wireguard/wg0.sock").exists(), "sockets are not the host's");
    bench.assert_nothing_left();
}
