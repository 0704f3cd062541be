//! The exit codes, all in one place.

/// How the command ends. Codes 0 to 3 are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Done, and every gate passed.
    Fine = 0,
    GateFailed = 1,
    /// It could not be done: bad input, a service that does not start, a full disk, interrupted.
    CouldNot = 2,
    /// Done, but the figures must not be used.
    Invalid = 3,
}

impl Exit {
    /// A verb's exit codes and their meaning, for its page; `weigh` stands for all verbs.
    pub fn meanings(verb: &str) -> Vec<(u8, &'static str)> {
        let failed = match verb {
            "verify" => Some("A service breaks its contract."),
            "judge" => Some("The stored summary does not follow from the records."),
            "weigh" | "run" | "load" | "capacity" | "compare" => {
                Some("A gate failed: what --fail-if names is shown to hold, or what --require names is not.")
            }
            _ => None,
        };
        let invalid = match verb {
            "weigh" | "run" | "load" | "compare" => Some("Done, but the figures must not be used (invalid)."),
            "capacity" => {
                Some("Done, but the figures must not be used (invalid), or the generator was the limit.")
            }
            "doctor" => Some("Something on this host spoils measurements."),
            "probe" | "hostile" => Some("The port is in use."),
            _ => None,
        };
        let could_not = "It could not be done: bad input, no connection, a service that does not start or answers \
                         wrongly, a full disk, interrupted.";
        let codes = [
            (Self::Fine, Some("Done, and every gate passed.")),
            (Self::GateFailed, failed),
            (Self::CouldNot, Some(could_not)),
            (Self::Invalid, invalid),
        ];
        codes.into_iter().filter_map(|(code, meaning)| Some((code as u8, meaning?))).collect()
    }
}
