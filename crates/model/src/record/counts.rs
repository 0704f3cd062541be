//! What a workload counts in a window beside its requests.
//!
//! The list is closed: a new count needs an arm here and a quantity that is made from it.

/// What is counted. Hits and misses together are the lookups; a miss has one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Lookups that found their key.
    Hits,
    /// Misses of keys that were never written.
    CompulsoryMisses,
    /// Misses of keys that were written, and are gone for none of the other reasons.
    CapacityMisses,
    /// Misses of keys whose last write deleted them.
    InvalidatedMisses,
    /// Misses of keys whose time to live was over.
    ExpiredMisses,
    /// Misses of keys whose refill was under way.
    UnderWayMisses,
    /// Bytes of the values that were looked up, found or not.
    AskedBytes,
    /// Bytes of the values that were found.
    HitBytes,
    /// Values set since a lookup missed them.
    Refills,
    /// Attempts that were answered *again*: the service was asked once more, or for the last time.
    Aborts,
    /// Requests whose last attempt was answered *again*, too.
    GivenUp,
    /// Actions of a script of which every reply was right.
    Actions,
}

impl Count {
    /// Every count, in the order of columns.
    pub const ALL: [Self; 12] = [
        Self::Hits,
        Self::CompulsoryMisses,
        Self::CapacityMisses,
        Self::InvalidatedMisses,
        Self::ExpiredMisses,
        Self::UnderWayMisses,
        Self::AskedBytes,
        Self::HitBytes,
        Self::Refills,
        Self::Aborts,
        Self::GivenUp,
        Self::Actions,
    ];

    pub const MISSES: [Self; 5] = [
        Self::CompulsoryMisses,
        Self::CapacityMisses,
        Self::InvalidatedMisses,
        Self::ExpiredMisses,
        Self::UnderWayMisses,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::CompulsoryMisses => "compulsory_misses",
            Self::CapacityMisses => "capacity_misses",
            Self::InvalidatedMisses => "invalidated_misses",
            Self::ExpiredMisses => "expired_misses",
            Self::UnderWayMisses => "under_way_misses",
            Self::AskedBytes => "asked_bytes",
            Self::HitBytes => "hit_bytes",
            Self::Refills => "refills",
            Self::Aborts => "aborts",
            Self::GivenUp => "given_up",
            Self::Actions => "actions",
        }
    }
}

/// The counts of one window, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u64; Count::ALL.len()]);

impl Counts {
    pub const fn get(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    pub fn add(&mut self, count: Count, more: u64) {
        let sum = &mut self.0[count as usize];
        *sum = sum.saturating_add(more);
    }

    /// Adds everything in `other`.
    pub fn merge(&mut self, other: &Self) {
        Count::ALL.into_iter().for_each(|count| self.add(count, other.get(count)));
    }

    pub fn lookups(&self) -> u64 {
        let misses = Count::MISSES.into_iter().map(|cause| self.get(cause));
        misses.fold(self.get(Count::Hits), u64::saturating_add)
    }
}
