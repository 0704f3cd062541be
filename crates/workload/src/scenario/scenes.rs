//! Sessions of several requests as the generator drives them: each has its rows, its values from replies, and its
//! position in its list of requests.
//!
//! Which session comes next, and with which rows, depends only on the substream and on how many were opened in it: the
//! kth session is the same whichever slot sends it. Nothing is allocated once every slot has served the largest of
//! each.

use std::borrow::Cow;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::failures::Failures;
use weighbridge_load::framer::Head;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::template::RequestBuffer;
use weighbridge_model::experiment::ReplyCheck;
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::Scene;
use super::extract::{Extractor, Taken};
use super::rows::Turns;
use crate::checks::explain::{Explain, FailureLog, Noted};
use crate::checks::{HttpCheck, Reset};
use crate::stream::Mix;

/// The conditions on a reply, and the values taken from it: without all its values a reply is not good.
#[derive(Debug)]
pub(crate) struct SceneCheck {
    check: HttpCheck,
    extractors: Arc<[Extractor]>,
    taken: Taken,
}

impl SceneCheck {
    pub fn new(check: &ReplyCheck, extractors: &Arc<[Extractor]>) -> Self {
        let needs_body = extractors.iter().any(Extractor::needs_body);
        Self {
            check: HttpCheck::keeping(check.clone(), needs_body),
            extractors: Arc::clone(extractors),
            taken: Taken::new(extractors),
        }
    }

    /// The values taken so far.
    pub fn taken(&self) -> &Taken {
        &self.taken
    }

    /// Swaps the values into a session's own.
    fn hand_over(&mut self, values: &mut [Vec<u8>]) {
        for (at, extractor) in self.extractors.iter().enumerate() {
            std::mem::swap(&mut values[extractor.value()], self.taken.value_mut(at));
        }
    }

    /// Takes values even from a wrong reply, so that they can be hidden.
    pub fn keep_values_for_redaction(&mut self) {
        self.taken.body(&self.extractors, self.check.body());
    }
}

impl Reset for SceneCheck {
    fn reset(&mut self) {
        self.check.reset();
        self.taken.reset();
    }
}

impl Check for SceneCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.check.head(head);
        self.taken.head(&self.extractors, head);
    }

    fn data(&mut self, bytes: &[u8]) {
        self.check.data(bytes);
    }

    fn done(&mut self) -> Outcome {
        match self.check.done() {
            Outcome::Ok if self.taken.body(&self.extractors, self.check.body()) => Outcome::Ok,
            Outcome::Ok => Outcome::Error(ErrorKind::Check),
            error @ Outcome::Error(_) => error,
        }
    }
}

impl Explain for SceneCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        let missing = || self.taken.explain(&self.extractors).map(|text| text.into_bytes().into());
        self.check.explain().or_else(missing)
    }
}

/// The session on one slot.
struct Slot {
    plan: usize,
    at: usize,
    /// Its row of each file.
    rows: Vec<usize>,
    /// Its values from replies.
    extracted: Vec<Vec<u8>>,
    buffer: RequestBuffer,
    /// The check of each request, created once.
    checks: Vec<Noted<SceneCheck>>,
}

/// The sessions of a scene. A request without a gap is identified by its index, others by their slot after all indices.
pub(crate) struct Scenes {
    scene: Arc<Scene>,
    random: ChaCha8Rng,
    turns: Vec<Turns>,
    /// Per operation the kinds of session that begin with it, and their shares.
    by_operation: Vec<(Vec<usize>, Mix)>,
    slots: Vec<Slot>,
    failures: FailureLog,
}

impl Scenes {
    pub fn new(scene: Arc<Scene>) -> Self {
        let begins = |operation: usize| {
            let kinds: Vec<usize> =
                (0..scene.plans.len()).filter(|plan| scene.plans[*plan].requests[0] == operation).collect();
            let mix = scene.mix.among(&kinds);
            (kinds, mix)
        };
        let by_operation = (0..scene.requests.len()).map(begins).collect();
        let turns = scene.rows.iter().map(|(order, rows)| Turns::new(*order, rows.len())).collect();
        Self {
            random: ChaCha8Rng::seed_from_u64(0),
            turns,
            by_operation,
            slots: Vec::new(),
            failures: FailureLog::default(),
            scene,
        }
    }

