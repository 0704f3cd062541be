//! Times of the messages of streams, for `weigh load URL`.
//!
//! Replies of a stream are timed one by one as they arrive. Of messages that the client streams, nobody knows
//! when the server has received one, so the call's time is divided by their number. Such a share is not a
//! latency, and the two kinds are never mixed in one figure.

use weighbridge_model::experiment::CallStream;
use weighbridge_model::histogram::TimeHistogram;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{MessageBasis, Outcome, Tallies};

use crate::single::{Times, times};

/// Figures of the messages of one call; if they are shares of the call, only of good calls.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTimes {
    /// The operation of the messages if they are timed one by one, else that of the call.
    pub operation: OperationId,
    pub basis: MessageBasis,
    pub count: u64,
    pub throughput: PerSecond,
    pub times: Times,
}

/// Messages of every call that streams, in the order of the workload, without calls that had none. `took` is
/// the time in which all of them arrived.
pub fn messages(tallies: &Tallies, streams: &[CallStream], took: Nanoseconds) -> Vec<MessageTimes> {
    let message_times = |stream: &CallStream| match stream.replies {
        Some(operation) => {
            let histogram = tallies.messages_of(operation, Outcome::Ok)?;
            let (count, basis) = (histogram.len(), MessageBasis::BetweenReplies);
            let throughput = PerSecond::from_count(count, took);
            Some(MessageTimes { operation, basis, count, throughput, times: times(histogram) })
        }
        None => shares(tallies, stream, took),
    };
    streams.iter().filter_map(message_times).collect()
}

/// The call's service time divided by the number of messages that it sends. That number is constant, so
/// quantiles can be divided too.
fn shares(tallies: &Tallies, stream: &CallStream, took: Nanoseconds) -> Option<MessageTimes> {
    let calls: &TimeHistogram = &tallies.get(stream.operation, Outcome::Ok)?.service;
    let sent = (stream.sent > 0).then_some(stream.sent)?;
    let whole = times(calls);
    let count = calls.len() * sent;
    Some(MessageTimes {
        operation: stream.operation,
        basis: MessageBasis::ShareOfCall,
        count,
        throughput: PerSecond::from_count(count, took),
        times: Times {
            quantiles: whole.quantiles.map(|(q, time)| (q, time.map(|time| time / sent))),
            mean: whole.mean.map(|time| time / sent),
            mean_withheld: None,
            max: whole.max.map(|time| time / sent),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::single::Withheld;
    use weighbridge_model::quantity::Timestamp;
    use weighbridge_model::record::RequestRecord;

    const SECOND: Nanoseconds = Nanoseconds::from_secs(1);

    fn call(tallies: &mut Tallies, operation: u16, micros: u64) {
        let (due, sent) = (Timestamp::from_nanos(0), Timestamp::from_nanos(500_000));
        let done = sent + Nanoseconds::from_micros(micros);
        let operation = OperationId(operation);
        tallies.record(&RequestRecord { due, sent, done, operation, outcome: Outcome::Ok });
    }

    fn near(time: Option<Nanoseconds>, micros: f64) {
        let nanos = time.expect("shown").as_nanos() as f64;
        assert!((nanos / (micros * 1e3) - 1.0).abs() < 0.001, "{nanos} ns, not {micros} µs");
    }

    #[test]
    fn replies_are_timed_by_themselves_and_requests_as_shares_of_their_call() {
        let mut tallies = Tallies::default();
        (1..=1000).for_each(|micros| {
            tallies.record_message(OperationId(1), Outcome::Ok, Nanoseconds::from_micros(micros))
        });
        (1..=200).for_each(|micros| call(&mut tallies, 2, micros * 10));
        let streams = [
            CallStream { operation: OperationId(0), replies: Some(OperationId(1)), sent: 1 },
            CallStream { operation: OperationId(2), replies: None, sent: 5 },
        ];
        let [replies, requests] = &messages(&tallies, &streams, SECOND)[..] else { panic!("two") };
        assert_eq!((replies.operation, replies.basis), (OperationId(1), MessageBasis::BetweenReplies));
        assert_eq!((replies.count, replies.throughput.get()), (1000, 1000.0));
        near(replies.times.quantiles[0].1.ok(), 500.0);
        near(replies.times.max, 1000.0);
        assert_eq!((requests.operation, requests.basis), (OperationId(2), MessageBasis::ShareOfCall));
        assert_eq!((requests.count, requests.throughput.get()), (1000, 1000.0));
        // From sent to done, 10 µs to 2,000 µs, a fifth; the time before sending is in no message.
        near(requests.times.quantiles[0].1.ok(), 200.0);
        near(requests.times.quantiles[1].1.ok(), 360.0);
        near(requests.times.mean, 201.0);
        assert_eq!(
            requests.times.quantiles[3].1,
            Err(Withheld::Beyond(2)),
            "too few calls lie beyond, however many messages they had"
        );
    }

    #[test]
    fn calls_without_messages_have_no_figures() {
        let mut tallies = Tallies::default();
        call(&mut tallies, 2, 10);
        let streams = [
            CallStream { operation: OperationId(0), replies: Some(OperationId(1)), sent: 1 },
            CallStream { operation: OperationId(2), replies: None, sent: 0 },
            CallStream { operation: OperationId(3), replies: None, sent: 3 },
        ];
        assert_eq!(messages(&tallies, &streams, SECOND), []);
    }
}
