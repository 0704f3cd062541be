//! How a test says that this host cannot run it.

use std::io::Write as _;

/// Prints a line that starts with `SKIPPED`, past the harness, which hides the output of tests that pass. Fails where
/// everything that layers, quotas and limits need must be there: `scripts/test` sets `WEIGH_LAYERS=all` as root.
#[track_caller]
pub fn skipped(why: &str) {
    assert!(!must_run(), "everything that this needs is installed, and yet: {why}");
    skipped_anyway(why);
}

/// The same where the kernel may lack something that cannot be installed.
#[allow(dead_code)] // not every program has such a test
pub fn skipped_anyway(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    writeln!(std::io::stderr(), "SKIPPED: {test}: {why}").expect("stderr");
}

fn must_run() -> bool {
    std::env::var_os("WEIGH_LAYERS").is_some_and(|value| value == "all")
}
