//! Tells the service which compiler and libraries it was built with, for `--version`, and generates the records and the
//! gRPC interface. The versions are asked of the build (the compiler in use, the lock file), so the answer cannot
//! drift from what runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prost::Message;
use tonic_prost_build::FileDescriptorSet;

/// The interface that all languages share.
const TRADE: &str = "../trade/trade.proto";

/// The messages are the records of JSON too.
const SERDE: &str = "#[derive(serde::Serialize, serde::Deserialize)]";
/// What the path of a request says over HTTP.
const IN_THE_PATH: [&str; 4] =
    ["BuyRequest.user", "SellRequest.user", "SellFirstRequest.user", "UpdateRequest.user"];

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rustc-env=RUST_VERSION={}", rust_version());
    for (name, package) in [
        ("AXUM", "axum"),
        ("TONIC", "tonic"),
        ("QUICK_XML", "quick-xml"),
        ("RUSQLITE", "rusqlite"),
        ("TOKIO_POSTGRES", "tokio-postgres"),
    ] {
        println!("cargo::rustc-env={name}_VERSION={}", locked_version(package));
    }
    let builder = tonic_prost_build::configure().build_transport(false).type_attribute(".", SERDE);
    let builder = IN_THE_PATH
        .into_iter()
        .fold(builder, |builder, field| builder.field_attribute(field, "#[serde(skip_deserializing)]"));
    builder.compile_fds(describe(TRADE)).expect("the interface can be put into Rust");
}

/// Reads an interface, and writes its description for reflection.
fn describe(interface: &str) -> FileDescriptorSet {
    println!("cargo::rerun-if-changed={interface}");
    let interface = Path::new(interface);
    let folder = interface.parent().expect("the interface lies in a folder");
    let files = protox::compile([interface], [folder]).expect("the interface is valid");
    let name = interface.with_extension("bin");
    let description = out_dir().join(name.file_name().expect("the interface is a file"));
    fs::write(description, files.encode_to_vec()).expect("`OUT_DIR` can be written");
    files
}

fn out_dir() -> PathBuf {
    env::var_os("OUT_DIR").expect("cargo sets `OUT_DIR` for build scripts").into()
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
