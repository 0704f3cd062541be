//! A TLS server on threads, by rustls, and certificates good and bad.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::Mutex;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use weighbridge_load::tls::{Identity, Resumption, TlsClient, TlsOptions, Trust};
use weighbridge_model::experiment::TlsVersion;

use super::support::Server;

/// One connection of the server, decrypted.
pub type Secured = StreamOwned<ServerConnection, TcpStream>;

/// A certificate authority for the tests.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key, PEM.
pub struct Certified {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        // Two authorities must have different names; otherwise a foreign certificate is refused only for its signature.
        let name = format!("authority {:?}", &key.public_key_raw()[..8]);
        params.distinguished_name.push(DnType::CommonName, name);
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("signed") }
    }

    pub fn pem(&self) -> Vec<u8> {
        self.issuer.pem().into_bytes()
    }

    /// A certificate for these names, valid until that year.
    pub fn sign(&self, names: &[&str], until: i32, usage: ExtendedKeyUsagePurpose) -> Certified {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        Certified { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// An authority's own certificate, for this host.
    pub fn own() -> Certified {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("signed");
        Certified { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// A valid server certificate for this host.
    pub fn server(&self) -> Certified {
        self.sign(&["localhost", "127.0.0.1"], 4000, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A valid client certificate.
    pub fn client(&self) -> Identity {
        let made = self.sign(&["client"], 4000, ExtendedKeyUsagePurpose::ClientAuth);
        Identity { certificates: made.certificate.into_bytes(), key: made.key.into_bytes() }
    }

    /// A client that trusts this authority.
    pub fn options(&self) -> TlsOptions {
        TlsOptions {
            server_name: "127.0.0.1".to_owned(),
            trust: Trust::Pem(self.pem()),
            identity: None,
            min: TlsVersion::V12,
            max: TlsVersion::V13,
            resumption: Resumption::On,
        }
    }

    pub fn tls(&self) -> TlsClient {
        TlsClient::new(&self.options()).expect("good options")
    }
}

/// Whether a server requests client certificates.
pub enum Clients<'a> {
    Anyone,
    SignedBy(&'a Authority),
}

/// The server's side of TLS.
pub fn config(
    certified: &Certified,
    versions: &[&'static SupportedProtocolVersion],
    clients: &Clients<'_>,
) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(versions).expect("versions");
    let builder = match clients {
        Clients::Anyone => builder.with_no_client_auth(),
        Clients::SignedBy(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&authority.pem()).expect("PEM")).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(certified.certificate.as_bytes()).expect("PEM")];
    let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).expect("PEM");
    builder.with_single_cert(chain, key).expect("they belong together")
}

pub const BOTH: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12, &rustls::version::TLS13];

/// Calls `serve` in a thread per connection, ready to begin TLS.
pub fn server(config: ServerConfig, serve: impl Fn(&mut Secured) + Send + Sync + 'static) -> Server {
    let config = Arc::new(config);
    Server::start(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
        stream.set_nodelay(true).expect("a socket");
        serve(&mut StreamOwned::new(session, stream));
    })
}

/// Answers every request with the same bytes, then closes TLS properly.
pub fn answer(stream: &mut Secured, reply: &[u8]) {
    while read_head(stream).is_some() && stream.write_all(reply).and_then(|()| stream.flush()).is_ok() {}
    close_notify(stream);
}

/// Closes TLS properly.
pub fn close_notify(stream: &mut Secured) {
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

/// Reads one request's head; `None` at the end or if TLS fails.
pub fn read_head(stream: &mut Secured) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// Values noted by the threads of connections.
pub type Noted<T> = Arc<Mutex<Vec<T>>>;
