//! What the guardian does, a second process of our own program: it waits for the end of the run that started
//! it.
//!
//! It holds the reading end of a pipe on which the run tells what it takes and releases. `bye` sends it away.
//! At end of file it thaws and kills everything still held, removes the control groups, and goes. It sits in
//! a session of its own and ignores what a terminal or a shell may send. It never touches a process whose
//! start time differs from what it was told.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::cleanup::guardian::{BYE, READY};
use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::host::sys::{self, Signal};

use super::{in_removal_order, remove};

/// How a guard ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardOutcome {
    /// Sent away.
    Dismissed,
    /// The run ended without a word; these resources were removed in its place.
    Ended(Vec<OwnedResource>),
}

/// Stands guard until `input` ends: what the hidden verb does with its standard input and output, and all it
/// does. It returns in order that `main` may exit.
pub fn run(input: impl Read, mut output: impl Write) -> io::Result<GuardOutcome> {
    for signal in [Signal::INT, Signal::TERM, Signal::TSTP, Signal::HUP, Signal::QUIT] {
        sys::ignore(signal);
    }
    // It fails only where we lead a group already, and then a terminal cannot reach us through our parent's.
    let _ = sys::new_session();
    // A guardian must not keep a file system busy; where `/` cannot be entered nothing is lost.
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

/// Follows the pipe to its end; the resources then held, and whether we were sent away.
fn listen(input: impl Read) -> (Vec<OwnedResource>, bool) {
    let mut resources = Vec::new();
    for line in BufReader::new(input).lines() {
        match line {
            Ok(line) if line == BYE => return (resources, true),
            // A line that was cut off by the end of the run told of a resource that was then never made.
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
    fn what_is_taken_and_not_released_is_held_at_the_end_of_the_pipe() {
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
