//! One connection's TLS state, from handshake to end, sans-I/O.
//!
//! It moves bytes between [`Out`] and rustls and owns neither socket nor clock. Between two reads it holds less than
//! one record or handshake message.

use std::fmt;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use weighbridge_model::record::HandshakeKind;

use super::{TlsClient, TlsFailure};
use crate::framer::Out;

/// Bytes that encryption adds to each record: header, explicit nonce, content type and tag, rounded up.
const SEAL: usize = 40;

/// Longest handshake message without a certificate or ticket.
const MESSAGE: usize = 320;

/// Most plaintext in one record.
const RECORD: usize = 16 * 1024;

/// Progress of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    /// The handshake is not over.
    Handshaking,
    /// Requests and replies can be exchanged.
    Open(HandshakeKind),
    /// The server announced that it sends nothing more.
    PeerClosed,
}

/// TLS on one connection, from one handshake to the next.
pub(crate) struct TlsSession {
    client: TlsClient,
    phase: SessionState,
    session: Option<Box<UnbufferedClientConnection>>,
    /// Received bytes that are not yet a whole record (or handshake message).
    rest: Vec<u8>,
    /// Output to write to the socket.
    pub wire: Out,
    /// Why the session broke, until the caller takes it.
    failure: Option<TlsFailure>,
}

impl fmt::Debug for TlsSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSession").field("phase", &self.phase).finish_non_exhaustive()
    }
}

impl TlsSession {
    pub fn new(client: TlsClient) -> Self {
        Self {
            client,
            phase: SessionState::Handshaking,
            session: None,
            rest: Vec::new(),
            wire: Out::default(),
            failure: None,
        }
    }

    /// Begins a handshake on a new connection: its first message is in [`wire`](Self::wire).
    pub fn begin(&mut self) -> Result<(), TlsFailure> {
        self.reset();
        let made = UnbufferedClientConnection::new(Arc::clone(&self.client.config), self.client.name.clone());
        self.session = Some(Box::new(made.map_err(TlsFailure::from)?));
        self.take(&mut [], &mut |_| {}).map(drop)
    }

    /// Drops the session; keeps the buffers.
    pub fn reset(&mut self) {
        self.phase = SessionState::Handshaking;
        self.session = None;
        self.rest.clear();
        self.wire.clear();
    }

    /// The kind of the handshake, once it has ended.
    pub fn established(&self) -> Option<HandshakeKind> {
        match self.phase {
            SessionState::Open(kind) => Some(kind),
            SessionState::Handshaking | SessionState::PeerClosed => None,
        }
    }

    /// Whether the server announced that it sends nothing more. A connection that ends without this was cut off.
    pub fn is_closed_by_peer(&self) -> bool {
        self.phase == SessionState::PeerClosed
    }

    /// Why the session broke. Returns the reason once.
    pub fn take_failure(&mut self) -> Option<TlsFailure> {
        self.failure.take()
    }

    /// How many bytes are held: the next ones must be received at this offset of a buffer.
    pub fn held(&self) -> usize {
        self.rest.len()
    }

    /// Processes received bytes: `buffer` has room for the [`held`](Self::held) bytes, then the new bytes. They are
    /// decrypted in place; `plain` gets each record's plaintext in turn.
    pub fn receive(&mut self, buffer: &mut [u8], plain: &mut dyn FnMut(&[u8])) -> Result<(), TlsFailure> {
        let held = self.rest.len();
        if held == 0 && self.phase == SessionState::Handshaking && !begins_record(buffer) {
            return self.fail(TlsFailure::PlainText);
        }
        buffer[..held].copy_from_slice(&self.rest);
        self.rest.clear();
        match self.take(buffer, plain) {
            Ok(taken) => {
                self.rest.extend_from_slice(&buffer[taken..]);
                Ok(())
            }
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(&mut self, failure: TlsFailure) -> Result<(), TlsFailure> {
        self.failure = Some(failure.clone());
        Err(failure)
    }

    /// Processes all complete records and messages; returns how many bytes were consumed.
    fn take(&mut self, bytes: &mut [u8], plain: &mut dyn FnMut(&[u8])) -> Result<usize, TlsFailure> {
        let Self { session, wire, phase, client, .. } = self;
        let Some(session) = session else { return Ok(bytes.len()) };
        let mut taken = 0;
        loop {
            let UnbufferedStatus { discard, state } = session.process_tls_records(&mut bytes[taken..]);
            taken += discard;
            let mut early = Vec::new();
            let mut exhausted = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        match *phase {
                            SessionState::Handshaking => early.extend_from_slice(record?.payload),
                            SessionState::Open(_) | SessionState::PeerClosed => plain(record?.payload),
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => encode(&mut message, wire)?,
                Ok(ConnectionState::TransmitTlsData(transmit)) => transmit.done(),
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    *phase = SessionState::PeerClosed
                }
                Ok(_) => exhausted = true,
                Err(error) => {
                    send_alert(session, wire);
                    return Err(error.into());
                }
            }
            if *phase == SessionState::Handshaking && !session.is_handshaking() {
                client.protocol.check(session.alpn_protocol())?;
                *phase = SessionState::Open(kind_of(session));
            }
            if !early.is_empty() {
                plain(&early);
            }
            if *phase == SessionState::PeerClosed {
                return Ok(bytes.len());
            }
            if exhausted {
                return Ok(taken);
            }
        }
    }

    /// Encrypts `bytes` into [`wire`](Self::wire).
    pub fn seal(&mut self, bytes: &[u8]) -> Result<(), TlsFailure> {
        let Self { session, wire, rest, .. } = self;
        let Some(session) = session else { return Err(TlsFailure::Closed) };
        loop {
            // The held bytes are not a whole record, so this decrypts nothing.
            match session.process_tls_records(rest).state? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    // One record more than the bytes need: a key update may precede them.
                    let room = bytes.len() + (bytes.len() / RECORD + 2) * SEAL;
                    let mut sealed = Ok(());
                    wire.push_with(room, |room| match traffic.encrypt(bytes, room) {
                        Ok(count) => count,
                        Err(error) => {
                            sealed = Err(encrypt_failure(&error));
                            0
                        }
                    });
                    return sealed;
                }
                ConnectionState::EncodeTlsData(mut message) => encode(&mut message, wire)?,
                ConnectionState::TransmitTlsData(transmit) => transmit.done(),
                other => return Err(TlsFailure::Broken(format!("nothing can be sent in state {other:?}"))),
            }
        }
    }

    /// Announces that the client sends nothing more, if a session is open.
    pub fn close(&mut self) {
        let Self { session: Some(session), wire, rest, phase: SessionState::Open(_), .. } = self else {
            return;
        };
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = session.process_tls_records(rest).state {
            // If the close alert does not fit, it is left out.
            wire.push_with(2 * SEAL, |room| traffic.queue_close_notify(room).unwrap_or(0));
        }
    }
}

