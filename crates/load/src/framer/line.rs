//! Lines that end in CR LF, found in bytes as they arrive, for memcached's and Redis' protocols.
//!
//! A line is used only once it is whole, so that the same bytes mean the same however they are cut; the search
//! continues where it stopped, so that a line sent byte by byte costs no more than one sent at once.

/// The result of one search for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The line without its end, and its length including it.
    Whole(&'a [u8], usize),
    /// Its end is not there yet.
    Partial,
    /// It is longer than allowed, or contains a CR or LF that is not its end.
    Fault,
}

/// Where the search for the end of a line continues.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineSearch {
    /// Bytes of the unfinished line that contain no line feed.
    searched: usize,
}

impl LineSearch {
    /// Finds the line at the start of `rest`; including its end it has at most `limit` bytes. Until it is whole, the
    /// next call must get the same bytes followed by more.
    pub fn find<'a>(&mut self, rest: &'a [u8], limit: usize) -> Line<'a> {
        let window = &rest[..rest.len().min(limit)];
        let searched = std::mem::take(&mut self.searched).min(window.len());
        match window[searched..].iter().position(|byte| *byte == b'\n') {
            Some(at) => whole(&window[..searched + at]),
            None if window.len() == limit => Line::Fault,
            None => {
                self.searched = window.len();
                Line::Partial
            }
        }
    }

    /// Drops an unfinished line.
    pub fn reset(&mut self) {
        self.searched = 0;
    }
}

/// The line before a line feed.
fn whole(before: &[u8]) -> Line<'_> {
    match before.split_last() {
        Some((b'\r', line)) if !line.contains(&b'\r') => Line::Whole(line, before.len() + 1),
        _ => Line::Fault,
    }
}

/// A number of digits only; `None` for anything else or a number that does not fit.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_however_it_arrives() {
        let bytes = b"hello\r\nmore";
        let mut search = LineSearch::default();
        for end in 0..7 {
            assert_eq!(search.find(&bytes[..end], 100), Line::Partial, "{end}");
        }
        assert_eq!(search.find(bytes, 100), Line::Whole(b"hello", 7));
        assert_eq!(search.find(b"\r\n", 100), Line::Whole(b"", 2), "the next search starts afresh");
    }

    #[test]
    fn long_and_broken_lines_are_faults() {
        let find = |bytes: &'static [u8], limit| LineSearch::default().find(bytes, limit);
        assert_eq!(find(b"abc\r\n", 5), Line::Whole(b"abc", 5));
        assert_eq!(find(b"abcd\r\n", 5), Line::Fault);
        assert_eq!(find(b"abcd\r", 5), Line::Fault);
        assert_eq!(find(b"abc\n", 10), Line::Fault);
        assert_eq!(find(b"a\rbc\r\n", 10), Line::Fault);
        assert_eq!(find(b"\n", 10), Line::Fault);
    }

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for wrong in [&b""[..], b"-1", b"+1", b" 1", b"1 ", b"18446744073709551616", b"0x1"] {
            assert_eq!(decimal(wrong), None, "{wrong:?}");
        }
    }
}
