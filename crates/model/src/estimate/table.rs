//! The properties of every quantity, one row each. A new quantity needs an arm of [`Quantity`], a row here,
//! and its value in the judge's records.

use serde::Serialize;

use super::{ContrastKind, Effect, Quantity, Statistic, Unit};

/// Words for sentences about a quantity: `A typical request` `takes` `longer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase {
    pub subject: &'static str,
    pub verb: &'static str,
    pub more: &'static str,
    pub less: &'static str,
    /// As a noun: `the time of a typical request`.
    pub thing: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interval {
    Response,
    Service,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct QuantityRow {
    pub quantity: Quantity,
    pub name: &'static str,
    pub unit: Unit,
    pub statistic: Statistic,
    /// `None` if it is not a statistic of request times.
    pub interval: Option<Interval>,
    pub higher_is: Effect,
    pub contrast: ContrastKind,
    /// Whether each of several operations has a figure of its own.
    pub is_by_operation: bool,
    pub phrase: Phrase,
}

/// Properties of a quantity that the schemas publish; the page's types are generated from them.
#[derive(Debug, Serialize)]
pub(super) struct PublishedQuantity {
    name: &'static str,
    unit: Unit,
    higher_is: Effect,
    contrast: ContrastKind,
    is_by_operation: bool,
}

pub(super) fn published() -> [PublishedQuantity; TABLE.len()] {
    TABLE.map(|row| PublishedQuantity {
        name: row.name,
        unit: row.unit,
        higher_is: row.higher_is,
        contrast: row.contrast,
        is_by_operation: row.is_by_operation,
    })
}

const P50: Phrase = Phrase {
    subject: "A typical request",
    verb: "takes",
    more: "longer",
    less: "less time",
    thing: "the time of a typical request (p50)",
};
const P90: Phrase = Phrase {
    subject: "The time that 90 % of requests keep to",
    verb: "is",
    more: "longer",
    less: "shorter",
    thing: "the time that 90 % of requests keep to",
};
const P95: Phrase = Phrase {
    subject: "The time that 95 % of requests keep to",
    thing: "the time that 95 % of requests keep to",
    ..P90
};
const P99: Phrase = Phrase {
    subject: "The time that 99 % of requests keep to",
    thing: "the time that 99 % of requests keep to",
    ..P90
};
const MEAN: Phrase = Phrase { subject: "A request on average", thing: "the mean time of a request", ..P50 };

/// A statistic of request times.
const fn time(
    quantity: Quantity,
    name: &'static str,
    interval: Interval,
    statistic: Statistic,
    phrase: Phrase,
) -> QuantityRow {
    QuantityRow {
        quantity,
        name,
        unit: Unit::Ns,
        statistic,
        interval: Some(interval),
        higher_is: Effect::Worse,
        contrast: ContrastKind::Log,
        is_by_operation: true,
        phrase,
    }
}

/// Resource use of a variant, all operations together.
const fn usage(quantity: Quantity, name: &'static str, unit: Unit, phrase: Phrase) -> QuantityRow {
    QuantityRow {
        quantity,
        name,
        unit,
        statistic: Statistic::Other,
        interval: None,
        higher_is: Effect::Worse,
        contrast: ContrastKind::Log,
        is_by_operation: false,
        phrase,
    }
}

/// A share of requests or lookups, all operations together.
const fn share(quantity: Quantity, name: &'static str, higher_is: Effect, phrase: Phrase) -> QuantityRow {
    QuantityRow {
        quantity,
        name,
        unit: Unit::Share,
        statistic: Statistic::Other,
        interval: None,
        higher_is,
        contrast: ContrastKind::Plain,
        is_by_operation: false,
        phrase,
    }
}

const OFTEN: Phrase = Phrase {
    subject: "A request",
    verb: "is answered",
    more: "more often",
    less: "less often",
    thing: "availability",
};

const fn miss(verb: &'static str, thing: &'static str) -> Phrase {
    Phrase { subject: "A lookup", verb, thing, ..OFTEN }
}

/// Every quantity, in the order of tables.
pub(super) const TABLE: [QuantityRow; 30] = [
    time(Quantity::ResponseP50, "response_p50", Interval::Response, Statistic::Quantile(0.5), P50),
    time(Quantity::ResponseP90, "response_p90", Interval::Response, Statistic::Quantile(0.9), P90),
    time(Quantity::ResponseP95, "response_p95", Interval::Response, Statistic::Quantile(0.95), P95),
    time(Quantity::ResponseP99, "response_p99", Interval::Response, Statistic::Quantile(0.99), P99),
    time(Quantity::ResponseMean, "response_mean", Interval::Response, Statistic::Mean, MEAN),
    time(Quantity::ServiceP50, "service_p50", Interval::Service, Statistic::Quantile(0.5), P50),
    time(Quantity::ServiceP90, "service_p90", Interval::Service, Statistic::Quantile(0.9), P90),
    time(Quantity::ServiceP99, "service_p99", Interval::Service, Statistic::Quantile(0.99), P99),
    time(Quantity::ServiceMean, "service_mean", Interval::Service, Statistic::Mean, MEAN),
    QuantityRow {
        quantity: Quantity::Throughput,
        name: "throughput",
        unit: Unit::PerSecond,
        statistic: Statistic::Other,
        interval: None,
        higher_is: Effect::Better,
        contrast: ContrastKind::Log,
        is_by_operation: true,
        phrase: Phrase {
            subject: "The service",
            verb: "answers",
            more: "more requests a second",
            less: "fewer requests a second",
            thing: "throughput",
        },
    },
    usage(
        Quantity::CpuPerOperation,
        "cpu_per_operation",
        Unit::Ns,
        Phrase {
            subject: "A request",
            verb: "costs",
            more: "more CPU time",
            less: "less CPU time",
            thing: "the CPU time of a request",
        },
    ),
    usage(
        Quantity::BytesPerOperation,
        "bytes_per_operation",
        Unit::Bytes,
        Phrase {
            subject: "A request",
            verb: "moves",
            more: "more bytes",
            less: "fewer bytes",
            thing: "the bytes that a request moves",
        },
    ),
    usage(
        Quantity::PayloadBytesPerOperation,
        "payload_bytes_per_operation",
        Unit::Bytes,
        Phrase {
            subject: "A request",
            verb: "carries",
            more: "more payload",
            less: "less payload",
            thing: "the payload of a request and its reply",
        },
    ),
    usage(
        Quantity::WireBytesPerOperation,
        "wire_bytes_per_operation",
        Unit::Bytes,
        Phrase {
            subject: "A request",
            verb: "puts on the wire",
            more: "more bytes",
            less: "fewer bytes",
            thing: "the bytes that a request puts on the wire",
        },
    ),
    usage(
        Quantity::SegmentsPerOperation,
        "segments_per_operation",
        Unit::Count,
        Phrase {
            subject: "A request",
            verb: "takes",
            more: "more TCP segments",
            less: "fewer TCP segments",
            thing: "the TCP segments of a request",
        },
    ),
    usage(
        Quantity::MemoryPeak,
        "memory_peak",
        Unit::Bytes,
        Phrase {
            subject: "The service",
            verb: "needs at its peak",
            more: "more memory",
            less: "less memory",
            thing: "the peak of memory",
        },
    ),
    QuantityRow {
        quantity: Quantity::Capacity,
        name: "capacity",
        unit: Unit::PerSecond,
        statistic: Statistic::Other,
        interval: None,
        higher_is: Effect::Better,
        contrast: ContrastKind::Log,
        is_by_operation: false,
        phrase: Phrase {
            subject: "The service",
            verb: "keeps its objective up to",
            more: "a higher rate",
            less: "a lower rate",
            thing: "capacity",
        },
    },
    share(Quantity::Availability, "availability", Effect::Better, OFTEN),
    share(
        Quantity::Reliability,
        "reliability",
        Effect::Better,
        Phrase { verb: "is answered rightly", thing: "reliability", ..OFTEN },
    ),
    share(Quantity::HitRate, "hit_rate", Effect::Better, miss("hits", "the hit rate")),
    share(
        Quantity::ByteHitRate,
        "byte_hit_rate",
        Effect::Better,
        Phrase { subject: "A byte of a value", verb: "is found", thing: "the byte hit rate", ..OFTEN },
    ),
    share(
        Quantity::CompulsoryMisses,
        "compulsory_misses",
        Effect::Worse,
        miss("misses a key never written", "compulsory misses"),
    ),
    share(
        Quantity::CapacityMisses,
        "capacity_misses",
        Effect::Worse,
        miss("misses a key that had no room", "capacity misses"),
    ),
    share(
        Quantity::InvalidatedMisses,
        "invalidated_misses",
        Effect::Worse,
        miss("misses a deleted key", "invalidated misses"),
    ),
    share(
        Quantity::ExpiredMisses,
        "expired_misses",
        Effect::Worse,
        miss("misses an expired key", "expired misses"),
    ),
    share(
        Quantity::UnderWayMisses,
        "under_way_misses",
        Effect::Worse,
        miss("misses a key whose refill is under way", "misses while a refill is under way"),
    ),
    share(Quantity::RefillRate, "refill_rate", Effect::Worse, miss("leads to a refill", "the refill rate")),
    share(
        Quantity::AbortRate,
        "abort_rate",
        Effect::Worse,
        Phrase { subject: "An attempt", verb: "has to be made again", thing: "the abort rate", ..OFTEN },
    ),
    QuantityRow {
        higher_is: Effect::Better,
        ..usage(
            Quantity::ActionThroughput,
            "action_throughput",
            Unit::PerSecond,
            Phrase {
                subject: "The service",
                verb: "carries out",
                more: "more actions a second",
                less: "fewer actions a second",
                thing: "the throughput of actions",
            },
        )
    },
    usage(
        Quantity::RestoreTime,
        "restore_time",
        Unit::Ns,
        Phrase {
            subject: "Restoring the database",
            verb: "takes",
            more: "longer",
            less: "less time",
            thing: "the time of restoring the database",
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_the_row_of_its_place_and_the_name_that_it_has_in_json() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.quantity as usize, at, "{}", row.name);
            let json = serde_json::to_string(&row.quantity).expect("a name");
            assert_eq!(json, format!("\"{}\"", row.name));
        }
    }
}
