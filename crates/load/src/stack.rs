//! What a connection is made of above its socket: TLS, where it is secured, and the framing of requests and replies.

use crate::framer::Framing;
use crate::tls::TlsClient;

/// What lies between a variant's sockets and its requests.
#[derive(Debug, Clone)]
pub struct Stack {
    /// How requests and replies are laid out.
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
