//! The behaviour of a case on one connection, as a list of steps.
//!
//! Plain data: it neither reads nor writes; [`peer`](super::peer) runs it.

use crate::frames::Frame;

/// The steps of one connection.
pub struct Script {
    /// Run once, when the connection was accepted.
    pub opening: Vec<ScriptStep>,
    /// Repeated after that, until the client leaves or a step ends the connection. If there are none, the connection is
    /// closed after the opening.
    pub each: Vec<ScriptStep>,
}

pub enum ScriptStep {
    /// Reads a whole request; the connection ends if the client leaves before.
    Request,
    /// Writes bytes in one piece. In memcached's cases `{key}` stands for the key last requested.
    Send(Vec<u8>),
    /// Writes bytes one by one, each in a separate write, without pauses.
    SendBytewise(Vec<u8>),
    /// Writes bytes one by one with a pause after each.
    Drip(Vec<u8>),
    /// Writes bytes repeatedly until the client leaves.
    Flood(Vec<u8>),
    /// Writes HTTP/2 frames in one piece.
    Frames(Vec<Frame>),
    /// Writes HTTP/2 frames repeatedly until the client leaves.
    FloodFrames(Vec<Frame>),
    /// Reads the frames of an HTTP/2 upload without ever enlarging the window, until the client leaves.
    Starve,
    /// Writes bytes beneath TLS.
    Raw(Vec<u8>),
    /// Waits for the first bytes of a client and does not answer them.
    Hello,
    /// Shakes hands as a TLS server with such a certificate.
    Handshake(Certificate),
    /// Sends TLS's close alert.
    CloseNotify,
    /// Neither reads nor writes until the client leaves.
    Stall,
    /// Closes its side properly, then reads and drops what the client still sends.
    Finish,
    /// Ends the connection.
    Close,
    /// Ends the connection by a TCP reset, dropping what was not sent yet.
    Reset,
}

/// The certificate of a TLS server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Certificate {
    /// Valid for `localhost` and the loopback addresses, signed by the probe's authority.
    Valid,
    /// The same, but expired.
    Expired,
    /// The same, but not valid yet.
    Future,
    /// Valid for another host only.
    OtherName,
    /// Signed by an authority that the client cannot know.
    Stranger,
    /// Valid, on a server that speaks TLS 1.2 only.
    ValidOld,
}

impl Script {
    /// Runs steps once, then closes the connection.
    pub fn once(opening: impl Into<Vec<ScriptStep>>) -> Self {
        Self { opening: opening.into(), each: Vec::new() }
    }

    /// Runs steps for every request on the connection, after the request was read.
    pub fn each(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self::then_each(Vec::new(), steps)
    }

    /// Runs steps once, and others for every request after it was read.
    pub fn then_each(
        opening: impl Into<Vec<ScriptStep>>,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Self {
        Self { opening: opening.into(), each: std::iter::once(ScriptStep::Request).chain(steps).collect() }
    }

    /// Sends the same bytes for every request.
    pub fn answer(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into())])
    }

    /// Sends bytes for every request and closes the connection after it.
    pub fn answer_and_close(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Close])
    }

    /// Sends bytes for the first request and then nothing more.
    pub fn answer_and_stall(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Stall])
    }

    /// Sends bytes for the first request, and others repeatedly.
    pub fn answer_and_flood(reply: impl Into<Vec<u8>>, flood: &[u8]) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Flood(repeated(flood))])
    }

    /// Whether it does nothing at all.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.opening.is_empty() && self.each.is_empty()
    }
}

/// Repeats the piece to about 64 KiB, so that a flood needs few system calls.
pub fn repeated(piece: &[u8]) -> Vec<u8> {
    piece.repeat((64 * 1024 / piece.len().max(1)).max(1))
}
