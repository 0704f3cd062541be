//! `steps.csv`: the steps of a search for capacity, one row for each tenth of a step. The tenth 0 is the lead-in; only its
//! row says what holds of the step as a whole. Histograms of a step are in `steps.hlog`. No figure is computed here.

use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::record::steps::{COUNTED, Step, StepFigure, StepRecord, Tenth};
use weighbridge_model::record::{LoopHealth, Tallies};

use crate::error::Problem;
use crate::table::{Cells, RowWriter, read_table, write_table};

pub(crate) const STEP_COLUMNS: [&str; 23] = [
    "step",
    "point",
    "tenth",
    "due",
    "good",
    "errors",
    "response_sum_ns",
    "replies",
    "smallest_backlog",
    "number",
    "kind",
    "course",
    "rate_per_s",
    "start_ns",
    "length_ns",
    "end",
    "busy_ns",
    "wall_ns",
    "cpu_ns",
    "loop_delay_p50_ns",
    "lag_p99_ns",
    "achieved",
    "figures",
];

/// Cells that only the first row of a step has.
const WHOLE_CELLS: usize = STEP_COLUMNS.len() - 9;

/// One list of steps for each point. `None` if there is no step.
pub(crate) fn write_steps(points: &[Vec<StepRecord>]) -> Option<Vec<u8>> {
    let steps = points.iter().zip(0..).flat_map(|(steps, point)| steps.iter().map(move |step| (point, step)));
    let mut steps = steps.zip(0..).peekable();
    steps.peek()?;
    let rows = steps.flat_map(|((point, step), at)| rows(at, point, step));
    Some(write_table(&STEP_COLUMNS, rows))
}

fn rows(at: u64, point: u64, record: &StepRecord) -> Vec<RowWriter> {
    let tenths = std::iter::once(&record.lead_in).chain(&record.tenths);
    let row = |(number, tenth): (u64, &Tenth)| {
        let mut row = RowWriter::default();
        row.number(at)
            .number(point)
            .number(number)
            .number(tenth.due)
            .number(tenth.good)
            .number(tenth.errors)
            .number(tenth.response_sum.as_nanos())
            .number(tenth.replies)
            .number(tenth.smallest_backlog);
        if number == 0 {
            whole(&mut row, record)
        } else {
            row.empty(WHOLE_CELLS)
        };
        row
    };
    (0..).zip(tenths).map(row).collect()
}

fn whole<'r>(row: &'r mut RowWriter, record: &StepRecord) -> &'r mut RowWriter {
    let Step { number, kind, course, rate, start, length, end, health } = record.step;
    let figures: Vec<String> = record.figures.iter().map(figure_text).collect();
    row.number(number)
        .word(kind)
        .word(course)
        .text(rate.get())
        .number(start.as_nanos())
        .number(length.as_nanos())
        .word(end)
        .number(health.busy.as_nanos())
        .number(health.wall.as_nanos())
        .number(health.cpu.as_nanos())
        .number(health.loop_delay_p50.as_nanos())
        .number(health.lag_p99.as_nanos())
        .text(figure_text(&record.achieved))
        .text(figures.join(";"))
}

/// `value±error`, in nanoseconds or as a share.
fn figure_text(figure: &StepFigure) -> String {
    format!("{}±{}", figure.value, figure.error)
}

fn read_figure(text: &str) -> Result<StepFigure, String> {
    let wrong = || format!("`{text}` is not a figure with its error");
    let (value, error) = text.split_once('±').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    Ok(StepFigure { value: number(value)?, error: number(error)? })
}

/// The steps of each of so many points, with their histograms.
pub(crate) fn read_steps(
    bytes: &[u8],
    histograms: Vec<Tallies>,
    points: usize,
) -> Result<Vec<Vec<StepRecord>>, Problem> {
    let mut by_point: Vec<Vec<StepRecord>> = vec![Vec::new(); points];
    let mut histograms = histograms.into_iter();
    let (mut open, mut read): (Option<(usize, StepRecord)>, u64) = (None, 0);
    let mut next = 0;
    read_table(&STEP_COLUMNS, bytes, |cells| {
        let (at, point, tenth) = (cells.u64()?, cells.number::<u16>()?, cells.u64()?);
        if (at, tenth) != (read, next) {
            return Err(format!("step {at}, tenth {tenth} where step {read}, tenth {next} is next"));
        }
        let counts = read_tenth(cells)?;
        if tenth == 0 {
            let tallies = histograms.next().ok_or_else(|| format!("step {at} has no histograms"))?;
            open = Some((usize::from(point), read_whole(cells, counts, tallies)?));
        } else if !cells.skip_empty(WHOLE_CELLS) {
            return Err(format!("tenth {tenth} says what only tenth 0 says"));
        }
        let (of, step) = open.as_mut().ok_or("no tenth 0 before it")?;
        if *of != usize::from(point) {
            return Err(format!("point {point} in a step of point {of}"));
        }
        if tenth > 0 {
            step.tenths[tenth as usize - 1] = counts;
        }
        next += 1;
        if next as usize > COUNTED {
            let (point, step) = open.take().ok_or("no tenth 0 before it")?;
            by_point.get_mut(point).ok_or_else(|| format!("there is no point {point}"))?.push(step);
            (read, next) = (read + 1, 0);
        }
        Ok(())
    })?;
    if next > 0 {
        return Err(Problem::somewhere(format!("it ends within step {read}")));
    }
    match histograms.next() {
        None => Ok(by_point),
        Some(_) => Err(Problem::somewhere(format!("it has {read} steps, and there are histograms of more"))),
    }
}

// Fields of a struct literal are evaluated in written order, which is the order of the columns.
fn read_tenth(cells: &mut Cells<'_>) -> Result<Tenth, String> {
    Ok(Tenth {
        due: cells.u64()?,
        good: cells.u64()?,
        errors: cells.u64()?,
        response_sum: time(cells)?,
        replies: cells.u64()?,
        smallest_backlog: cells.u64()?,
    })
}

fn read_whole(cells: &mut Cells<'_>, lead_in: Tenth, tallies: Tallies) -> Result<StepRecord, String> {
    let step = Step {
        number: cells.number()?,
        kind: cells.word()?,
        course: cells.word()?,
        rate: rate(cells)?,
        start: Timestamp::from_nanos(cells.u64()?),
        length: time(cells)?,
        end: cells.word()?,
        health: LoopHealth {
            busy: time(cells)?,
            wall: time(cells)?,
            cpu: time(cells)?,
            loop_delay_p50: time(cells)?,
            lag_p99: time(cells)?,
        },
    };
    let achieved = read_figure(cells.text())?;
    let figures = cells.text();
    let figures = figures.split(';').filter(|text| !text.is_empty()).map(read_figure);
    Ok(StepRecord {
        step,
        lead_in,
        tenths: [Tenth::default(); COUNTED],
        tallies,
        figures: figures.collect::<Result<_, _>>()?,
        achieved,
    })
}

fn time(cells: &mut Cells<'_>) -> Result<Nanoseconds, String> {
    cells.u64().map(Nanoseconds::from_nanos)
}

fn rate(cells: &mut Cells<'_>) -> Result<PerSecond, String> {
    let text = cells.text();
    let rate = text.parse::<f64>().ok().and_then(PerSecond::new);
    rate.ok_or_else(|| format!("column `rate_per_s`: `{text}` is not a rate"))
}
