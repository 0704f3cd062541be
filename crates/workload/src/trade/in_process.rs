//! Sessions that a service plays in its own process: the line that asks for them, and whether its answer is right.
//!
//! `services/README.md` defines both.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use weighbridge_model::experiment::{Grain, TradeOperation};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::counts::{Count, Counts};

use super::brokerage::Brokerage;
use super::canonical::{PassageDigest, SessionHash, reply_hashes};
use super::end_state::ExpectedState;
use super::source::{ScriptError, ScriptSource};
use crate::direct::{AnswerError, CountedTimes, DirectResult, OperationTimes, excerpt};

/// A whole script, with what its sessions come to.
#[derive(Debug)]
pub struct ScriptInProcess {
    grain: Grain,
    /// After each session.
    reached: Vec<Reached>,
    expected_state: ExpectedState,
}

/// Requests, actions and digest of the sessions up to here.
#[derive(Debug, Clone, Copy)]
struct Reached {
    requests: u64,
    actions: u64,
    digest: u64,
}

impl ScriptInProcess {
    /// Errors: an action that cannot be carried out.
    pub(crate) fn new(source: ScriptSource, grain: Grain) -> Result<Self, ScriptError> {
        let script = source.script();
        let mut brokerage = Brokerage::new(&script);
        let (mut requests, mut actions, mut digest) = (0, 0, PassageDigest::default());
        let mut reached = Vec::with_capacity(script.sessions.len());
        for (session, number) in script.sessions.iter().zip(1..) {
            let mut hash = SessionHash::default();
            brokerage.visit(session, number, &mut |_, action, replies| {
                actions += 1;
                for reply in reply_hashes(action, replies, grain) {
                    hash.add(reply);
                    requests += 1;
                }
            })?;
            digest += &hash;
            reached.push(Reached { requests, actions, digest: digest.0 });
        }
        let expected_state = ExpectedState::of(source, &brokerage);
        Ok(Self { grain, reached, expected_state })
    }

    /// Requests of all sessions.
    pub fn requests(&self) -> u64 {
        self.reached.last().map_or(0, |all| all.requests)
    }

    pub(crate) fn expected_state(&self) -> &ExpectedState {
        &self.expected_state
    }

    /// The fewest of the first sessions that have so many requests, or all of them, by so many threads.
    pub fn ask(&self, id: u64, requests: u64, threads: u32) -> SessionsAsk<'_> {
        let before = self.reached.partition_point(|one| one.requests < requests);
        let sessions = (before + 1).min(self.reached.len());
        SessionsAsk { script: self, id, sessions, threads }
    }
}

/// Sessions for a service to play in its process.
#[derive(Debug, Clone, Copy)]
pub struct SessionsAsk<'a> {
    script: &'a ScriptInProcess,
    /// Its number, which the answer repeats.
    id: u64,
    sessions: usize,
    threads: u32,
}

/// `window <id> <sessions> <threads> <grain>`, without a line feed.
impl fmt::Display for SessionsAsk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { script, id, sessions, threads } = self;
        let grain =
            Grain::NAMED.iter().find(|(_, grain)| *grain == script.grain).map_or("", |(name, _)| name);
        write!(f, "window {id} {sessions} {threads} {grain}")
    }
}

/// A service's answer to a window.
#[derive(Debug, Deserialize)]
struct SessionsAnswer {
    id: u64,
    elapsed_ns: u64,
    cpu_ns: u64,
    digest: String,
    operations: BTreeMap<String, ToldOperation>,
}

#[derive(Debug, Deserialize)]
struct ToldOperation {
    good: u64,
    failed: u64,
    retried: u64,
    times_ns: Vec<u64>,
}

