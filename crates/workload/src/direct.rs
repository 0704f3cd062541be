//! Operations that run in the service's own process: the lines that request them, the expected answer, and its figures.
//!
//! `services/README.md` defines the format. Text and values only: the owner of the service's pipes writes the lines and
//! reads the answers. Nothing here knows a process or a clock.

mod result;

use std::fmt;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};

use crate::stream::Mix;

use result::TimeCount;
pub use result::{CountedTimes, DirectResult, OperationTimes};

/// The digest of zero replies.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
/// The factor of the digest for each reply: the prime of FNV-1a.
const PRIME: u64 = 0x0100_0000_01b3;
/// Times may have been rounded down by at most one part in this many.
const ROUNDED: u64 = 1_000;

/// FNV-1a of 64 bits.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// Why a line is not a valid answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("it refuses: {0}")]
    Refused(String),
    #[error(
        "`{line}` is no answer: {problem}; expected `window <id> <requests> <elapsed ns> <CPU ns> <digest> <ns>:<count>,…`"
    )]
    Malformed {
        /// What is wrong.
        problem: &'static str,
        /// The line's beginning.
        line: String,
    },
    #[error("`{line}` is no answer: {problem}")]
    Unlike {
        /// What is wrong.
        problem: String,
        /// The line's beginning.
        line: String,
    },
    #[error("{failed} of `{operation}` failed; its standard error says which")]
    Failed { operation: String, failed: u64 },
    #[error("it answers window {id} of {requests} requests, and window {asked_id} of {asked} was asked for")]
    Other {
        /// The window in the answer.
        id: u64,
        requests: u64,
        /// The window asked for.
        asked_id: u64,
        /// Its requests.
        asked: u64,
    },
    #[error("the digest of its replies is {digest:016x}, that of the right ones is {right:016x}")]
    Digest {
        /// The digest in the answer.
        digest: u64,
        /// The expected digest.
        right: u64,
    },
}

/// A window for a service to run in its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Its number, which the answer repeats.
    pub id: u64,
    /// How many requests.
    pub requests: u64,
    /// The substream from which the sizes are drawn.
    pub seed: u64,
    /// The sizes of bodies, with equal shares.
    pub sizes: &'a [Bytes],
}

/// `window <id> <requests> <seed> <size>,…`, without a line feed.
impl fmt::Display for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "window {} {} {} ", self.id, self.requests, self.seed)?;
        for (index, size) in self.sizes.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}", size.get())?;
        }
        Ok(())
    }
}

impl Ask<'_> {
    /// The digest of the right replies, with the sizes that a variant with a protocol sends in the same substream.
    pub fn digest(&self) -> u64 {
        let (mix, mut random) = (Mix::even(self.sizes.len()), ChaCha8Rng::seed_from_u64(self.seed));
        let mut size = || match self.sizes {
            [size] => size.get(),
            sizes => sizes[mix.pick(random.random())].get(),
        };
        (0..self.requests).fold(OFFSET, |digest, _| {
            let ends = u64::from(b'p') << 16 | u64::from(b'n') << 8 | u64::from(b'g');
            (digest ^ (size() << 24 | ends)).wrapping_mul(PRIME)
        })
    }

    /// Parses a line as the answer to this.
    pub fn answered_by(&self, line: &str) -> Result<Answer, AnswerError> {
        let answer = Answer::parse(line)?;
        if (answer.id, answer.requests) != (self.id, self.requests) {
            let Answer { id, requests, .. } = answer;
            return Err(AnswerError::Other { id, requests, asked_id: self.id, asked: self.requests });
        }
        let right = self.digest();
        if answer.digest != right {
            return Err(AnswerError::Digest { digest: answer.digest, right });
        }
        Ok(answer)
    }
}

/// A service's answer to a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its number.
    pub id: u64,
    /// Requests carried out.
    pub requests: u64,
    /// From the first request's beginning to the last one's end: the sum of all times.
    pub elapsed: Nanoseconds,
    /// CPU time of the process in that time.
    pub cpu: Nanoseconds,
    /// Digest of the replies.
    pub digest: u64,
    /// Rounded down to 0.1 % or better.
    times: CountedTimes,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, requests, elapsed, cpu, digest, times } = self;
        write!(f, "window {id} {requests} {} {} {digest:016x} ", elapsed.as_nanos(), cpu.as_nanos())?;
        for (index, TimeCount { time, count }) in times.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{time}:{count}")?;
        }
        Ok(())
    }
}

