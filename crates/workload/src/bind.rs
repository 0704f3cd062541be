//! A specification bound to one variant: the part common to all workloads.

use std::sync::Arc;

use weighbridge_load::Framing;
use weighbridge_load::request::{RenderError, Request};
use weighbridge_model::experiment::{Equality, LoadSpec, Protocol, expand_environment};
use weighbridge_model::id::OperationId;

use crate::expect::Expect;
use crate::stream::Mix;
use crate::{Address, Entry, Given, Workload, WorkloadError};

/// A workload that can be bound to a variant.
pub(crate) trait Bind {
    /// Renders its requests and prepares their checks.
    ///
    /// Errors: [`WorkloadError::Unbound`] if the protocol cannot carry it; otherwise what is wrong with a request.
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError>;

    /// What services read of it from the folder that `DATA` names. The same specification, with the same script if that is in
    /// files, always gives the same files.
    fn service_data(&self, given: Given<'_>) -> Vec<DataFile> {
        let _ = given;
        Vec::new()
    }
}

/// A file that a workload makes for services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its name in the folder, without a folder of its own.
    pub name: String,
    /// What it holds.
    pub contents: Vec<u8>,
}

/// The variant and data to which requests are bound.
pub(crate) struct Binding<'a> {
    pub framing: Framing,
    pub protocol: Protocol,
    pub load: &'a LoadSpec,
    pub address: &'a Address,
    pub given: Given<'a>,
}

impl Binding<'_> {
    /// A workload of these requests, each independent of the others.
    pub fn plain(&self, entries: Vec<Entry>, mix: Mix, equality: Equality) -> Workload {
        Workload {
            framing: self.framing,
            entries,
            mix,
            equality,
            ignored: Vec::new(),
            scene: None,
            spread: None,
            cache: None,
            trade: None,
            in_process: None,
        }
    }

    /// The error that the workload has no form in this protocol.
    pub const fn unbound(&self, workload: &'static str) -> WorkloadError {
        WorkloadError::Unbound { workload, protocol: self.protocol }
    }

    /// One kind of request, rendered.
    pub fn entry(
        &self,
        operation: OperationId,
        name: &str,
        request: &Request,
        expect: Arc<dyn Expect>,
    ) -> Result<Entry, WorkloadError> {
        let rendered =
            self.framing.render(operation, request).map_err(|source| render_error(name, source))?;
        let title = format!("{} {}", request.method, request.target);
        Ok(Entry { name: name.to_owned(), title, rendered, expect })
    }

    /// HTTP/1.1 announces to the server that a connection serves only one request; HTTP/2 has no such field.
    pub fn connection_header(&self) -> Option<(String, String)> {
        let is_announced = !self.load.keep_alive() && self.framing == Framing::Http1;
        is_announced.then(|| ("Connection".to_owned(), "close".to_owned()))
    }

    /// Header fields with environment variables filled in.
    pub fn values(
        &self,
        name: &str,
        pairs: &[(String, String)],
    ) -> Result<Vec<(String, String)>, WorkloadError> {
        let resolve = |(header, value): &(String, String)| {
            let value = expand_environment(value, self.given.environment).map_err(|variable| {
                let (name, place) = (name.to_owned(), format!("header `{header}`"));
                WorkloadError::Environment { name, place, variable }
            })?;
            Ok((header.clone(), value))
        };
        pairs.iter().map(resolve).collect()
    }
}

pub(crate) fn render_error(name: &str, source: RenderError) -> WorkloadError {
    WorkloadError::Render { name: name.to_owned(), source }
}

/// The base followed by the request's own path: `/a/` and `/b` make `/a/b`, `/a` and nothing make `/a`.
pub(crate) fn join(base: &str, path: &str) -> String {
    match path.strip_prefix('/') {
        Some(_) => format!("{}{path}", base.trim_end_matches('/')),
        None => format!("{base}{path}"),
    }
}
