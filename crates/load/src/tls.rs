//! TLS between a socket and a framer: ciphertext in, plaintext out, and the reverse.
//!
//! A [`TlsClient`] defines how a variant's connections shake hands; all of them share it, session tickets included. A
//! session is sans-I/O as the framers are: the loop owns socket, clock and timeout. It reads no file: callers pass
//! certificates and keys as PEM text.

mod session;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption as Sessions, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, NamedGroup,
    RootCertStore, SignatureScheme, SupportedProtocolVersion,
};
use weighbridge_model::experiment::TlsVersion;

use crate::framer::Framing;

pub(crate) use session::TlsSession;

/// Most tickets kept for later connections, however many connections there are.
const TICKETS: usize = 4096;

/// Which server certificates are accepted.
#[derive(Clone)]
pub enum Trust {
    /// Those issued under one of these certificates (DER) for the server's name.
    Roots(Vec<Vec<u8>>),
    /// Those issued under a certificate in this PEM text for the server's name.
    Pem(Vec<u8>),
    /// Any. The handshake's own signatures are still checked.
    Anything,
}

/// The client's certificate, for servers that request one.
#[derive(Clone)]
pub struct Identity {
    /// The certificate and its chain to a root, PEM.
    pub certificates: Vec<u8>,
    /// The certificate's private key, PEM (PKCS#8, PKCS#1 or SEC1).
    pub key: Vec<u8>,
}

/// Whether a connection may resume the session of an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resumption {
    /// By tickets, and in TLS 1.2 also by session ID.
    #[default]
    On,
    /// Never: every handshake is a full one.
    Off,
}

/// How a variant's connections shake hands.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// The name that the certificate must contain; sent as SNI unless it is an address.
    pub server_name: String,
    /// Which certificates are accepted.
    pub trust: Trust,
    /// The client's certificate, if any.
    pub identity: Option<Identity>,
    /// Oldest version.
    pub min: TlsVersion,
    /// Newest version.
    pub max: TlsVersion,
    /// Whether sessions are resumed.
    pub resumption: Resumption,
}

// Keys must not reach a log.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Roots(roots) => write!(f, "Roots({})", roots.len()),
            Self::Pem(_) => f.write_str("Pem"),
            Self::Anything => f.write_str("Anything"),
        }
    }
}

/// Invalid options.
#[derive(Debug, thiserror::Error)]
pub enum TlsOptionsError {
    #[error("`{0}` cannot be the name of a TLS server; give a host name or an address")]
    Name(String),
    #[error(
        "there is no certificate to trust; give one as PEM text that begins `-----BEGIN CERTIFICATE-----`"
    )]
    NoRoots,
    #[error("a certificate to trust cannot be read ({0}); give it as PEM text")]
    Root(String),
    #[error("the client's certificate cannot be read ({0}); give it as PEM text")]
    Certificate(String),
    #[error("the client's private key cannot be read ({0}); give it as PEM text, not encrypted")]
    Key(String),
    #[error(
        "the client's certificate and key cannot be used together ({0}); check that they belong together"
    )]
    Identity(String),
    #[error("no TLS version lies between {} and {}; the oldest must not be newer than the newest", .min.name(), .max.name())]
    Versions {
        /// Oldest allowed.
        min: TlsVersion,
        /// Newest allowed.
        max: TlsVersion,
    },
}

/// Why there is no TLS session, or no longer one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    #[error("the server does not speak TLS on this port; check the port, or use an address without TLS")]
    PlainText,
    #[error("the server's certificate is refused: {0}")]
    Certificate(String),
    #[error("the server ended TLS with the alert `{0}`{hint}", hint = alert_hint(.0))]
    Alert(String),
    #[error("the server did not agree on the protocol `{0}` (ALPN); check that it offers it over TLS")]
    Protocol(&'static str),
    #[error(
        "client and server have no TLS version or cipher suite in common ({0}); look at the oldest and newest version"
    )]
    Incompatible(String),
    #[error("the server closed the connection during the TLS handshake; look at its own log")]
    Closed,
    #[error("the TLS handshake timed out")]
    TimedOut,
    #[error("TLS failed: {0}")]
    Broken(String),
}

/// What an alert usually means, if its name does not say it.
fn alert_hint(alert: &str) -> &'static str {
    match alert {
        "CertificateRequired" => "; give a client certificate and key",
        "UnknownCA" | "BadCertificate" | "CertificateUnknown" | "CertificateExpired" => {
            "; it refuses the client's certificate"
        }
        "UnrecognizedName" => "; it does not know the server name asked for",
        "NoApplicationProtocol" => "; it does not offer this protocol over TLS",
        "ProtocolVersion" => "; it does not offer the TLS versions allowed",
        _ => "",
    }
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => Self::Certificate(certificate_text(&error)),
            Error::NoCertificatesPresented => Self::Certificate("it sent none".to_owned()),
            Error::AlertReceived(AlertDescription::Unknown(number)) => Self::Alert(number.to_string()),
            Error::AlertReceived(alert) => Self::Alert(format!("{alert:?}")),
            Error::PeerIncompatible(why) => Self::Incompatible(format!("{why:?}")),
            other => Self::Broken(other.to_string()),
        }
    }
}

