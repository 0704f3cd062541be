//! Plain mathematics on slices of `f64`: distributions, samples, intervals, the bootstrap, variance
//! components, multiple tests, power, steadiness, curves over size.
//!
//! Each function names its formula, its source and its assumptions, and is tested against published values or
//! closed forms. Nothing here knows variants, windows or units.

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
pub mod share;
pub mod smooth;
pub mod special;
pub mod steady;
pub mod student;
mod weighed;
