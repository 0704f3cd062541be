//! A relay of ours in the switch's place that only carries packets: the layer `relay`.

use serde::{Deserialize, Serialize};

/// A program of ours carries frames from port to port instead of the kernel's bridge, and holds back or loses what the
/// layers `delay` and `loss` beside it ask for. Alone it is the null path that those two are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay;
