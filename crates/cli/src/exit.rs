//! Exit codes: the one page on which they stand.

/// How the command ends. Codes 0 to 3 are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done, and every gate passed.
    Fine = 0,
    /// A gate failed.
    GateFailed = 1,
    /// It could not be done: bad input, a service that does not start, a full disk, interrupted.
    CouldNot = 2,
    /// Done, but the figures must not be used.
    Invalid = 3,
}
