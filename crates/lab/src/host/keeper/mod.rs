//! The keeper of a role: the process above it where no control group holds what the role starts.
//!
//! A program that forks twice leaves no parent, and `setsid` leaves its session. Both stay below the keeper: it
//! is a *subreaper* (`PR_SET_CHILD_SUBREAPER` of `prctl(2)`), the process to which the kernel gives orphans among
//! its descendants. So whatever a role starts is found by parentage, also after `kill -9` of `weigh`, because
//! the keeper survives that.
//!
//! It is forked from us and never executes another program: it sleeps, collects what ends below it and goes by
//! itself once nothing is left. Until we close our end of its line it leaves the role's first process
//! uncollected when that ends, so that its id is not reused. It ends nothing; whoever cleans up does.

mod sys;

pub(crate) use sys::{BY_SIGNAL, MESSAGE, fork_below};

#[cfg(test)]
pub(crate) use sys::encode;
