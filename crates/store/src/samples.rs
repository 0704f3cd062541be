//! `samples.csv`: single requests of measured windows, one row each, for trials whose workload keeps them. No
//! figure is computed here. From records of earlier versions, the requests of [`REMOVED_KIND`] are dropped.

use weighbridge_model::id::{OperationId, PointId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::{WindowKind, WindowRecord};

use crate::error::Problem;
use crate::histograms::outcome;
use crate::table::{Cells, RowWriter, has_column, read_table, write_table};
use crate::windows::REMOVED_KIND;

/// Absent in older records.
const KIND_COLUMN: &str = "kind";

pub(crate) const SAMPLE_COLUMNS: [&str; 15] = [
    KIND_COLUMN,
    "point",
    "round",
    "operation",
    "size_bytes",
    "due_ns",
    "sent_ns",
    "done_ns",
    "outcome",
    "status",
    "length_bytes",
    "relayed_duration_ns",
    "relayed_status",
    "relayed_length_bytes",
    "relayed_retries",
];

/// `None` without samples.
pub(crate) fn write_samples(samples: &[Sample]) -> Option<Vec<u8>> {
    (!samples.is_empty()).then(|| write_table(&SAMPLE_COLUMNS, samples.iter().map(row)))
}

fn row(sample: &Sample) -> RowWriter {
    let mut row = RowWriter::default();
    row.word(sample.kind)
        .number(u64::from(sample.point.0))
        .number(u64::from(sample.round))
        .number(u64::from(sample.operation.0))
        .number(sample.size.get())
        .number(sample.due.as_nanos())
        .number(sample.sent.as_nanos())
        .number(sample.done.as_nanos())
        .text(sample.outcome.name());
    match sample.status {
        Some(status) => row.number(status),
        None => row.empty(1),
    };
    row.number(sample.length.get());
    match sample.relayed {
        Some(relayed) => row
            .number(relayed.duration.as_nanos())
            .number(relayed.status)
            .number(relayed.length.get())
            .number(relayed.retries),
        None => row.empty(4),
    };
    row
}

/// Reads the table of a trial with these windows. `removed` says for each window whether it is of
/// [`REMOVED_KIND`]; requests of those are dropped.
pub(crate) fn read_samples(
    bytes: &[u8],
    windows: &[WindowRecord],
    removed: &[bool],
) -> Result<Vec<Sample>, Problem> {
    let has_kind = has_column(bytes, KIND_COLUMN);
    let columns = if has_kind { &SAMPLE_COLUMNS[..] } else { &SAMPLE_COLUMNS[1..] };
    let rows = read_table(columns, bytes, |cells| {
        let kind = if has_kind { cells.word_unless(REMOVED_KIND)? } else { Some(WindowKind::Measured) };
        let sample = sample(cells, kind.unwrap_or(WindowKind::Measured))?;
        let is_removed = kind.is_none() || !has_kind && is_of_removed_window(&sample, windows, removed);
        Ok((!is_removed).then_some(sample))
    })?;
    // A table without rows is never written.
    if rows.is_empty() {
        return Err(Problem::somewhere("it has no row".to_owned()));
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Whether a request belongs to a removed window. Its time decides: no request of another window ended while
/// that one was open.
fn is_of_removed_window(sample: &Sample, windows: &[WindowRecord], removed: &[bool]) -> bool {
    let Some(origin) = windows.first().map(|window| window.figures.started) else { return false };
    let done = origin + sample.done;
    windows.iter().zip(removed).filter(|(_, is_removed)| **is_removed).any(|(window, _)| {
        let figures = &window.figures;
        (window.point, window.round) == (sample.point, sample.round)
            && figures.started <= done
            && done <= figures.ended
    })
}

fn sample(cells: &mut Cells<'_>, kind: WindowKind) -> Result<Sample, String> {
    let nanos = |cells: &mut Cells<'_>| cells.u64().map(Nanoseconds::from_nanos);
    let bytes = |cells: &mut Cells<'_>| cells.u64().map(Bytes::new);
    Ok(Sample {
        kind,
        point: PointId(cells.number()?),
        round: cells.number()?,
        operation: OperationId(cells.number()?),
        size: bytes(cells)?,
        due: nanos(cells)?,
        sent: nanos(cells)?,
        done: nanos(cells)?,
        outcome: {
            let name = cells.text();
            outcome(name).ok_or_else(|| format!("column `outcome`: `{name}` is not known"))?
        },
        status: if cells.skip_empty(1) { None } else { Some(cells.number()?) },
        length: bytes(cells)?,
        relayed: if cells.skip_empty(4) {
            None
        } else {
            Some(Relayed {
                duration: nanos(cells)?,
                status: cells.number()?,
                length: bytes(cells)?,
                retries: cells.number()?,
            })
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::record::{ErrorKind, Outcome};

    fn whole() -> Sample {
        let nanos = Nanoseconds::from_nanos;
        Sample {
            kind: WindowKind::Measured,
            point: PointId(1),
            round: 7,
            operation: OperationId(0),
            size: Bytes::new(87_380),
            due: nanos(10),
            sent: nanos(20),
            done: nanos(u64::MAX),
            outcome: Outcome::Ok,
            status: Some(200),
            length: Bytes::new(70),
            relayed: Some(Relayed {
                duration: nanos(5),
                status: 200,
                length: Bytes::new(87_380),
                retries: 3,
            }),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let failed = Sample {
            outcome: Outcome::Error(ErrorKind::Timeout),
            status: None,
            length: Bytes::new(0),
            relayed: None,
            ..whole()
        };
        let samples = [whole(), failed];
        let bytes = write_samples(&samples).expect("there are some");
        let text = String::from_utf8(bytes.clone()).expect("text");
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "measured,1,7,0,87380,10,20,18446744073709551615,ok,200,70,5,200,87380,3",
                "measured,1,7,0,87380,10,20,18446744073709551615,timeout,,0,,,,",
            ]
        );
        assert_eq!(read_samples(&bytes, &[], &[]), Ok(samples.to_vec()));
        let older = text.replacen("measured,", "extra,", 1);
        assert_eq!(read_samples(older.as_bytes(), &[], &[]), Ok(vec![failed]));
        assert_eq!(write_samples(&[]), None);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let text = String::from_utf8(write_samples(&[whole()]).expect("one")).expect("text");
        for (from, to, said) in [
            (",ok,", ",fine,", "column `outcome`: `fine` is not known"),
            (",200,70,", ",70000,70,", "column `status`"),
            (",3\n", ",\n", "column `relayed_retries`"),
            ("1,7,0", "1,-7,0", "column `round`"),
            ("measured,", "warm,", "column `kind`"),
        ] {
            let damaged = text.replacen(from, to, 1);
            assert_ne!(damaged, text);
            let problem = read_samples(damaged.as_bytes(), &[], &[]).expect_err(said);
            assert!(problem.what.contains(said) && problem.line == Some(2), "{problem:?}");
        }
        let header = text.lines().next().expect("a header");
        assert!(read_samples(format!("{header}\n").as_bytes(), &[], &[]).is_err(), "no row");
    }
}
