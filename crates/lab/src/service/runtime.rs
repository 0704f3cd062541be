//! Run-time facts: what a service's run-time saw of the machine, in a line that it writes before it is ready
//! into the file named by the contract's variable `RUNTIME_FACTS`.
//!
//! The line is foreign text: whatever breaks the contract is ignored, and nothing depends on it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub const VARIABLE: &str = "RUNTIME_FACTS";
/// Bytes of the file that are read.
const HEAD: u64 = 4096;
const PAIRS: usize = 16;
/// Longest key or value, in bytes.
const LENGTH: usize = 64;

/// The pairs of the file's first line; empty where the service has not written it.
pub fn said(file: &Path) -> BTreeMap<String, String> {
    let mut bytes = Vec::new();
    // Writing it is optional.
    let _ = File::open(file).map(|file| file.take(HEAD).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).lines().next().map(parse).unwrap_or_default()
}

/// Parses words `key=value`: keys of small letters, digits and `_`, values of visible ASCII, each at most 64
/// bytes; at most 16 pairs, the first of each key.
pub fn parse(words: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for (key, value) in words.split(' ').filter_map(|word| word.split_once('=')) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let named = !key.is_empty() && key.len() <= LENGTH && key.bytes().all(plain);
        let told = !value.is_empty() && value.len() <= LENGTH && value.bytes().all(|b| b.is_ascii_graphic());
        if named && told && pairs.len() < PAIRS {
            pairs.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_the_file_is_read_as_pairs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runtime");
        assert!(said(&path).is_empty(), "no file");
        std::fs::write(&path, "cores=1 gc=Serial heap_bytes=10\nmore=1\n").expect("a file");
        let pairs = [("cores", "1"), ("gc", "Serial"), ("heap_bytes", "10")];
        assert_eq!(said(&path), pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn what_does_not_keep_the_contract_is_left_out() {
        assert!(parse("alone =x key= Key=x k\u{e9}y=x key=\u{e9}").is_empty());
        assert!(parse(&format!("key={}", "x".repeat(65))).is_empty());
        assert_eq!(
            parse("a=1 a=2 b=x=y").into_iter().collect::<Vec<_>>(),
            [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "x=y".to_owned()),]
        );
        let many: String = (0..100).map(|n| format!("k{n}=v ")).collect();
        assert_eq!(parse(&many).len(), PAIRS);
    }
}
