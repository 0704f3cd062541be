//! Reads a role's log files: the line that says it is ready, and its last lines.
//!
//! Nothing here writes, waits or judges.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Finds the ready line in a log that is being written. The log is a file instead of a pipe, so that nobody
/// has to drain it during measurements and a role with much output never blocks.
#[derive(Debug)]
pub(crate) struct LineFinder {
    file: Option<File>,
    rest: Vec<u8>,
}

impl LineFinder {
    pub(crate) fn new(path: &Path) -> Self {
        Self { file: File::open(path).ok(), rest: Vec::new() }
    }

    /// The first whole line that satisfies `wanted`, among those written since the last call.
    pub(crate) fn find(&mut self, wanted: &dyn Fn(&str) -> bool) -> Option<String> {
        // What cannot be read now is read by the next call.
        let _ = self.file.as_mut()?.read_to_end(&mut self.rest);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if wanted(&text) {
                return Some(text);
            }
        }
        None
    }
}

/// Lines of a log that an error quotes.
pub const LINES_QUOTED: usize = 20;

/// The last non-blank lines of a file, oldest first, at most `most`, from its last 16 KiB.
pub fn last_lines(path: &Path, most: usize) -> Vec<String> {
    let tail = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = fs::metadata(path)?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(16 * 1024)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // An unreadable log counts as empty.
    let bytes = tail().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<String> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    lines.drain(..lines.len().saturating_sub(most));
    lines
}

/// An excerpt of a program's output for a one-line message: the first of `lines` (where Go, Java and most
/// command-line tools name the error) and the last two (where Python does).
pub fn excerpt(lines: &[String]) -> String {
    match lines {
        [] => String::new(),
        [first, middle @ .., before, last] if !middle.is_empty() => {
            let cause = middle.iter().find(|line| tells_a_cause(line));
            let cause = cause.map_or(String::new(), |line| format!(" | {}", line.trim()));
            format!("; it said: {first}{cause} | … | {before} | {last}")
        }
        few => format!("; it said: {}", few.join(" | ")),
    }
}

/// Whether a line of a trace of calls is the one that says what went wrong.
fn tells_a_cause(line: &str) -> bool {
    ["Error", "error:", "Exception", "annot ", "panicked"].iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn the_ready_line_is_found_among_others_and_only_when_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.log");
        fs::write(&path, "starting\nalready 5\nready 80").expect("a file");
        let wanted = |line: &str| line.starts_with("ready ");
        let mut finder = LineFinder::new(&path);
        assert_eq!(finder.find(&wanted), None);
        let mut file = OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"81\r\nmore\n").expect("room");
        assert_eq!(finder.find(&wanted).as_deref(), Some("ready 8081"));
        assert_eq!(finder.find(&wanted), None);
    }

    #[test]
    fn an_excerpt_has_the_first_line_and_the_last_two() {
        let lines: Vec<String> = (1..=5).map(|n| n.to_string()).collect();
        assert_eq!(excerpt(&lines), "; it said: 1 | … | 4 | 5");
        assert_eq!(excerpt(&lines[..3]), "; it said: 1 | 2 | 3");
        assert_eq!(excerpt(&[]), "");
        let node = [
            "node:internal:1210",
            "  throw err;",
            "  ^",
            "Error: Cannot find module 'x'",
            "    at a",
            "}",
            "v20",
        ];
        let node = node.map(str::to_owned);
        assert_eq!(
            excerpt(&node),
            "; it said: node:internal:1210 | Error: Cannot find module 'x' | … | } | v20",
            "and the cause"
        );
    }

    #[test]
    fn last_lines_are_the_last_without_blanks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        assert_eq!(last_lines(&path, 3), Vec::<String>::new());
        let text: String = (0..5000).map(|n| format!("line {n}\n\n")).collect();
        fs::write(&path, text).expect("a file");
        assert_eq!(last_lines(&path, 2), ["line 4998", "line 4999"]);
    }
}
