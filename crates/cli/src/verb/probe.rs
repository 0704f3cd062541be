//! `weigh probe`: a server with known response times, on loopback.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use weighbridge_lab::host::resource_limits;
use weighbridge_model::experiment::{PersonSpec, Protocol, WorkloadSpec};
use weighbridge_probe::law::Law;
use weighbridge_probe::{
    CONNECTION_LIMIT, Canned, KeepAlive, LoopbackHost, Options, ServeError, Stop, serve,
};
use weighbridge_workload::{person_exchanges, service_data};

use crate::args::{Probe, ProbeLaw};
use crate::exit::Exit;
use crate::printer::Printer;

/// Exit code of a service whose port is in use (services/README.md); a probe keeps that contract.
const PORT_IN_USE: i32 = 3;

/// The workload whose replies a probe knows beside pongs.
const PERSON: &str = "person";

/// Serves until SIGTERM or Ctrl-C.
pub fn run(arguments: &Probe, printer: &Printer) -> anyhow::Result<Exit> {
    let stop = Stop::on_termination().context("could not watch for signals")?;
    let law: Law = law_text(&arguments.law).parse()?;
    let mut options = Options::new(law);
    options.port = match arguments.port {
        Some(port) => port,
        None => environment("PORT")?.unwrap_or(8080),
    };
    if let Some(host) = environment::<LoopbackHost>("HOST")? {
        options.host = host;
    }
    let told = |flag: &Option<String>, name| Ok::<_, anyhow::Error>(flag.clone().or(environment(name)?));
    let workload = told(&arguments.workload, "WORKLOAD")?.unwrap_or_else(|| "pingpong".to_owned());
    let protocol = told(&arguments.protocol, "PROTOCOL")?;
    options.canned = Arc::new(canned(&workload, protocol.as_deref(), environment("DATA")?)?);
    let servers: Option<NonZeroUsize> = match arguments.servers {
        Some(servers) => Some(servers),
        None => {
            environment("SERVERS").context("`SERVERS` is how many requests are served at once, from 1 on")?
        }
    };
    if let Some(servers) = servers {
        options = options.with_servers(servers)?;
    }
    options.record_folder.clone_from(&arguments.record);
    options.keep_alive = KeepAlive { idle: arguments.close_idle, requests: arguments.close_after };
    // For as many connections as a probe accepts, or this process may have; others wait to be accepted.
    let files = CONNECTION_LIMIT as u64;
    let _ = resource_limits::make_files(resource_limits::most_connections().min(files));
    let mut said = Ok(());
    let served = serve(options, &stop, |port| said = printer.data(&format!("ready {port}")));
    said?;
    match served {
        Ok(finished) => {
            if let Some(path) = finished.record_file {
                printer.note(format_args!("record: `{}`", path.display()));
            }
            Ok(Exit::Fine)
        }
        Err(error) => refused(error, printer),
    }
}

/// The replies to a workload over a protocol; `data` is the folder of its files. Every other workload than `person` gets none,
/// over HTTP/1.1.
fn canned(workload: &str, protocol: Option<&str>, data: Option<PathBuf>) -> anyhow::Result<Canned> {
    let is_person = workload == PERSON;
    let offers = |protocol: Protocol| {
        protocol == Protocol::HTTP1_JSON || is_person && Canned::over(protocol).is_some()
    };
    let offered: Vec<_> = Protocol::NAMED.into_iter().filter(|row| offers(row.protocol)).collect();
    let name = protocol.unwrap_or(Protocol::HTTP1_JSON.name());
    let Some(protocol) = offered.iter().find(|row| row.name == name).map(|row| row.protocol) else {
        let names: Vec<_> = offered.iter().map(|row| format!("`{}`", row.name)).collect();
        let names = names.join(", ");
        bail!(
            "a probe does not serve `{workload}` over `{name}`; `--protocol` (or `PROTOCOL`) may be {names}"
        );
    };
    let mut canned = Canned::over(protocol).expect("it is offered");
    if is_person {
        let people = service_data(&WorkloadSpec::Person(PersonSpec::default()), None).remove(0);
        let exchanges = match data.map(|folder| folder.join(&people.name)) {
            None => person_exchanges(protocol, &people.contents)?,
            Some(path) => {
                let path_in_words =
                    || format!("`DATA` must name a folder with a people file; `{}`", path.display());
                let contents = std::fs::read(&path).with_context(path_in_words)?;
                person_exchanges(protocol, &contents).with_context(path_in_words)?
            }
        };
        for one in exchanges {
            canned.add(&one.target, &one.body, one.status, &one.messages);
        }
    }
    Ok(canned)
}

/// Ends with the error of a probe that cannot serve; a port in use has the contract's exit code.
pub(super) fn refused(error: ServeError, printer: &Printer) -> anyhow::Result<Exit> {
    if let ServeError::PortInUse { .. } = error {
        printer.error(&error.into());
        std::process::exit(PORT_IN_USE)
    }
    Err(error.into())
}

/// The value of an environment variable, if it is set.
pub(super) fn environment<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
) -> anyhow::Result<Option<T>> {
    match std::env::var(name) {
        Err(_) => Ok(None),
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => bail!("`{name}` is `{text}`: {error}"),
        },
    }
}

/// The law in the probe's syntax.
fn law_text(law: &ProbeLaw) -> String {
    let nanos = |time: &weighbridge_model::quantity::Nanoseconds| format!("{} ns", time.as_nanos());
    match law {
        ProbeLaw::Null => "null".to_owned(),
        // A bare time is the simplest law.
        ProbeLaw::Delay { law, .. } if law.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("constant:time={law}")
        }
        // A constant time draws no random numbers, and a seed inside the law takes precedence.
        ProbeLaw::Delay { law, .. }
            if law.contains("seed=") || law.contains("time=") || law.starts_with("constant") =>
        {
            law.clone()
        }
        ProbeLaw::Delay { law, seed } => format!("{law},seed={seed}"),
        ProbeLaw::Stall { at, length } => {
            let what = if is_count(at) { "requests" } else { "after" };
            format!("stall:{what}={at},length={}", nanos(length))
        }
        ProbeLaw::PeriodicStall { every, length, gap } => {
            format!("periodic-stall:every={},length={},gap={}", nanos(every), nanos(length), nanos(gap))
        }
        ProbeLaw::Cliff { above, step, base, slope, corner, slope_above } => {
            let (corner, slope_above) = (corner.unwrap_or(*above), slope_above.unwrap_or(*slope));
            let step = format!("cliff:above={},step={},base={}", above.get(), nanos(step), nanos(base));
            format!("{step},slope={slope},corner={},slope_above={slope_above}", corner.get())
        }
        ProbeLaw::Trend { from, to, over } => {
            let what = if is_count(over) { "requests" } else { "over" };
            format!("trend:from={},to={},{what}={over}", nanos(from), nanos(to))
        }
        ProbeLaw::Cold { idle, requests, cold, warm } => {
            let times = format!("cold={},warm={}", nanos(cold), nanos(warm));
            format!("cold:idle={},requests={requests},{times}", nanos(idle))
        }
        ProbeLaw::Crowded { time, above, factor, below } => {
            let below = below.map_or(String::new(), |below| format!(",below={below}"));
            format!("crowded:time={},above={above},factor={factor}{below}", nanos(time))
        }
    }
}

/// Whether the text is a bare number: a count of requests, while a time has a unit.
fn is_count(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
