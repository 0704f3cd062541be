//! The generator: when to send, how to talk, what happened.