impl SessionsAsk<'_> {
    /// Requests of these sessions.
    pub fn requests(&self) -> u64 {
        self.reached().requests
    }

    fn reached(&self) -> Reached {
        self.script.reached[self.sessions - 1]
    }

    /// Parses a line as the answer to this.
    pub fn answered_by(&self, line: &str) -> Result<DirectResult, AnswerError> {
        if let Some(text) = line.strip_prefix("error ") {
            return Err(AnswerError::Refused(excerpt(text)));
        }
        let unlike = |problem: String| AnswerError::Unlike { problem, line: excerpt(line) };
        let answer: SessionsAnswer = serde_json::from_str(line).map_err(|error| unlike(error.to_string()))?;
        if answer.id != self.id {
            return Err(unlike(format!(
                "it is of window {}, and window {} was asked for",
                answer.id, self.id
            )));
        }
        let (mut operations, mut actions) = (Vec::new(), Vec::new());
        let mut counts = Counts::default();
        for (at, operation) in TradeOperation::recorded(self.script.grain).iter().enumerate() {
            let name = operation.name();
            let told = answer.operations.get(name).ok_or_else(|| unlike(format!("it has no `{name}`")))?;
            let times = told.times(name).map_err(unlike)?;
            let is_whole = self.script.grain == Grain::Fine && at >= TradeOperation::FINE_REQUESTS;
            if !is_whole {
                counts.add(Count::Aborts, told.retried);
            }
            if is_whole { &mut actions } else { &mut operations }.push(OperationTimes {
                operation: operation.id(self.script.grain),
                sum: Nanoseconds::from_nanos(told.times_ns.iter().sum()),
                times,
            });
        }
        for (name, told) in &answer.operations {
            if told.failed > 0 {
                return Err(AnswerError::Failed { operation: name.clone(), failed: told.failed });
            }
        }
        let Reached { requests, actions: whole, digest: right } = self.reached();
        let carried: u64 = operations.iter().map(|one| one.times.count()).sum();
        if carried != requests {
            return Err(unlike(format!("it has {carried} requests, and its sessions have {requests}")));
        }
        let digest = crate::direct::digest(&answer.digest);
        let digest = digest.ok_or_else(|| unlike("its digest is not 16 digits".to_owned()))?;
        if digest != right {
            return Err(AnswerError::Digest { digest, right });
        }
        counts.add(Count::Actions, whole);
        let [elapsed, cpu] = [answer.elapsed_ns, answer.cpu_ns].map(Nanoseconds::from_nanos);
        Ok(DirectResult { requests, elapsed, cpu, operations, actions, counts: Some(counts) })
    }
}

