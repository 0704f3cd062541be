//! What a run says beyond costs and verdicts: layers, sizes, where the spread comes from, relays, bytes
//! carried, legs of a service time, and CPU time by role.

pub mod goodput;
pub mod latency_parts;
pub mod layers;
pub mod legs;
pub mod machine;
pub mod roles;
pub mod sizes;
pub mod variance_components;
