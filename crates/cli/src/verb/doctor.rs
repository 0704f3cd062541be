//! `weigh doctor`: what spoils measurements on this host, and what dead runs left behind.

use std::cmp::Reverse;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::json;
use weighbridge_conductor::run::quote::{StoredCalibration, kept};
use weighbridge_lab::cleanup::registry;
use weighbridge_lab::doctor::{Finding, Level, Observation, Subject, diagnose};
use weighbridge_lab::host::procfs;
use weighbridge_lab::removal::stale::{self, Action, CleanMode, CleanOutcome};
use weighbridge_report::text::{cut, hanging};
use weighbridge_report::{Format, Style, Tone};

use super::support::calibrations;
use crate::args::Doctor;
use crate::exit::Exit;
use crate::printer::Printer;

/// Lines of a terminal that nobody has made larger.
const SCREEN: usize = 24;

/// How long to watch the host: the kernel counts in ticks of 10 ms.
const WATCH: Duration = Duration::from_millis(500);

/// Diagnoses or cleans.
pub fn run(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    if arguments.clean { clean(arguments, printer) } else { look(arguments, printer) }
}

fn look(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    let base = registry::default_base();
    let mut findings = diagnose(&Observation::take(WATCH, base.as_deref()));
    findings.push(calibration(kept(calibrations().as_deref())));
    let text = match arguments.format {
        Format::Json => serde_json::to_string_pretty(&findings)?,
        Format::Text if arguments.details => lines(&findings, printer.style(), printer.columns()),
        Format::Text => short(findings.clone(), printer.style(), printer.columns()),
        other => bail!("`{other}` is not available for `doctor`; use `text` or `json`"),
    };
    printer.data(&text)?;
    let worst = findings.iter().map(|finding| finding.level).max();
    Ok(if worst == Some(Level::Problem) { Exit::Invalid } else { Exit::Fine })
}

/// What is not fine, the worst first, and the names of what is. Where that is more than a screen, notes are names too.
fn short(mut findings: Vec<Finding>, style: Style, columns: usize) -> String {
    findings.sort_by_key(|finding| Reverse(finding.level));
    let shorter = |finding: &Finding| match is_list(finding) {
        true => Finding { evidence: names_of_layers(&finding.evidence), remedy: None, ..finding.clone() },
        false => finding.clone(),
    };
    let from = |least: Level| {
        let told = findings.iter().filter(|finding| finding.level >= least);
        let mut rows: Vec<String> = told.map(|finding| line(&shorter(finding), style, columns)).collect();
        let lower = [Level::Note, Level::Fine].into_iter().filter(|level| *level < least);
        rows.extend(lower.filter_map(|level| names(&findings, level, columns)));
        rows.join("\n")
    };
    let text = from(Level::Note);
    if text.lines().count() > SCREEN { from(Level::Warning) } else { text }
}

/// The names of the findings of one level, if there are any.
fn names(findings: &[Finding], level: Level, columns: usize) -> Option<String> {
    let shown = findings.iter().filter(|finding| {
        finding.level == level && (level > Level::Fine || finding.subject.is_shown_when_fine())
    });
    let names: Vec<String> = shown.map(|finding| finding.subject.to_string()).collect();
    let text = format!("{}; `--details` tells all", names.join(", "));
    (!names.is_empty()).then(|| hanging(&format!("{:<8} ", word(level)), &text, columns))
}

/// How many layers can be run, and the names of those that cannot.
fn names_of_layers(evidence: &str) -> String {
    let (can, first) = match evidence.strip_prefix("not ") {
        None => evidence.split_once("; not ").unwrap_or((evidence, "")),
        Some(rest) => ("", rest),
    };
    let can = can.split(", ").filter(|name| !name.is_empty()).count();
    let not: Vec<&str> = first.split("; not ").filter_map(|part| Some(part.split_once(": ")?.0)).collect();
    format!("{can} can be run; not {}", not.join(", "))
}

