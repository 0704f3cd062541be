//! `events.jsonl`: what happened, line by line, while it happens. Lines are only ever added; they are not part of
//! the evidence, so a line torn by a kill is dropped without complaint.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use weighbridge_model::event::TimedEvent;

use crate::durable::{Durable, read_file};
use crate::error::{Problem, ReadError, WriteError};

/// An open event log.
#[derive(Debug)]
pub(crate) struct EventLog {
    file: File,
    path: PathBuf,
    /// Length of the whole lines in the file.
    length: u64,
}

impl EventLog {
    /// Opens the log, empty or after its last whole line.
    pub(crate) fn open(path: PathBuf, durable: &Durable) -> Result<Self, WriteError> {
        let open = || -> std::io::Result<(File, u64)> {
            let file = OpenOptions::new().append(true).create(true).open(&path)?;
            let whole = whole_lines(&std::fs::read(&path)?).len() as u64;
            // Devices have no length to cut; a file is cut only where a line is torn.
            if file.metadata()?.len() > whole {
                file.set_len(whole)?;
            }
            Ok((file, whole))
        };
        let (file, length) = open().map_err(|error| durable.error(&path, error))?;
        Ok(Self { file, path, length })
    }

    /// Adds one line. It is visible to followers on return; a kill loses nothing, a power cut may.
    pub(crate) fn append(&mut self, event: &TimedEvent, durable: &Durable) -> Result<(), WriteError> {
        let mut line = serde_json::to_vec(event).map_err(|error| WriteError::NotStorable {
            what: "an event".to_owned(),
            problem: error.to_string(),
        })?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|error| {
            let _ = self.file.set_len(self.length); // half a line would spoil the next one
            durable.error(&self.path, error)
        })?;
        self.length += line.len() as u64;
        Ok(())
    }
}

/// All whole lines of a log.
pub(crate) fn read_events(path: &Path) -> Result<Vec<TimedEvent>, ReadError> {
    let bytes = read_file(path)?;
    let lines = whole_lines(&bytes).split_inclusive(|byte| *byte == b'\n');
    lines
        .zip(1..)
        .map(|(line, number)| {
            serde_json::from_slice(line)
                .map_err(|error| Problem { line: Some(number), ..Problem::of_json(&error) })
        })
        .collect::<Result<_, _>>()
        .map_err(|problem| problem.at(path))
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use weighbridge_model::event::Event;
    use weighbridge_model::quantity::Nanoseconds;

    use super::*;
    use crate::error::NextStep;

    fn warning(number: u64) -> TimedEvent {
        let text = format!("warning {number}\nwith \"quotes\"");
        TimedEvent { at: Nanoseconds::from_micros(number), event: Event::Warning { text } }
    }

    #[test]
    fn a_torn_line_is_cut_off_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let durable = Durable::new(NextStep::StartAgain);
        let mut log = EventLog::open(path.clone(), &durable).unwrap();
        for number in 0..3 {
            log.append(&warning(number), &durable).unwrap();
        }
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"at_ns\":12,\"ev"].concat()).unwrap();
        assert_eq!(read_events(&path).unwrap(), [warning(0), warning(1), warning(2)]);

        let mut log = EventLog::open(path.clone(), &durable).unwrap();
        log.append(&warning(3), &durable).unwrap();
        assert_eq!(read_events(&path).unwrap(), (0..4).map(warning).collect::<Vec<_>>());
    }

    #[test]
    fn a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let good = serde_json::to_string(&warning(1)).unwrap();
        std::fs::write(&path, format!("{good}\n{good}\n{{\"at_ns\":1,\"event\":\"party\"}}\n{good}\n"))
            .unwrap();
        let error = read_events(&path).unwrap_err().to_string();
        assert!(error.contains("events.jsonl` line 3: unknown variant `party`"), "{error}");
    }

    #[test]
    fn a_full_disk_is_reported() {
        let durable = Durable::new(NextStep::Resume("runs/a".into()));
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut log = EventLog { file, path: "/dev/full".into(), length: 0 };
        let error = log.append(&warning(1), &durable).unwrap_err();
        assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
        assert!(error.to_string().contains("`weigh run --resume runs/a`"), "{error}");
    }
}
