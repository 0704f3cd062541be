//! Plain mathematics on slices of `f64`: distributions, samples, intervals, the bootstrap, components of
//! variance, multiple tests, power, steadiness.
//!
//! Each function names its formula, its source and what it assumes, and is tested against published values or
//! closed forms. Nothing here knows a variant, a window or a unit.

pub mod binomial;
pub mod bootstrap;
pub mod chi_square;
pub mod cliffs;
pub mod components;
pub mod fisher;
pub mod interval;
pub mod multiple;
pub mod power;
pub mod ranks;
pub mod sample;
pub mod scatter;
pub mod smooth;
pub mod special;
pub mod steady;
pub mod student;
mod weighed;
