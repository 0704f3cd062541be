//! The load model of a command line. Meaningless combinations are refused.

use std::num::NonZeroU32;

use anyhow::bail;
use weighbridge_model::experiment::{
    Arrivals, Flow, HeaderTable, LoadModel, LoadSpec, Profile, Think, TraceSpec,
};
use weighbridge_model::legs::Stamps;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};

use crate::args::{ArrivalLaw, Load};

/// Connections if requests or sessions arrive by a schedule.
const CONNECTIONS_OPEN: u32 = 16;

/// The requested load.
pub fn load_spec(arguments: &Load, warmup: Nanoseconds) -> anyhow::Result<LoadSpec> {
    let times = [("--timeout", Some(arguments.timeout)), ("--duration", arguments.duration)];
    if let Some((flag, _)) = times.iter().find(|(_, time)| *time == Some(Nanoseconds::ZERO)) {
        bail!("`{flag}` must be above zero, such as `10s`");
    }
    let model = model(arguments)?;
    let think = arguments.think.unwrap_or_default();
    if think != Think::None && matches!(model, LoadModel::Open { .. }) {
        bail!(
            "`--think` has no use in open load, where requests are due by the schedule; use `--sessions`, or leave it out"
        );
    }
    let connections = if model == LoadModel::Closed { arguments.threads } else { CONNECTIONS_OPEN };
    let spec = LoadSpec {
        model,
        connections: arguments.connections.unwrap_or(connections.max(arguments.threads)),
        in_flight: arguments.streams.unwrap_or(arguments.pipeline),
        timeout: arguments.timeout,
        warmup: arguments.warmup.unwrap_or(warmup),
        think,
        churn: if arguments.no_keepalive {
            Some(NonZeroU32::MIN)
        } else {
            arguments.churn.and_then(NonZeroU32::new)
        },
        stamps: if arguments.kernel_timestamps { Stamps::Kernel } else { Stamps::Off },
        header_table: HeaderTable::default(),
    };
    match spec.check_stamps() {
        Ok(()) => Ok(spec),
        Err(why) => {
            bail!("`--kernel-timestamps` needs {why}; leave `--pipeline` and `--streams` out, or the stamps")
        }
    }
}

fn model(arguments: &Load) -> anyhow::Result<LoadModel> {
    let rate = |rate: Option<PerSecond>, flag: &str| match rate {
        Some(rate) if rate.get() <= 0.0 => bail!("`{flag}` must be above zero"),
        rate => Ok(rate.map(|rate| Profile::Constant { rate })),
    };
    if arguments.speed.is_some() && arguments.trace.is_none() {
        bail!("`--speed` belongs to a trace; add `--trace FILE`, or leave it out");
    }
    if arguments.sessions.is_some() && arguments.length.is_none() {
        bail!(
            "`--sessions` needs their length; add `--length 10`, `--length geometric:mean=10` or `--length workload`"
        );
    }
    let requests = rate(arguments.rate, "--rate")?;
    let sessions = rate(arguments.sessions, "--sessions")?;
    let flow = match (requests.or(sessions).or(arguments.profile.clone()), &arguments.trace) {
        (Some(profile), _) => Flow::Law { profile, arrivals: arrivals(arguments)? },
        (None, Some(file)) if arguments.jitter.is_none() => {
            let speed = arguments.speed.unwrap_or(1.0);
            Flow::Trace(TraceSpec { file: file.clone(), speed, sha256: None })
        }
        (None, Some(_)) => {
            bail!("`--jitter` has no use beside `--trace`, which brings its own times; leave one out")
        }
        (None, None) => return closed(arguments),
    };
    Ok(match arguments.length {
        Some(length) if arguments.rate.is_none() => LoadModel::PartlyOpen { flow, length },
        Some(_) => {
            bail!("`--length` belongs to sessions; use `--sessions` instead of `--rate`, or leave it out")
        }
        None => LoadModel::Open { flow },
    })
}

fn closed(arguments: &Load) -> anyhow::Result<LoadModel> {
    let given = [
        ("--arrivals", arguments.arrivals.is_some()),
        ("--jitter", arguments.jitter.is_some()),
        ("--length", arguments.length.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            bail!(
                "`{flag}` needs arrivals; add `--rate`, `--profile`, `--trace` or `--sessions`, or leave it out"
            )
        }
        None => Ok(LoadModel::Closed),
    }
}

fn arrivals(arguments: &Load) -> anyhow::Result<Arrivals> {
    Ok(match (arguments.arrivals, arguments.jitter) {
        (Some(ArrivalLaw::Jitter), None) => Arrivals::Jitter(Arrivals::JITTER),
        (Some(ArrivalLaw::Jitter) | None, Some(share)) => {
            Arrivals::jitter(share).map_err(anyhow::Error::msg)?
        }
        (Some(_), Some(_)) => bail!("`--jitter` belongs to `--arrivals jitter`; leave one of them out"),
        (Some(ArrivalLaw::Constant), None) => Arrivals::Constant,
        (Some(ArrivalLaw::Poisson) | None, None) => Arrivals::Poisson,
    })
}
