//! Writes pages of synthetic runs into a folder, for the tests in a browser: `pages FOLDER`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_report::{Comparison, HowToRepeat, Report, page, suite_page};

struct PageContext {
    environment: Value,
    how: HowToRepeat,
}

impl PageContext {
    fn report<'a>(&'a self, summary: &'a Summary, detail: &'a Detail) -> Report<'a> {
        Report { summary, detail, environment: &self.environment, how: &self.how, gates: &[] }
    }
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: pages FOLDER"));
    std::fs::create_dir_all(&folder)?;
    let context = PageContext { environment: support::environment(), how: support::how() };
    for case in support::plot::cases() {
        write(&folder, case.name, &page(&[context.report(&case.summary, &case.detail)], &[]))?;
    }
    let large = support::plot::dots(25_000);
    write(&folder, "large", &page(&[context.report(&large.summary, &large.detail)], &[]))?;
    let (summary, detail) = (support::layered::layered(), support::layered::detail());
    write(&folder, "layered", &page(&[context.report(&summary, &detail)], &[]))?;
    let (summary, detail, environment, how) = support::hostile();
    let hostile = PageContext { environment, how };
    write(&folder, "hostile", &page(&[hostile.report(&summary, &detail)], &[]))?;
    let (first, second, detail) = (support::valid(), support::troubled(), support::detail());
    let comparisons = [Comparison::Refused("the runs share no baseline".to_owned())];
    let suite = [context.report(&first, &detail), context.report(&second, &detail)];
    write(&folder, "suite", &suite_page(&suite))?;
    write(
        &folder,
        "runs",
        &page(&[context.report(&first, &detail), context.report(&second, &detail)], &comparisons),
    )
}

fn write(folder: &Path, name: &str, page: &str) -> std::io::Result<()> {
    std::fs::write(folder.join(name).with_extension("html"), page)
}
