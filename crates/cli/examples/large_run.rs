//! Writes the folder of a run that was never made, large enough to try a report on: `large_run FOLDER [DOTS]`, with so
//! many dots in all (250,000), in 10 series. Its path is printed. docs/PERFORMANCE.md has what a report of it takes.

#[path = "../../report/tests/support/mod.rs"]
mod support;

use weighbridge_store::{RunWriter, UtcTime};

/// Series of the synthetic run.
const SERIES: usize = 10;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "runs".to_owned());
    let dots: usize = arguments.next().map_or(Ok(250_000), |text| text.parse())?;
    let case = support::plot::dots(dots / SERIES);
    let started = UtcTime::from_unix_ns(1_795_296_124_000_000_000);
    let writer = RunWriter::create(folder, "large", started)?;
    writer.write_experiment(&support::how().experiment_toml)?;
    writer.write_environment(&support::environment())?;
    writer.write_plan(&serde_json::json!({}))?;
    writer.write_summary(&case.summary)?;
    writer.write_detail(&case.detail)?;
    println!("{}", writer.folder().path().display());
    Ok(())
}
