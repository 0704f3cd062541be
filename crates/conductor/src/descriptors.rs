//! Asks a server for its protobuf descriptors before it is measured, where a workload needs them.
//!
//! Each question uses a connection of its own, outside every timed part. Descriptors are never kept from one
//! block to the next: a restarted service is asked again.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use weighbridge_load::Framing;
use weighbridge_load::dial::{Endpoint, ResolveError};
use weighbridge_load::exchange::{Limits, exchange};
use weighbridge_load::{Stack, TlsClient};
use weighbridge_model::experiment::{TlsSpec, Url, WorkloadSpec};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_workload::reflection::{self, ReflectionError};
use weighbridge_workload::{GrpcError, UrlScheme, proto};

use crate::prepare::launch_spec::endpoints;
use crate::tls::{self, TlsError};

/// The descriptors of a large interface take a few hundred kilobytes.
const LONGEST: Bytes = Bytes::new(16 << 20);

#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
    #[error(transparent)]
    Grpc(#[from] GrpcError),
}

/// The workload with its descriptors, which are requested, if missing, from the server at `url` or, in its
/// place, from `connect_to` or the Unix socket `unix`.
pub fn describe(
    spec: &WorkloadSpec,
    url: &Url,
    connect_to: Option<&(String, u16)>,
    unix: Option<&Path>,
    tls: Option<&TlsSpec>,
    timeout: Nanoseconds,
) -> Result<WorkloadSpec, DescribeError> {
    let mut spec = spec.clone();
    if proto::settle_described(&mut spec)? || !reflection::is_needed(&spec) {
        return Ok(spec);
    }
    let mut target = url.clone();
    if let Some((host, port)) = connect_to.cloned() {
        (target.host, target.port) = (host, port);
    }
    let addresses = endpoints(&target, unix)?;
    let never = AtomicBool::new(false);
    let tls = tls.map(|spec| tls::client(spec, &url.host, None)).transpose()?;
    let authority = url.authority();
    let server = DescribedServer { authority: &authority, addresses: &addresses, tls: tls.as_ref() };
    let described = described(&spec, server, timeout, &never)?;
    Ok(described.into_owned())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DescribedServer<'a> {
    pub authority: &'a str,
    pub addresses: &'a [Endpoint],
    pub tls: Option<&'a TlsClient>,
}

/// The workload with every descriptor that binding it to this server needs.
pub(crate) fn described<'a>(
    spec: &'a WorkloadSpec,
    server: DescribedServer<'_>,
    timeout: Nanoseconds,
    stop: &AtomicBool,
) -> Result<Cow<'a, WorkloadSpec>, ReflectionError> {
    if !reflection::is_needed(spec) {
        return Ok(Cow::Borrowed(spec));
    }
    let DescribedServer { authority, addresses, tls } = server;
    let limits = Limits { timeout, body: LONGEST, stop: Some(stop) };
    let scheme = if tls.is_some() { UrlScheme::Https } else { UrlScheme::Http };
    let mut ask = |framing: &Framing, request: &_| {
        exchange(addresses, Stack { framing: *framing, tls: tls.cloned() }, request, limits)
    };
    reflection::resolve(spec, authority, scheme, &mut ask).map(Cow::Owned)
}
