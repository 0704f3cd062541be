//! Splits a log into series: rows with the same machine and experiment tags, whatever a naming file calls
//! them. So all times of a series are from one machine's clock.

use std::collections::BTreeMap;

use super::{Faults, Naming, Row, Tagged};

/// Rows of one machine and one experiment, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<'a> {
    /// Unique in the log.
    pub name: String,
    /// At least one.
    rows: Vec<&'a Row>,
}

/// The series of a log, in the order of their first rows.
pub fn series<'a>(rows: &'a [Row], naming: &Naming) -> Vec<Series<'a>> {
    let mut all: Vec<Series<'a>> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in rows {
        let place = *places.entry((row.machine(), row.experiment())).or_insert(all.len());
        match all.get_mut(place) {
            Some(series) => series.rows.push(row),
            None => all.push(Series { name: String::new(), rows: vec![row] }),
        }
    }
    let tags: Vec<Tagged<'_>> = all.iter().map(Series::tags).collect();
    for (series, name) in all.iter_mut().zip(naming.names(&tags)) {
        series.name = name;
    }
    all
}

impl<'a> Series<'a> {
    /// The tags of its rows.
    pub fn tags(&self) -> Tagged<'a> {
        self.rows[0].tags()
    }

    pub fn rows(&self) -> impl Iterator<Item = &'a Row> + '_ {
        self.rows.iter().copied()
    }

    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Whether its times were measured by `ping` for its own requests; else the client measured them.
    pub fn is_relayed(&self) -> bool {
        self.rows[0].is_relayed()
    }

    pub fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        self.rows().filter_map(Row::fault).for_each(|fault| faults.add(fault));
        faults
    }

    /// How many rows report retries, good or not; `None` if no row reports whether there were any.
    pub fn retried(&self) -> Option<u64> {
        let reported: Vec<f64> = self.rows().filter_map(Row::retries).collect();
        (!reported.is_empty()).then(|| reported.iter().filter(|retries| **retries > 0.0).count() as u64)
    }

    pub fn good(&self) -> impl Iterator<Item = &'a Row> + '_ {
        self.rows().filter(|row| row.is_good())
    }
}
