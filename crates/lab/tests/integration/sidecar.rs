//! Sidecars: the configuration written for each program, byte for byte, and real traffic through each
//! installed program. `UPDATE_GOLDEN=1` rewrites the golden files.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use weighbridge_lab::host::cores::CoreLayout;
use weighbridge_lab::host::ports::free_port;
use weighbridge_lab::layers::sidecar::proxy::{Passed, Program, Setup, Wire};
use weighbridge_lab::process::launch::Lab;

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn setup(program: Program, wire: Wire, folder: &Path) -> Setup {
    let (listen, service) = (at(8081), at(8080));
    Setup { program, wire, listen, service, connections: 16, folder: folder.to_owned() }
}

#[test]
fn configurations_are_as_kept() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sidecar");
    let wires = [("http1", Wire::Http1), ("http2", Wire::Http2), ("grpc", Wire::Grpc), ("tcp", Wire::Tcp)];
    for program in Program::ALL {
        for (name, wire) in wires.into_iter().filter(|(_, wire)| program.carries(*wire).is_ok()) {
            let made = setup(program, wire, Path::new("/nowhere")).configuration();
            let file = kept.join(format!("{}-{name}.txt", program.name()));
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&file, &made).expect("the golden file");
            }
            let golden = fs::read_to_string(&file)
                .unwrap_or_else(|error| panic!("{}: {error}; set UPDATE_GOLDEN=1", file.display()));
            assert_eq!(made, golden, "`{}` differs; if that is meant, set UPDATE_GOLDEN=1", file.display());
        }
    }
}

/// Answers every request, one connection after the other, until the listener's other owner is gone.
fn answer(listener: TcpListener) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        threads.push(std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length) = stream.read(&mut chunk) {
                // Requests here are short and sent one at a time, so that each arrives in one piece.
                if length == 0 || stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err()
                {
                    return;
                }
            }
        }));
    }
}

fn exchange(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n").expect("a request");
    let mut reply = String::new();
    let mut chunk = [0; 4096];
    while !reply.ends_with("\r\n\r\nok") {
        let length = stream.read(&mut chunk).expect("a reply");
        assert!(length > 0, "closed after `{reply}`");
        reply.push_str(&String::from_utf8_lossy(&chunk[..length]));
    }
    reply
}

#[test]
fn traffic_passes_and_is_counted_by_the_program_itself() {
    let listener = TcpListener::bind(at(0)).expect("a port");
    let service = listener.local_addr().expect("bound");
    std::thread::spawn(move || answer(listener));
    let scratch = tempfile::tempdir().expect("a folder");
    // Longer than the address of a Unix socket can be.
    let deep: PathBuf = scratch.path().join("a-long-name-for-a-folder-of-a-run-".repeat(5));
    let lab = Lab::new("sidecar-test", None, None);
    let cores = CoreLayout::detect().expect("cores").service().to_vec();
    for program in Program::ALL {
        let Ok(executable) = program.find() else { continue };
        assert!(program.version().expect("a version").starts_with(|c: char| c.is_ascii_digit()));
        for wire in [Wire::Http1, Wire::Tcp].into_iter().filter(|wire| program.carries(*wire).is_ok()) {
            let folder = deep.join(format!("{}-{wire:?}", program.name()));
            let listen = at(free_port().expect("a port"));
            let setup = Setup { listen, service, ..setup(program, wire, &folder) };
            let mut sidecar = setup.start(&lab, &executable, &cores).expect("a sidecar");
            assert_eq!(sidecar.gauge.passed().expect("counters").requests.unwrap_or_default(), 0);
            let mut stream = TcpStream::connect(listen).expect("a connection");
            for _ in 0..3 {
                assert!(exchange(&mut stream).starts_with("HTTP/1.1 200"));
            }
            let passed = sidecar.gauge.passed().expect("counters");
            let requests = (wire == Wire::Http1).then_some(3);
            assert_eq!(passed, Passed { connections: 1, requests }, "{} {wire:?}", program.name());
            passed.prove(3).expect("it passed there");
            sidecar.running.freeze().expect("it stands still");
            sidecar.running.thaw().expect("it goes on");
            exchange(&mut stream);
            drop(stream);
            sidecar.running.stop(weighbridge_lab::process::GRACE);
        }
    }
    assert!(Program::Haproxy.find().is_ok() && Program::Nginx.find().is_ok(), "run `scripts/setup --tests`");
}
