//! Compiles `.proto` files to descriptors, so that an experiment's gRPC calls do not depend on the files.
//!
//! It is the only part of this crate that reads files, and does so before anything is started. It talks to no server
//! ([`super::reflection`] does).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protox::Compiler;
use weighbridge_model::experiment::{CallSpec, DescriptorSource, Experiment, GrpcSpec, WorkloadSpec};

use super::{GrpcError, Methods};

/// Replaces every `proto` file of an experiment by its descriptors, and notes of every call which sides stream. Paths
/// are relative to `folder`; descriptors that a server must supply are left out.
pub fn embed(experiment: &mut Experiment, folder: &Path) -> Result<(), GrpcError> {
    let mut compiled: Vec<(DescriptorSource, DescriptorSource)> = Vec::new();
    for point in &mut experiment.points {
        let WorkloadSpec::Grpc(GrpcSpec { source, calls, .. }) = &mut point.workload else { continue };
        // Points share their file; it is compiled once.
        if let Some((_, descriptors)) = compiled.iter().find(|(before, _)| before == source) {
            *source = descriptors.clone();
        } else if let DescriptorSource::Proto { file, include } = source {
            let descriptors = compile(file, include, folder)?;
            compiled.push((source.clone(), descriptors.clone()));
            *source = descriptors;
        }
        settle(source, calls)?;
    }
    Ok(())
}

/// Compiles one file with its imports.
pub fn compile(file: &str, include: &[String], folder: &Path) -> Result<DescriptorSource, GrpcError> {
    let path = folder.join(file);
    let mut includes: Vec<PathBuf> = include.iter().map(|include| folder.join(include)).collect();
    let within = |includes: &[PathBuf]| includes.iter().any(|include| path.starts_with(include));
    if !within(&includes) && path.is_file() {
        includes.extend(path.parent().map(Path::to_owned));
    }
    let fail = |error: protox::Error| GrpcError::Proto { file: file.to_owned(), message: words(&error) };
    let mut compiler = Compiler::new(includes).map_err(fail)?;
    // A path that is not a file here may be one below an include folder.
    let target = if path.is_file() { path.as_path() } else { Path::new(file) };
    compiler.include_imports(true).open_file(target).map_err(fail)?;
    Ok(embedded(&compiler.encode_file_descriptor_set()))
}

/// Descriptors in the form in which an experiment stores them.
pub(crate) fn embedded(set: &[u8]) -> DescriptorSource {
    DescriptorSource::Descriptors { base64: STANDARD.encode(set) }
}

/// Resolves the calls of a workload if it has their descriptors; returns whether it has.
pub fn settle_described(spec: &mut WorkloadSpec) -> Result<bool, GrpcError> {
    match spec {
        WorkloadSpec::Grpc(GrpcSpec {
            source: source @ DescriptorSource::Descriptors { .. }, calls, ..
        }) => settle(source, calls).map(|()| true),
        _ => Ok(false),
    }
}

/// Resolves every call and notes which sides stream; does nothing if the descriptors are not known yet.
pub fn settle(source: &DescriptorSource, calls: &mut [CallSpec]) -> Result<(), GrpcError> {
    let methods = match Methods::read(source) {
        Err(GrpcError::Unreflected) => return Ok(()),
        methods => methods?,
    };
    for call in calls.iter_mut() {
        call.kind = Some(methods.find(call)?.kind);
    }
    // Only now is it known which calls have a message operation.
    let messages: Vec<String> = calls.iter().filter_map(CallSpec::message_operation).collect();
    match calls.iter().find(|call| messages.contains(&call.name)) {
        Some(call) => Err(GrpcError::Name { name: call.name.clone() }),
        None => Ok(()),
    }
}

/// File, place and message of a compiler's error, on one line.
fn words(error: &protox::Error) -> String {
    // Its `Display` leaves out the position.
    let text = format!("{error:?}").replace('\n', " ");
    if text.is_empty() { error.to_string() } else { text }
}
