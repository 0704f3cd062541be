//! A script line by line, as its files have it, and what is told of it beside them.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};
use weighbridge_model::hex;

use super::counts::ActionCounts;
use super::dacapo::{STOCKS, USERS, WORKLOAD, session_line, stock_line, user_line};
use super::law::{ScriptLaw, expected_share, target};
use super::maker::ScriptMaker;
use super::script::ActionKind;

/// What a script follows from, the digests of its files, and how often each action comes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    pub law: ScriptLaw,
    pub users: u32,
    pub actions: u64,
    /// SHA-256 of each file, in hexadecimal digits.
    pub sha256: BTreeMap<&'static str, String>,
    /// In the order of DaCapo's table.
    pub shares: Vec<ActionShare>,
}

/// How often an action should come, and does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ActionShare {
    pub action: ActionKind,
    /// DaCapo's; all targets together are 1.065.
    pub target: f64,
    /// The target among all targets.
    pub expected: f64,
    /// Among all actions of this script.
    pub actual: f64,
    pub count: u64,
}

/// The lines of a generated script's files, one by one.
#[derive(Debug)]
pub struct ScriptParts {
    maker: ScriptMaker,
    /// The file whose lines come now, and the next line's number from 0.
    file: Option<usize>,
    line: u32,
    text: String,
    hashes: [Sha256; FILES.len()],
    counts: ActionCounts,
}

const FILES: [&str; 3] = [STOCKS, USERS, WORKLOAD];

impl ScriptParts {
    pub fn new(maker: ScriptMaker) -> Self {
        let hashes = Default::default();
        Self { maker, file: None, line: 0, text: String::new(), hashes, counts: ActionCounts::default() }
    }

    /// Goes on to the next file; its name.
    pub fn next_file(&mut self) -> Option<&'static str> {
        let next = self.file.map_or(0, |file| file + 1);
        (self.file, self.line) = (Some(next), 0);
        FILES.get(next).copied()
    }

    /// The next line of the file, with its line feed.
    pub fn next_line(&mut self) -> Option<&str> {
        let (number, law) = (self.line, self.maker.law());
        self.text.clear();
        match self.file? {
            0 if number < law.stocks() => {
                stock_line(&mut self.text, &self.maker.stocks()[number as usize]);
            }
            1 if number < ScriptLaw::users_of(law.sessions()) => {
                user_line(&mut self.text, self.maker.stocks(), &self.maker.user(number));
            }
            2 if number < law.sessions() => {
                let session = self.maker.session(number);
                self.counts.add(&session);
                session_line(&mut self.text, self.maker.stocks(), &session);
            }
            _ => return None,
        }
        self.line += 1;
        self.hashes[self.file?].update(&self.text);
        Some(&self.text)
    }

    /// What is told of the script, once all lines were taken.
    pub fn about(self) -> About {
        let Self { maker, hashes, counts, .. } = self;
        let law = *maker.law();
        let share = |action| ActionShare {
            action,
            target: target(action),
            expected: expected_share(action),
            actual: counts.share(action),
            count: counts.count(action),
        };
        About {
            law,
            users: ScriptLaw::users_of(law.sessions()),
            actions: counts.total(),
            sha256: FILES.into_iter().zip(hashes.map(|hash| hex::encode(&hash.finalize()))).collect(),
            shares: ActionKind::ALL.map(share).into(),
        }
    }
}