fn lines(findings: &[Finding], style: Style, columns: usize) -> String {
    let is_shown = |finding: &&Finding| finding.level > Level::Fine || finding.subject.is_shown_when_fine();
    findings
        .iter()
        .filter(is_shown)
        .map(|finding| line(finding, style, columns))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A finding in lines of the terminal's width, with the remedy below the evidence.
fn line(finding: &Finding, style: Style, columns: usize) -> String {
    let word = word(finding.level);
    let tone = match finding.level {
        Level::Fine => Tone::Secondary,
        Level::Note => Tone::Plain,
        Level::Warning => Tone::Undecided,
        Level::Problem => Tone::Problem,
    };
    let lead = format!("{word:<8} {:<19} ", finding.subject);
    let blank = " ".repeat(lead.chars().count());
    let room = columns.saturating_sub(blank.len());
    let mut parts = parts(finding);
    let said = hanging(&lead, &parts.remove(0), columns);
    let mut lines = vec![format!("{}{}", style.paint(tone, word), &said[word.len()..])];
    let is_list = !parts.is_empty();
    lines.extend(parts.iter().map(|part| format!("{blank}{}", cut(part, room))));
    let remedy = match is_list {
        true => Some("each in full: `weigh doctor --format json`"),
        false => finding.remedy.as_deref(),
    };
    lines.extend(remedy.map(|remedy| hanging(&blank, remedy, columns)));
    lines.join("\n")
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Fine => "fine",
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Problem => "problem",
    }
}

/// The layers that can run, and each that cannot; everything else is one part.
fn parts(finding: &Finding) -> Vec<String> {
    if !is_list(finding) {
        return vec![finding.evidence.clone()];
    }
    let all: Vec<&str> = finding.evidence.split("; not ").collect();
    let not = all[1..].iter().map(|part| format!("not {part}"));
    std::iter::once(all[0].to_owned()).chain(not).collect()
}

/// Whether it tells of several layers that cannot be run.
fn is_list(finding: &Finding) -> bool {
    finding.subject == Subject::Layers && finding.evidence.split("; not ").count() > 2
}

/// The finding about a calibration of this host that reports could quote.
fn calibration(kept: StoredCalibration) -> Finding {
    let (level, evidence, remedy) = match kept {
        StoredCalibration::Nothing => {
            (Level::Note, "none of this host".to_owned(), Some("run `weigh calibrate`"))
        }
        StoredCalibration::Newest { experiment, started, changed } if changed.is_empty() => {
            (Level::Fine, format!("of {started}, with {experiment}"), None)
        }
        StoredCalibration::Newest { experiment, started, changed } => {
            let evidence = format!("of {started}, with {experiment}; since then: {}", changed.join(", "));
            (Level::Note, evidence, Some("run `weigh calibrate` again where that matters"))
        }
        StoredCalibration::Before { started, changed } => {
            let evidence = format!("none of this host as it is; of {started}: {}", changed.join(", "));
            (Level::Note, evidence, Some("run `weigh calibrate` again"))
        }
    };
    Finding { level, subject: Subject::Calibration, evidence, remedy: remedy.map(str::to_owned) }
}

