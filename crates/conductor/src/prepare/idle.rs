//! How idle cores wait in a run: in the state of each variant, and for a few rounds in the other state.
//!
//! The lab sets the state; the judge decides whether a cost depends on it.

use std::cell::Cell;

use weighbridge_lab::host::idle::{IdleError, IdleHold};
use weighbridge_model::experiment::{Experiment, Variant};
use weighbridge_model::idle::{Idle, IdleWait};

#[derive(Debug)]
pub(crate) struct IdleCores {
    hold: Option<IdleHold>,
    wait: IdleWait,
    /// Whether a variant has a state of its own: the experiment itself then makes the idle check's
    /// comparison.
    is_factor: bool,
    is_checking: Cell<bool>,
}

/// Why states that the experiment compares cannot differ here: variants would be compared with themselves.
pub(crate) fn cannot_be_compared(experiment: &Experiment) -> Option<String> {
    IdleCores::open(experiment).cannot_be_compared()
}

impl IdleCores {
    fn cannot_be_compared(&self) -> Option<String> {
        self.refused().filter(|_| self.is_factor)
    }

    /// Opens the kernel's interface; nothing is requested yet.
    pub fn open(experiment: &Experiment) -> Self {
        let own = experiment.variants.iter().filter_map(|variant| variant.idle);
        let is_factor = own.clone().any(|idle| idle != experiment.plan.idle);
        Self { is_factor, ..Self::for_load(experiment.plan.idle, own.collect()) }
    }

    /// The same for a load that is not compared with another.
    pub fn for_load(idle: Idle, more: Vec<Idle>) -> Self {
        Self::with(IdleHold::open(), idle, more)
    }

    fn with(hold: Result<IdleHold, IdleError>, idle: Idle, mut more: Vec<Idle>) -> Self {
        more.push(idle);
        let wants = |idle| more.contains(&idle);
        let mut wait = IdleWait { asked: idle, was: idle, ..IdleWait::default() };
        if let Err(error) = &hold {
            let always_polled = matches!(error, IdleError::AlwaysPolled);
            wait.was = if always_polled { Idle::Polled } else { Idle::Host };
            // Where cores always poll, either state alone is accepted, but no comparison of the two.
            let is_refused = wants(Idle::Polled) && (!always_polled || wants(Idle::Host));
            wait.refused = is_refused.then(|| error.why());
            wait.remedy = is_refused.then(|| error.remedy().to_owned());
        }
        Self { hold: hold.ok(), wait, is_factor: false, is_checking: Cell::new(false) }
    }

    pub fn wait(&self) -> &IdleWait {
        &self.wait
    }

    /// The warning to show before anything is measured, a line on a small terminal; `None` where all is as asked. Why, and
    /// the remedy, are in the report's finding.
    pub fn warning(&self) -> Option<String> {
        self.wait.refused.as_ref()?;
        Some(format!("idle cores {}; `weigh doctor` has why and the remedy", self.cannot()))
    }

    /// The same with why, and the remedy.
    pub fn refused(&self) -> Option<String> {
        let why = self.wait.refused.as_ref()?;
        let remedy = self.wait.remedy.as_deref().unwrap_or_default();
        Some(format!("idle cores {}: {why}; {remedy}", self.cannot()))
    }

    fn cannot(&self) -> &'static str {
        if self.wait.was == Idle::Polled { "cannot sleep" } else { "cannot be kept awake" }
    }

    /// Sets the state with which a variant is measured, or the other one during an idle check.
    pub fn set_for(&self, variant: &Variant) {
        let idle = variant.idle.unwrap_or(self.wait.asked);
        self.set(if self.is_checking.get() { idle.other() } else { idle });
    }

    pub fn set(&self, idle: Idle) {
        // No kernel is known to refuse on an open descriptor; the host check of the next run would detect it.
        let _ = self.hold.as_ref().map(|hold| hold.ask(idle));
    }

    pub fn can_check(&self) -> bool {
        self.hold.is_some() && !self.is_factor
    }

    /// Runs `checked` with idle cores in the other state.
    pub fn check<R>(&self, checked: impl FnOnce() -> R) -> R {
        self.is_checking.set(true);
        let result = checked();
        self.is_checking.set(false);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(plan: &str, variant: &str) -> Experiment {
        let text = format!(
            "[workload]\nname = \"pingpong\"\n[plan]\n{plan}\n[[variant]]\nname = \"a\"\nservice = \"go\"\n\
             [[variant]]\nname = \"b\"\nservice = \"go\"\n{variant}\n"
        );
        Experiment::parse("x.toml", &text).expect("an experiment")
    }

    #[test]
    fn a_variant_with_a_way_of_its_own_leaves_nothing_to_check() {
        assert!(!IdleCores::open(&experiment("", "idle = \"host\"")).can_check());
        let alike = IdleCores::open(&experiment("", "idle = \"polled\""));
        assert_eq!(alike.can_check(), alike.hold.is_some());
    }

    #[test]
    fn ways_that_cannot_be_had_are_not_compared() {
        let refused = |plan: &str, variant: &str| {
            let mut cores = IdleCores::open(&experiment(plan, variant));
            cores.hold = None;
            cores.wait.refused = Some("the device may not be opened".to_owned());
            cores.cannot_be_compared()
        };
        assert!(refused("", "idle = \"host\"").is_some_and(|why| why.contains("may not be opened")));
        assert!(refused("idle = \"host\"", "idle = \"polled\"").is_some());
        assert_eq!(refused("", ""), None, "alike");
    }

    #[test]
    fn where_cores_always_poll_both_ways_are_had_but_not_compared() {
        let with = |idle, more| IdleCores::with(Err(IdleError::AlwaysPolled), idle, more);
        for idle in Idle::ALL {
            let alike = with(idle, Vec::new());
            assert_eq!((alike.refused(), alike.wait().was), (None, Idle::Polled));
            let refused = with(idle, vec![idle.other()]).refused();
            assert!(
                refused.is_some_and(|why| why.starts_with("idle cores cannot sleep: the kernel was started"))
            );
        }
    }

    #[test]
    fn what_is_refused_is_told_only_to_who_asked_for_it() {
        let host = IdleCores::open(&experiment("idle = \"host\"", ""));
        assert_eq!((host.refused(), host.wait().was), (None, Idle::Host));
        let polled = IdleCores::open(&experiment("", ""));
        assert_eq!(polled.refused().is_some(), polled.hold.is_none());
        assert_eq!(polled.wait().asked, Idle::Polled);
    }
}