/// Writes the alert that tells the server why the session broke, if there is one.
fn send_alert(session: &mut UnbufferedClientConnection, wire: &mut Out) {
    // Only while there is output: a broken session must not read further.
    while session.wants_write() {
        let Ok(ConnectionState::EncodeTlsData(mut message)) = session.process_tls_records(&mut []).state
        else {
            return;
        };
        if encode(&mut message, wire).is_err() {
            return;
        }
    }
}

/// Whether these bytes can begin the record of a handshake: content type 20 to 23.
fn begins_record(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|kind| (20..=23).contains(kind))
}

fn kind_of(session: &UnbufferedClientConnection) -> HandshakeKind {
    match session.handshake_kind() {
        Some(rustls::HandshakeKind::Resumed) => HandshakeKind::Resumed,
        _ => HandshakeKind::Full,
    }
}

/// Appends a handshake message.
fn encode<Data>(
    message: &mut rustls::unbuffered::EncodeTlsData<'_, Data>,
    wire: &mut Out,
) -> Result<(), TlsFailure> {
    // Enough for most messages: memory taken here stays with the connection.
    let mut room = MESSAGE;
    loop {
        let mut result = Ok(0);
        wire.push_with(room, |into| {
            result = message.encode(into);
            *result.as_ref().unwrap_or(&0)
        });
        match result {
            Ok(_) => return Ok(()),
            Err(EncodeError::InsufficientSize(needed)) => room = needed.required_size,
            Err(error) => return Err(TlsFailure::Broken(error.to_string())),
        }
    }
}

fn encrypt_failure(error: &EncryptError) -> TlsFailure {
    TlsFailure::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framing;
    use proptest::prelude::*;

    fn session() -> TlsSession {
        let client = TlsClient::new(&super::super::tests::options()).expect("good options");
        let mut session = TlsSession::new(client.for_pool(&Framing::Http1, 1));
        session.begin().expect("begins");
        session
    }

    #[test]
    fn a_handshake_begins_with_the_first_message_and_nothing_else() {
        let session = session();
        // A record of type handshake that contains a ClientHello.
        assert_eq!((session.wire.pending()[0], session.wire.pending()[5]), (22, 1));
        assert_eq!((session.established(), session.held()), (None, 0));
    }

    proptest! {
        /// Any bytes in any pieces that are not a handshake are refused or awaited: they neither cause a panic nor open
        /// the connection, and the held bytes are bounded.
        #[test]
        fn foreign_bytes_open_nothing(
            kind in prop::sample::select(vec![20u8, 21, 22, 23]),
            length in any::<u16>(),
            body in prop::collection::vec(any::<u8>(), 0..2000),
            cuts in prop::collection::vec(1usize..400, 1..40),
        ) {
            let mut session = session();
            let mut bytes = vec![kind, 3, 3];
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
            let mut buffer = vec![0; 256 * 1024];
            let mut rest = &bytes[..];
            for cut in cuts.into_iter().cycle() {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                let held = session.held();
                buffer[held..held + piece.len()].copy_from_slice(piece);
                let mut plain = 0;
                let taken = session.receive(&mut buffer[..held + piece.len()], &mut |bytes| plain += bytes.len());
                prop_assert_eq!((plain, session.established()), (0, None));
                prop_assert!(session.held() <= bytes.len());
                rest = after;
                if taken.is_err() {
                    prop_assert!(session.take_failure().is_some());
                    break;
                }
                if rest.is_empty() {
                    break;
                }
            }
        }
    }
}
