//! Stories of `weigh run` over TLS: the reference services and servers of the user's own, every protocol, sessions taken
//! up again or not, client certificates and authorities of the user's. Handshakes are counted to the last one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use weighbridge_model::record::{HandshakeKind, TrialRecord, WindowEnd};
use weighbridge_store::RunFolder;

use crate::support::service::{self, Service};
use crate::support::{Ended, World, measuring, server::GOOD};

/// Four small blocks of these variants under this load.
fn experiment(load: &str, variants: &[String]) -> String {
    let variants: String = variants.iter().map(|lines| format!("[[variant]]\n{lines}\n")).collect();
    format!(
        "title = \"secured\"\n[load]\nwarmup = \"20 ms\"\n{load}\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"2 s\"\nwindow = \"5 ms\"\n{variants}"
    )
}

/// Runs an experiment to its verdict and returns its trials, in which nothing failed.
fn measure(world: &World, text: &str, variants: usize) -> Vec<TrialRecord> {
    world.write("experiment.toml", text);
    let services = service::folder();
    // Toolchains are found by way of the user's home.
    let home = std::env::var("HOME").expect("a home");
    let run = world.run(&["--details"]).env("WEIGH_SERVICES", services.to_str().expect("a plain path"));
    let ended = run.env("HOME", &home).end();
    ended.assert_measured();
    assert!(ended.stdout.contains("▸ response p50"), "{ended}");
    let folder = RunFolder::open(world.run_folder()).expect("a run");
    let trials: Vec<_> = folder.load_blocks().expect("its record").into_iter().flatten().collect();
    assert_eq!(trials.len(), 4 * variants, "{ended}");
    for window in trials.iter().flat_map(|trial| &trial.windows) {
        let figures = &window.figures;
        assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0), "{window:?}");
    }
    trials
}

/// Handshakes of all windows of a trial: all, and those that took up a session.
fn handshakes(trial: &TrialRecord) -> (u64, u64) {
    let sum = |(all, resumed): (u64, u64), window: &weighbridge_model::record::WindowRecord| {
        (all + window.figures.handshakes, resumed + window.figures.resumed)
    };
    trial.windows.iter().fold((0, 0), sum)
}

fn connects(trial: &TrialRecord) -> u64 {
    trial.windows.iter().map(|window| window.figures.connects).sum()
}

/// The services in this protocol, in plain text and over TLS.
fn services_by(protocol: &str) {
    ["rust", "go"].iter().for_each(|name| service::build(name));
    let variant = |name: &str, service: &str, tls: &str| {
        format!("name = \"{name}\"\nservice = \"{service}\"\nprotocol = \"{protocol}\"\n{tls}")
    };
    let variants = [
        variant("plain", "rust", ""),
        variant("rust", "rust", "tls = true"),
        variant("go", "go", "tls = { min = \"1.3\" }"),
        variant("go 1.2", "go", "tls = { max = \"1.2\" }"),
    ];
    let workload = "connections = 2\n[workload]\nname = \"pingpong\"\nsizes = [\"64 B\", \"20 kB\"]";
    let world = World::new();
    let trials = measure(&world, &experiment(workload, &variants), variants.len());
    for trial in &trials {
        // Connections are opened before the first window and kept.
        assert_eq!((connects(trial), handshakes(trial)), (0, (0, 0)));
        let before = &trial.tallies[0].handshakes;
        let opened = HandshakeKind::ALL.map(|kind| before.count(kind)).iter().sum::<u64>();
        assert_eq!(opened, if trial.variant.index() == 0 { 0 } else { 2 }, "{}", trial.variant.index());
    }
    world.assert_nothing_left();
}

#[test]
fn services_are_weighed_with_and_without_tls_over_http1() {
    measuring(|| services_by("http1-json"));
}

#[test]
fn services_are_weighed_with_and_without_tls_over_http2() {
    measuring(|| services_by("http2-json"));
}

#[test]
fn services_are_weighed_with_and_without_tls_over_grpc() {
    measuring(|| services_by("grpc"));
}

#[test]
fn sessions_are_taken_up_again_unless_that_is_off() {
    measuring(|| {
        ["rust", "go"].iter().for_each(|name| service::build(name));
        let variant = |service: &str, version: &str, resumption: bool| {
            format!(
                "name = \"{service} {version} {resumption}\"\nservice = \"{service}\"\n\
                 tls = {{ min = \"{version}\", max = \"{version}\", resumption = {resumption} }}"
            )
        };
        let variants = [
            variant("rust", "1.3", true),
            variant("rust", "1.3", false),
            variant("rust", "1.2", true),
            variant("go", "1.2", false),
            variant("go", "1.3", true),
        ];
        let world = World::new();
        let churned = "churn = 25\n[workload]\nname = \"pingpong\"";
        let trials = measure(&world, &experiment(churned, &variants), variants.len());
        for trial in &trials {
            let requests: u64 = trial.windows.iter().map(|window| window.figures.requests).sum();
            let (all, resumed) = handshakes(trial);
            assert_eq!(connects(trial), requests.div_ceil(25) - 1, "{requests} requests");
            assert_eq!(all, connects(trial), "each connection shook hands once");
            let resumes = variants[trial.variant.index()].contains("resumption = true");
            assert_eq!(resumed, if resumes { all } else { 0 }, "{}", variants[trial.variant.index()]);
        }
    });
}

