//! HPACK against another implementation, `fluke-hpack`, in both directions: each reads what the other writes.

use proptest::prelude::*;
use weighbridge_load::h2::hpack::{Decoder, Soundness, field};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn shown(decoder: &Decoder) -> Fields {
    let own = |field: &httparse::Header<'_>| (field.name.as_bytes().to_vec(), field.value.to_vec());
    decoder.with_fields(|fields| fields.iter().map(own).collect())
}

/// Names in the static table and others, from a small set so that they repeat.
fn name() -> impl Strategy<Value = String> {
    let known = [":status", "content-length", "content-type", "date", "server", "set-cookie", "x-a", "x-b"];
    prop_oneof![
        8 => prop::sample::select(known.map(str::to_owned).to_vec()),
        1 => "[a-z0-9!#$%&'*+.^_`|~-]{1,40}",
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_filter("allowed", |byte| !matches!(byte, 0 | b'\r' | b'\n' | b' ' | b'\t'));
    prop_oneof![
        4 => prop::sample::select(vec![b"".to_vec(), b"200".to_vec(), b"no-cache".to_vec(), b"text/plain".to_vec()]),
        2 => "[ -~]{0,60}".prop_map(|text| text.trim().as_bytes().to_vec()),
        1 => prop::collection::vec(byte, 0..300),
    ]
}

fn block() -> impl Strategy<Value = Fields> {
    prop::collection::vec((name().prop_map(String::into_bytes), value()), 0..12)
}

fn borrowed(block: &Fields) -> impl Iterator<Item = (&[u8], &[u8])> {
    block.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
}

proptest! {
    /// Its encoder indexes every field and uses no Huffman code, so this fills and empties our table.
    #[test]
    fn we_read_what_the_other_writes(
        blocks in prop::collection::vec((block(), prop::option::of(prop::sample::select(vec![0usize, 64, 300, 4096]))), 1..20),
    ) {
        let (mut theirs, mut ours) = (fluke_hpack::Encoder::new(), Decoder::new(4096));
        for (block, size) in &blocks {
            let mut bytes = Vec::new();
            if let Some(size) = size {
                theirs.set_max_table_size(*size);
                // It leaves writing the size update to its user: 0x20 and the size with a prefix of five bits.
                match size {
                    0..31 => bytes.push(0x20 | *size as u8),
                    _ => {
                        bytes.push(0x3f);
                        let mut rest = size - 31;
                        while rest >= 0x80 {
                            bytes.push(rest as u8 | 0x80);
                            rest >>= 7;
                        }
                        bytes.push(rest as u8);
                    }
                }
            }
            theirs.encode_into(borrowed(block), &mut bytes).expect("a vector takes everything");
            prop_assert_eq!(ours.decode(&bytes), Ok(Soundness::Sound));
            prop_assert_eq!(&shown(&ours), block);
        }
    }

    #[test]
    fn the_other_reads_what_we_write_and_so_do_we(blocks in prop::collection::vec(block(), 1..10)) {
        let (mut theirs, mut ours) = (fluke_hpack::Decoder::new(), Decoder::new(4096));
        for block in &blocks {
            let mut bytes = Vec::new();
            for (name, value) in block {
                field(std::str::from_utf8(name).expect("a name"), value, &mut bytes);
            }
            prop_assert_eq!(&theirs.decode(&bytes).expect("it reads"), block);
            prop_assert_eq!(ours.decode(&bytes), Ok(Soundness::Sound));
            prop_assert_eq!(&shown(&ours), block);
        }
    }

    /// If we accept bytes as a block, the other reads the same fields; no bytes cause a panic.
    #[test]
    fn any_bytes_mean_the_same_to_both(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6)) {
        let (mut theirs, mut ours) = (fluke_hpack::Decoder::new(), Decoder::new(4096));
        for bytes in &blocks {
            let Ok(soundness) = ours.decode(bytes) else { return Ok(()) };
            // Which invalid blocks it accepts does not matter.
            let Ok(fields) = theirs.decode(bytes) else { return Ok(()) };
            if soundness == Soundness::Sound {
                prop_assert_eq!(shown(&ours), fields);
            }
        }
    }
}
