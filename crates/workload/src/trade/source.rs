//! Where the parts of a script come from: made from a seed whenever they are asked for, or read from files.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use weighbridge_model::experiment::TradeSpec;

use super::brokerage::PassageError;
use super::maker::ScriptMaker;
use super::script::{Action, Session, Stock, TradeScript, User};

#[derive(Debug, Clone)]
pub(crate) enum ScriptSource {
    /// From a maker of a script of which the first so many sessions are played, with users for all of them.
    Made {
        maker: ScriptMaker,
        played: u32,
    },
    Read(Arc<TradeScript>),
}

/// Why a script cannot be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("the script of `{folder}` was not read")]
    Unread { folder: String },
    #[error(
        "sessions {} and {} of the script are both of user `{user}`: what one is answered would depend on the other; give each a \
         user of its own", .sessions[0], .sessions[1]
    )]
    SharedUser {
        user: String,
        /// From 1.
        sessions: [usize; 2],
    },
    #[error("the script cannot be carried out: {0}")]
    Refused(#[from] PassageError),
}

impl ScriptSource {
    /// That of a specification; `read` is what its files say, if it names some.
    pub fn new(spec: &TradeSpec, read: Option<&Arc<TradeScript>>) -> Result<Self, ScriptError> {
        match (&spec.script, read) {
            (None, _) => {
                let maker = ScriptMaker::new(super::passage::law(spec));
                Ok(Self::Made { maker, played: spec.sessions })
            }
            (Some(_), Some(script)) => {
                check_apart(script)?;
                Ok(Self::Read(Arc::clone(script)))
            }
            (Some(files), None) => Err(ScriptError::Unread { folder: files.folder.clone() }),
        }
    }

    pub fn script(&self) -> Arc<TradeScript> {
        match self {
            Self::Made { maker, played } => Arc::new(maker.first_sessions(*played)),
            Self::Read(script) => Arc::clone(script),
        }
    }

    pub fn stocks(&self) -> &[Stock] {
        match self {
            Self::Made { maker, .. } => maker.stocks(),
            Self::Read(script) => &script.stocks,
        }
    }

    pub fn sessions(&self) -> u32 {
        match self {
            Self::Made { played, .. } => *played,
            Self::Read(script) => script.sessions.len() as u32,
        }
    }

    pub fn session(&self, number: u32) -> Session {
        match self {
            Self::Made { maker, .. } => maker.session(number),
            Self::Read(script) => script.sessions[number as usize].clone(),
        }
    }

    /// Sessions of the same user before this one.
    pub fn of_its_user_before(&self, session: u32) -> Range<u32> {
        match self {
            Self::Made { maker, .. } => session - session % maker.law().sharing()..session,
            Self::Read(_) => session..session,
        }
    }

    /// Who opens a session.
    pub fn user_of(&self, session: u32) -> User {
        match self {
            Self::Made { maker, .. } => maker.user(maker.law().user_of(session)),
            Self::Read(script) => {
                let name = &script.sessions[session as usize].user;
                script.users.iter().find(|user| user.user == *name).expect("it was read").clone()
            }
        }
    }
}

/// Sessions run in any order beside each other, so no two of them may be of one user.
fn check_apart(script: &TradeScript) -> Result<(), ScriptError> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (session, number) in script.sessions.iter().zip(1..) {
        let registered = session.actions.iter().filter_map(|action| match action {
            Action::Register(user) => Some(&*user.user),
            _ => None,
        });
        for user in std::iter::once(&*session.user).chain(registered) {
            if let Some(before) = seen.insert(user, number) {
                return Err(ScriptError::SharedUser { user: user.to_owned(), sessions: [before, number] });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::{Experiment, WorkloadSpec};

    use super::*;

    /// That of a script of forty sessions in files.
    fn in_files() -> TradeSpec {
        let text = "[workload]\nname = 'trade'\nscript = 'here'\nsessions = 40\n[[variant]]\nservice = 's'\n";
        match Experiment::parse("x.toml", text).expect("an experiment").points.remove(0).workload {
            WorkloadSpec::Trade(spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    fn read(change: impl FnOnce(&mut TradeScript)) -> Result<ScriptSource, ScriptError> {
        let made = TradeSpec { sessions: 40, ..TradeSpec::default() };
        let source = ScriptSource::new(&made, None).expect("it is made");
        let mut script = (*source.script()).clone();
        change(&mut script);
        ScriptSource::new(&in_files(), Some(&Arc::new(script)))
    }

    #[test]
    fn a_script_that_was_read_has_the_parts_of_the_one_that_was_made() {
        let made =
            ScriptSource::new(&TradeSpec { sessions: 40, ..TradeSpec::default() }, None).expect("it is made");
        let read = read(|_| {}).expect("the same");
        assert_eq!((read.sessions(), read.stocks()), (made.sessions(), made.stocks()));
        for number in 0..40 {
            assert_eq!(
                (read.session(number), read.user_of(number)),
                (made.session(number), made.user_of(number))
            );
        }
    }

    #[test]
    fn no_two_sessions_are_of_one_user() {
        let shared = read(|script| script.sessions[7].user = script.sessions[2].user.clone());
        assert!(matches!(shared, Err(ScriptError::SharedUser { sessions: [3, 8], .. })));
        let registered = read(|script| {
            let newcomer =
                script.sessions.iter().flat_map(|session| &session.actions).find_map(|action| match action {
                    Action::Register(user) => Some(user.user.clone()),
                    _ => None,
                });
            script.sessions[39].user = newcomer.expect("one of forty registers");
        });
        assert!(matches!(registered, Err(ScriptError::SharedUser { sessions: [_, 40], .. })));
    }
}