#[test]
fn a_server_elsewhere_is_trusted_by_its_own_authority_only() {
    measuring(|| {
        let service = Service::start_secured("rust", "http2-json");
        let world = World::new();
        let variant = |name: &str, tls: &str| {
            format!(
                "name = \"{name}\"\nurl = \"https://127.0.0.1:{}/\"\nprotocol = \"http2-json\"\n{tls}",
                service.port
            )
        };
        let ca = format!("tls = {{ ca = \"{}\" }}", service.authority());
        let named = format!("tls = {{ ca = \"{}\", server_name = \"localhost\" }}", service.authority());
        let pong = "[workload]\nname = \"pingpong\"";
        let text = experiment(pong, &[variant("by address", &ca), variant("by name", &named)]);
        measure(&world, &text, 2);

        let refused = |tls: &str, words: &[&str]| {
            let world = World::idle();
            world.write("experiment.toml", &experiment(pong, &[variant("elsewhere", tls)]));
            world.run(&[]).end().assert_error(&[&["variant `elsewhere`"], words].concat());
        };
        refused("tls = true", &["its issuer is not trusted"]);
        let other = format!("tls = {{ ca = \"{}\", server_name = \"h.example\" }}", service.authority());
        refused(&other, &["set the server name"]);
    });
}

// --- Client certificates ------------------------------------------------------------------------------------------

/// An authority, its file, and the files of a client's certificate and key that it signed.
struct Pki {
    folder: tempfile::TempDir,
}

impl Pki {
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut issuer = CertificateParams::new(Vec::new()).expect("parameters");
        issuer.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(issuer, key).expect("an authority");
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("a file");
        for (name, usage) in
            [("server", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)]
        {
            let mut params =
                CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()]).expect("parameters");
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate().expect("a key");
            let certificate = params.signed_by(&key, &issuer).expect("a certificate");
            std::fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).expect("a file");
            std::fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).expect("a file");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Serves connections of clients whose certificate the authority signed, and of nobody else.
    fn serve(&self) -> SocketAddr {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let authority = CertificateDer::from_pem_file(self.path("ca.pem")).expect("a certificate");
        let mut roots = RootCertStore::empty();
        roots.add(authority).expect("an authority");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let chain = vec![CertificateDer::from_pem_file(self.path("server.pem")).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_file(self.path("server.key")).expect("a key");
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(chain, key);
        let config = Arc::new(config.expect("a good configuration"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    answer(StreamOwned::new(session, stream));
                });
            }
        });
        address
    }
}

fn answer(mut stream: StreamOwned<ServerConnection, std::net::TcpStream>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if stream.write_all(GOOD).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_server_that_asks_who_the_client_is_gets_its_certificate() {
    measuring(|| {
        let pki = Pki::make();
        let address = pki.serve();
        let path = |name: &str| pki.path(name).to_str().expect("a plain path").to_owned();
        let variant = |name: &str, more: &str| {
            format!(
                "name = \"{name}\"\nurl = \"https://{address}/\"\ntls = {{ ca = \"{}\"{more} }}",
                path("ca.pem")
            )
        };
        let known = format!(", cert = \"{}\", key = \"{}\"", path("client.pem"), path("client.key"));
        let http = "[workload]\nname = \"http\"";
        let world = World::new();
        let variants = [variant("1.3", &known), variant("1.2", &format!("{known}, max = \"1.2\""))];
        measure(&world, &experiment(http, &variants), 2);

        let refused = |more: &str, words: &[&str]| -> Ended {
            let world = World::idle();
            world.write("experiment.toml", &experiment(http, &[variant("nobody", more)]));
            let ended = world.run(&[]).end();
            ended.assert_error(words);
            ended
        };
        for version in ["1.2", "1.3"] {
            refused(&format!(", min = \"{version}\", max = \"{version}\""), &["`nobody`", "certificate"]);
        }
        let other = Pki::make();
        let stranger = format!(
            ", cert = \"{}\", key = \"{}\"",
            other.path("client.pem").display(),
            other.path("client.key").display()
        );
        refused(&stranger, &["`nobody`"]);
        let mixed = format!(", cert = \"{}\", key = \"{}\"", path("client.pem"), path("server.key"));
        refused(&mixed, &["key"]);
    });
}
