//! Positions in an experiment, and the label of a point.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u16);
        impl $name {
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
index!(
    /// A variant's position in the experiment; 0 is the baseline.
    VariantId
);
index!(
    /// An operation's position in its workload.
    OperationId
);
index!(
    /// A point's position in the experiment (one where no `workload` or `load` key is in the matrix).
    PointId
);

/// A point's factor values: `workload.size` to `64 B`. Empty where the experiment has one point.
pub type PointLabel = BTreeMap<String, String>;
