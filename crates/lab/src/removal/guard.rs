//! The guardian's side: a second process of our own program that waits for the end of the run that started
//! it.
//!
//! It reads a pipe on which the run reports what it takes and releases. The line `bye` ends it without
//! removing anything. At end of file it thaws and kills everything still listed, removes the rest, and exits.
//! It runs in its own session and ignores signals from terminals and shells. It never touches a process whose
//! start time differs from the reported one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use crate::cleanup::guardian::{BYE, READY, REGISTRY};
use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::cleanup::registry;
use crate::host::sys::{self, Signal};

use super::{exists, in_removal_order, remove};

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
    let Told { resources, registry, dismissed } = listen(input);
    if dismissed {
        return Ok(GuardOutcome::Dismissed);
    }
    let is_keeper =
        |resource: &&OwnedResource| matches!(resource, OwnedResource::Keeper(_)) && exists(resource);
    let keepers: Vec<OwnedResource> = resources.iter().filter(is_keeper).cloned().collect();
    for resource in in_removal_order(&resources) {
        remove(resource);
    }
    // A keeper that ran until now and ended has nothing below it; of one that was killed nobody can say so.
    for (path, keeper) in registry.iter().flat_map(|path| keepers.iter().map(move |keeper| (path, keeper))) {
        if !exists(keeper) {
            // If this fails, the doctor says that it does not know.
            let _ = registry::append(path, &Change::Released(keeper.clone()));
        }
    }
    Ok(GuardOutcome::Ended(resources))
}

/// What the run said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    resources: Vec<OwnedResource>,
    registry: Option<PathBuf>,
    dismissed: bool,
}

/// Reads the pipe to its end.
fn listen(input: impl Read) -> Told {
    let mut told = Told::default();
    for line in BufReader::new(input).lines() {
        match line {
            Ok(line) if line == BYE => return Told { dismissed: true, ..told },
            // A last line that is cut off reports a resource that was never made.
            Ok(line) => {
                if let Some(path) = line.strip_prefix(REGISTRY) {
                    told.registry = Some(PathBuf::from(path));
                } else if let Ok(change) = serde_json::from_str::<Change>(&line) {
                    change.apply(&mut told.resources);
                }
            }
            Err(_) => break,
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(change: &Change) -> String {
        format!("{}\n", serde_json::to_string(change).expect("plain data"))
    }

    #[test]
    fn resources_taken_and_not_released_are_listed_at_the_end_of_the_pipe() {
        let resource = |name: &str| OwnedResource::Cgroup { path: PathBuf::from(name) };
        let mut text = "registry /r/a.jsonl\n".to_owned();
        text += &line(&Change::Taken(resource("a")));
        text += &line(&Change::Taken(resource("b")));
        text += "not a change\n";
        text += &line(&Change::Released(resource("a")));
        text += &line(&Change::Taken(resource("c")))[..20];
        let told = Told {
            resources: vec![resource("b")],
            registry: Some(PathBuf::from("/r/a.jsonl")),
            dismissed: false,
        };
        assert_eq!(listen(text.as_bytes()), told);
        text += "\nbye\n";
        assert_eq!(listen(text.as_bytes()), Told { dismissed: true, ..told });
    }
}
