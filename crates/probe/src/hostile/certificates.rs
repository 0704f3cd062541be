//! The certificates of TLS cases, created anew each time by an authority that signs nothing else.
//!
//! Keys are in memory only; only the authority's certificate can be written to a file.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::script::Certificate;

/// Why certificates could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("could not make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("could not set TLS up: {0}")]
    Tls(#[from] rustls::Error),
}

/// The authority that signs the probe's certificates.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new one, with a new key.
    pub fn new() -> Result<Self, CertificateError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "weigh hostile");
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its certificate in PEM, which a client has to trust.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The TLS settings of a server with such a certificate.
    pub(super) fn server(&self, certificate: Certificate) -> Result<Arc<ServerConfig>, CertificateError> {
        let (chain, key) = self.certify(certificate)?;
        let versions: &[&rustls::SupportedProtocolVersion] = match certificate {
            Certificate::ValidOld => &[&rustls::version::TLS12],
            _ => &[&rustls::version::TLS13, &rustls::version::TLS12],
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
        let mut config = config.with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn certify(
        &self,
        certificate: Certificate,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), CertificateError> {
        let names = match certificate {
            Certificate::OtherName => vec![SanType::DnsName("other.example".try_into()?)],
            _ => vec![
                SanType::DnsName("localhost".try_into()?),
                SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
                SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
            ],
        };
        let mut params = CertificateParams::new(Vec::new())?;
        params.subject_alt_names = names;
        let (from, until) = match certificate {
            Certificate::Expired => (2001, 2002),
            Certificate::Future => (3001, 3002),
            _ => (2001, 3001),
        };
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate()?;
        let signed = match certificate {
            Certificate::Stranger => params.self_signed(&key)?,
            _ => params.signed_by(&key, &self.issuer)?,
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok((vec![signed.der().clone()], key))
    }
}
