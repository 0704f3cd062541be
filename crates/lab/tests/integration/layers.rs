//! Layers with real packets, in this kernel: hosts, a link with a rate, an overlay. Without the permission to
//! make networks, the tests check the error that says what is missing.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use weighbridge_lab::cleanup::registry::list;
use weighbridge_lab::layers::{Answered, Site, SiteConfig, probe};
use weighbridge_lab::net::{Capability, FOLDER, tools};
use weighbridge_lab::removal::stale::{CleanMode, CleanOutcome, clean};
use weighbridge_model::network::LinkCounters;

use crate::sites::{Bench, layers};

/// One small request and its reply.
const ONE: Answered = Answered { requests: 1, bytes: 2 };

impl Bench {
    /// The site of those layers; `None` where this process may make none, after it was checked that it is
    /// told why.
    fn site_if_permitted(&self, text: &str) -> Option<Site> {
        let layers = layers(text);
        let lacking = tools::missing(&[Capability::SysAdmin, Capability::NetAdmin]);
        if let Some(capability) = lacking.first() {
            let why = probe(&layers).expect_err("it lacks what is needed");
            assert!(why.contains("layer `veth`") && why.contains(capability.name()), "{why}");
            assert!(why.contains("run as root"), "{why}");
            return None;
        }
        probe(&layers).expect("this host has what the layers need");
        let config = SiteConfig { variant: 3, cores: Vec::new(), logs: self.folder.path().join("log") };
        Some(Site::make(&self.lab, config, &layers).expect("the layers can be installed"))
    }

    /// Our entries in the registry.
    fn listed(&self) -> Vec<String> {
        let listed = list(&self.folder.path().join("registry")).expect("registries");
        listed.iter().flat_map(|listed| &listed.resources).map(ToString::to_string).collect()
    }

    fn namespaces(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| path.to_string_lossy().contains(self.lab.prefix());
        entries.filter(ours).collect()
    }
}

/// A listener inside the server's network, at the address that clients use.
fn listener(site: &Site) -> (TcpListener, SocketAddr) {
    let listen = || TcpListener::bind((site.server_address(), 0));
    let listener = site.in_server(listen).expect("it can be entered").expect("it can be bound");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

/// Sends bytes from the server to the client; returns those that the client has, and how long they took after
/// the first quarter.
fn download(site: &Site, bytes: usize) -> (usize, Duration) {
    let (listener, address) = listener(site);
    let sender = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(&vec![7; bytes]).expect("it is read");
    });
    let mut stream = site.in_client(|| TcpStream::connect(address)).expect("entered").expect("connected");
    let (mut buffer, mut came, mut since) = (vec![0; 1 << 16], 0, Instant::now());
    let mut counted = 0;
    loop {
        match stream.read(&mut buffer).expect("whole") {
            0 => break,
            more if came < bytes / 4 => {
                came += more;
                since = Instant::now();
            }
            more => {
                came += more;
                counted += more;
            }
        }
    }
    let took = since.elapsed();
    sender.join().expect("sent");
    assert_eq!(came, bytes);
    (counted, took)
}

fn link<'c>(counters: &'c [LinkCounters], host: &str, device: &str) -> &'c LinkCounters {
    counters.iter().find(|link| link.host == host && link.device == device).expect("the link is there")
}