/// What is wrong with a certificate, and the next step.
fn certificate_text(error: &CertificateError) -> String {
    let said = match error {
        // The verifier's own error has no words, and its type is not public here.
        CertificateError::Other(other) => format!("{:?}", other.0),
        other => other.to_string(),
    };
    let (wrong, remedy) = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => ("it has expired", "renew it"),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("it is not valid yet", "check both clocks")
        }
        CertificateError::UnknownIssuer => (
            "its issuer is not trusted",
            "name the issuer's certificate with `--cacert` (`ca` in an experiment)",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            (&*said, "set the server name with `--server-name` (`server_name` in an experiment)")
        }
        CertificateError::Other(_) if said == "CaUsedAsEndEntity" => (
            "it is an authority's own certificate (`CA:TRUE`, as self-signed ones often are) and may not be a server's",
            "make the server one with `CA:FALSE` and trust that with `--cacert` (`ca` in an experiment)",
        ),
        _ => (&*said, "check it with `openssl x509 -text`"),
    };
    format!("{wrong}; {remedy}, or accept any certificate with `-k` (`insecure = true` in an experiment)")
}

/// How a variant's connections shake hands. Cheap to clone.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    resumption: Resumption,
    protocol: AlpnOffer,
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient").field("name", &self.name).field("resumption", &self.resumption).finish()
    }
}

/// The protocol that the client offers by ALPN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AlpnOffer {
    /// None.
    Any,
    /// Offered; a server without ALPN is assumed to speak it if it is HTTP/1.1.
    Offered(&'static str),
}

impl AlpnOffer {
    /// The ALPN name of a framing.
    fn for_framing(framing: &Framing) -> Self {
        framing.alpn().map_or(Self::Any, Self::Offered)
    }

    /// Checks the server's choice. HTTP/1.1 is older than ALPN, so it needs no agreement; all others do.
    fn check(self, chosen: Option<&[u8]>) -> Result<(), TlsFailure> {
        match (self, chosen) {
            (Self::Any, _) | (Self::Offered("http/1.1"), None) => Ok(()),
            (Self::Offered(name), Some(chosen)) if chosen == name.as_bytes() => Ok(()),
            (Self::Offered(name), _) => Err(TlsFailure::Protocol(name)),
        }
    }
}

impl TlsClient {
    /// Checks the options and reads their certificates and keys.
    pub fn new(options: &TlsOptions) -> Result<Self, TlsOptionsError> {
        let bare = options.server_name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name =
            ServerName::try_from(bare).map_err(|_| TlsOptionsError::Name(options.server_name.clone()))?;
        let provider = Arc::new(ring::default_provider());
        let versions = versions(options.min, options.max)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|_| TlsOptionsError::Versions { min: options.min, max: options.max })?;
        let builder = match &options.trust {
            Trust::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(Arc::clone(&provider)))),
            Trust::Pem(pem) => builder.with_root_certificates(pem_roots(pem)?),
            Trust::Roots(roots) => builder.with_root_certificates(der_roots(roots)?),
        };
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| TlsOptionsError::Identity(error.to_string()))?
            }
        };
        config.resumption = Sessions::disabled();
        let (config, resumption) = (Arc::new(config), options.resumption);
        Ok(Self { config, name, resumption, protocol: AlpnOffer::Any })
    }

    /// A copy for one pool with this many connections and this framing. The pool's connections share tickets with each
    /// other only, so that neither threads nor trials affect each other.
    pub(crate) fn for_pool(&self, framing: &Framing, connections: u32) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        let protocol = AlpnOffer::for_framing(framing);
        config.alpn_protocols = match protocol {
            AlpnOffer::Any => Vec::new(),
            AlpnOffer::Offered(name) => vec![name.as_bytes().to_vec()],
        };
        config.resumption = match self.resumption {
            Resumption::On => Sessions::store(Arc::new(Tickets::for_connections(connections))),
            Resumption::Off => Sessions::disabled(),
        };
        Self { config: Arc::new(config), name: self.name.clone(), resumption: self.resumption, protocol }
    }
}

