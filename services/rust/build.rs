//! Tells the service which compiler and which axum it was built with, for `--version`. Both are asked of
//! the build (the compiler in use, the lock file), so the answer cannot drift from what runs.

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rustc-env=RUST_VERSION={}", rust_version());
    println!("cargo::rustc-env=AXUM_VERSION={}", locked_version("axum"));
}

/// The second word of `rustc --version`, such as `1.95.0`.
fn rust_version() -> String {
    let compiler = env::var_os("RUSTC").expect("cargo sets `RUSTC` for build scripts");
    let output = Command::new(compiler).arg("--version").output().expect("the compiler answers `--version`");
    let answer = String::from_utf8(output.stdout).expect("the compiler's version is text");
    answer.split_whitespace().nth(1).expect("`rustc <version> …`").to_owned()
}

/// The version that `Cargo.lock` holds for the package `name`.
fn locked_version(name: &str) -> String {
    let lock = fs::read_to_string("Cargo.lock").expect("`Cargo.lock` lies beside the manifest");
    let heading = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&heading).expect("the package is locked");
    rest.split('"').next().expect("the version is quoted").to_owned()
}
