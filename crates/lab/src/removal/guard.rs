//! The guardian's side: a second process of our own program that waits for the end of the run that started
//! it.
//!
//! It reads a pipe on which the run reports what it takes and releases. The line `bye` ends it without
//! removing anything. At end of file it thaws and kills everything still listed, removes the rest, and exits.
//! It runs in its own session and ignores signals from terminals and shells. It never touches a process whose
//! start time differs from the reported one.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::cleanup::guardian::{BYE, READY};
use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::host::sys::{self, Signal};

use super::{in_removal_order, remove};

/// How a guardian ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardOutcome {
    /// It was dismissed.
    Dismissed,
    /// The run ended without dismissing it; these resources were removed in its place.
    Ended(Vec<OwnedResource>),
}

/// Guards until `input` ends. This is all that the hidden verb does, with its standard input and output. It
/// returns so that `main` can exit.
pub fn run(input: impl Read, mut output: impl Write) -> io::Result<GuardOutcome> {
    for signal in [Signal::INT, Signal::TERM, Signal::TSTP, Signal::HUP, Signal::QUIT] {
        sys::ignore(signal);
    }
    // It fails only if we lead a group already; then a terminal cannot reach us through our parent's group.
    let _ = sys::new_session();
    // A guardian must not keep a file system busy; if `/` cannot be entered, that is harmless.
    let _ = std::env::set_current_dir("/");
    writeln!(output, "{READY}")?;
    output.flush()?;
    let (resources, dismissed) = listen(input);
    if dismissed {
        return Ok(GuardOutcome::Dismissed);
    }
    for resource in in_removal_order(&resources) {
        remove(resource);
    }
    Ok(GuardOutcome::Ended(resources))
}

/// Reads the pipe to its end; returns the resources then listed, and whether we were dismissed.
fn listen(input: impl Read) -> (Vec<OwnedResource>, bool) {
    let mut resources = Vec::new();
    for line in BufReader::new(input).lines() {
        match line {
            Ok(line) if line == BYE => return (resources, true),
            // A last line that is cut off reports a resource that was never made.
            Ok(line) => {
                if let Ok(change) = serde_json::from_str::<Change>(&line) {
                    change.apply(&mut resources);
                }
            }
            Err(_) => break,
        }
    }
    (resources, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn line(change: &Change) -> String {
        format!("{}\n", serde_json::to_string(change).expect("plain data"))
    }

    #[test]
    fn resources_taken_and_not_released_are_listed_at_the_end_of_the_pipe() {
        let resource = |name: &str| OwnedResource::Cgroup { path: PathBuf::from(name) };
        let mut text = String::new();
        text += &line(&Change::Taken(resource("a")));
        text += &line(&Change::Taken(resource("b")));
        text += "not a change\n";
        text += &line(&Change::Released(resource("a")));
        text += &line(&Change::Taken(resource("c")))[..20];
        assert_eq!(listen(text.as_bytes()), (vec![resource("b")], false));
        text += "\nbye\n";
        assert_eq!(listen(text.as_bytes()), (vec![resource("b")], true));
    }
}
