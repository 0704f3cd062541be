//! Command lines as `getopt_long` reads them: `-c 4`, `-c4`, `-BS`, `--search=95:1000`, `--search 95:1000`.

use std::str::FromStr;

use weighbridge_model::experiment::suggestion;

/// Why a command line is no experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("a quote is not closed; paste the whole line")]
    Quote,
    #[error("`{word}` is no option; options begin with `-`")]
    Stray { word: String },
    #[error("`{option}` is no option that is known{hint}")]
    Unknown { option: String, hint: String },
    #[error("`{option}`: {why}")]
    Option { option: String, why: String },
    #[error("there is no server in the line; add `-s HOST`")]
    NoServer,
}

/// What an option does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It has a counterpart.
    Taken,
    /// It makes no difference to what is sent.
    None,
    /// It is left out, with this note.
    Noted(&'static str),
    /// It cannot be taken over, and why.
    Refused(&'static str),
}

/// An option of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolOption {
    pub long: &'static str,
    pub short: Option<char>,
    pub has_value: bool,
    pub effect: Effect,
}

impl ToolOption {
    pub const fn value(long: &'static str, short: Option<char>, effect: Effect) -> Self {
        Self { long, short, has_value: true, effect }
    }

    pub const fn flag(long: &'static str, short: Option<char>, effect: Effect) -> Self {
        Self { long, short, has_value: false, effect }
    }
}

/// An option as it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenOption {
    pub long: &'static str,
    /// As it is written.
    pub option: String,
    /// Empty if it has none.
    pub value: String,
}

/// What a command line says.
#[derive(Debug, Default)]
pub(super) struct GivenOptions {
    pub taken: Vec<GivenOption>,
    pub notes: Vec<String>,
}

impl GivenOption {
    pub fn wrong(&self, why: impl Into<String>) -> ToolError {
        ToolError::Option { option: self.option.clone(), why: why.into() }
    }

    /// The value as a number or another thing that text can be; `what` says what it must be.
    pub fn read<T: FromStr>(&self, what: &str) -> Result<T, ToolError> {
        self.value.parse().map_err(|_| self.wrong(format!("`{}` must be {what}", self.value)))
    }
}

impl GivenOptions {
    /// Sorts a command line by what its options do.
    ///
    /// Errors: an option that is unknown, refused, or lacks its value, by its name.
    pub fn read(words: &[String], known: &[ToolOption]) -> Result<Self, ToolError> {
        let mut given = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let option =
                    known.iter().find(|option| option.long == name).ok_or_else(|| unknown(name, known))?;
                let value = match (option.has_value, value) {
                    (true, None) => words.next().cloned(),
                    (true, Some(value)) => Some(value.to_owned()),
                    (false, _) => Some(String::new()),
                };
                given.add(option, format!("--{name}"), value)?;
                continue;
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
            let Some(letters) = letters else { return Err(ToolError::Stray { word: word.clone() }) };
            for (at, letter) in letters.char_indices() {
                let option = known.iter().find(|option| option.short == Some(letter));
                let option = option.ok_or_else(|| ToolError::Unknown {
                    option: format!("-{letter}"),
                    hint: "; leave it out, with its value where it has one".to_owned(),
                })?;
                if !option.has_value {
                    given.add(option, format!("-{letter}"), Some(String::new()))?;
                    continue;
                }
                let rest = &letters[at + letter.len_utf8()..];
                let value = if rest.is_empty() { words.next().cloned() } else { Some(rest.to_owned()) };
                given.add(option, format!("-{letter}"), value)?;
                break;
            }
        }
        Ok(given)
    }

    fn add(&mut self, option: &ToolOption, written: String, value: Option<String>) -> Result<(), ToolError> {
        let refused = |why: &str| ToolError::Option { option: written.clone(), why: why.to_owned() };
        match option.effect {
            Effect::Refused(why) => return Err(refused(why)),
            Effect::None => {}
            Effect::Noted(note) => self.notes.push(format!("`{written}` is left out: {note}")),
            Effect::Taken => {
                let value = value.ok_or_else(|| refused("needs a value behind it"))?;
                self.taken.push(GivenOption { long: option.long, option: written, value });
            }
        }
        Ok(())
    }

    /// The last of an option, which is the one that counts.
    pub fn last(&self, long: &str) -> Option<&GivenOption> {
        self.taken.iter().rev().find(|given| given.long == long)
    }

    /// The value of an option as a number.
    pub fn number<T: FromStr>(&self, long: &str, default: T) -> Result<T, ToolError> {
        self.last(long).map_or(Ok(default), |given| given.read("a number that is not negative"))
    }
}

fn unknown(name: &str, known: &[ToolOption]) -> ToolError {
    let names: Vec<&str> = known.iter().map(|option| option.long).collect();
    let near = suggestion(name, &names);
    let near = near.split(" allowed:").next().unwrap_or_default();
    let hint =
        if near.contains('?') { near.replace("mean `", "mean `--") } else { "; leave it out".to_owned() };
    ToolError::Unknown { option: format!("--{name}"), hint: hint.trim_end_matches(';').to_owned() }
}
