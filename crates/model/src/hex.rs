//! Bytes as hexadecimal text.

/// Two lower-case digits for each byte, as all digests are written.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(encode(&[]), "");
        assert_eq!(encode(&[0, 0x0a, 0xa0, 0xff]), "000aa0ff");
    }
}
