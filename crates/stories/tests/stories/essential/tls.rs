//! Stories of `https://`: what is trusted, what is refused and in which words, and a program of the user's own that
//! gets its certificate from `weigh`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use weighbridge_conductor::tls::Certificates;

use crate::support::{World, server::GOOD};

/// Serves connections on threads, every request answered alike.
fn serve(listener: TcpListener, certificate: &Path, key: &Path) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from_pem_file(certificate).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .expect("a good configuration");
    let config = Arc::new(config);
    for stream in listener.incoming().flatten() {
        let config = Arc::clone(&config);
        std::thread::spawn(move || {
            let session = ServerConnection::new(config).expect("a session");
            let _ = stream.set_nodelay(true);
            let mut stream = StreamOwned::new(session, stream);
            while read_head(&mut stream) && stream.write_all(GOOD).and_then(|()| stream.flush()).is_ok() {}
        });
    }
}

fn read_head(stream: &mut StreamOwned<ServerConnection, TcpStream>) -> bool {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).map_or(true, |count| count == 0) {
            return false;
        }
        head.push(byte[0]);
    }
    true
}

/// A server until the test ends, and the certificates that it uses.
fn server() -> (String, Certificates) {
    let certificates = Certificates::make().expect("certificates");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("https://{}/", listener.local_addr().expect("bound"));
    let (certificate, key) = (certificates.certificate(), certificates.key());
    std::thread::spawn(move || serve(listener, &certificate, &key));
    (url, certificates)
}

fn file(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

fn handshakes(figures: &Value, kind: &str) -> u64 {
    let entries = figures["handshakes"].as_array().expect("a list");
    entries
        .iter()
        .find(|entry| entry["kind"] == kind)
        .map_or(0, |entry| entry["count"].as_u64().expect("a count"))
}

#[test]
fn https_is_loaded_and_its_handshakes_are_told() {
    let ((url, certificates), world) = (server(), World::idle());
    let authority = file(&certificates.authority());
    let with = |more: &[&str]| {
        let mut arguments = vec!["load", &url, "--cacert", &authority, "-n", "50", "--format", "json"];
        arguments.extend(more);
        let ended = world.weigh(&arguments).end();
        let figures = ended.json();
        assert_eq!((&figures["requests"], &figures["errors"]), (&50.into(), &0.into()), "{ended}");
        figures
    };
    let kept = with(&["--tls-min", "1.3"]);
    assert_eq!((handshakes(&kept, "full"), handshakes(&kept, "resumed")), (1, 0), "{kept}");
    let reopened = with(&["--no-keepalive", "--tls-max", "1.2"]);
    assert_eq!(handshakes(&reopened, "full"), 1, "{reopened}");
    assert!(handshakes(&reopened, "resumed") >= 49, "{reopened}");
    let anew = with(&["--no-keepalive", "--no-resumption"]);
    assert_eq!(handshakes(&anew, "resumed"), 0, "{anew}");
    assert!(handshakes(&anew, "full") >= 50, "{anew}");
}

#[test]
fn a_certificate_that_does_not_hold_is_refused_unless_any_will_do() {
    let ((url, certificates), world) = (server(), World::idle());
    let stranger = Certificates::make().expect("certificates");
    let ended = world.weigh(&["load", &url, "-n", "1", "--cacert", &file(&stranger.authority())]).end();
    ended.assert_error(&[
        "no TLS session with",
        "its issuer is not trusted",
        "name the issuer's certificate",
    ]);
    let authority = file(&certificates.authority());
    let named =
        world.weigh(&["load", &url, "-n", "1", "--cacert", &authority, "--server-name", "h.example"]).end();
    named.assert_error(&["no TLS session with", "set the server name"]);
    let any = world.weigh(&["load", &url, "-n", "1", "-k", "--format", "json"]).end();
    assert_eq!(any.json()["errors"], 0, "{any}");
}

#[test]
fn mistakes_in_what_is_asked_of_tls_are_told_before_anything_is_sent() {
    let world = World::idle();
    let tell = |arguments: &[&str], words: &[&str]| {
        let mut all = vec!["load", "-n", "1"];
        all.extend(arguments);
        world.weigh(&all).end().assert_error(words);
    };
    tell(&["http://127.0.0.1:1/", "-k"], &["is plain text", "write `https://`, `rediss://` or `grpcs://`"]);
    tell(&["https://127.0.0.1:1/", "--cacert", "/no/ca.pem"], &["`/no/ca.pem`", "check the path"]);
    tell(&["https://127.0.0.1:1/", "--tls-min", "1.3", "--tls-max", "1.2"], &["newer than", "`1.2`, `1.3`"]);
    let empty = world.write("empty.pem", "");
    tell(&["https://127.0.0.1:1/", "--cacert", &file(&empty)], &["no certificate to trust"]);
}

#[test]
fn init_of_a_secured_address_writes_an_experiment() {
    let world = World::idle();
    world.weigh(&["init", "https://127.0.0.1:8443/a?b=1", "-o", "e.toml"]).end().assert_code(0);
    let plan = world.weigh(&["plan", "e.toml"]).end();
    plan.assert_code(0);
    assert!(
        std::fs::read_to_string(world.path("e.toml")).expect("written").contains("https://127.0.0.1:8443/")
    );
}

/// The program of the next story: it serves where `weigh` starts it, and is nothing otherwise.
#[test]
fn program() {
    let variables = ["PORT", "TLS_CERT", "TLS_KEY"].map(|name| std::env::var(name).ok());
    let [Some(port), Some(certificate), Some(key)] = variables else { return };
    let port = port.parse::<u16>().expect("a port");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free");
    serve(listener, Path::new(&certificate), Path::new(&key));
}

#[test]
fn a_program_of_the_users_own_gets_a_certificate_that_is_trusted() {
    let ((url, certificates), world) = (server(), World::idle());
    let program = std::env::current_exe().expect("this test");
    let ours = format!(
        "name = \"ours\"\ncommand = [\"{}\", \"essential::tls::program\", \"--exact\"]\nready = \"port\"\ntls = true",
        program.display()
    );
    let authority = file(&certificates.authority());
    let theirs =
        format!("name = \"theirs\"\nurl = \"{url}\"\ntls = {{ ca = \"{authority}\", min = \"1.3\" }}");
    let text = crate::support::experiment("", &[&ours, &theirs]);
    let experiment = world.write("secured.toml", &text.replace("\"pingpong\"", "\"http\""));
    let verified = world.weigh(&["verify", &file(&experiment)]).end();
    verified.assert_code(0);
    world.assert_nothing_left();
}