fn clean(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    let base = registry::default_base().context("there is no home folder; set XDG_STATE_HOME")?;
    let mode = if arguments.dry_run { CleanMode::DryRun } else { CleanMode::Remove };
    let actions = stale::clean(&base, mode)?;
    let text = match arguments.format {
        Format::Json => {
            let row = |a: &Action| json!({ "run": a.run, "what": a.what, "outcome": outcome(&a.outcome) });
            serde_json::to_string_pretty(&actions.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text if actions.is_empty() => nothing_left(procfs::others_are_hidden()),
        Format::Text => {
            let line = |a: &Action| format!("{}: {}: {}", a.run, a.what, outcome(&a.outcome));
            actions.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        other => bail!("`{other}` is not available for `doctor`; use `text` or `json`"),
    };
    printer.data(&text)?;
    let failed = actions.iter().any(|action| matches!(action.outcome, CleanOutcome::Failed(_)));
    Ok(if failed { Exit::CouldNot } else { Exit::Fine })
}

/// No registry lists anything, which is not the same as a clean host.
fn nothing_left(others_are_hidden: bool) -> String {
    let hidden = match others_are_hidden {
        true => ", and processes of other users, which `/proc` hides here",
        false => "",
    };
    format!(
        "nothing is left behind by a dead run of this user; not seen: what systemd, Docker or cron started on request{hidden}"
    )
}

fn outcome(outcome: &CleanOutcome) -> String {
    match outcome {
        CleanOutcome::WouldRemove => "would be removed".to_owned(),
        CleanOutcome::Removed => "removed".to_owned(),
        CleanOutcome::AlreadyGone => "already gone".to_owned(),
        CleanOutcome::Unseen(why) => format!("gone: {why}"),
        CleanOutcome::Kept(why) => format!("kept: {why}"),
        CleanOutcome::Failed(why) => format!("failed: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::assert_golden;
    use weighbridge_lab::doctor::{BusyProcess, CoreInterrupts, Others};
    use weighbridge_lab::host::cores::{CoreId, CoreLayout};
    use weighbridge_lab::host::procfs::Pid;
    use weighbridge_lab::layers::LayerReport;
    use weighbridge_lab::process::freeze::FreezeMethod;
    use weighbridge_lab::process::quota::Version;
    use weighbridge_lab::unavailable::Unavailable;
    use weighbridge_model::environment::{
        AddressLayout, Frequency, HostFacts, HugePages, Hypervisor, KernelSettings, Limit, PacketSteering,
        PortRange, Switch,
    };
    use weighbridge_model::quantity::{Bytes, Nanoseconds, Ratio};

    /// A host without defects.
    fn quiet() -> Observation {
        let cores: Vec<CoreId> = (0..4).map(CoreId::new).collect();
        let frequency = Frequency { governors: vec!["performance".to_owned()], ..Frequency::default() };
        Observation {
            layout: CoreLayout::from_allowed(&cores).ok(),
            facts: HostFacts {
                siblings: Some(cores.iter().map(|core| vec![*core]).collect()),
                cores: Some(cores),
                frequency: Some(frequency),
                hypervisor: Some(Hypervisor::Absent),
                clock_source: Some("tsc".to_owned()),
                clock_sources: Some(vec!["tsc".to_owned(), "hpet".to_owned()]),
                congestion_control: Some("cubic".to_owned()),
                local_ports: Some(PortRange { first: 32_768, last: 60_999 }),
                open_files: Some(Limit { soft: 20_000, hard: 20_000 }),
                memory: Some(Bytes::new(8 << 30)),
                ..HostFacts::default()
            },
            quota: None,
            limits: ["`cpu`", "`memory`"].map(|key| (key, Ok(Version::Second))),
            awake: Ok(()),
            steal_since_boot: Some(Ratio::new(0.001)),
            steal_now: Some(Ratio::new(0.0)),
            load: Some(0.2),
            busy: Vec::new(),
            interrupts: Vec::new(),
            freezing: FreezeMethod::Cgroup,
            others: Others::Ours,
            clock_cost: Nanoseconds::from_nanos(80),
            memory_available: Some(Bytes::new(4 << 30)),
            layers: vec![LayerReport { name: "veth".to_owned(), found: Ok("veth and bridge".to_owned()) }],
            stale: None,
        }
    }

    /// A host with many defects.
    fn troubled() -> Observation {
        let mut seen = quiet();
        let facts = &mut seen.facts;
        let frequency = facts.frequency.as_mut().expect("it is known");
        (frequency.governors, frequency.boost) = (vec!["powersave".to_owned()], Some(Switch::On));
        facts.settings = settings();
        facts.clock_source = Some("hpet".to_owned());
        facts.open_files = Some(Limit { soft: 256, hard: 256 });
        facts.hypervisor = None;
        seen.awake = Err(("`/dev/cpu_dma_latency` may not be opened".to_owned(), "run as root".to_owned()));
        seen.layout = CoreLayout::from_allowed(&[CoreId::new(3)]).ok();
        seen.interrupts =
            vec![CoreInterrupts { core: CoreId::new(3), per_second: 4_000.0, device: "eth0-rx".to_owned() }];
        seen.steal_now = Some(Ratio::new(0.2));
        seen.steal_since_boot = Some(Ratio::new(0.12));
        seen.load = Some(7.5);
        let share = Ratio::new(0.93);
        seen.busy = vec![BusyProcess { pid: Pid::new(4321), name: "compiler".to_owned(), share }];
        (seen.freezing, seen.others) = (FreezeMethod::Stop, Others::Hidden);
        seen.clock_cost = Nanoseconds::from_nanos(1_200);
        seen.memory_available = Some(Bytes::new(64 << 20));
        let lacking = Unavailable::new("this process lacks CAP_NET_ADMIN", "run as root");
        seen.layers = vec![LayerReport { name: "veth".to_owned(), found: Err(lacking) }];
        seen.stale = Some((1, "process 99, control group `/sys/fs/cgroup/wb-0123abcd-1`".to_owned()));
        seen
    }

    /// Settings that all deserve a finding.
    fn settings() -> KernelSettings {
        let steering = PacketSteering { loopback: vec![CoreId::new(3)], new_interfaces: None };
        KernelSettings {
            huge_pages: Some(HugePages { enabled: "always".to_owned(), defrag: None }),
            address_layout: Some(AddressLayout::Fixed),
            packet_steering: Some(steering),
            ..KernelSettings::default()
        }
    }

    #[test]
    fn of_many_layers_each_that_cannot_run_has_a_line() {
        let missing = |name: &str, why: &str| LayerReport {
            name: name.to_owned(),
            found: Err(Unavailable::new(why, "install it, from a place whose address is long")),
        };
        let long = "`ip link add wb0 type wireguard` was refused: Error: Unknown device type, whatever it is";
        let can = LayerReport { name: "veth".to_owned(), found: Ok("veth and bridge".to_owned()) };
        let layers = vec![can, missing("wireguard", long), missing("sidecar:envoy", "`envoy` is missing")];
        let findings = diagnose(&Observation { layers, ..quiet() });
        let printed = lines(&findings, Style::Plain, 80);
        let from = printed.find("note     layers").expect("a row");
        let row: Vec<&str> = printed[from..].lines().take(4).collect();
        assert_eq!(row[0].trim_end(), "note     layers              veth");
        assert!(
            row[1].trim_start().starts_with("not wireguard: `ip link") && row[1].ends_with(" …"),
            "{row:?}"
        );
        assert_eq!(row[2].trim_start(), "not sidecar:envoy: `envoy` is missing");
        assert!(row[3].contains("`weigh doctor --format json`"), "{row:?}");
        assert!(row.iter().all(|line| line.chars().count() <= 80), "{row:?}");
        let short = short(findings, Style::Plain, 80);
        assert!(short.contains("1 can be run; not wireguard, sidecar:envoy"), "{short}");
        assert_eq!(names_of_layers("not veth: no right; not rate: no `tc`"), "0 can be run; not veth, rate");
    }

    #[test]
    fn findings_are_printed_as_the_golden_files_have_them() {
        for (name, seen, kept) in [
            ("doctor-quiet.txt", quiet(), StoredCalibration::Nothing),
            ("doctor-troubled.txt", troubled(), StoredCalibration::Nothing),
        ] {
            let mut findings = diagnose(&seen);
            findings.push(calibration(kept));
            let printed = lines(&findings, Style::Plain, 80);
            let short = short(findings, Style::Plain, 80);
            for text in [&printed, &short] {
                assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            }
            assert_golden(name, &format!("{printed}\n\nwithout `--details`:\n{short}\n"));
        }
    }
}
