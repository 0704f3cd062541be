//! HPACK (RFC 7541): how HTTP/2 writes header fields.
//!
//! It knows bytes and fields, no frames and no meaning of a field beyond what every field must keep to.

mod decode;
mod encode;
mod huffman;
mod table;

pub use decode::{Decoder, FIELDS, Soundness, Undecodable};
pub use encode::field;