#[test]
fn packets_take_the_way_of_the_hosts_and_nothing_is_left_behind() {
    let bench = Bench::new();
    let devices = || fs::read_to_string("/proc/net/dev").map(|text| text.lines().count());
    // Other tests have their own networks meanwhile.
    let mounts = || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
        mounts.lines().filter(|line| !line.contains("/wb-")).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = (devices().expect("devices"), mounts());
    let Some(mut site) =
        bench.site_if_permitted("[{ layer = 'veth', mtu = 1280, congestion_control = 'reno' }]")
    else {
        return;
    };
    assert_eq!(bench.namespaces().len(), 3);
    let listed = bench.listed();
    for role in ["client", "switch", "server"] {
        let name = format!("{}-3-{role}`", bench.lab.prefix());
        assert!(listed.iter().any(|resource| resource.ends_with(&name)), "{listed:?}");
    }
    // Neither end of a link nor the bridge is in the host's own namespace.
    assert_eq!(devices().expect("devices"), before.0);

    let (listener, address) = listener(&site);
    assert_eq!(site.start_proxy(&bench.lab, address).expect("nothing in front"), address);
    let nothing = site.facts(Answered::default());
    assert_eq!(
        (nothing.unproved, nothing.mtu, nothing.congestion_control.as_deref()),
        (None, Some(1280), Some("reno"))
    );
    // Without packets the answers cannot have passed the link.
    let why = site.facts(ONE).unproved.expect("no packet passed");
    assert!(why.contains("layer `veth`") && why.contains("took another way"), "{why}");

    let mut connector = site.connector().expect("it has hosts");
    let sockets: Vec<_> = (0..40).map(|_| connector.socket().expect("a socket")).collect();
    let socket = TcpStream::from(sockets.into_iter().next_back().expect("forty"));
    let local = site.in_server(|| socket.local_addr()).expect("entered").expect("unbound");
    assert_eq!(local.port(), 0, "it is not connected yet");
    drop(socket);
    let client = std::thread::spawn(move || listener.accept().expect("a client").1);
    let stream = site.in_client(|| TcpStream::connect(address)).expect("entered").expect("connected");
    let peer = client.join().expect("accepted");
    assert_eq!(peer, stream.local_addr().expect("connected"));
    assert_eq!(site.facts(ONE).unproved, None);
    // Opening a connection sends much less than these requests would.
    let many = Answered { requests: 1_000, bytes: 100_000 };
    let why = site.facts(many).unproved.expect("so much did not pass");
    assert!(why.contains("with 100000 bytes in all") && why.contains("took another way"), "{why}");
    drop((stream, connector));
    drop(site);
    assert_eq!((bench.namespaces(), bench.listed()), (Vec::new(), Vec::new()));
    assert_eq!((devices().expect("devices"), mounts()), before);
}

/// The congestion control of the client's and of the service's socket.
fn controls(site: &Site) -> [String; 2] {
    let (listener, address) = listener(site);
    let accepted = std::thread::spawn(move || listener.accept().expect("a client").0);
    let client = site.in_client(|| TcpStream::connect(address)).expect("entered").expect("connected");
    let server = accepted.join().expect("accepted");
    [client, server].map(|stream| rustix::net::sockopt::tcp_congestion(stream).expect("the kernel says"))
}

/// A route may use a congestion control that the host does not allow as a namespace's default.
#[test]
fn tcp_uses_the_configured_congestion_control_whatever_carries_the_packets() {
    let bench = Bench::new();
    let setting =
        |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}")).expect("a setting");
    let usual = setting("congestion_control").trim().to_owned();
    let Some(site) = bench.site_if_permitted("['veth', 'vxlan']") else { return };
    assert_eq!(controls(&site), [usual.clone(), usual.clone()]);
    assert_eq!(site.facts(Answered::default()).congestion_control, Some(usual));
    drop(site);
    for control in setting("available_congestion_control").split_ascii_whitespace() {
        let veth = format!("{{ layer = 'veth', congestion_control = '{control}' }}");
        for inner in ["", ", 'vxlan'", ", { layer = 'vxlan', layout = 'flannel' }", ", 'ovs-geneve'"] {
            let text = format!("[{veth}{inner}]");
            let site = bench.site_if_permitted(&text).expect("it could be made without");
            assert_eq!(controls(&site), [control, control], "{text}");
            assert_eq!(
                site.facts(Answered::default()).congestion_control.as_deref(),
                Some(control),
                "{text}"
            );
        }
    }
    let none = probe(&layers("[{ layer = 'veth', congestion_control = 'nosuch' }]")).expect_err("no such");
    assert!(
        none.contains("no congestion control `nosuch`") && none.contains("modprobe tcp_nosuch"),
        "{none}"
    );
}

