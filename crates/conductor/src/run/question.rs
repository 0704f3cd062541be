//! Turns an experiment into the question for the judge.

use weighbridge_judge as judge;
use weighbridge_lab::host::cores::{CoreLayout, Sharing};
use weighbridge_model::experiment::{Experiment, Target};

use weighbridge_model::environment::Environment;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::sizes::SizeGuide;

use crate::words::conditions;

pub(crate) fn question(
    experiment: &Experiment,
    cores: Option<&CoreLayout>,
    run: judge::Run,
) -> judge::Question {
    let conditions = conditions(experiment);
    let run = judge::Run { conditions, tags: experiment.tags.clone(), ..run };
    judge::Question::new(experiment, run, judged_cores(experiment, cores))
}

/// Our services do not share the client's core unless there is only one. Where a URL's server runs is
/// unknown, and it is not called shared without evidence.
fn judged_cores(experiment: &Experiment, cores: Option<&CoreLayout>) -> judge::Cores {
    let ours = experiment.variants.iter().all(|variant| !matches!(variant.target, Target::Url(_)));
    match cores {
        Some(layout) if ours => judge::Cores {
            service: Some(layout.service().len() as u32),
            placement: match layout.sharing() {
                Sharing::Apart => judge::Placement::Apart,
                _ => judge::Placement::Shared,
            },
        },
        _ => judge::Cores { service: None, placement: judge::Placement::Apart },
    }
}

/// Sizes at which something known of the host changes: its buffers and windows, then the sizes into which
/// libraries and protocols cut what they send. Ascending; empty where the environment has no host.
pub(crate) fn guides(environment: &Environment) -> Vec<SizeGuide> {
    let Some(facts) = &environment.host else { return Vec::new() };
    let receive = facts.receive_buffer.map(|sizes| sizes.initial.get());
    let segment = format!("{} (loopback's MTU less heads)", judge::analysis::sizes::SEGMENT);
    let known = [
        (
            segment.as_str(),
            facts.loopback_mtu.map(|mtu| mtu.get().saturating_sub(judge::analysis::sizes::SEGMENT_HEAD)),
        ),
        ("initial receive buffer (tcp_rmem)", receive),
        ("initial receive window (half of tcp_rmem)", receive.map(|bytes| bytes / 2)),
        ("initial send buffer (tcp_wmem)", facts.send_buffer.map(|sizes| sizes.initial.get())),
        ("usual buffer of libraries (8 KiB)", Some(8 << 10)),
        ("record of TLS, frame of HTTP/2 (16 KiB)", Some(16 << 10)),
        ("usual buffer of libraries (32 KiB)", Some(32 << 10)),
        ("initial window of HTTP/2 (64 KiB)", Some((64 << 10) - 1)),
    ];
    let guide = |(name, bytes): (&str, Option<u64>)| {
        Some(SizeGuide { name: name.to_owned(), bytes: Bytes::new(bytes?) })
    };
    let mut guides: Vec<SizeGuide> = known.into_iter().filter_map(guide).collect();
    guides.sort_by_key(|guide| guide.bytes);
    guides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guides_are_the_hosts_real_values() {
        let host = Some(weighbridge_lab::host::facts::read());
        let guides = guides(&Environment { host, ..Environment::default() });
        assert!(guides.windows(2).all(|pair| pair[0].bytes <= pair[1].bytes));
        let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").expect("a Linux host");
        let initial: u64 =
            text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("three sizes");
        let found = guides.iter().find(|guide| guide.name.starts_with("initial receive buffer"));
        assert_eq!(found.map(|guide| guide.bytes.get()), Some(initial));
        assert_eq!(super::guides(&Environment::default()), []);
    }
}