impl Answer {
    /// Reads a line without its line feed.
    pub fn parse(line: &str) -> Result<Self, AnswerError> {
        if let Some(text) = line.strip_prefix("error ") {
            return Err(AnswerError::Refused(excerpt(text)));
        }
        let malformed = |problem| AnswerError::Malformed { problem, line: excerpt(line) };
        let mut words = line.split(' ');
        if words.next() != Some("window") {
            return Err(malformed("it does not begin with `window`"));
        }
        let mut whole = || whole(words.next()?);
        let numbers = [whole(), whole(), whole(), whole()];
        let [Some(id), Some(requests), Some(elapsed), Some(cpu)] = numbers else {
            return Err(malformed("four whole numbers must follow `window`"));
        };
        let digest = words.next().and_then(digest).ok_or_else(|| malformed("its digest is not 16 digits"))?;
        let times = words.next().and_then(times).ok_or_else(|| malformed("its times are no rising list"))?;
        if words.next().is_some() {
            return Err(malformed("something follows the times"));
        }
        if times.0.iter().map(|one| u128::from(one.count)).sum::<u128>() != u128::from(requests) {
            return Err(malformed("there are not as many times as requests"));
        }
        let sum: u128 = times.0.iter().map(|one| u128::from(one.time) * u128::from(one.count)).sum();
        // Each was rounded down, except those below a nanosecond, which count as one.
        let (elapsed_ns, rounded) = (u128::from(elapsed), u128::from(elapsed / ROUNDED));
        if sum > elapsed_ns + u128::from(requests) || sum + rounded + u128::from(requests) < elapsed_ns {
            return Err(malformed("its times do not add up to the time in all"));
        }
        let [elapsed, cpu] = [elapsed, cpu].map(Nanoseconds::from_nanos);
        Ok(Self { id, requests, elapsed, cpu, digest, times })
    }

    /// What it came to.
    pub fn result(&self) -> DirectResult {
        let Self { requests, elapsed, cpu, .. } = *self;
        // Its times were rounded down, their sum was not.
        let times = OperationTimes { operation: OperationId(0), sum: elapsed, times: self.times.clone() };
        DirectResult { requests, elapsed, cpu, operations: vec![times], actions: Vec::new(), counts: None }
    }
}

/// A number in digits, without sign or leading zero.
fn whole(text: &str) -> Option<u64> {
    let canonical = text == "0" || text.starts_with(|first: char| ('1'..='9').contains(&first));
    text.parse().ok().filter(|_| canonical)
}

/// Sixteen lower-case hexadecimal digits.
pub(crate) fn digest(text: &str) -> Option<u64> {
    let right = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(text, 16).ok().filter(|_| right)
}

/// `time:count,…` with ascending times and no count of zero.
fn times(text: &str) -> Option<CountedTimes> {
    let mut times = Vec::new();
    let mut before = 0;
    for pair in text.split(',') {
        let (time, count) = pair.split_once(':')?;
        let (time, count) = (whole(time)?, whole(count)?);
        if time <= before || count == 0 {
            return None;
        }
        before = time;
        times.push(TimeCount { time, count });
    }
    Some(CountedTimes(times))
}

