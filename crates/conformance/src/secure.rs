//! What the rows about TLS need: a new certificate for 127.0.0.1, and clients that trust only that one.
//!
//! The key stays in a folder that only this user can read and that is removed with the row.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;

use super::outcome::Shortfall;

/// A certificate and its key, as files.
#[derive(Debug)]
pub(super) struct Identity {
    folder: TempDir,
    certificate: CertificateDer<'static>,
}

impl Identity {
    /// A new key and a self-signed certificate.
    pub(super) fn new() -> Result<Self, Shortfall> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).map_err(unable)?;
        let folder = tempfile::tempdir().map_err(unable)?;
        fs::write(folder.path().join("cert.pem"), made.cert.pem()).map_err(unable)?;
        fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).map_err(unable)?;
        Ok(Self { folder, certificate: made.cert.into() })
    }

    /// The folder of the files.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The certificate's file.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The key's file.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// A client that trusts this certificate, uses only this version and offers these protocols. Connections
    /// of the same client resume each other's sessions.
    pub(super) fn client(
        &self,
        version: &'static SupportedProtocolVersion,
        alpn: &[&str],
    ) -> Result<Arc<ClientConfig>, Shortfall> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).map_err(unable)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .map_err(unable)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Arc::new(config))
    }
}

fn unable(error: impl Display) -> Shortfall {
    Shortfall::Skipped(format!("this host cannot make a certificate: {error}"))
}
