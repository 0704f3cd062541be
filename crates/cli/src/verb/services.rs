//! `weigh services`: the reference services.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use weighbridge_conductor::inquiry::Inquiry;
use weighbridge_conductor::tls::Certificates;
use weighbridge_conductor::{Control, Options, find_catalog};
use weighbridge_lab::cleanup::guardian::Guardian;
use weighbridge_lab::process::GRACE;
use weighbridge_lab::process::Running;
use weighbridge_lab::process::launch::{Lab, Launch, Ready};
use weighbridge_lab::service::catalog::{Asked, Catalog, Listing, Status, by_program};
use weighbridge_lab::service::state::StateFolder;
use weighbridge_lab::service::{Service, WorkloadOffer};
use weighbridge_model::experiment::{Experiment, Scheme};
use weighbridge_report::table::{Align, Cell, Table};
use weighbridge_report::text::{clean, hanging};
use weighbridge_report::{Format, Style, Tone};
use weighbridge_workload::service_data;

mod demo;

use super::support::options;
use crate::args::{Doctor, Services, ServicesAction};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::signals;

pub fn run(arguments: &Services, printer: &Printer) -> anyhow::Result<Exit> {
    match &arguments.action {
        ServicesAction::List { format, no_start } => list(*format, *no_start, printer),
        ServicesAction::Build { names } => build(names, printer),
        ServicesAction::Start { name, workload, protocol, host, allow_remote, port, tls } => {
            if !(host.is_loopback() || *allow_remote) {
                bail!(
                    "`--host {host}` is not loopback: others could use the service; `--allow-remote` allows it"
                );
            }
            let asked = Offer { name, workload: workload.as_deref(), protocol: protocol.as_deref() };
            start(&asked, SocketAddr::new(*host, *port), *tls, printer)
        }
        ServicesAction::Demo { target, protocol } => demo::run(target, protocol.as_deref(), printer),
        ServicesAction::Stop => {
            let arguments = Doctor { clean: true, dry_run: false, details: false, format: Format::Text };
            super::doctor::run(&arguments, printer)
        }
    }
}