impl ToldOperation {
    fn times(&self, name: &str) -> Result<CountedTimes, String> {
        let times = CountedTimes::of_rising(&self.times_ns)
            .ok_or_else(|| format!("times of `{name}` do not rise"))?;
        if times.count() == self.good {
            return Ok(times);
        }
        Err(format!("`{name}` has {} good ones and {} times", self.good, times.count()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weighbridge_model::experiment::TradeSpec;

    use super::*;

    fn script(grain: Grain) -> ScriptInProcess {
        let spec = TradeSpec { sessions: 3, grain, ..TradeSpec::default() };
        ScriptInProcess::new(ScriptSource::new(&spec, None).expect("it is made"), grain)
            .expect("it can be carried out")
    }

    /// A right answer: every request took 5 ns, the first login 7.
    fn answer(ask: &SessionsAsk<'_>, id: u64) -> Value {
        let mut operations = serde_json::Map::new();
        let mut add = |name: &str, count: u64| {
            let mut times = vec![5; count as usize];
            if let (true, Some(last)) = (name == "login", times.last_mut()) {
                *last = 7;
            }
            operations.insert(
                name.to_owned(),
                json!({"good": count, "failed": 0, "retried": 0, "times_ns": times}),
            );
        };
        let mut left = ask.requests();
        for (at, operation) in TradeOperation::recorded(ask.script.grain).iter().enumerate() {
            let is_request = at < TradeOperation::FINE_REQUESTS;
            let count = if is_request { left.min(3) } else { 1 };
            left -= if is_request { count } else { 0 };
            add(operation.name(), count);
        }
        add("quote", left + 3);
        json!({"id": id, "elapsed_ns": 900, "cpu_ns": 800, "operations": operations,
            "digest": format!("{:016x}", ask.reached().digest)})
    }

    #[test]
    fn as_many_sessions_are_asked_for_as_have_the_requests() {
        let script = script(Grain::Fine);
        let first = script.reached[0].requests;
        for (requests, line) in [
            (1, "window 4 1 2 fine"),
            (first, "window 4 1 2 fine"),
            (first + 1, "window 4 2 2 fine"),
            (script.requests(), "window 4 3 2 fine"),
            (u64::MAX, "window 4 3 2 fine"),
        ] {
            assert_eq!(script.ask(4, requests, 2).to_string(), line);
        }
        assert_eq!(self::script(Grain::Coarse).ask(1, 1, 1).to_string(), "window 1 1 1 coarse");
    }

    #[test]
    fn a_right_answer_has_the_times_of_each_operation() {
        let script = script(Grain::Fine);
        let ask = script.ask(9, u64::MAX, 2);
        let carried = ask.answered_by(&answer(&ask, 9).to_string()).expect("a right one");
        assert_eq!((carried.requests, carried.cpu), (script.requests(), Nanoseconds::from_nanos(800)));
        let all = carried.all().expect("requests");
        assert_eq!(
            (all.ok, all.response_p50, all.response_max.as_nanos()),
            (script.requests(), Nanoseconds::from_nanos(5), 7)
        );
        assert_eq!(all.response_sum.as_nanos(), 5 * script.requests() + 2);
        let spec = TradeSpec { sessions: 3, ..TradeSpec::default() };
        let sessions = ScriptSource::new(&spec, None).expect("it is made").script().sessions.clone();
        let whole: usize = sessions.iter().map(|session| session.whole().count()).sum();
        assert_eq!(carried.counts.expect("it counts").get(Count::Actions), whole as u64);
        let names = carried.figures().len();
        assert_eq!(names, TradeOperation::recorded(Grain::Fine).len());
    }

    #[test]
    fn attempts_are_counted_by_request_and_not_once_more_by_action() {
        let script = script(Grain::Fine);
        let ask = script.ask(9, u64::MAX, 2);
        let mut answer = answer(&ask, 9);
        for (operation, retried) in [("buy", 2), ("sell", 3), ("sell-first", 3)] {
            answer["operations"][operation]["retried"] = retried.into();
        }
        let counts = ask.answered_by(&answer.to_string()).expect("a right one").counts.expect("it counts");
        assert_eq!((counts.get(Count::Aborts), counts.get(Count::GivenUp)), (5, 0));
    }

    #[test]
    fn what_is_not_right_is_told() {
        let script = script(Grain::Fine);
        let ask = script.ask(9, u64::MAX, 2);
        let right = answer(&ask, 9);
        let spoilt = |path: &str, value: Value| {
            let mut answer = right.clone();
            *answer.pointer_mut(path).expect("it is there") = value;
            ask.answered_by(&answer.to_string()).expect_err(path).to_string()
        };
        for (path, value, expected) in [
            ("/id", json!(8), "it is of window 8, and window 9 was asked for"),
            ("/digest", json!("00"), "16 digits"),
            ("/digest", json!("0000000000000000"), "the digest of its replies is 0000000000000000"),
            ("/operations/buy/failed", json!(1), "1 of `buy` failed"),
            ("/operations/buy/good", json!(1), "`buy` has 1 good ones and"),
            ("/operations/login/times_ns", json!([7, 5, 5]), "times of `login` do not rise"),
            ("/operations/login/times_ns", json!("x"), "invalid type"),
            (
                "/operations/login",
                json!({"good": 0, "failed": 0, "retried": 0, "times_ns": []}),
                "requests, and its sessions have",
            ),
        ] {
            let told = spoilt(path, value);
            assert!(told.contains(expected), "{path}: {told}");
        }
        for (line, expected) in [
            ("error no such thing", "it refuses: no such thing"),
            ("{}", "missing field"),
            ("", "is no answer"),
        ] {
            let told = ask.answered_by(line).expect_err(line).to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }
}