/// The beginning of foreign text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    let shown: String = text.chars().take(80).map(|c| if c.is_control() { '.' } else { c }).collect();
    if text.chars().nth(80).is_some() { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::{LoadSpec, PingpongSpec, Protocol, WorkloadSpec};

    use weighbridge_model::record::{Outcome, Tallies};

    use super::*;
    use crate::{Address, UrlScheme, Workload};

    const LINE: &str = "window 7 4 260 250 00000000000000ff 40:2,80:1,100:1";

    #[test]
    fn an_answer_is_read_shown_and_summed_up() {
        let answer = Answer::parse(LINE).expect("it is one");
        assert_eq!(answer.to_string(), LINE);
        let result = answer.result();
        let figures = result.all().expect("requests");
        assert_eq!(result.figures(), [figures]);
        let nanos = Nanoseconds::from_nanos;
        assert_eq!((figures.ok, figures.response_sum, figures.service_sum), (4, nanos(260), nanos(260)));
        assert_eq!((figures.response_p50, figures.response_p90), (nanos(40), nanos(100)));
        assert_eq!(figures.response_max, nanos(100));
        let mut tallies = Tallies::default();
        result.add_to(&mut tallies);
        let tally = tallies.get(OperationId(0), Outcome::Ok).expect("good replies");
        assert_eq!((tally.response.len(), tally.response.count_at(40)), (4, 2));
        assert_eq!(tally.response, tally.service);
    }

    #[test]
    fn invalid_answers_are_refused_with_the_reason() {
        for (line, why) in [
            ("", "`window`"),
            ("windows 7 4 260 250 00000000000000ff 40:2", "`window`"),
            ("window 7 4 260", "four whole numbers"),
            ("window 07 4 260 250 00000000000000ff 40:2,80:1,100:1", "four whole numbers"),
            ("window 7 +4 260 250 00000000000000ff 40:2,80:1,100:1", "four whole numbers"),
            ("window 7 4 260 250 ff 40:2,80:1,100:1", "16 digits"),
            ("window 7 4 260 250 00000000000000FF 40:2,80:1,100:1", "16 digits"),
            ("window 7 4 260 250 00000000000000ff", "rising list"),
            ("window 7 4 260 250 00000000000000ff 80:1,40:2,100:1", "rising list"),
            ("window 7 4 260 250 00000000000000ff 40:1,40:1,80:1,100:1", "rising list"),
            ("window 7 4 260 250 00000000000000ff 40:2,80:0,90:1,100:1", "rising list"),
            ("window 7 4 260 250 00000000000000ff 40:2,80:1,100:1,", "rising list"),
            ("window 7 4 260 250 00000000000000ff 40:2,80:1,100:1 x", "follows the times"),
            ("window 7 5 260 250 00000000000000ff 40:2,80:1,100:1", "as many times as requests"),
            ("window 7 4 250 250 00000000000000ff 40:2,80:1,100:1", "add up"),
            ("window 7 4 2600 250 00000000000000ff 40:2,80:1,100:1", "add up"),
            ("window 7 18446744073709551615 1 1 00000000000000ff 9:18446744073709551615", "add up"),
        ] {
            let error = Answer::parse(line).expect_err(line);
            assert!(matches!(error, AnswerError::Malformed { .. }), "{line}: {error}");
            assert!(error.to_string().contains(why), "{line}: {error}");
        }
        let refused = Answer::parse("error the size must be\twhole").expect_err("it says so");
        assert_eq!(refused.to_string(), "it refuses: the size must be.whole");
    }

    #[test]
    fn an_answer_must_be_to_the_window_asked_for_and_of_the_right_replies() {
        let sizes = [Bytes::new(64)];
        let ask = Ask { id: 7, requests: 4, seed: 1, sizes: &sizes };
        assert_eq!(ask.to_string(), "window 7 4 1 64");
        let right = Answer { digest: ask.digest(), ..Answer::parse(LINE).expect("it is one") };
        assert_eq!(ask.answered_by(&right.to_string()), Ok(right.clone()));
        let error = ask.answered_by(LINE).expect_err("another digest");
        assert!(error.to_string().contains("00000000000000ff"), "{error}");
        for other in [Ask { id: 8, ..ask }, Ask { requests: 5, ..ask }] {
            let error = other.answered_by(&right.to_string()).expect_err("another window");
            assert!(matches!(error, AnswerError::Other { .. }), "{error}");
        }
    }

    /// The digest computed literally as the contract says, over real bodies.
    #[test]
    fn the_digest_is_of_the_bodies_that_a_variant_with_a_protocol_is_sent() {
        let sizes = [4, 5, 1000].map(Bytes::new);
        let ask = Ask { id: 1, requests: 500, seed: 42, sizes: &sizes };
        assert_eq!(ask.to_string(), "window 1 500 42 4,5,1000");
        let spec = WorkloadSpec::Pingpong(PingpongSpec::new(sizes.to_vec()));
        let address =
            Address { authority: "127.0.0.1:1".to_owned(), base: "/".to_owned(), scheme: UrlScheme::Http };
        let workload = Workload::new(&spec, &LoadSpec::default(), Protocol::HTTP1_JSON, &address, &|_| None)
            .expect("bound");
        let mut sessions = workload.sessions();
        sessions.prepare(1);
        sessions.rewind(42);
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        for _ in 0..500 {
            let size = sizes[sessions.open(0).0 as usize].get() as usize;
            let mut body = vec![b'o'; size];
            body[0] = b'p';
            body[size - 2..].copy_from_slice(b"ng");
            let word = (size as u64) << 24
                | u64::from(body[0]) << 16
                | u64::from(body[size - 2]) << 8
                | u64::from(body[size - 1]);
            digest = (digest ^ word).wrapping_mul(0x0100_0000_01b3);
        }
        assert_eq!(ask.digest(), digest);
        assert_ne!(Ask { seed: 43, ..ask }.digest(), digest);
    }
}