fn list(format: Format, no_start: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let catalog = find_catalog(None)?;
    let rows = if no_start { catalog.list(&by_program) } else { asked_while_running(&catalog)? };
    let text = match format {
        Format::Json => serde_json::to_string_pretty(&rows)?,
        Format::Text => listed(&rows, printer.style(), printer.columns()),
        other => bail!("`{other}` is not available for a list of services; use `text` or `json`"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}

/// Starts each service briefly to ask it.
fn asked_while_running(catalog: &Catalog) -> anyhow::Result<Vec<Listing>> {
    let options = options("runs".into())?;
    let inquiry = Inquiry::open(&options)?;
    let rows = catalog.list(&|service| inquiry.ask(service));
    inquiry.close()?;
    if options.control.is_interrupted() {
        bail!("interrupted while services were asked");
    }
    Ok(rows)
}

/// The list as a table. If a line is too narrow, protocols and version are below the name.
fn listed(rows: &[Listing], style: Style, columns: usize) -> String {
    const HEADS: [&str; 5] = ["name", "language", "status", "protocols", "version"];
    let cells = |row: &Listing| {
        let (status, tone) = match row.status {
            Status::Available => ("available", Tone::Plain),
            Status::Unavailable => ("unavailable", Tone::Undecided),
        };
        let version = version(row);
        [
            Cell::new(clean(&row.name)),
            Cell::new(clean(row.language.as_deref().unwrap_or("-"))),
            Cell::toned(tone, status),
            Cell::new(clean(&offer(row))),
            Cell::toned(tone, clean(&version)),
        ]
    };
    let mut wide = Table::new([Align::Left; 5], 2);
    wide.push(HEADS.map(|head| Cell::toned(Tone::Secondary, head)).to_vec());
    rows.iter().for_each(|row| wide.push(cells(row).to_vec()));
    if wide.width() <= columns {
        return wide.lines(style, columns).join("\n");
    }
    let mut narrow = Table::new([Align::Left; 3], 2);
    for row in rows {
        let [name, language, status, offer, version] = cells(row);
        narrow.push(vec![name, language, status]);
        narrow.line(hanging("    ", &offer.text, columns));
        let said = hanging("    ", &version.text, columns);
        said.lines().for_each(|line| narrow.line(style.paint(version.tone, line)));
    }
    narrow.lines(style, columns).join("\n")
}

/// A service's version, marked if it did not come from the running service; or why there is none.
fn version(row: &Listing) -> String {
    match (&row.version, row.asked, &row.reason) {
        (Some(version), Some(Asked::Running), _) => version.clone(),
        (Some(version), _, None) => format!("{version} (by `--version`)"),
        (Some(version), _, Some(reason)) => format!("{version} (by `--version`; {reason})"),
        (None, _, reason) => reason.clone().unwrap_or_else(|| "-".to_owned()),
    }
}

/// A service's protocols, in one cell.
fn offer(row: &Listing) -> String {
    if row.protocols.is_empty() {
        return "-".to_owned();
    }
    format!("{}{}", row.protocols.join(", "), if row.tls { "; TLS" } else { "" })
}

fn build(names: &[String], printer: &Printer) -> anyhow::Result<Exit> {
    let control = signals::install().control();
    each_built(names, &control, printer, &mut |_| Ok(()))?;
    Ok(Exit::Fine)
}

/// Builds the named services, or all whose toolchain is installed, and passes on each that is built. A
/// failure does not stop the others: it is reported at once, and the final error lists the failed services.
pub fn each_built(
    names: &[String],
    control: &Control,
    printer: &Printer,
    act: &mut dyn FnMut(&Service) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let catalog = find_catalog(None)?;
    // A wrong name is an error before anything is built.
    for name in names {
        catalog.get(name)?;
    }
    let wanted: Vec<&str> =
        if names.is_empty() { catalog.names().collect() } else { names.iter().map(String::as_str).collect() };
    let mut failed = Vec::new();
    for name in wanted {
        match built(&catalog, name, names.is_empty(), control, printer) {
            Ok(service) => service.iter().try_for_each(&mut *act)?,
            Err(error) if control.is_interrupted() || names.len() == 1 => return Err(error),
            Err(error) => {
                printer.warning(format_args!("`{name}` cannot be had: {error:#}"));
                failed.push(format!("`{name}`"));
            }
        }
    }
    if !failed.is_empty() {
        bail!("{} of the services could not be built, as said above: {}", failed.len(), failed.join(", "));
    }
    Ok(())
}

/// A built service; `None` if its toolchain is missing and that is allowed.
fn built(
    catalog: &Catalog,
    name: &str,
    may_be_missing: bool,
    control: &Control,
    printer: &Printer,
) -> anyhow::Result<Option<Service>> {
    let service = catalog.get(name)?;
    if may_be_missing && let Err(error) = service.probe() {
        printer.warning(format_args!("`{name}` is left out: {error}"));
        return Ok(None);
    }
    build_one(&service, control, printer)?;
    Ok(Some(service))
}

/// Builds a service, with a message; a stock server is built already.
fn build_one(service: &Service, control: &Control, printer: &Printer) -> anyhow::Result<()> {
    if service.is_stock() {
        return Ok(service.probe()?);
    }
    printer.progress(format_args!("building `{}`", service.name()));
    let log = std::env::temp_dir().join(format!("weigh-build-{}-{}.log", service.name(), std::process::id()));
    service.build(&log, &|| control.is_interrupted())?;
    Ok(())
}

/// What is asked for of a service's offer.
struct Offer<'a> {
    name: &'a str,
    workload: Option<&'a str>,
    protocol: Option<&'a str>,
}

impl<'a> Offer<'a> {
    /// The workload and the protocol: what is asked for, or else the first that the service offers.
    fn chosen(&self, service: &'a Service) -> anyhow::Result<[&'a str; 2]> {
        let offers = service.workloads();
        let names = |all: &mut dyn Iterator<Item = &String>| {
            all.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let offer = match self.workload {
            None => &offers[0],
            Some(asked) => offers.iter().find(|offer| offer.name == asked).ok_or_else(|| {
                let has = names(&mut offers.iter().map(|offer| &offer.name));
                anyhow!("`{}` does not offer the workload `{asked}`; it has {has}", self.name)
            })?,
        };
        let WorkloadOffer { name: workload, protocols } = offer;
        let protocol = match self.protocol {
            None => &protocols[0],
            Some(asked) => protocols.iter().find(|protocol| *protocol == asked).ok_or_else(|| {
                let (name, has) = (self.name, names(&mut protocols.iter()));
                anyhow!("`{name}` does not offer the protocol `{asked}` for the workload `{workload}`; it has {has}")
            })?,
        };
        Ok([workload, protocol])
    }
}

/// The files that a service loads for this workload where an experiment says no more, in a folder that is removed with it.
fn standard_data(lab: &Lab, name: &str, workload: &str) -> anyhow::Result<Option<StateFolder>> {
    let text = format!("[workload]\nname = \"{workload}\"\n[[variant]]\nurl = \"http://127.0.0.1/\"\n");
    let Ok(experiment) = Experiment::parse("services start", &text) else { return Ok(None) };
    let files = service_data(&experiment.points[0].workload, None);
    if files.is_empty() {
        return Ok(None);
    }
    let folder = StateFolder::make(lab, &std::env::temp_dir(), &format!("{name}-data"))?;
    for file in files {
        std::fs::write(folder.path().join(file.name), file.contents)?;
    }
    Ok(Some(folder))
}

/// Services that are started by hand.
struct ByHand {
    lab: Lab,
    log: PathBuf,
}

/// One of them, with the folders that end with it.
struct Started {
    running: Running,
    _folders: (StateFolder, Option<StateFolder>),
}

impl ByHand {
    fn new(name: &str, options: &Options) -> anyhow::Result<Self> {
        let (program, verb) = &options.guardian;
        let number = std::process::id();
        let lab = Lab::new(&format!("service-{name}-{number}"), Some(Guardian::start(program, verb)?), None);
        let lab = lab.cancelled_by(options.control.window.clone());
        Ok(Self { lab, log: std::env::temp_dir().join(format!("weigh-service-{name}-{number}.log")) })
    }

    /// Starts a service with the files of its workload; `change` says what else.
    fn start(
        &self,
        service: &Service,
        [workload, protocol]: [&str; 2],
        change: impl FnOnce(&mut Launch),
    ) -> anyhow::Result<Started> {
        let mut launch = service.launch(workload, protocol, &self.log, &self.log);
        let data = standard_data(&self.lab, service.name(), workload)?;
        let path = data.iter().map(|data| ("DATA".to_owned(), data.path().display().to_string()));
        launch.environment.extend(path);
        let state = StateFolder::make(&self.lab, &std::env::temp_dir(), service.name())?;
        launch.environment.push(state.variable());
        change(&mut launch);
        Ok(Started { running: self.lab.launch(&launch)?, _folders: (state, data) })
    }

    /// Ends what was started, and what it wrote.
    fn end(self, started: impl IntoIterator<Item = Started>) -> anyhow::Result<()> {
        for Started { running, _folders } in started {
            running.stop(GRACE);
        }
        self.lab.close()?;
        let _ = std::fs::remove_file(&self.log);
        Ok(())
    }
}

fn start(asked: &Offer<'_>, place: SocketAddr, tls: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let name = asked.name;
    let service = find_catalog(None)?.get(name)?;
    let chosen = asked.chosen(&service)?;
    service.probe()?;
    let options = options("runs".into())?;
    build_one(&service, &options.control, printer)?;
    let by_hand = ByHand::new(name, &options)?;
    // Removed with it.
    let certificates = tls.then(Certificates::make).transpose()?;
    let mut started = by_hand.start(&service, chosen, |launch| {
        if place.port() != 0 {
            launch.ready = Ready::Port(place.port());
        }
        launch.host = place.ip();
        launch.environment.push(("HOST".to_owned(), place.ip().to_string()));
        launch.environment.extend(certificates.iter().flat_map(Certificates::environment));
    })?;
    let scheme = scheme(chosen[1], tls);
    let place = SocketAddr::new(place.ip(), started.running.port());
    printer.data(&format!("{scheme}://{place}"))?;
    if let Some(certificates) = &certificates {
        printer.note(format_args!("trust it with `--cacert {}`", certificates.authority().display()));
    }
    printer.note(format_args!("`{name}` runs until Ctrl-C"));
    let stopped = || options.control.is_interrupted();
    while !stopped() && started.running.is_alive() {
        std::thread::sleep(Duration::from_millis(50));
    }
    if !stopped() {
        bail!("`{name}` ended by itself; its output is in `{}`", by_hand.log.display());
    }
    by_hand.end([started])?;
    Ok(Exit::Fine)
}

/// With which a protocol's address begins.
fn scheme(protocol: &str, tls: bool) -> &'static str {
    let speaks = |scheme: &Scheme| scheme.protocol().name() == protocol && scheme.is_secured() == tls;
    let usual = if tls { Scheme::Https } else { Scheme::Http };
    Scheme::ALL.into_iter().find(speaks).unwrap_or(usual).name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_protocol() {
        for (protocol, tls, name) in [
            ("resp", false, "redis"),
            ("memcached", false, "memcached"),
            ("http2-json", true, "https"),
            ("grpc", false, "http"),
        ] {
            assert_eq!(scheme(protocol, tls), name, "{protocol}");
        }
    }

    fn service(name: &str, status: Status, version: &str) -> Listing {
        Listing {
            name: name.to_owned(),
            language: Some("Rust".to_owned()),
            status,
            version: (status == Status::Available).then(|| version.to_owned()),
            asked: (status == Status::Available).then_some(Asked::Running),
            reason: (status == Status::Unavailable).then(|| version.to_owned()),
            workloads: [].into(),
            protocols: ["http1-json", "http2-json", "grpc"].map(str::to_owned).to_vec(),
            tls: true,
        }
    }

    #[test]
    fn a_list_fits_its_terminal() {
        let rows = [
            service("rust", Status::Available, "rust 1.95.0 axum 0.8.4"),
            service(
                "java",
                Status::Unavailable,
                "`javac` is not found; install a JDK of version 17 or later, and say where by JAVA_HOME",
            ),
        ];
        for (columns, name) in [(80, "80"), (200, "200")] {
            let text = listed(&rows, Style::Plain, columns);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{name}: {text}");
        }
        assert_eq!(listed(&rows, Style::Plain, 200).lines().count(), 3);
        let mut second_hand = rows.clone();
        second_hand[0].asked = Some(Asked::Program);
        let text = listed(&second_hand, Style::Plain, 200);
        assert!(text.contains("rust 1.95.0 axum 0.8.4 (by `--version`)"), "{text}");
        assert!(
            listed(&rows, Style::Plain, 80)
                .starts_with("rust  Rust  available\n    http1-json, http2-json, grpc; TLS\n")
        );
    }
}
