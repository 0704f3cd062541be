//! The fields of one line of a log as the row that they are: what is a number and in which range, and what each layout derives.

use super::{Damage, Row, damage};

/// The fields of one row, of as many as there are columns.
pub(super) struct Cells {
    pub line: u64,
    pub columns: &'static [&'static str],
    pub fields: Vec<String>,
}

impl Cells {
    fn wrong(&self, at: usize, wanted: &str) -> Damage {
        let what = format!("`{}` is not {wanted}", self.fields[at]);
        damage(self.line, &format!("column `{}`", self.columns[at]), what)
    }

    fn whole(&self, at: usize) -> Result<u64, Damage> {
        self.fields[at].parse().map_err(|_| self.wrong(at, "a whole number"))
    }

    /// A number; derived columns of rows without time hold `NaN` or `Infinity`.
    fn number(&self, at: usize) -> Result<f64, Damage> {
        let text = &self.fields[at];
        let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        let is_word = matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity");
        let parsed = if plain || is_word { text.parse().ok() } else { None };
        parsed.ok_or_else(|| self.wrong(at, "a number"))
    }

    fn finite(&self, at: usize) -> Result<f64, Damage> {
        let number = self.number(at)?;
        if number.is_finite() { Ok(number) } else { Err(self.wrong(at, "a finite number")) }
    }

    /// The size at the end of a path such as `/mping/1961`.
    fn size(&self, at: usize) -> Result<u64, Damage> {
        let size = self.fields[at].rsplit_once('/').and_then(|(_, size)| size.parse().ok());
        size.ok_or_else(|| self.wrong(at, "a path that ends in a size, such as `/mping/1961`"))
    }

    /// Bytes of a body: a median, which of bodies of several lengths can be half a byte.
    fn length(&self, at: usize) -> Result<Option<u64>, Damage> {
        let length = self.number(at)?;
        Ok((length >= 0.0 && length.fract() == 0.0).then_some(length as u64))
    }

    fn status(&self, at: usize) -> Result<Option<u16>, Damage> {
        let status = self.fields[at].parse().map_err(|_| self.wrong(at, "a status from 0 to 65535"))?;
        Ok(Some(status))
    }

    pub fn ppbench(self) -> Result<Row, Damage> {
        let size = self.size(2)?;
        let failed = self.whole(3)?;
        self.whole(4)?;
        let length = self.length(5)?;
        let time_ms = self.finite(6)?;
        self.number(7)?;
        self.number(8)?;
        let retries = Some(self.finite(9)?);
        let status = self.status(10)?;
        let fields = self.fields.try_into().expect("as many fields as columns");
        Ok(Row { fields, size, failed, length, time_ms, retries, status })
    }

    /// As rows of eleven columns: the tag is the experiment's, and what is derived is derived as later versions do.
    pub fn early_ppbench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        let failed = self.whole(2)?;
        self.whole(3)?;
        let length = self.length(4)?;
        let transferred = self.number(4)?;
        let time_ms = self.finite(5)?;
        let retries = Some(self.finite(6)?);
        let status = self.status(7)?;
        let per_time = |value: f64| spelled(if time_ms > 0.0 { value / time_ms } else { 0.0 });
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

    /// ApacheBench's time per request here is *across all concurrent requests*: a request took that, times their number.
    pub fn apache_bench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        let body = self.whole(2)?;
        self.finite(3)?;
        self.whole(4)?;
        let failed = self.whole(5)?;
        let concurrency = self.whole(6)?;
        self.finite(7)?;
        self.number(8)?;
        let rate = self.number(9)?;
        let time_ms = self.finite(10)? * concurrency as f64;
        if !time_ms.is_finite() {
            return Err(self.wrong(10, "a time that can be multiplied by the concurrency"));
        }
        let [tag, path, length] = [0, 1, 2].map(|at| self.fields[at].clone());
        // ApacheBench counts kilobytes of 1024, ppbench bytes.
        let rate = spelled(rate * 1024.0);
        let fields = [
            String::new(),
            tag,
            path,
            failed.to_string(),
            concurrency.to_string(),
            length,
            time_ms.to_string(),
            rate,
            self.fields[8].clone(),
            "0".to_owned(),
            "200".to_owned(),
        ];
        Ok(Row { fields, size, failed, length: Some(body), time_ms, retries: Some(0.0), status: Some(200) })
    }
}

/// A number as rows hold it.
fn spelled(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => value.to_string(),
    }
}
