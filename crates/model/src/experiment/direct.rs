//! Which settings `protocol = "direct"` excludes. Such a variant carries out its operations in its own
//! process, one after another on each thread: there is no listener, no connection and no schedule.

use super::node::ExperimentError;
use super::{LoadModel, PlanRules, Point, Protocol, Target, Think, Variant};
use crate::legs::Stamps;
use crate::pairing::PairingChoice;

/// Most threads that play sessions in a service's own process, by the contract of services.
const THREADS_MOST: u32 = 1_024;

/// Refuses settings that a variant of that protocol cannot have; `line` is the variant's.
pub(super) fn check(
    file: &str,
    variant: &Variant,
    line: usize,
    points: &[Point],
    plan: &PlanRules,
) -> Result<(), ExperimentError> {
    let check_point = |point: &Point| check_point(point, plan);
    let wrong = match variant.protocol {
        Protocol::DIRECT => check_variant(variant).or_else(|| points.iter().find_map(check_point)),
        _ => None,
    };
    match wrong {
        None => Ok(()),
        Some(why) => {
            let message = format!(
                "variant `{}`: `protocol = \"direct\"` carries out operations in the service's own process, one after another on each thread: {why}",
                variant.name
            );
            Err(ExperimentError { file: file.to_owned(), line, message })
        }
    }
}

fn check_variant(variant: &Variant) -> Option<&'static str> {
    if !matches!(variant.target, Target::Service { .. }) {
        return Some("it needs a `service` that offers it, no `command` or `url`");
    }
    variant.tls.as_ref().map(|_| "there is no connection that `tls` could secure; leave it out")
}

fn check_point(point: &Point, plan: &PlanRules) -> Option<&'static str> {
    let load = &point.load;
    if let Err(why) = point.workload.check_direct() {
        return Some(why);
    }
    if load.model != LoadModel::Closed {
        return Some("`load.model` must be `closed`");
    }
    if load.in_flight != 1 {
        return Some("`load.in_flight` must be 1");
    }
    if point.workload.sessions_of_a_passage().is_some() {
        // Each connection of other variants is a thread that plays sessions.
        if load.connections > THREADS_MOST {
            return Some("`load.connections` are its threads, 1,024 at most");
        }
    } else if load.connections != 1 {
        return Some("`load.connections` must be 1");
    }
    if load.think != Think::None {
        return Some("`load.think` must be left out");
    }
    if load.stamps == Stamps::Kernel {
        return Some("there is nothing that `load.kernel_timestamps` could stamp; leave it out");
    }
    match plan.pairing {
        PairingChoice::Requests => {
            Some("requests cannot be sent to variants in turn; leave `plan.pairing` out")
        }
        PairingChoice::Duet => {
            Some("it has no client that could run beside another variant's; leave `plan.pairing` out")
        }
        _ => None,
    }
}
