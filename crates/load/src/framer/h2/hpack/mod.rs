//! HPACK (RFC 7541): how HTTP/2 writes header fields.
//!
//! It knows bytes and fields, but no frames, and of a field only the rules that every field must follow.

mod decode;
mod encode;
mod huffman;
mod indexed;
mod table;

pub use decode::{Decoder, FIELDS, Soundness, Undecodable};
pub use encode::field;
pub use indexed::Indexer;
