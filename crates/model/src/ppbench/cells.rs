//! Turns the fields of one line into a row: the checks of numbers and ranges, and what each layout derives.

use super::{Damage, Row, damage, quoted};

/// The fields of one line, one per column.
pub(super) struct Cells {
    pub line: u64,
    pub columns: &'static [&'static str],
    pub fields: Vec<String>,
}

/// Limit of numbers: far above the bytes per second of any network, even for the shortest time.
const LARGEST: f64 = 1e18;
/// Limit of times in milliseconds: thirty years.
const LONGEST_MS: f64 = 1e12;
/// Up to 2^53 an `f64` holds every integer exactly.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl Cells {
    fn wrong(&self, at: usize, wanted: &str) -> Damage {
        let what = format!("{} is not {wanted}", quoted(&self.fields[at]));
        damage(self.line, &format!("column `{}`", self.columns[at]), what)
    }

    /// A number in digits; words such as `NaN` are refused.
    fn digits(&self, at: usize) -> Option<f64> {
        let text = &self.fields[at];
        let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
        let number = text.chars().all(plain).then(|| text.parse().ok()).flatten();
        number.filter(|number: &f64| number.abs() <= LARGEST)
    }

    /// A count. `0.0` is accepted, since spreadsheets and data frames write that.
    fn whole(&self, at: usize) -> Result<u64, Damage> {
        let exact = || self.fields[at].parse().ok();
        let rounded = || self.digits(at).filter(|n| n.fract() == 0.0 && (0.0..=LARGEST_WHOLE).contains(n));
        exact()
            .or_else(|| rounded().map(|number| number as u64))
            .ok_or_else(|| self.wrong(at, "a whole number"))
    }

    /// A number. Derived columns of rows without time hold `NaN` or `Infinity`.
    fn number(&self, at: usize) -> Result<f64, Damage> {
        let word = match self.fields[at].as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        };
        word.or_else(|| self.digits(at)).ok_or_else(|| self.wrong(at, "a number from -1e18 to 1e18"))
    }

    fn finite(&self, at: usize) -> Result<f64, Damage> {
        self.digits(at).ok_or_else(|| self.wrong(at, "a finite number from -1e18 to 1e18"))
    }

    /// Below 0 where the writer's clock went backwards.
    fn time_ms(&self, at: usize) -> Result<f64, Damage> {
        let time = self.digits(at).filter(|time| time.abs() <= LONGEST_MS);
        time.ok_or_else(|| self.wrong(at, "a time of at most 1e12 ms"))
    }

    /// The size at the end of a path such as `/mping/1961`.
    fn size(&self, at: usize) -> Result<u64, Damage> {
        let size = self.fields[at].rsplit_once('/').and_then(|(_, size)| size.parse().ok());
        size.ok_or_else(|| self.wrong(at, "a path that ends in a size, such as `/mping/1961`"))
    }

    /// Bytes of a body: a median, which may be half a byte if lengths differ.
    fn length(&self, at: usize) -> Result<Option<u64>, Damage> {
        let length = self.number(at)?;
        Ok((length >= 0.0 && length.fract() == 0.0).then_some(length as u64))
    }

    fn status(&self, at: usize) -> Result<u16, Damage> {
        let status = self.whole(at).ok().and_then(|status| u16::try_from(status).ok());
        status.ok_or_else(|| self.wrong(at, "a status from 0 to 65535"))
    }

    pub fn ppbench(self) -> Result<Row, Damage> {
        let size = self.size(2)?;
        let failed = self.whole(3)?;
        self.whole(4)?;
        let length = self.length(5)?;
        let time_ms = self.time_ms(6)?;
        self.number(7)?;
        self.number(8)?;
        // Rows converted from ApacheBench, which reports neither.
        let is_unknown = self.fields[9].is_empty() && self.fields[10].is_empty();
        let retries = if is_unknown { None } else { Some(self.finite(9)?) };
        let status = if is_unknown { None } else { Some(self.status(10)?) };
        let fields = self.fields.try_into().expect("as many fields as columns");
        Ok(Row { fields, size, failed, length, time_ms, retries, status })
    }

    /// Converts to eleven columns: the tag is the experiment's, and derived columns are computed as later
    /// versions do.
    pub fn early_ppbench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        let failed = self.whole(2)?;
        self.whole(3)?;
        let length = self.length(4)?;
        let transferred = self.number(4)?;
        let time_ms = self.time_ms(5)?;
        let retries = Some(self.finite(6)?);
        let status = Some(self.status(7)?);
        let per_time = |value: f64| format_number(if time_ms > 0.0 { value / time_ms } else { 0.0 });
        let text = |at: usize| self.fields[at].clone();
        let fields = [
            String::new(),
            text(0),
            text(1),
            text(2),
            text(3),
            text(4),
            text(5),
            per_time(1000.0 * transferred),
            per_time(1000.0),
            text(6),
            text(7),
        ];
        Ok(Row { fields, size, failed, length, time_ms, retries, status })
    }

    /// ApacheBench's time per request is *across all concurrent requests*: one request took that, multiplied
    /// by the concurrency. Its rates cover all requests and count heads of replies; here rates are derived
    /// from the row's time, as ppbench does. It reports neither retries nor a status.
    pub fn apache_bench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        let length = self.whole(2)?;
        self.finite(3)?;
        self.whole(4)?;
        let failed = self.whole(5)?;
        let concurrency = self.whole(6)?;
        self.finite(7)?;
        self.number(8)?;
        self.number(9)?;
        let time_ms = self.time_ms(10)? * concurrency as f64;
        if time_ms.abs() > LONGEST_MS {
            return Err(self.wrong(10, "a time of at most 1e12 ms, times the concurrency"));
        }
        let per_time = |value: f64| format_number(if time_ms > 0.0 { value / time_ms } else { 0.0 });
        let [tag, path, body] = [0, 1, 2].map(|at| self.fields[at].clone());
        let fields = [
            String::new(),
            tag,
            path,
            failed.to_string(),
            concurrency.to_string(),
            body,
            time_ms.to_string(),
            per_time(1000.0 * length as f64),
            per_time(1000.0),
            String::new(),
            String::new(),
        ];
        Ok(Row { fields, size, failed, length: Some(length), time_ms, retries: None, status: None })
    }

    /// How many requests a row of ApacheBench is the mean of.
    pub fn completed(&self) -> Result<u64, Damage> {
        self.whole(4)
    }
}

/// A number as ppbench writes it.
fn format_number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => value.to_string(),
    }
}
