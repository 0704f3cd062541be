//! Writes the folder of a synthetic run, large enough to measure `weigh report` with: `large_run FOLDER
//! [DOTS]`, with DOTS dots (250,000) in 10 series. docs/PERFORMANCE.md has what a report of it takes.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::{create_dir_all, write};
use std::path::PathBuf;

use serde_json::json;

const SERIES: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: large_run FOLDER [DOTS]")?);
    let dots: usize = arguments.next().map_or(Ok(250_000), |text| text.parse())?;
    let case = support::plot::dots(dots / SERIES);
    create_dir_all(&folder)?;
    let started = 1_795_296_124_000_000_000_u64;
    let run =
        json!({ "schema": 1, "name": "large", "started": case.summary.started, "started_unix_ns": started });
    write(folder.join("run.json"), run.to_string())?;
    write(folder.join("experiment.toml"), support::how().experiment_toml)?;
    write(folder.join("environment.json"), support::environment().to_string())?;
    write(folder.join("summary.json"), serde_json::to_string(&case.summary)?)?;
    write(folder.join("detail.json"), serde_json::to_string(&case.detail)?)?;
    Ok(())
}
