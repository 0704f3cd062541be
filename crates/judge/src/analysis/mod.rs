//! What a run says beyond costs and verdicts: layers, framings and codecs, sizes, variance components, relays, goodput, legs of
//! service times, CPU time by role, what collectors cost at least, and how throughput grows with connections.

pub mod capacity;
pub mod collectors;
pub mod factorial;
pub mod goodput;
pub mod latency_parts;
pub mod layers;
pub mod legs;
pub mod machine;
pub mod roles;
pub mod scaling;
pub mod sizes;
pub mod variance_components;
