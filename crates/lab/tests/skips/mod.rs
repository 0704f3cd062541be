//! How a test says that this host cannot run it. Stories of the whole program use it too.

#![allow(dead_code)] // each test program uses its part

use std::io::Write as _;

/// Prints that a test is skipped.
pub fn skipped(why: &str) {
    say("SKIPPED", why);
}

/// Prints that a test of layers, quotas or limits of memory is skipped; fails if it must run (see [`must_have_layers`]).
#[track_caller]
pub fn skipped_layers(why: &str) {
    assert!(!must_have_layers(), "everything that this needs is installed, and yet: {why}");
    skipped(why);
}

/// Whether nothing of that may be missing. `scripts/test` sets this when it runs as root and has installed what layers
/// need, so that a wrong probe does not silently skip tests.
pub fn must_have_layers() -> bool {
    std::env::var_os("WEIGH_LAYERS").is_some_and(|value| value == "all")
}

/// Prints a line about the test that runs, past the harness, which hides the output of tests that pass.
pub fn say(what: &str, why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    writeln!(std::io::stderr(), "{what}: {test}: {why}").expect("stderr");
}
