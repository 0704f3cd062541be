//! From an experiment to what the judge is asked.

use weighbridge_judge as judge;
use weighbridge_lab::cores::{CoreLayout, Sharing};
use weighbridge_model::experiment::{Experiment, Target};

use crate::words::conditions;

/// The judge's question about `experiment`, with the run's own facts.
pub(crate) fn question(
    experiment: &Experiment,
    cores: Option<&CoreLayout>,
    run: judge::Run,
) -> judge::Question {
    let run = judge::Run { conditions: experiment.points.iter().map(conditions).collect(), ..run };
    judge::Question::of(experiment, run, judged_cores(experiment, cores))
}

/// Services that we place are apart from the client unless there is one core; where a URL's server runs is its
/// owner's business, and it is not called shared without evidence.
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
