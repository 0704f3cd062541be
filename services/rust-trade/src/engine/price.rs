//! How orders move prices: DayTrader's law, in whole cents.

use crate::engine::{Fault, Outcome};
use crate::records::Quote;

const LEAST_FACTOR: i64 = 90;
const LARGEST_FACTOR: i64 = 110;

/// From a stock of one cent, which no factor would move, to its next price.
const RAISED: i64 = 600;
/// Where a price is above that, its stock is split.
const SPLIT_ABOVE: i64 = 40_000;

/// What an order changes in the quote of its stock, beside the volume.
pub struct Moved {
    pub price: i64,
    pub low: i64,
    pub high: i64,
    pub change: i64,
}

pub fn check_factor(factor: Option<i64>) -> Outcome<()> {
    match factor {
        Some(factor) if !(LEAST_FACTOR..=LARGEST_FACTOR).contains(&factor) => Err(Fault::Wrong(format!(
            "the factor is {factor}, allowed: {LEAST_FACTOR} to {LARGEST_FACTOR}, or none"
        ))),
        _ => Ok(()),
    }
}

/// A quote behind an order with that factor.
pub fn moved(quote: &Quote, factor: i64) -> Moved {
    let price = next(quote.price, factor);
    Moved { price, low: quote.low.min(price), high: quote.high.max(price), change: price - quote.open }
}

/// The price behind an order at that price.
fn next(price: i64, factor: i64) -> i64 {
    match price {
        1 => RAISED,
        // Half, rounded up, without the sum that the largest price has no room for.
        _ if price > SPLIT_ABOVE => price / 2 + price % 2,
        _ => (price * factor + 50) / 100,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_price_is_that_of_the_law() {
        for (price, factor, expected) in [
            (0, 90, 0),
            (0, 110, 0),
            (1, 90, 600),
            (1, 110, 600),
            (2, 90, 2),
            (4, 110, 4),
            (5, 90, 5),
            (5, 110, 6),
            (6, 90, 5),
            (600, 100, 600),
            (1787, 93, 1662),
            (1787, 110, 1966),
            (40_000, 90, 36_000),
            (40_000, 110, 44_000),
            (40_001, 90, 20_001),
            (40_001, 110, 20_001),
            (44_000, 100, 22_000),
            (i64::MAX, 110, 4_611_686_018_427_387_904),
        ] {
            assert_eq!(next(price, factor), expected, "{price} by {factor}");
        }
    }

    #[test]
    fn low_and_high_take_the_new_price_in() {
        let quote = |low, high| Quote { price: 1787, open: 1800, low, high, ..Quote::default() };
        let after = |quote, factor| {
            let Moved { price, low, high, change } = moved(&quote, factor);
            [price, low, high, change]
        };
        assert_eq!(after(quote(1787, 1800), 93), [1662, 1662, 1800, -138]);
        assert_eq!(after(quote(1787, 1800), 110), [1966, 1787, 1966, 166]);
        assert_eq!(after(quote(1500, 2000), 100), [1787, 1500, 2000, -13]);
    }

    #[test]
    fn factors_are_from_90_to_110() {
        for factor in [None, Some(90), Some(100), Some(110)] {
            assert!(check_factor(factor).is_ok(), "{factor:?}");
        }
        for factor in [i64::MIN, -100, 0, 89, 111, i64::MAX] {
            assert!(matches!(check_factor(Some(factor)), Err(Fault::Wrong(_))), "{factor}");
        }
    }
}
