//! Turns an experiment's TLS settings into the generator's. Certificate files are read only here. Programs
//! that we start get a throw-away certificate.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;
use weighbridge_load::TlsClient;
use weighbridge_load::tls::{Identity, Resumption, TlsOptions, TlsOptionsError, Trust};
use weighbridge_model::experiment::{Target, TlsSpec, Variant};
use weighbridge_model::hex;
use weighbridge_workload::UrlScheme;

/// Certificate names of a server that we start.
const NAMES: [&str; 3] = ["127.0.0.1", "::1", "localhost"];

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("`{}`, the {what}, cannot be read: {source}; check the path", path.display())]
    File {
        /// The role of the file, in words.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "no certificate that this system trusts was found ({0}); install its CA certificates, name a file of them, or go without verification"
    )]
    NoSystemRoots(String),
    #[error(transparent)]
    Options(#[from] TlsOptionsError),
    #[error("a certificate for a program of ours could not be made: {0}")]
    Made(#[from] rcgen::Error),
    #[error(
        "the certificate made for a program of ours could not be written: {0}; free space in the temporary folder"
    )]
    Written(#[from] io::Error),
}

pub(crate) fn scheme(tls: Option<&TlsSpec>) -> UrlScheme {
    if tls.is_some() { UrlScheme::Https } else { UrlScheme::Http }
}

/// The generator's side of a TLS specification. `host` is the certificate's name where the specification has
/// none. `ours` is trusted where the specification names no CA and we started the program.
pub fn client(spec: &TlsSpec, host: &str, ours: Option<&Certificates>) -> Result<TlsClient, TlsError> {
    let trust = match (&spec.ca, ours) {
        _ if spec.insecure => Trust::Anything,
        (Some(path), _) => Trust::Pem(read(path, "file of certificates to trust")?),
        (None, Some(certificates)) => Trust::Pem(certificates.authority.clone().into_bytes()),
        (None, None) => system_roots()?,
    };
    let identity = match (&spec.cert, &spec.key) {
        (Some(cert), Some(key)) => Some(Identity {
            certificates: read(cert, "client's certificate")?,
            key: read(key, "client's private key")?,
        }),
        _ => None,
    };
    Ok(TlsClient::new(&TlsOptions {
        server_name: spec.server_name.clone().unwrap_or_else(|| host.to_owned()),
        trust,
        identity,
        min: spec.min,
        max: spec.max,
        resumption: if spec.resumption { Resumption::On } else { Resumption::Off },
    })?)
}

fn read(path: &str, what: &'static str) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { what, path: path.into(), source })
}

/// The system's trusted certificates. Unreadable ones are skipped as long as there are others.
fn system_roots() -> Result<Trust, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or_else(|| "no file of them".to_owned(), ToString::to_string);
        return Err(TlsError::NoSystemRoots(why));
    }
    Ok(Trust::Roots(found.certs.iter().map(|certificate| certificate.to_vec()).collect()))
}

/// A certificate for a program of ours on this host, with its key and the authority that signed it. They are
/// made for one trial, in a folder that only this user may read, and removed when dropped.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
    authority: String,
}

impl Certificates {
    pub fn make() -> Result<Self, TlsError> {
        let mut issuer = CertificateParams::new(Vec::new())?;
        let issuer_key = KeyPair::generate()?;
        // Two authorities that exist at once need distinct names.
        let key = issuer_key.public_key_raw();
        let number = hex::encode(&key[..key.len().min(8)]);
        issuer.distinguished_name = named(&format!("weighbridge throw-away authority {number}"));
        issuer.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        issuer.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(issuer, issuer_key)?;
        let mut server = CertificateParams::new(NAMES.map(str::to_owned))?;
        server.distinguished_name = named("weighbridge service");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("weigh-tls-").permissions(private).tempdir()?;
        let made = Self { folder, authority: issuer.pem() };
        fs::write(made.certificate(), certificate.pem())?;
        fs::write(made.key(), key.serialize_pem())?;
        fs::write(made.folder.path().join("ca.pem"), &made.authority)?;
        Ok(made)
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The certificate that a client must trust.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The environment variables that pass them to a program.
    pub fn environment(&self) -> [(String, String); 2] {
        let pair = |name: &str, path: &Path| (name.to_owned(), path.to_string_lossy().into_owned());
        [pair("TLS_CERT", &self.certificate()), pair("TLS_KEY", &self.key())]
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// How one variant's connections are secured during one trial.
#[derive(Debug, Default)]
pub(crate) struct Secured {
    /// `None` for plain text.
    pub client: Option<TlsClient>,
    /// Present where we start the program.
    pub certificates: Option<Certificates>,
}

impl Secured {
    pub fn new(variant: &Variant) -> Result<Self, TlsError> {
        let Some(spec) = &variant.tls else { return Ok(Self::default()) };
        let (host, certificates) = match &variant.target {
            Target::Url(url) => (url.host.as_str(), None),
            Target::Service { .. } | Target::Command(_) => ("127.0.0.1", Some(Certificates::make()?)),
        };
        Ok(Self { client: Some(client(spec, host, certificates.as_ref())?), certificates })
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        self.certificates.iter().flat_map(Certificates::environment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_of_ours_is_private_trusted_and_gone_when_dropped() {
        let made = Certificates::make().expect("made");
        let folder = made.folder.path().to_owned();
        let mode = fs::metadata(&folder).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        client(&TlsSpec::default(), "127.0.0.1", Some(&made)).expect("trusted");
        assert!(fs::read_to_string(made.key()).expect("a key").contains("PRIVATE KEY"));
        assert_eq!(fs::read_to_string(made.authority()).expect("an authority"), made.authority);
        drop(made);
        assert!(!folder.exists());
    }

    #[test]
    fn a_missing_or_wrong_file_is_named() {
        let missing = TlsSpec { ca: Some("/nowhere/ca.pem".into()), ..TlsSpec::default() };
        let error = client(&missing, "h", None).expect_err("no file").to_string();
        assert!(error.contains("`/nowhere/ca.pem`, the file of certificates to trust"), "{error}");
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("empty.pem");
        fs::write(&path, "nothing").expect("written");
        let empty = TlsSpec { ca: Some(path.to_string_lossy().into_owned()), ..TlsSpec::default() };
        let error = client(&empty, "h", None).expect_err("no certificate").to_string();
        assert!(error.contains("no certificate to trust"), "{error}");
    }
}
