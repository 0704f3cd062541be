//! Three network namespaces in a row, for tests of the packet relay: two hosts, and between them one for the
//! relay. Dropping the value removes them, also when a test panics.
//!
//! Threads enter a namespace, so `ip` is the only program started.
#![allow(dead_code)] // not every test program uses all of it

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use weighbridge_lab::layers::frames::{self, FramesError, InterfacePair, Settings, Watch};
use weighbridge_model::relayed::Relayed;

/// The IPv4 addresses of the hosts.
pub const HOSTS: [&str; 2] = ["10.99.0.1", "10.99.0.2"];
/// Their IPv6 addresses.
pub const HOSTS_V6: [&str; 2] = ["fd99::1", "fd99::2"];

static MADE: AtomicU32 = AtomicU32::new(0);

/// The namespaces.
pub struct Ground {
    /// First host, middle, second host.
    names: [String; 3],
}

/// Whether namespaces can be made here; otherwise the test is skipped.
pub fn may_make_namespaces() -> bool {
    let may = rustix::process::geteuid().is_root();
    if !may {
        super::skips::skipped_layers("namespaces need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)");
    }
    may
}

impl Ground {
    /// Hosts whose interface `eth0` has this MTU, connected to `left` and `right` in the middle. Each frame
    /// is one packet, unless `segments` allows more.
    pub fn new(mtu: u32, segments: u32) -> Self {
        let number = std::process::id().wrapping_mul(251).wrapping_add(MADE.fetch_add(1, Ordering::Relaxed));
        let ground = Self { names: ["a", "m", "b"].map(|end| format!("wb-{number:08x}{end}")) };
        let [first, middle, second] = &ground.names;
        for name in &ground.names {
            ip(&format!("netns add {name}"));
        }
        for ((host, side), index) in [(first, "left"), (second, "right")].into_iter().zip(0..) {
            ip(&format!(
                "-n {host} link add eth0 mtu {mtu} type veth peer name {side} mtu {mtu} netns {middle}"
            ));
            ip(&format!("-n {middle} link set {side} addrgenmode none up"));
            ip(&format!("-n {host} link set eth0 gso_max_segs {segments} addrgenmode none up"));
            ip(&format!("-n {host} address add {}/24 dev eth0", HOSTS[index]));
            ip(&format!("-n {host} address add {}/64 dev eth0 nodad", HOSTS_V6[index]));
            ip(&format!("-n {host} link set lo up"));
        }
        ground
    }

    /// Configures each host with the other's hardware address and switches IPv6 off, so that only what a test
    /// sends is in transit.
    pub fn introduce(&self) {
        let [first, _, second] = &self.names;
        for host in [first, second] {
            let off = inside(host, || std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1"));
            // A kernel without IPv6 has nothing to switch off.
            let _ = off.join().expect("it does not panic");
        }
        for (host, other, address) in [(first, second, HOSTS[1]), (second, first, HOSTS[0])] {
            let hardware = self.hardware_address(other);
            ip(&format!("-n {host} neighbour replace {address} lladdr {hardware} dev eth0 nud permanent"));
        }
    }

    fn hardware_address(&self, host: &str) -> String {
        let shown = Command::new("ip").args(["-n", host, "-o", "link", "show", "eth0"]).output().expect("ip");
        let text = String::from_utf8(shown.stdout).expect("text");
        let after = text.split_once("link/ether ").expect("a hardware address").1;
        after.split(' ').next().expect("a word").to_owned()
    }

    /// Runs `ip` in the middle.
    pub fn ip_in_the_middle(&self, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.names[1]));
    }

    /// Runs a job on a thread of the first or second host.
    pub fn at_host<T: Send + 'static>(
        &self,
        host: usize,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        inside(&self.names[host * 2], what)
    }

    /// Runs a job on a thread in the middle.
    pub fn in_the_middle<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        inside(&self.names[1], what)
    }

    /// Starts a relay in the middle and waits until it carries frames.
    pub fn relay(&self, change: impl FnOnce(&mut Settings)) -> Running {
        let mut settings = Settings::null(pair("left", "right"));
        change(&mut settings);
        let (orders, end) = std::io::pipe().expect("a pipe");
        let (said, hear) = mpsc::channel();
        let watch = Watch { orders: File::from(OwnedFd::from(orders)), signals: None };
        let thread = self.in_the_middle(move || frames::run(&settings, watch, &mut Lines { said }));
        let running = Running { end: Some(end), thread: Some(thread), hear };
        assert_eq!(running.hear_line(), "ready direct\n");
        running
    }
}

/// A pair of interfaces.
pub fn pair(first: &str, second: &str) -> InterfacePair {
    InterfacePair::try_new(first.to_owned(), second.to_owned()).expect("they differ")
}

impl Drop for Ground {
    fn drop(&mut self) {
        for name in &self.names {
            // Interfaces are removed with their namespace. What was not made cannot be removed.
            let _ = Command::new("ip").args(["netns", "delete", name]).stderr(Stdio::null()).status();
        }
    }
}

#[track_caller]
fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).output().expect("`ip` of iproute2 starts");
    assert!(done.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&done.stderr));
}

fn inside<T: Send + 'static>(name: &str, what: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let namespace = File::open(format!("/run/netns/{name}")).expect("a namespace");
    std::thread::spawn(move || {
        let entered =
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(LinkNameSpaceType::Network));
        entered.expect("root may enter a namespace");
        what()
    })
}

/// Sends every line that is written to it.
struct Lines {
    said: mpsc::Sender<String>,
}

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.said.send(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A relay that carries frames until the value is dropped.
pub struct Running {
    end: Option<std::io::PipeWriter>,
    thread: Option<JoinHandle<Result<Relayed, FramesError>>>,
    hear: mpsc::Receiver<String>,
}

impl Running {
    /// Ends it and returns its report.
    pub fn stop(mut self) -> Relayed {
        self.end = None;
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("it does not panic").expect("it ends well")
    }

    /// Waits until it ends by itself and returns its error.
    pub fn fail(mut self) -> FramesError {
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("it does not panic").expect_err("it cannot go on")
    }

    /// Its report so far.
    pub fn ask(&mut self) -> Relayed {
        let end = self.end.as_mut().expect("it runs");
        end.write_all(b"\n").expect("it reads");
        serde_json::from_str(&self.hear_line()).expect("a report")
    }

    fn hear_line(&self) -> String {
        let mut text = String::new();
        while !text.ends_with('\n') {
            text += &self.hear.recv().expect("the relay says something");
        }
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
