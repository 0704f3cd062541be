//! `weigh services demo`: the calls of `programComposition` once, read by the generator's codec and by a service's client.

use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use weighbridge_conductor::find_catalog;
use weighbridge_lab::service::Service;
use weighbridge_load::exchange::{Collected, Limits, exchange};
use weighbridge_model::experiment::{
    LoadSpec, PersonClientSpec, PersonOperation, PersonSpec, Protocol, Url, WorkloadSpec,
};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_report::Tone;
use weighbridge_report::table::{Align, Cell, Table};
use weighbridge_report::text::clean;
use weighbridge_workload::{Address, Canonical, Received, UrlScheme, Workload};

use super::{ByHand, Offer, build_one};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::verb::support::options;

/// The workload, and that of a relay that makes its calls.
const WORKLOAD: &str = "person";
const RELAY: &str = "person-client";

/// Longest wait for a reply: JVMs that just started are slow.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(10);
const LONGEST: Bytes = Bytes::new(1 << 20);

pub(super) fn run(target: &str, protocol: Option<&str>, printer: &Printer) -> anyhow::Result<Exit> {
    if target.contains("://") {
        return of_url(target, protocol, printer);
    }
    let service = find_catalog(None)?.get(target)?;
    let [workload, protocol] = Offer { name: target, workload: Some(WORKLOAD), protocol }.chosen(&service)?;
    service.probe()?;
    let options = options("runs".into())?;
    build_one(&service, &options.control, printer)?;
    let by_hand = ByHand::new(target, &options)?;
    let server = by_hand.start(&service, [workload, protocol], |_| {})?;
    let place = SocketAddr::from(([127, 0, 0, 1], server.running.port()));
    let relay = match has_client(&service, protocol) {
        false => None,
        true => Some(by_hand.start(&service, [RELAY, Protocol::HTTP1_JSON.name()], |launch| {
            launch.environment.push(("PEER".to_owned(), place.to_string()));
            launch.environment.push(("PEER_PROTOCOL".to_owned(), protocol.to_owned()));
        })?),
    };
    let relay_place = relay.as_ref().map(|relay| SocketAddr::from(([127, 0, 0, 1], relay.running.port())));
    let shown = show(protocol_named(protocol)?, place, relay_place, printer);
    by_hand.end(relay.into_iter().chain([server]))?;
    if relay_place.is_none() {
        printer.note(format_args!("`{target}` has no client of its own for `{protocol}`"));
    }
    shown
}

fn has_client(service: &Service, protocol: &str) -> bool {
    service.offers(RELAY, Protocol::HTTP1_JSON.name()).is_ok() && service.calls(WORKLOAD, protocol).is_ok()
}

fn of_url(text: &str, protocol: Option<&str>, printer: &Printer) -> anyhow::Result<Exit> {
    let url = Url::parse(text).map_err(anyhow::Error::msg)?;
    if url.scheme.is_secured() || url.path != "/" {
        bail!("`{text}`: a demo asks in clear text and at the root; write it as `http://host:port`");
    }
    let protocol = protocol_named(protocol.unwrap_or(Protocol::HTTP1_JSON.name()))?;
    let place = (url.host.as_str(), url.port).to_socket_addrs().with_context(|| format!("`{text}`"))?.next();
    let place = place.ok_or_else(|| anyhow!("`{text}` has no address"))?;
    if !place.ip().is_loopback() {
        printer.note(format_args!("{place} is not loopback; eight requests are sent"));
    }
    show(protocol, place, None, printer)
}

fn protocol_named(name: &str) -> anyhow::Result<Protocol> {
    let known = Protocol::NAMED.into_iter().find(|row| row.name == name).map(|row| row.protocol);
    known.with_context(|| {
        let names: Vec<_> = Protocol::NAMED.iter().map(|row| format!("`{}`", row.name)).collect();
        format!("no protocol `{name}`; allowed: {}", names.join(", "))
    })
}

/// Makes the calls and shows the replies; of a relay's, whether its client read the same.
fn show(
    protocol: Protocol,
    server: SocketAddr,
    relay: Option<SocketAddr>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let spec = PersonSpec { operations: vec![PersonOperation::ProgramComposition], ..PersonSpec::default() };
    let client_spec = WorkloadSpec::PersonClient(PersonClientSpec(spec.clone()));
    let calls = bound(&WorkloadSpec::Person(spec), protocol, server)?;
    let relayed =
        relay.map(|place| Ok::<_, anyhow::Error>((bound(&client_spec, Protocol::HTTP1_JSON, place)?, place)));
    let relayed = relayed.transpose()?;
    let heads = ["call", "payload out", "payload in", "read by weigh", "by its own client"];
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
    let columns = if relayed.is_some() { 5 } else { 4 };
    let mut table = Table::new(&aligns[..columns], 2);
    table.push(heads[..columns].iter().map(|head| Cell::toned(Tone::Secondary, *head)).collect());
    let mut wrong = 0;
    for kind in 0..calls.len() {
        let reply = asked(&calls, kind, server)?;
        let read = canonical(&calls, kind, &reply);
        wrong += usize::from(read.is_err());
        let mut row = vec![
            calls.title(kind).to_owned(),
            Bytes::new(calls.rendered(kind).payload()).to_string(),
            Bytes::new(reply.body.len() as u64).to_string(),
            read.as_ref().map_or_else(|why| format!("wrong: {}", clean(why)), in_words),
        ];
        if let Some((relayed, place)) = &relayed {
            let told = asked(relayed, kind, *place)?;
            let same = canonical(relayed, kind, &told);
            wrong += usize::from(same.is_err());
            row.push(same.map_or_else(|why| format!("wrong: {}", clean(&why)), |_| "the same".to_owned()));
        }
        table.push(row.into_iter().map(Cell::new).collect());
    }
    printer.data(&table.lines(printer.style(), printer.columns()).join("\n"))?;
    if wrong > 0 {
        bail!("{wrong} replies are not those of the people file");
    }
    Ok(Exit::Fine)
}

fn bound(spec: &WorkloadSpec, protocol: Protocol, place: SocketAddr) -> anyhow::Result<Workload> {
    let address =
        Address { authority: place.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    Ok(Workload::new(spec, &LoadSpec::default(), protocol, &address, &|_| None)?)
}

fn asked(workload: &Workload, kind: usize, place: SocketAddr) -> anyhow::Result<Collected> {
    let limits = Limits { timeout: PATIENCE, body: LONGEST, stop: None };
    Ok(exchange(&[place], workload.framing(), workload.rendered(kind), limits)?)
}

fn canonical(workload: &Workload, kind: usize, reply: &Collected) -> Result<Canonical, String> {
    let Collected { status, headers, body, messages, .. } = reply;
    workload.canonical(kind, &Received { status: *status, headers, body, messages })
}

/// A person by name and city, a list by its count.
fn in_words(read: &Canonical) -> String {
    let Canonical::Json(_, value) = read else { return read.to_string() };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    match (text("/name/first"), text("/name/last"), text("/location/city"), &value["count"]) {
        (Some(first), Some(last), Some(city), _) => format!("{first} {last} in {city}"),
        (.., count) if value.get("links").is_some() => format!("{count} links"),
        (.., count) => format!("{count} persons"),
    }
}
