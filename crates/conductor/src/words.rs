//! Workload and load in words, for tables and reports.

use weighbridge_model::experiment::{
    Arrivals, Experiment, Flow, LoadModel, LoadSpec, Point, Profile, SessionLength, Think,
};
use weighbridge_model::id::PointLabel;
use weighbridge_model::legs::Stamps;

/// Workload and load of each point in one line: `pingpong 64 B; closed load, 4 connections`.
pub fn conditions(experiment: &Experiment) -> Vec<String> {
    let flow = if experiment.capacity.is_some() { varied } else { flow };
    let conditions = |point: &Point| format!("{}; {}", point.workload.words(), load(point, flow));
    experiment.points.iter().map(conditions).collect()
}

/// The values of a point's factors: `workload.size = 64 B, load.connections = 4`; empty without factors.
pub fn factors(label: &PointLabel) -> String {
    let factors = label.iter().map(|(key, value)| format!("{key} = {value}"));
    factors.collect::<Vec<_>>().join(", ")
}

fn load(point: &Point, flow: fn(&Flow) -> String) -> String {
    let load = &point.load;
    let plural = if load.connections == 1 { "" } else { "s" };
    let flight =
        if load.in_flight == 1 { String::new() } else { format!(" × {} in flight", load.in_flight) };
    let connections = format!("{} connection{plural}{flight}", load.connections);
    let mut fresh = churn(load).map_or_else(String::new, |churn| format!(", {churn}"));
    if load.stamps == Stamps::Kernel {
        fresh.push_str(", kernel time stamps");
    }
    let think = think(load.think).map_or_else(String::new, |think| format!(", {think}"));
    match &load.model {
        LoadModel::Closed => format!("closed load, {connections}{think}{fresh}"),
        LoadModel::Open { flow: arrivals } => {
            format!("open load, {}, at most {connections}{fresh}", flow(arrivals))
        }
        LoadModel::PartlyOpen { flow: arrivals, length } => {
            let length = match length {
                SessionLength::Workload => "as the workload has them".to_owned(),
                SessionLength::Fixed { operations } => format!("{operations} operations each"),
                SessionLength::Geometric { mean } => format!("{mean} operations each on average"),
            };
            format!(
                "partly open load, sessions at {}, {length}, at most {connections}{think}{fresh}",
                flow(arrivals)
            )
        }
    }
}

/// The arrival process in words: `2000/s (Poisson)`.
pub fn flow(flow: &Flow) -> String {
    match flow {
        Flow::Law { profile, arrivals } => format!("{} ({})", profile.words(), law(*arrivals)),
        Flow::Trace(spec) if spec.speed == 1.0 => format!("times of `{}`", spec.file),
        Flow::Trace(spec) => format!("times of `{}` at {} times their speed", spec.file, spec.speed),
    }
}

/// The same where every step has a rate of its own.
fn varied(flow: &Flow) -> String {
    match flow {
        Flow::Law { profile: Profile::Constant { .. }, arrivals } => {
            format!("the rates tried ({})", law(*arrivals))
        }
        Flow::Law { profile, arrivals } => {
            format!("{} multiplied to the rates tried ({})", profile.words(), law(*arrivals))
        }
        Flow::Trace(spec) => format!("times of `{}` played at the rates tried", spec.file),
    }
}

fn law(arrivals: Arrivals) -> String {
    match arrivals {
        Arrivals::Constant => "constant".to_owned(),
        Arrivals::Jitter(share) => format!("jitter {share}"),
        Arrivals::Poisson => "Poisson".to_owned(),
        Arrivals::Gpd(shape) => format!("generalized Pareto gaps of shape {shape}"),
    }
}

pub fn think(think: Think) -> Option<String> {
    match think {
        Think::None => None,
        Think::Constant { time } => Some(format!("think time {time}")),
        Think::Exponential { mean } => Some(format!("think time {mean} on average (exponential)")),
        Think::Uniform { low, high } => Some(format!("think time {low} to {high}")),
    }
}

pub fn churn(load: &LoadSpec) -> Option<String> {
    match load.churn?.get() {
        1 => Some("a new connection for each request".to_owned()),
        n => Some(format!("a new connection every {n} requests")),
    }
}
