//! How the lab detects that a user's program is ready.
//!
//! The certificate behind `https://` is not verified here: either we made it or it does not concern us, and
//! every measured connection is verified as the variant says.

use std::net::SocketAddr;

use weighbridge_lab::process::launch::{Asking, LinePattern, Ready};
use weighbridge_load::Framing;
use weighbridge_load::Stack;
use weighbridge_load::exchange::{Limits, exchange};
use weighbridge_load::h2::Http2Settings;
use weighbridge_load::request::Request;
use weighbridge_model::experiment::{Program, Protocol, Readiness, ReadyAddress, Scheme, TlsSpec, Variant};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_workload::UrlScheme;

use crate::prepare::launch_spec::{LaunchSpecError, endpoints};
use crate::tls::{self, Secured};
use crate::with_variant::with_variant;

/// Longest wait for one answer; then the request is repeated.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(1);
const LONGEST: Bytes = Bytes::new(1 << 20);

pub(crate) fn ready(
    program: &Program,
    variant: &Variant,
    secured: &Secured,
) -> Result<Ready, LaunchSpecError> {
    Ok(match &program.ready {
        Readiness::Line => Ready::Line,
        Readiness::Port => Ready::AnyPort,
        Readiness::Fixed(port) => Ready::Port(*port),
        // It was compiled when the experiment was read.
        Readiness::Log(pattern) => {
            pattern.compiled().map_or(Ready::Line, |pattern| Ready::Log(LinePattern::new(pattern)))
        }
        Readiness::Asked(address) => {
            let scheme = if secured.client.is_some() { Scheme::Https } else { Scheme::Http };
            let asked = asking(address.clone(), scheme, variant.protocol);
            Ready::Asked(asked.map_err(with_variant(&variant.name))?)
        }
    })
}

fn asking(address: ReadyAddress, scheme: Scheme, protocol: Protocol) -> Result<Asking, tls::TlsError> {
    let secured = address.url(1, scheme).is_ok_and(|url| url.scheme.is_secured());
    let any = TlsSpec { insecure: true, ..TlsSpec::default() };
    let client = if secured { Some(tls::client(&any, "127.0.0.1", None)?) } else { None };
    let over_http2 = address.is_path() && protocol.framing().is_http2();
    let url_scheme = if secured { UrlScheme::Https } else { UrlScheme::Http };
    let framing = match over_http2 {
        true => Framing::Http2(Http2Settings { scheme: url_scheme, ..Http2Settings::default() }),
        false => Framing::Http1,
    };
    let shown = address.shown(scheme);
    let ask = move |at: SocketAddr| -> Result<(), String> {
        let mut url = address.url(at.port(), scheme)?;
        if address.is_path() {
            url.host = at.ip().to_string();
        }
        let addresses = endpoints(&url, None).map_err(|error| error.to_string())?;
        let request = Request {
            method: "GET".to_owned(),
            target: url.path.clone(),
            authority: url.authority(),
            ..Request::default()
        };
        let rendered = framing.render(OperationId(0), &request).map_err(|error| error.to_string())?;
        let limits = Limits { timeout: PATIENCE, body: LONGEST, stop: None };
        let stack = Stack { framing, tls: client.clone() };
        let reply = exchange(&addresses, stack, &rendered, limits).map_err(|error| error.to_string())?;
        if address.accepts(reply.status) { Ok(()) } else { Err(format!("its status is {}", reply.status)) }
    };
    Ok(Asking::new(shown, ask))
}
