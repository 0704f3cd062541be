//! Replies that are equal to bytes that were found right before: compared as they arrive, at memory speed. Other bytes may be
//! right too (the order of fields, the sizes of blocks): they are kept, decoded and compared by value, and from then on known.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Most spellings of one reply that are known.
const KNOWN: usize = 8;

/// Longest reply that is kept to be decoded; a longer one of unknown bytes is wrong.
const KEPT: usize = 64 << 20;

/// The bytes of a reply, and where its messages end, if it has several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spelling {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
}

/// Decodes the bytes of a reply and compares their value with the right one. Errors: in words, how they differ.
pub(crate) trait Meaning: fmt::Debug + Send + Sync {
    fn judge(&self, spelling: &Spelling) -> Result<(), String>;
}

/// The right bytes of one reply, as far as they are known; shared by all checks of it.
#[derive(Debug)]
pub(crate) struct Exemplars {
    known: Mutex<Vec<Arc<Spelling>>>,
    meaning: Arc<dyn Meaning>,
}

impl Exemplars {
    pub fn new(first: Spelling, meaning: Arc<dyn Meaning>) -> Self {
        Self { known: Mutex::new(vec![Arc::new(first)]), meaning }
    }

    pub fn judge(&self, spelling: &Spelling) -> Result<(), String> {
        self.meaning.judge(spelling)
    }

    fn first(&self) -> Arc<Spelling> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner)[0])
    }

    /// The known spelling that equals this one. One that is right and unknown becomes known.
    fn find(&self, spelling: &Spelling) -> Option<Arc<Spelling>> {
        let find = |known: &[Arc<Spelling>]| known.iter().find(|one| ***one == *spelling).cloned();
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&lock()) {
            return Some(found);
        }
        self.judge(spelling).ok()?;
        let learned = Arc::new(spelling.clone());
        let mut known = lock();
        if known.len() < KNOWN {
            known.push(Arc::clone(&learned));
        }
        Some(learned)
    }
}

/// Compares one reply after another with the spelling that the last one had.
#[derive(Debug, Clone)]
pub(crate) struct ExemplarCheck {
    exemplars: Arc<Exemplars>,
    expected: Arc<Spelling>,
    /// Bytes and messages seen.
    length: usize,
    messages: usize,
    /// The reply, from where it left what was expected.
    kept: Option<Spelling>,
}

impl ExemplarCheck {
    pub fn new(exemplars: Arc<Exemplars>) -> Self {
        let expected = exemplars.first();
        Self { exemplars, expected, length: 0, messages: 0, kept: None }
    }

    pub fn reset(&mut self) {
        (self.length, self.messages, self.kept) = (0, 0, None);
    }

    pub fn data(&mut self, bytes: &[u8]) {
        let is_expected = self.expected.bytes.get(self.length..self.length + bytes.len()) == Some(bytes);
        if self.kept.is_none() && !is_expected {
            self.kept = Some(self.seen());
        }
        self.length += bytes.len();
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.bytes.len() + bytes.len() <= KEPT) {
            kept.bytes.extend_from_slice(bytes);
        }
    }

    /// So many messages have ended here.
    pub fn messages(&mut self, count: u32) {
        for _ in 0..count {
            if self.kept.is_none() && self.expected.ends.get(self.messages) != Some(&self.length) {
                self.kept = Some(self.seen());
            }
            self.messages += 1;
            if let Some(kept) = &mut self.kept {
                kept.ends.push(self.length);
            }
        }
    }

    /// Whether the whole reply is right.
    pub fn is_right(&mut self) -> bool {
        let is_expected =
            self.length == self.expected.bytes.len() && self.messages == self.expected.ends.len();
        let seen = match self.kept.take() {
            None if is_expected => return true,
            None => self.seen(),
            Some(kept) => kept,
        };
        if seen.bytes.len() != self.length {
            return false;
        }
        match self.exemplars.find(&seen) {
            Some(found) => {
                self.expected = found;
                true
            }
            None => false,
        }
    }

    /// What has been seen of a reply that was as expected until now.
    fn seen(&self) -> Spelling {
        let Spelling { bytes, ends } = &*self.expected;
        Spelling { bytes: bytes[..self.length].to_vec(), ends: ends[..self.messages].to_vec() }
    }
}
