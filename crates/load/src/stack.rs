//! The layers of a connection above its socket: TLS, if it is secured, and the framing of requests and replies.

use crate::framer::Framing;
use crate::tls::TlsClient;

/// The layers between a variant's sockets and its requests.
#[derive(Debug, Clone)]
pub struct Stack {
    /// How requests and replies are encoded.
    pub framing: Framing,
    /// How connections are secured; `None` for plain text.
    pub tls: Option<TlsClient>,
}

impl From<Framing> for Stack {
    fn from(framing: Framing) -> Self {
        Self { framing, tls: None }
    }
}

impl From<&Framing> for Stack {
    fn from(framing: &Framing) -> Self {
        Self::from(*framing)
    }
}