fn versions(
    min: TlsVersion,
    max: TlsVersion,
) -> Result<Vec<&'static SupportedProtocolVersion>, TlsOptionsError> {
    let known = [(TlsVersion::V12, &rustls::version::TLS12), (TlsVersion::V13, &rustls::version::TLS13)];
    let within: Vec<_> =
        known.into_iter().filter(|(version, _)| (min..=max).contains(version)).map(|(_, it)| it).collect();
    if within.is_empty() { Err(TlsOptionsError::Versions { min, max }) } else { Ok(within) }
}

fn pem_roots(pem: &[u8]) -> Result<RootCertStore, TlsOptionsError> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| TlsOptionsError::Root(error.to_string()))?;
        store.add(certificate).map_err(|error| TlsOptionsError::Root(error.to_string()))?;
    }
    if store.is_empty() { Err(TlsOptionsError::NoRoots) } else { Ok(store) }
}

/// Systems contain roots that verifiers no longer accept: these are skipped.
fn der_roots(roots: &[Vec<u8>]) -> Result<RootCertStore, TlsOptionsError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().map(|root| CertificateDer::from_slice(root)));
    if store.is_empty() { Err(TlsOptionsError::NoRoots) } else { Ok(store) }
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsOptionsError> {
        let chain = CertificateDer::pem_slice_iter(&self.certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| TlsOptionsError::Certificate(error.to_string()))?;
        if chain.is_empty() {
            return Err(TlsOptionsError::Certificate("no certificate in it".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| TlsOptionsError::Key(error.to_string()))?;
        Ok((chain, key))
    }
}

/// Accepts any certificate; the handshake's signature still proves that the server has its key.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The tickets of one pool, which has one server: as many as its connections can use, the newest first. (The store of
/// rustls keeps eight, so with many connections opened at once few could resume.)
#[derive(Debug)]
struct Tickets {
    bound: usize,
    kept: Mutex<CachedSession>,
}

#[derive(Debug, Default)]
struct CachedSession {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    fn for_connections(connections: u32) -> Self {
        Self { bound: (connections as usize * 2).clamp(8, TICKETS), kept: Mutex::default() }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, CachedSession> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }
    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.kept().tls12 = Some(value);
    }
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().tls12.clone()
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }
    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tls13.len() == self.bound {
            kept.tls13.pop_front();
        }
        kept.tls13.push_back(value);
    }
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tls13.pop_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn options() -> TlsOptions {
        TlsOptions {
            server_name: "localhost".to_owned(),
            trust: Trust::Anything,
            identity: None,
            min: TlsVersion::V12,
            max: TlsVersion::V13,
            resumption: Resumption::On,
        }
    }

    #[test]
    fn invalid_options_are_named() {
        let refusal = |options: TlsOptions| TlsClient::new(&options).expect_err("refused").to_string();
        let name = refusal(TlsOptions { server_name: "no name".to_owned(), ..options() });
        assert!(name.contains("`no name`"), "{name}");
        let versions = refusal(TlsOptions { min: TlsVersion::V13, max: TlsVersion::V12, ..options() });
        assert!(versions.contains("between 1.3 and 1.2"), "{versions}");
        for trust in [Trust::Pem(b"text".to_vec()), Trust::Roots(Vec::new())] {
            let roots = refusal(TlsOptions { trust, ..options() });
            assert!(roots.contains("no certificate to trust"), "{roots}");
        }
        let made = rcgen::generate_simple_self_signed(["c".to_owned()]).expect("made");
        let other = rcgen::KeyPair::generate().expect("made").serialize_pem();
        for (certificates, key, part) in [
            (String::new(), other.clone(), "certificate cannot be read"),
            (made.cert.pem(), String::new(), "private key cannot be read"),
            (made.cert.pem(), other, "check that they belong together"),
        ] {
            let identity = Identity { certificates: certificates.into_bytes(), key: key.into_bytes() };
            assert!(!format!("{identity:?}").contains("BEGIN"), "{identity:?}");
            let error = refusal(TlsOptions { identity: Some(identity), ..options() });
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_name_may_be_an_address_with_or_without_brackets() {
        for name in ["127.0.0.1", "::1", "[::1]", "example.org"] {
            TlsClient::new(&TlsOptions { server_name: name.to_owned(), ..options() }).expect("a name");
        }
    }

    #[test]
    fn only_http_1_1_needs_no_alpn() {
        let h2 = AlpnOffer::Offered("h2");
        assert_eq!(AlpnOffer::for_framing(&Framing::Http1).check(None), Ok(()));
        assert_eq!(h2.check(Some(b"h2")), Ok(()));
        for chosen in [None, Some(&b"http/1.1"[..])] {
            let refused = h2.check(chosen).expect_err("refused");
            assert!(refused.to_string().contains("`h2` (ALPN)"), "{refused}");
        }
    }
}
