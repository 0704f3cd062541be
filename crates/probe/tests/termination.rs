//! SIGTERM and SIGINT end a probe properly: the outstanding reply is still sent, then the process exits.
//!
//! Without the test harness, since signals must be blocked before any other thread exists: the test starts itself as
//! the probe.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use weighbridge_probe::{Options, Stop, serve};

const CHILD: &str = "WEIGHBRIDGE_TEST_PROBE";

fn main() {
    if std::env::var_os(CHILD).is_some() {
        return be_the_probe();
    }
    for signal in ["TERM", "INT"] {
        a_signal_ends_the_probe_in_order(signal);
    }
}

fn be_the_probe() {
    let stop = Stop::on_termination().unwrap();
    let options = Options::new("constant:time=50ms".parse().unwrap());
    let finished = serve(options, &stop, |port| {
        let mut output = std::io::stdout();
        writeln!(output, "ready {port}").and_then(|()| output.flush()).unwrap();
    });
    assert_eq!(finished.unwrap().totals.requests, 2);
}

fn a_signal_ends_the_probe_in_order(signal: &str) {
    let mut probe = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    BufReader::new(probe.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    let port: u16 = ready.strip_prefix("ready ").unwrap().trim_end().parse().unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.write_all("GET /pong/5 HTTP/1.1\r\n\r\n".repeat(2).as_bytes()).unwrap();
    // The first byte of the first reply shows that the probe has read the second request.
    let mut first = [0];
    client.read_exact(&mut first).unwrap();
    let kill = format!("kill -{signal} {}", probe.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("poong") && rest.matches("poong").count() == 2, "{signal}: {rest:?}");
    assert!(probe.wait().unwrap().success(), "{signal}");
}
