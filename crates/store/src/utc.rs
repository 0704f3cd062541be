//! Calendar times in UTC: when a run began. For names and headings only; measurements use the monotonic
//! clock.

use std::time::{Duration, SystemTime};

/// A moment in UTC, 1970 to 2554, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    unix_ns: u64,
}

impl UtcTime {
    /// `nanoseconds` after the beginning of 1970, leap seconds not counted.
    pub const fn from_unix_ns(nanoseconds: u64) -> Self {
        Self { unix_ns: nanoseconds }
    }

    /// Nanoseconds after the beginning of 1970, leap seconds not counted.
    pub const fn unix_ns(self) -> u64 {
        self.unix_ns
    }

    /// As in folder names: `20261121-212204`.
    pub fn stamp(self) -> String {
        let ([year, month, day], [hour, minute, second]) = self.calendar();
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// As in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339): `2026-11-21T21:22:04Z`.
    pub fn rfc3339(self) -> String {
        let ([year, month, day], [hour, minute, second]) = self.calendar();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Date and time of day. The date is Howard Hinnant's `civil_from_days`
    /// (<https://howardhinnant.github.io/date_algorithms.html>), for days that are never negative: years
    /// begin in March, so that the leap day is a year's last.
    fn calendar(self) -> ([u64; 3], [u64; 3]) {
        let seconds = self.unix_ns / 1_000_000_000;
        let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        ([year, month, day], [of_day / 3600, of_day / 60 % 60, of_day % 60])
    }
}

impl From<SystemTime> for UtcTime {
    /// A clock outside 1970 to 2554 is taken for the nearer end: a run's name is no place to fail.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected values by `date -u -d @SECONDS +%FT%TZ` (GNU coreutils).
    #[test]
    fn dates_agree_with_coreutils() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_795_296_124, "2026-11-21T21:22:04Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (18_446_744_073, "2554-07-21T23:34:33Z"),
        ] {
            assert_eq!(UtcTime::from_unix_ns(seconds * 1_000_000_000).rfc3339(), text);
        }
    }

    #[test]
    fn stamps_sort_like_time() {
        let time = UtcTime::from(SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_296_124));
        assert_eq!(time.stamp(), "20261121-212204");
        assert_eq!(UtcTime::from(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).unix_ns(), 0);
    }
}
