//! Workload and load in words, for tables and reports.

use weighbridge_model::experiment::{Arrivals, LoadModel, Point, WorkloadSpec};
use weighbridge_model::quantity::Bytes;

/// What is asked and how, in a line: `pingpong 64 B; closed load, 4 connections`.
pub fn conditions(point: &Point) -> String {
    format!("{}; {}", workload(&point.workload), load(point))
}

fn workload(spec: &WorkloadSpec) -> String {
    match spec {
        WorkloadSpec::Pingpong { sizes } => {
            let sizes: Vec<_> = sizes.iter().map(Bytes::to_string).collect();
            format!("pingpong {}", sizes.join(", "))
        }
        WorkloadSpec::Http { requests, .. } if requests.len() == 1 => {
            format!(
                "http, {} {}",
                requests[0].method,
                if requests[0].path.is_empty() { "URL" } else { &requests[0].path }
            )
        }
        WorkloadSpec::Http { requests, .. } => format!("http, {} kinds of request", requests.len()),
        WorkloadSpec::Grpc { calls, .. } if calls.len() == 1 => format!("grpc, {}", calls[0].method),
        WorkloadSpec::Grpc { calls, .. } => format!("grpc, {} kinds of call", calls.len()),
    }
}

fn load(point: &Point) -> String {
    let load = &point.load;
    let plural = if load.connections == 1 { "" } else { "s" };
    let flight =
        if load.in_flight == 1 { String::new() } else { format!(" × {} in flight", load.in_flight) };
    let connections = format!("{} connection{plural}{flight}", load.connections);
    let fresh = if load.keep_alive { "" } else { ", a new connection for each request" };
    match load.model {
        LoadModel::Closed => format!("closed load, {connections}{fresh}"),
        LoadModel::Open { rate, arrivals } => {
            let law = match arrivals {
                Arrivals::Constant => "constant",
                Arrivals::Poisson => "Poisson",
            };
            format!("open load, {rate} ({law}), at most {connections}{fresh}")
        }
    }
}
