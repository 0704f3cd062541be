//! Writes pages of synthetic runs into a folder, for the tests in a browser: `pages FOLDER`. No figure was measured.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_report::{Comparison, HowToRepeat, Report, page, suite_page};

/// What a page is made of, beside the summary.
struct Rest {
    environment: Value,
    how: HowToRepeat,
}

impl Rest {
    fn of<'a>(&'a self, summary: &'a Summary, detail: &'a Detail) -> Report<'a> {
        Report { summary, detail, environment: &self.environment, how: &self.how }
    }
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: pages FOLDER"));
    std::fs::create_dir_all(&folder)?;
    let rest = Rest { environment: support::environment(), how: support::how() };
    // Of each run that the charts are tested with, and among them one of 250,000 dots.
    for case in support::plot::cases() {
        write(&folder, case.name, &page(&[rest.of(&case.summary, &case.detail)], &[]))?;
    }
    let large = support::plot::dots(25_000);
    write(&folder, "large", &page(&[rest.of(&large.summary, &large.detail)], &[]))?;
    let (summary, detail) = (support::layered::layered(), support::layered::detail());
    write(&folder, "layered", &page(&[rest.of(&summary, &detail)], &[]))?;
    let (summary, detail, environment, how) = support::hostile();
    let hostile = Rest { environment, how };
    write(&folder, "hostile", &page(&[hostile.of(&summary, &detail)], &[]))?;
    let (first, second, detail) = (support::valid(), support::troubled(), support::detail());
    let said = [Comparison::Refused("the runs share no baseline".to_owned())];
    let suite = [rest.of(&first, &detail), rest.of(&second, &detail)];
    write(&folder, "suite", &suite_page(&suite))?;
    write(&folder, "runs", &page(&[rest.of(&first, &detail), rest.of(&second, &detail)], &said))
}

fn write(folder: &Path, name: &str, page: &str) -> std::io::Result<()> {
    std::fs::write(folder.join(name).with_extension("html"), page)
}
