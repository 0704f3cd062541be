//! TLS of the listener: certificate and key, as the environment names them.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::Ticketer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::{Http, refusal, variable};

/// TLS 1.3 and 1.2 with the certificate and key that the environment names, or `None` where it names none.
pub fn read(http: Http) -> Result<Option<TlsAcceptor>, String> {
    let (certificate, key) = match (variable("TLS_CERT"), variable("TLS_KEY")) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => return Err(refusal("TLS_KEY", "", "a PEM file, since `TLS_CERT` is set")),
        (None, Some(_)) => return Err(refusal("TLS_CERT", "", "a PEM file, since `TLS_KEY` is set")),
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect)
        .map_err(|error| refusal("TLS_CERT", &certificate, &format!("a PEM file ({error})")))?;
    if chain.is_empty() {
        return Err(refusal("TLS_CERT", &certificate, "a PEM file with a certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| refusal("TLS_KEY", &key, &format!("a PEM file with a private key ({error})")))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| refusal("TLS_KEY", &key, &format!("the key of `TLS_CERT` ({error})")))?;
    config.ticketer = Ticketer::new().map_err(|error| format!("no key for session tickets: {error}"))?;
    config.alpn_protocols = vec![match http {
        Http::One => b"http/1.1".to_vec(),
        Http::Two => b"h2".to_vec(),
    }];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}