#[test]
fn a_link_is_as_fast_as_it_is_told_in_bytes_of_whole_frames() {
    let bench = Bench::new();
    let rate = 80e6;
    let Some(mut site) =
        bench.site_if_permitted("['veth', { layer = 'rate', rate = '80 Mbit/s', burst = '32 kB' }]")
    else {
        return;
    };
    let (_, address) = listener(&site);
    site.start_proxy(&bench.lab, address).expect("nothing in front");
    // A frame's overhead for 1448 bytes of data: Ethernet, IP, TCP with its time stamps.
    let wire = |bytes: usize| bytes as f64 * (1500.0 + 14.0) / 1448.0;
    // A busy host does not make the link faster, so the best of several tries shows its rate.
    let tries = (0..6).map(|_| {
        let (bytes, took) = download(&site, 2_000_000);
        wire(bytes) * 8.0 / took.as_secs_f64()
    });
    let found: Vec<f64> = tries.collect();
    assert!(found.iter().any(|found| (found / rate - 1.0).abs() <= 0.02), "{found:?}");
    // Data that waited before the reader arrives at once, so the rate may be slightly, but never much,
    // higher.
    assert!(found.iter().all(|found| *found < rate * 1.1), "{found:?}");
}

#[test]
fn an_overlay_is_proved_by_the_packets_below_it() {
    let bench = Bench::new();
    for layout in ["direct", "flannel"] {
        let text = format!("['veth', {{ layer = 'vxlan', layout = '{layout}' }}]");
        let Some(mut site) = bench.site_if_permitted(&text) else { return };
        let (_, address) = listener(&site);
        site.start_proxy(&bench.lab, address).expect("nothing in front");
        download(&site, 300_000);
        let facts = site.facts(ONE);
        assert_eq!((facts.unproved.as_deref(), facts.mtu), (None, Some(1450)), "{layout}");
        let device = site.ends().expect("hosts").overlay.clone().expect("an overlay");
        let (above, below) = (link(&facts.links, "server", &device), link(&facts.links, "server", "eth0"));
        assert!(above.sent_bytes > 300_000 && below.sent_bytes > above.sent_bytes, "{layout}: {facts:?}");
        assert!(below.sent_packets >= above.sent_packets, "{layout}: {facts:?}");
        // Traffic beside the overlay is detected.
        let mut elsewhere = facts.links.clone();
        for link in &mut elsewhere {
            if link.device == device {
                (link.sent_packets, link.received_packets) = (0, 0);
            }
        }
        let why = site.unproved(&elsewhere, ONE).expect("no packet passed the overlay");
        assert!(why.contains("layer `vxlan`"), "{why}");
    }
    assert_eq!(bench.namespaces(), Vec::<PathBuf>::new());
}

#[test]
fn what_a_dead_run_left_is_removed_and_only_that() {
    let bench = Bench::new();
    let Some(site) = bench.site_if_permitted("['veth']") else { return };
    let registry = bench.folder.path().join("registry");
    let file = fs::read_dir(&registry).expect("a folder").next().expect("one").expect("readable").path();
    let text = fs::read_to_string(&file).expect("a registry");
    // The same lines under a dead owner: no process has its id and starts at boot.
    let dead = registry.join("dead.jsonl");
    let own = std::process::id();
    let changed = text.replacen(&format!("\"pid\":{own}"), "\"pid\":1999999", 1);
    assert_ne!(changed, text);
    let foreign = "{\"taken\":{\"kind\":\"namespace\",\"path\":\"/run/netns/blue\"}}\n";
    fs::write(&dead, changed + foreign).expect("a file");
    std::mem::forget(site);
    let actions = clean(&registry, CleanMode::Remove).expect("registries");
    let removed = actions.iter().filter(|action| action.outcome == CleanOutcome::Removed);
    assert_eq!(removed.filter(|action| action.what.contains("namespace")).count(), 3, "{actions:?}");
    let kept = actions.iter().find(|action| action.what.contains("blue")).expect("it is told of");
    assert!(matches!(&kept.outcome, CleanOutcome::Kept(why) if why.contains("networks")), "{actions:?}");
    assert_eq!(bench.namespaces(), Vec::<PathBuf>::new());
}