    /// Opens a session of a kind with new rows.
    fn begin(&mut self, slot: u32, plan: usize) -> RequestId {
        let own = &mut self.slots[slot as usize];
        (own.plan, own.at) = (plan, 0);
        own.extracted.iter_mut().for_each(Vec::clear);
        for (row, turns) in own.rows.iter_mut().zip(&mut self.turns) {
            *row = turns.take();
        }
        self.put_together(slot)
    }

    /// Opens a session of a kind with the first rows.
    pub fn begin_first(&mut self, plan: usize) -> RequestId {
        let own = &mut self.slots[0];
        (own.plan, own.at) = (plan, 0);
        own.rows.fill(0);
        self.put_together(0)
    }

    /// The index of the current request of a slot's session.
    fn place(&self, slot: u32) -> usize {
        let own = &self.slots[slot as usize];
        self.scene.plans[own.plan].requests[own.at]
    }

    /// Renders the current request of a slot's session.
    fn put_together(&mut self, slot: u32) -> RequestId {
        let place = self.place(slot);
        let own = &mut self.slots[slot as usize];
        own.checks[place].reset();
        if self.scene.requests[place].fixed.is_some() {
            return RequestId(place as u32);
        }
        self.scene.fill(place, &own.rows, &own.extracted, &mut own.buffer);
        RequestId(self.scene.requests.len() as u32 + slot)
    }

    /// The check of the request outstanding on a slot, with its values.
    pub fn scene_check(&mut self, slot: u32) -> &mut SceneCheck {
        let place = self.place(slot);
        self.slots[slot as usize].checks[place].inner()
    }
}

impl Sessions for Scenes {
    fn prepare(&mut self, slots: u32) {
        let scene = &self.scene;
        let checks = || {
            let check = |request: &super::SceneRequest| {
                Noted::new(SceneCheck::new(&request.check, &request.extractors), &self.failures)
            };
            scene.requests.iter().map(check).collect()
        };
        let slot = |_| Slot {
            plan: 0,
            at: 0,
            rows: vec![0; scene.rows.len()],
            extracted: vec![Vec::new(); scene.extracted],
            buffer: RequestBuffer::new(),
            checks: checks(),
        };
        self.slots = (0..slots).map(slot).collect();
    }

    fn rewind(&mut self, substream: u64) {
        self.random = ChaCha8Rng::seed_from_u64(substream);
        for (file, turns) in (0..).zip(&mut self.turns) {
            turns.rewind(substream, file);
        }
        self.failures.take();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        let plan = if self.scene.plans.len() == 1 { 0 } else { self.scene.mix.pick(self.random.random()) };
        self.begin(slot, plan)
    }

    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        let plan = match self.by_operation.get(operation.index()) {
            Some((kinds, _)) if kinds.len() == 1 => kinds[0],
            Some((kinds, mix)) if kinds.len() > 1 => kinds[mix.pick(self.random.random())],
            // No session begins with it: the load was made for another workload.
            _ => return self.open(slot),
        };
        self.begin(slot, plan)
    }

    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        let place = self.place(slot);
        let own = &mut self.slots[slot as usize];
        let gives = !self.scene.requests[place].extractors.is_empty();
        if gives && reply.outcome != Outcome::Ok {
            // Later requests need values that this reply did not give.
            return Step::End;
        }
        if gives {
            own.checks[place].inner().hand_over(&mut own.extracted);
        }
        own.at += 1;
        if own.at == self.scene.plans[own.plan].requests.len() {
            own.at = 0;
            return Step::End;
        }
        Step::Send(self.put_together(slot))
    }

    fn request(&self, id: RequestId) -> &Rendered {
        let place = id.0 as usize;
        let fixed = self.scene.requests.get(place).and_then(|request| request.fixed.as_ref());
        fixed.unwrap_or_else(|| self.slots[place - self.scene.requests.len()].buffer.rendered())
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        let place = self.place(slot);
        &mut self.slots[slot as usize].checks[place]
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }
}
