//! `events.jsonl`: events, appended line by line as they happen. They are not part of the evidence, so a line
//! torn by a kill is dropped silently.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use weighbridge_model::event::TimedEvent;

use crate::durable::{Durable, open_regular, open_regular_as, read_file, read_regular};
use crate::error::{Problem, ReadError, WriteError};

#[derive(Debug)]
pub(crate) struct EventLog {
    file: File,
    path: PathBuf,
    /// Length of the complete lines in the file.
    length: u64,
}

impl EventLog {
    /// Opens or creates the log and cuts off an incomplete last line.
    pub(crate) fn open(path: PathBuf, durable: &Durable) -> Result<Self, WriteError> {
        let open = || -> std::io::Result<(File, u64)> {
            let file = open_regular_as(&path, OpenOptions::new().append(true).create(true))?;
            let whole = whole_lines(&read_regular(&path)?).len() as u64;
            if file.metadata()?.len() > whole {
                file.set_len(whole)?;
            }
            Ok((file, whole))
        };
        let (file, length) = open().map_err(|error| durable.error(&path, error))?;
        Ok(Self { file, path, length })
    }

    /// Appends a line, which followers see at once. A kill loses nothing; a power cut may.
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

pub(crate) fn read_events(path: &Path) -> Result<Vec<TimedEvent>, ReadError> {
    let bytes = read_file(path)?;
    let lines = whole_lines(&bytes).split_inclusive(|byte| *byte == b'\n');
    lines
        .zip(1..)
        .map(|(line, number)| {
            serde_json::from_slice(line)
                .map_err(|error| Problem { line: Some(number), ..Problem::from_json(&error) })
        })
        .collect::<Result<_, _>>()
        .map_err(|problem| problem.at(path))
}

/// Reads a log while it is written: complete lines only, each once.
#[derive(Debug)]
pub struct EventFollower {
    path: PathBuf,
    /// Bytes of the lines that were read.
    offset: u64,
    /// Lines that were read.
    lines: u64,
}

/// The events of one poll.
#[derive(Debug, Default)]
pub struct NewEvents {
    /// Whether the log was truncated. The events are then from its beginning, and earlier ones are obsolete.
    pub truncated: bool,
    /// New events in order; an error for each line that is not an event.
    pub events: Vec<Result<TimedEvent, ReadError>>,
}

/// Most bytes of one poll; a longer line is skipped in pieces.
const POLL_BYTES: u64 = 1 << 20;

impl EventFollower {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, lines: 0 }
    }

    /// The complete lines that were added since the last poll, from at most 1 MiB; so poll again after any
    /// result. A missing log is empty.
    pub fn poll(&mut self) -> Result<NewEvents, ReadError> {
        let mut found = NewEvents::default();
        let bytes = match self.read(&mut found) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            read => read.map_err(|source| ReadError::Io { path: self.path.clone(), source })?,
        };
        let whole = whole_lines(&bytes);
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            self.lines += 1;
            let number = self.lines;
            found.events.push(serde_json::from_slice(line).map_err(|error| {
                Problem { line: Some(number), ..Problem::from_json(&error) }.at(&self.path)
            }));
        }
        let is_endless = whole.is_empty() && bytes.len() as u64 == POLL_BYTES;
        self.offset += if is_endless { POLL_BYTES } else { whole.len() as u64 };
        Ok(found)
    }

    fn read(&mut self, found: &mut NewEvents) -> std::io::Result<Vec<u8>> {
        let mut file = open_regular(&self.path)?;
        if file.metadata()?.len() < self.offset {
            (self.offset, self.lines, found.truncated) = (0, 0, true);
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(POLL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
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
    fn a_follower_sees_every_whole_line_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut follower = EventFollower::new(path.clone());
        let seen = |follower: &mut EventFollower| -> Vec<TimedEvent> {
            follower.poll().unwrap().events.into_iter().map(Result::unwrap).collect()
        };
        assert_eq!(seen(&mut follower), []);
        let line = |number| format!("{}\n", serde_json::to_string(&warning(number)).unwrap());
        std::fs::write(&path, format!("{}{}", line(0), &line(1)[..9])).unwrap();
        assert_eq!(seen(&mut follower), [warning(0)], "a torn line is not there yet");
        std::fs::write(&path, [line(0), line(1), line(2)].concat()).unwrap();
        assert_eq!(seen(&mut follower), [warning(1), warning(2)]);
        assert_eq!(seen(&mut follower), []);
        std::fs::write(&path, format!("{}{}{}not an event\n{}", line(0), line(1), line(2), line(3))).unwrap();
        let events = follower.poll().unwrap().events;
        assert!(events[0].as_ref().unwrap_err().to_string().contains("line 4"), "{events:?}");
        assert_eq!(events[1].as_ref().unwrap(), &warning(3));
        std::fs::write(&path, line(7)).unwrap();
        let anew = follower.poll().unwrap();
        assert!(anew.truncated && anew.events.len() == 1, "a log that was cut is read from its beginning");
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
