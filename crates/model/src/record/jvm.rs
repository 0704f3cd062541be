//! What a Java virtual machine does by itself.

use std::ops::Add;

use crate::quantity::Nanoseconds;

/// How often and how long a Java virtual machine stopped all threads of its program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JvmPauses {
    pub count: u64,
    /// All together, each from when its threads were asked to stop.
    pub time: Nanoseconds,
}

impl JvmPauses {
    /// Those that came after an earlier look.
    pub const fn since(self, before: Self) -> Self {
        let count = self.count.saturating_sub(before.count);
        Self { count, time: self.time.saturating_sub(before.time) }
    }
}

impl Add for JvmPauses {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self { count: self.count + more.count, time: self.time + more.time }
    }
}
