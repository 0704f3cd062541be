//! Header blocks. Two decoders agree about every block however much one of them is shown before; sound fields, written
//! by our encoder, read back the same; and the table keeps to its size.
//!
//! The input is a sequence of blocks, each with its length in one byte before it.

use weighbridge_load::h2::hpack::{Decoder, FIELDS, Soundness, field};

/// The size that the table may grow to.
const TABLE: usize = 4096;

type Fields = Vec<(String, Vec<u8>)>;

fn shown(decoder: &Decoder) -> Fields {
    decoder.with_fields(|fields| fields.iter().map(|f| (f.name.to_owned(), f.value.to_vec())).collect())
}

/// Reads `data` as blocks of one connection.
pub fn check(data: &[u8]) {
    let mut rest = data;
    let (mut decoder, mut written) = (Decoder::new(TABLE), Decoder::new(TABLE));
    let mut before: Vec<&[u8]> = Vec::new();
    while let Some((&length, behind)) = rest.split_first() {
        let (block, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        let read = decoder.decode(block);
        assert!(decoder.table_size() <= TABLE, "a table of {} bytes", decoder.table_size());
        // One that was used before, reset and shown the same blocks says the same.
        written.reset();
        for earlier in &before {
            written.decode(earlier).expect("it was read before");
        }
        assert_eq!(written.decode(block), read);
        let Ok(soundness) = read else { return };
        let fields = shown(&decoder);
        assert_eq!(shown(&written), fields);
        assert!(fields.len() <= FIELDS && fields.len() == decoder.len());
        if soundness == Soundness::Sound {
            rewritten(&fields);
        }
        if before.len() < 8 {
            before.push(block);
        } else {
            return;
        }
    }
}

/// Sound fields read back as they are written, and leave no trace in the table.
fn rewritten(fields: &Fields) {
    let (mut block, mut decoder) = (Vec::new(), Decoder::new(TABLE));
    for (name, value) in fields {
        field(name, value, &mut block);
    }
    assert_eq!(decoder.decode(&block), Ok(Soundness::Sound));
    assert_eq!((&shown(&decoder), decoder.table_size()), (fields, 0));
}
