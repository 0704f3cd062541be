//! Tells the service which compiler and libraries it was built with, for `--version`, and generates the code of its
//! gRPC interfaces. The versions are asked of the build (the compiler in use, the lock file), so the answer cannot
//! drift from what runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prost::Message;
use tonic_prost_build::{Builder, FileDescriptorSet};

/// The interfaces that all languages share.
const PONG: &str = "../proto/pong.proto";
const PERSON: &str = "../person/person.proto";

/// The messages of `PERSON` are the types of JSON and Avro too.
const SERDE: &str = r#"#[derive(serde::Serialize, serde::Deserialize)] #[serde(rename_all = "camelCase")]"#;
/// What only Protocol Buffers can leave out.
const REQUIRED: [&str; 4] = ["Person.name", "Person.location", "PersonLink.p1", "PersonLink.p2"];

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rustc-env=RUST_VERSION={}", rust_version());
    println!("cargo::rustc-env=AXUM_VERSION={}", locked_version("axum"));
    println!("cargo::rustc-env=TONIC_VERSION={}", locked_version("tonic"));
    generate(server(), describe(PONG));
    generate_person(&describe(PERSON));
}

/// Generates the messages of `PERSON`, and server and client for each codec: tonic's generator builds the codec in.
fn generate_person(files: &FileDescriptorSet) {
    let messages = both().type_attribute(".", SERDE);
    let protobuf = REQUIRED.into_iter().fold(messages, |builder, field| {
        builder.field_attribute(field, r#"#[serde(with = "crate::codec::required")]"#)
    });
    generate(protobuf, files.clone());
    for (folder, codec) in [("json", "JsonCodec"), ("avro", "AvroCodec")] {
        let folder = out_dir().join(folder);
        fs::create_dir_all(&folder).expect("`OUT_DIR` can be written");
        let builder = both()
            .out_dir(folder)
            .extern_path(".weighbridge.person.v1", "crate::person::proto")
            .codec_path(format!("crate::person_grpc::{codec}"));
        generate(builder, files.clone());
    }
}

fn server() -> Builder {
    tonic_prost_build::configure().build_client(false)
}

fn both() -> Builder {
    tonic_prost_build::configure().build_transport(false)
}

fn generate(builder: Builder, files: FileDescriptorSet) {
    builder.compile_fds(files).expect("the interface can be put into Rust");
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
