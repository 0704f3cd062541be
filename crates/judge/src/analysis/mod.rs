//! What a run says beyond costs and verdicts: layers, framings and codecs, sizes, variance components, relays, goodput, legs of
//! service times, and CPU time by role.

pub mod capacity;
pub mod factorial;
pub mod goodput;
pub mod latency_parts;
pub mod layers;
pub mod legs;
pub mod machine;
pub mod roles;
pub mod sizes;
pub mod variance_components;
