//! What a case does on one connection, as a list of steps.
//!
//! Plain data: it neither reads nor writes; [`peer`](super::peer) carries it out.

use super::frames::Frame;

/// The steps of one connection.
pub struct Script {
    /// Done once, when the connection was accepted.
    pub opening: Vec<ScriptStep>,
    /// Done again and again after that, until the client goes or a step ends the connection. Where there are none,
    /// the connection is closed after the opening.
    pub each: Vec<ScriptStep>,
}

pub enum ScriptStep {
    /// Reads a whole request; the connection ends where the client goes before.
    Request,
    /// Writes bytes in one piece. In memcached's cases `{key}` stands for the key last asked for.
    Send(Vec<u8>),
    /// Writes bytes one by one, each in a write of its own, without pauses.
    SendBytewise(Vec<u8>),
    /// Writes bytes one by one with a pause after each.
    Drip(Vec<u8>),
    /// Writes bytes again and again until the client goes.
    Flood(Vec<u8>),
    /// Writes HTTP/2 frames in one piece.
    Frames(Vec<Frame>),
    /// Writes HTTP/2 frames again and again until the client goes.
    FloodFrames(Vec<Frame>),
    /// Reads the frames of an HTTP/2 upload without ever allowing more, until the client goes.
    Starve,
    /// Writes bytes beneath TLS.
    Raw(Vec<u8>),
    /// Waits for the first bytes of a client and leaves them unanswered.
    Hello,
    /// Shakes hands as a TLS server with such a certificate.
    Handshake(Certificate),
    /// Tells the client by TLS that nothing more comes.
    CloseNotify,
    /// Neither reads nor writes until the client goes.
    Stall,
    /// Ends the own side in order, then reads and drops what the client still sends.
    Finish,
    /// Ends the connection.
    Close,
    /// Ends the connection by a TCP reset, dropping what was not sent yet.
    Reset,
}

/// What certificate a TLS server shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Certificate {
    /// Valid for `localhost` and the loopback addresses, signed by the probe's authority.
    Valid,
    /// The same, but its time is over.
    Expired,
    /// The same, but its time has not begun.
    Future,
    /// Valid for another host only.
    OtherName,
    /// Signed by nobody the client may know.
    Stranger,
    /// Valid, offered by a server that speaks TLS 1.2 only.
    ValidOld,
}

impl Script {
    /// Steps done once; then the connection is closed.
    pub fn once(opening: impl Into<Vec<ScriptStep>>) -> Self {
        Self { opening: opening.into(), each: Vec::new() }
    }

    /// Steps done for every request on the connection, after the request was read.
    pub fn each(steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Self::then_each(Vec::new(), steps)
    }

    /// Steps done once, and others for every request after it was read.
    pub fn then_each(
        opening: impl Into<Vec<ScriptStep>>,
        steps: impl IntoIterator<Item = ScriptStep>,
    ) -> Self {
        Self { opening: opening.into(), each: std::iter::once(ScriptStep::Request).chain(steps).collect() }
    }

    /// Sends the same bytes to every request.
    pub fn answer(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into())])
    }

    /// Sends bytes to every request and closes the connection after it.
    pub fn answer_and_close(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Close])
    }

    /// Sends bytes to the first request and then nothing more.
    pub fn answer_and_stall(reply: impl Into<Vec<u8>>) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Stall])
    }

    /// Sends bytes to the first request, and others again and again.
    pub fn answer_and_flood(reply: impl Into<Vec<u8>>, flood: &[u8]) -> Self {
        Self::each([ScriptStep::Send(reply.into()), ScriptStep::Flood(repeated(flood))])
    }

    /// Whether it does nothing at all.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.opening.is_empty() && self.each.is_empty()
    }
}

/// The piece as often as it takes to fill about 64 KiB, so that a flood costs few system calls.
pub fn repeated(piece: &[u8]) -> Vec<u8> {
    piece.repeat((64 * 1024 / piece.len().max(1)).max(1))
}
