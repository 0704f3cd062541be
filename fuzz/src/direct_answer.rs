//! Answers of a service that runs operations in its own process: what is read shows as it was written and adds up, and
//! no answer is to a question that was not asked.

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::{Outcome, Tallies};
use weighbridge_workload::direct::{Answer, AnswerError, Ask};

/// Reads `data` as an answer.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(answer) = Answer::parse(&text) else { return };
    assert_eq!(answer.to_string(), text);
    assert_eq!(Answer::parse(&answer.to_string()).as_ref(), Ok(&answer));

    let result = answer.result();
    let figures = result.all().expect("it has times");
    assert_eq!(figures.ok, answer.requests);
    assert_eq!((figures.response_sum, figures.service_sum), (answer.elapsed, answer.elapsed));
    let (p50, p90, max) = (figures.response_p50, figures.response_p90, figures.response_max);
    assert!(p50 <= p90 && p90 <= max && p50.as_nanos() >= 1, "{text:?}: {figures:?}");

    let mut tallies = Tallies::default();
    result.add_to(&mut tallies);
    let tally = tallies.get(OperationId(0), Outcome::Ok).expect("good replies");
    assert_eq!((tally.response.len(), tally.service.len()), (answer.requests, answer.requests));

    let sizes = [Bytes::new(64)];
    let ask = Ask { id: answer.id.wrapping_add(1), requests: 1, seed: 1, sizes: &sizes };
    assert!(matches!(ask.answered_by(&text), Err(AnswerError::Other { .. })), "{text:?}");
}
