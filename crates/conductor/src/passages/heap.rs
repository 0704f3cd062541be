//! The smallest heap of a Java virtual machine with which a variant carries out whole passages.

use weighbridge_lab::host::facts::memory_available;
use weighbridge_model::event::TimedEvent;
use weighbridge_model::experiment::{HeapSize, JVM_VARIABLE, Variant};
use weighbridge_model::quantity::{Bytes, Nanoseconds};

use super::Player;
use super::bracket::Bracket;
use crate::block::BlockError;
use crate::block::passages::{Passage, PassageLimits, PassagesEnd};
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::run::RunError;

/// Passages with one heap, one after the other in the same process: what is garbage after the first must make room.
pub const HEAP_PASSAGES: u32 = 2;
/// A heap is too small where a passage takes longer than this multiple of the slowest with the first heap that was
/// large enough: a collector may go on almost for ever without running out of memory.
pub const SLOWDOWN_LIMIT: u64 = 10;
/// Longest passage as long as no heap was large enough.
const FIRST_PASSAGE: Nanoseconds = Nanoseconds::from_secs(60);
/// The shortest limit of a passage: one of some milliseconds meets other delays.
const LIMIT_LEAST: Nanoseconds = Nanoseconds::from_secs(2);

/// One heap that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapTry {
    pub heap: Bytes,
    /// The slowest passage, or why the heap is too small.
    pub outcome: Result<Nanoseconds, String>,
}

/// The smallest heap that is large enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimumHeap {
    pub minimum: Bytes,
    /// The largest that was too small.
    pub too_small: Bytes,
    pub tries: Vec<HeapTry>,
}

#[derive(Debug, thiserror::Error)]
pub enum HeapError {
    #[error("`{variant}` fails with every heap up to {most}; with that one: {why}")]
    NeverPasses { variant: String, most: Bytes, why: String },
    #[error(
        "`{variant}` passes with a heap of {least}, so the size seems to be ignored; is it a program of Java, \
         started by `java` of JDK 9 or later?"
    )]
    Ignored { variant: String, least: Bytes },
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Searches with the only variant of an experiment, at its first point. Every try is passed to `tried` as it ends.
///
/// # Errors
///
/// [`HeapError`]: no heap or each is large enough, or the variant cannot be started at all.
pub fn minimum_heap(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
    tried: &mut dyn FnMut(&HeapTry),
) -> Result<MinimumHeap, HeapError> {
    let player = Player::open(without_heap(checked), options, sink)?;
    let mut search = Search { player, tries: Vec::new(), limit: FIRST_PASSAGE };
    let found = search.carry_out(tried);
    search.player.close(sink)?;
    found
}

struct Search<'a> {
    player: Player<'a>,
    tries: Vec<HeapTry>,
    /// Longest passage.
    limit: Nanoseconds,
}

impl Search<'_> {
    fn carry_out(&mut self, tried: &mut dyn FnMut(&HeapTry)) -> Result<MinimumHeap, HeapError> {
        let mut bracket = Bracket::up_to(most());
        while let Some(heap) = bracket.next() {
            let outcome = self.try_heap(heap)?;
            if let (Ok(took), None) = (&outcome, bracket.large_enough()) {
                self.limit = (*took * SLOWDOWN_LIMIT).max(LIMIT_LEAST);
            }
            bracket.add(heap, outcome.is_ok());
            let one = HeapTry { heap, outcome };
            tried(&one);
            self.tries.push(one);
        }
        let variant = self.player.variant();
        match (bracket.large_enough(), bracket.too_small()) {
            (Some(minimum), Some(too_small)) => {
                Ok(MinimumHeap { minimum, too_small, tries: std::mem::take(&mut self.tries) })
            }
            (Some(least), None) => Err(HeapError::Ignored { variant, least }),
            (None, most) => {
                let why = self.tries.last().and_then(|last| last.outcome.clone().err());
                let (most, why) = (most.unwrap_or_default(), why.unwrap_or_default());
                Err(HeapError::NeverPasses { variant, most, why })
            }
        }
    }

    /// Starts the variant with that heap. The slowest passage, or in words why it is too small.
    fn try_heap(&self, heap: Bytes) -> Result<Result<Nanoseconds, String>, HeapError> {
        loop {
            let (mut slowest, mut left) = (Nanoseconds::ZERO, HEAP_PASSAGES);
            let mut each = |passage: Passage| {
                slowest = slowest.max(passage.took);
                left -= 1;
                left > 0
            };
            let limits = PassageLimits { longest: self.limit, each: &mut each };
            let number = self.tries.len() as u32;
            match self.player.carry_out(number, |variant| with_heap(variant, heap), limits) {
                Ok(PassagesEnd::Whole) => return Ok(Ok(slowest)),
                Ok(PassagesEnd::Disturbed) => {}
                Err(BlockError::Interrupted) => return Err(RunError::InterruptedEarly.into()),
                Err(error) => return Ok(Err(self.player.without_secrets(&error))),
            }
        }
    }
}

/// A heap that is a multiple of what is searched for has no size.
fn without_heap(mut checked: Checked) -> Checked {
    for jvm in checked.experiment.variants.iter_mut().filter_map(|variant| variant.jvm.as_mut()) {
        jvm.heap = None;
    }
    checked
}

/// Gives the variant's virtual machine a heap of this size. Options that it has from its environment come first: of two
/// alike the last counts.
fn with_heap(Variant { env, jvm, .. }: &mut Variant, heap: Bytes) {
    let before = env.iter().position(|(name, _)| name == JVM_VARIABLE).map(|at| env.remove(at).1);
    let mut settings = jvm.take().unwrap_or_default();
    settings.heap = Some(HeapSize::Fixed(heap));
    if let Some(before) = before {
        let all = format!("{before} {}", settings.options());
        env.push((JVM_VARIABLE.to_owned(), all));
    } else {
        *jvm = Some(settings);
    }
}

/// The largest heap to try: half of this host's memory.
fn most() -> Bytes {
    memory_available().map_or(Bytes::new(1 << 30), |bytes| Bytes::new(bytes.get() / 2))
}
