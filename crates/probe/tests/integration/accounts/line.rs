//! A server's end of a connection, bare or over TLS, that counts the bytes on the wire.

use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use rcgen::generate_simple_self_signed;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use weighbridge_load::Framing;
use weighbridge_load::tls::{Resumption, TlsClient, TlsOptions, Trust};
use weighbridge_model::experiment::TlsVersion;

use super::Counts;

const NAME: &str = "127.0.0.1";

/// Both ends of TLS in one version.
pub struct Secrets {
    pub client: TlsClient,
    server: Arc<ServerConfig>,
}

impl Secrets {
    pub fn new(framing: Framing, version: TlsVersion) -> Self {
        let made = generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        let options = TlsOptions {
            server_name: NAME.to_owned(),
            trust: Trust::Pem(made.cert.pem().into_bytes()),
            identity: None,
            min: version,
            max: version,
            resumption: Resumption::On,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let server = versions.expect("versions").with_no_client_auth();
        let mut server = server.with_single_cert(vec![made.cert.der().clone()], key).expect("a pair");
        if matches!(framing, Framing::Http2(_)) {
            server.alpn_protocols = vec![b"h2".to_vec()];
        }
        Self { client: TlsClient::new(&options).expect("good options"), server: Arc::new(server) }
    }
}

pub enum Line {
    Bare(Counted),
    Secured(Box<StreamOwned<ServerConnection, Counted>>),
}

impl Line {
    pub fn new(stream: TcpStream, counts: &Arc<Counts>, secrets: Option<&Secrets>) -> Self {
        let counted = Counted { stream, counts: Arc::clone(counts) };
        let Some(secrets) = secrets else { return Self::Bare(counted) };
        let session = ServerConnection::new(Arc::clone(&secrets.server)).expect("a session");
        Self::Secured(Box::new(StreamOwned::new(session, counted)))
    }

    /// Closes the writing side; what the client still sends can be read.
    pub fn end(&mut self) {
        let counted = match self {
            Self::Bare(counted) => counted,
            Self::Secured(stream) => {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                &stream.sock
            }
        };
        let _ = counted.stream.shutdown(Shutdown::Write);
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Self::Bare(counted) => counted.read(buffer),
            Self::Secured(stream) => stream.read(buffer),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Bare(counted) => counted.write(bytes),
            Self::Secured(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Bare(counted) => counted.flush(),
            Self::Secured(stream) => stream.flush(),
        }
    }
}

/// A socket whose bytes are counted.
pub struct Counted {
    stream: TcpStream,
    counts: Arc<Counts>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.stream.read(buffer)?;
        self.counts.read.fetch_add(count as u64, SeqCst);
        Ok(count)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // Counted before: the client may have it, and be done, before this thread runs on.
        self.counts.written.fetch_add(bytes.len() as u64, SeqCst);
        let Ok(written) = self.stream.write(bytes) else {
            // A client that is gone has sent requests before, and TLS reads none while it has something to write.
            return Ok(bytes.len());
        };
        self.counts.written.fetch_sub((bytes.len() - written) as u64, SeqCst);
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}
