//! Thrift's framed calls: where the struct of the arguments begins, and the envelope of a reply.

use weighbridge_load::thrift::{
    BINARY_VERSION, CALL, COMPACT_ID, COMPACT_VERSION, EXCEPTION, Envelope, REPLY, opened,
};

use crate::canned::{Key, Reply, UNKNOWN};
use crate::request::Refusal;

/// The beginning of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub(crate) key: Key,
    pub number: u32,
    /// Bytes up to its arguments.
    pub length: usize,
    /// Bytes of its arguments.
    pub arguments: u64,
}

/// The call at the start of these bytes; `None` if its envelope is not whole yet.
pub fn parse(envelope: Envelope, bytes: &[u8]) -> Result<Option<Call>, Refusal> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
    let frame = usize::try_from(i32::from_be_bytes(*head)).map_err(|_| Refusal::Malformed)?;
    let within = &rest[..rest.len().min(frame)];
    let opened = match opened(envelope, within).map_err(|_| Refusal::Malformed)? {
        Some(opened) if opened.kind == CALL => opened,
        None if within.len() < frame => return Ok(None),
        _ => return Err(Refusal::Malformed),
    };
    Ok(Some(Call {
        key: Key::of(&within[opened.name]),
        number: opened.number,
        length: 4 + opened.length,
        arguments: (frame - opened.length) as u64,
    }))
}

/// Appends a reply up to its result.
pub(crate) fn push_head(output: &mut Vec<u8>, envelope: Envelope, number: u32, place: u32, reply: &Reply) {
    let kind = if place == UNKNOWN { EXCEPTION } else { REPLY };
    let start = output.len();
    output.extend_from_slice(&[0; 4]);
    let name = reply.head.len() as u32;
    match envelope {
        Envelope::Binary => {
            output.extend_from_slice(&BINARY_VERSION);
            output.push(kind);
            output.extend_from_slice(&name.to_be_bytes());
            output.extend_from_slice(&reply.head);
            output.extend_from_slice(&number.to_be_bytes());
        }
        Envelope::Compact => {
            output.extend_from_slice(&[COMPACT_ID, kind << 5 | COMPACT_VERSION]);
            push_varint(output, number);
            push_varint(output, name);
            output.extend_from_slice(&reply.head);
        }
    }
    let frame = (output.len() - start - 4 + reply.content.len()) as u32;
    output[start..start + 4].copy_from_slice(&frame.to_be_bytes());
}

fn push_varint(output: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        output.push(number as u8 | 0x80);
        number >>= 7;
    }
    output.push(number as u8);
}
