//! Calls bound to one variant.

use std::sync::Arc;

use serde_json::Value;
use weighbridge_model::experiment::{GrpcSpec, Protocol};
use weighbridge_model::id::OperationId;

use super::{CallExpect, GrpcCheck, Methods};
use crate::bind::{Bind, Binding, render_error};
use crate::canonical::Received;
use crate::checks::Reset;
use crate::checks::explain::{FailureLog, Noted};
use crate::expect::Expect;
use crate::stream::Mix;
use crate::{Entry, Workload, WorkloadError};

impl Bind for GrpcSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        if binding.protocol != Protocol::GRPC {
            return Err(binding.unbound("grpc"));
        }
        let methods = Methods::read(&self.source)?;
        let mut operation = 0;
        let mut entries = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let bound = super::bind(call, &methods)?;
            let metadata = binding.values(&call.name, &call.metadata)?;
            let authority = binding.address.authority.as_str();
            let rendered =
                super::render(binding.framing, call, &bound, OperationId(operation), authority, metadata);
            entries.push(Entry {
                name: call.name.clone(),
                title: call.method.clone(),
                rendered: rendered.map_err(|source| render_error(&call.name, source))?,
                expect: Arc::new(bound.expect),
            });
            operation += 1 + u16::from(call.message_operation().is_some());
        }
        let mix = Mix::weighted(self.calls.iter().map(|call| call.weight));
        Ok(binding.plain(entries, mix, self.equal))
    }
}

impl Expect for Arc<CallExpect> {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        Box::new(Noted::new(GrpcCheck::new(Self::clone(self)), log))
    }

    /// The status of gRPC.
    fn status(&self, _received: &Received<'_>) -> u16 {
        u16::from(CallExpect::status(self).number())
    }

    fn json(&self, received: &Received<'_>, _hide: &dyn Fn(&str) -> String) -> Result<Value, String> {
        CallExpect::json(self, received.body, received.messages)
    }
}
