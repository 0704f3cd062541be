//! Tells the service which compiler and libraries it was built with, for `--version`, and generates the code of its
//! gRPC interface. The versions are asked of the build (the compiler in use, the lock file), so the answer cannot
//! drift from what runs.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use prost::Message;

/// The interface that all languages share.
const INTERFACE: &str = "../proto/pong.proto";

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rustc-env=RUST_VERSION={}", rust_version());
    println!("cargo::rustc-env=AXUM_VERSION={}", locked_version("axum"));
    println!("cargo::rustc-env=TONIC_VERSION={}", locked_version("tonic"));
    generate();
}

/// Generates the server's side of the interface, and its description for reflection.
fn generate() {
    println!("cargo::rerun-if-changed={INTERFACE}");
    let files = protox::compile([INTERFACE], ["../proto"]).expect("the interface is valid");
    let folder = env::var_os("OUT_DIR").expect("cargo sets `OUT_DIR` for build scripts");
    fs::write(Path::new(&folder).join("pong.bin"), files.encode_to_vec()).expect("`OUT_DIR` can be written");
    tonic_prost_build::configure()
        .build_client(false)
        .compile_fds(files)
        .expect("the interface can be put into Rust");
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
