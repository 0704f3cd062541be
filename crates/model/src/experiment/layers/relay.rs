//! Our packet relay in place of the switch: the layer `relay`.

use serde::{Deserialize, Serialize};

/// Our program instead of the kernel's bridge carries frames from port to port, and delays or drops what the
/// layers `delay` and `loss` ask for. Alone it is the baseline for those two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relay;
