//! `weigh plan`: the first block exactly, and the rules for the rest.

mod cache;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use weighbridge_conductor::{
    Checked, Options, batches, conditions, first_block, over_budget, period_of, run_plan,
};
use weighbridge_judge::steer::WindowRule;
use weighbridge_lab::layers;
use weighbridge_model::experiment::{CapacitySpec, CpuLimit, Experiment, Point, TriedRates};
use weighbridge_model::id::VariantId;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::BatchPlan;
use weighbridge_report::text::{Wide, columns as columns_of, fold, hanging};
use weighbridge_report::{Format, point_words};
use weighbridge_workload::Replay;

use super::support::{folder_of, locate, options, quicken, read_experiment};
use crate::args::Plan;
use crate::exit::Exit;
use crate::live::plain::span;
use crate::printer::Printer;

pub fn run(arguments: &Plan, printer: &Printer) -> anyhow::Result<Exit> {
    let file = locate(&arguments.experiment)?;
    let mut experiment = read_experiment(&file)?;
    if arguments.quick {
        quicken(&mut experiment);
    }
    let options = Options {
        quick: arguments.quick,
        experiment_folder: folder_of(&file),
        ..options(PathBuf::from("runs"))?
    };
    let foreseen = match Checked::new(experiment.clone(), &options) {
        Err(error) if error.is_mistake() => {
            bail!("experiment `{}` cannot be run: {error}", arguments.experiment.display())
        }
        Err(error) => {
            printer.warning(format_args!("it cannot be run here as it is: {error}"));
            Foreseen::default()
        }
        Ok(checked) => {
            checked.shortened().into_iter().for_each(|text| printer.progress(text));
            let foreseen = Foreseen { replays: checked.replays(), refused: checked.refused_caches() };
            // With what was found in the traces.
            experiment.points.clone_from(&checked.experiment().points);
            foreseen
        }
    };
    if let Some(requests) = arguments.stream {
        cache::stream(&experiment, &foreseen.replays, requests, &mut |text| printer.data(text))?;
        return Ok(Exit::Fine);
    }
    let text = match arguments.format {
        Format::Text => fitted(&describe(&experiment, &foreseen), printer.columns()),
        Format::Json => {
            let plan = run_plan(&experiment, &options, &batches(&experiment));
            // As in `plan.json`: keys by the alphabet.
            serde_json::to_string_pretty(&serde_json::to_value(plan)?)?
        }
        other => bail!("`{other}` is not available for a plan; use `text` or `json`"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}

/// Columns of the label at the beginning of a line.
const LABEL: usize = 9;

/// The plan in lines of the terminal's width; continuation lines are indented by the label.
fn fitted(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        let at = line.char_indices().nth(LABEL).map_or(line.len(), |(at, _)| at);
        let (lead, rest) = line.split_at(at);
        if columns_of(line) <= columns {
            return format!("{line}\n");
        }
        if !lead.ends_with(' ') {
            return format!("{}\n", hanging("", line, columns));
        }
        format!("{}\n", fold(rest, lead, &" ".repeat(LABEL), columns, Wide::Cut).join("\n"))
    };
    text.lines().map(line).collect()
}

/// What is known before anything is started.
#[derive(Default)]
struct Foreseen {
    /// The requests of each point's trace, where it has one.
    replays: Vec<Option<Arc<Replay>>>,
    /// Variants that will be left out, and why.
    refused: Vec<(String, String)>,
}

fn describe(experiment: &Experiment, foreseen: &Foreseen) -> String {
    let rules = &experiment.plan;
    let mut text = format!("{}\n\n", experiment.title);
    for (index, variant) in experiment.variants.iter().enumerate() {
        let role = if index == 0 { " (baseline)" } else { "" };
        let database = variant.database.map(|database| format!(", database {database}"));
        let base = variant.base.map(|sessions| format!(", base of {sessions} sessions"));
        let jvm = variant.jvm.as_ref().map(|jvm| format!(", {jvm}"));
        let _ = writeln!(
            text,
            "variant  {}{role}, {}{}{}{}{}{}",
            variant.name,
            variant.protocol.name(),
            variant.limits,
            variant.slots,
            database.unwrap_or_default(),
            base.unwrap_or_default(),
            jvm.unwrap_or_default()
        );
    }
    for (name, why) in &foreseen.refused {
        let _ = writeln!(text, "without  {name}: {why}");
    }
    for conditions in conditions(experiment) {
        let _ = writeln!(text, "point    {conditions}");
    }
    text.push_str(&cache::described(experiment, &foreseen.replays));
    if let Some(spec) = &experiment.capacity {
        text.push_str(&capacity(spec));
    }
    let _ =
        writeln!(text, "\nblocks   {}, within {}", span(rules.blocks_min, rules.blocks_max), rules.budget);
    if experiment
        .variants
        .iter()
        .any(|variant| variant.jvm.as_ref().is_some_and(|jvm| jvm.heap_multiple().is_some()))
    {
        text.push_str("heaps    multiples of the smallest with G1, which is searched for first: some minutes, not in the budget\n");
    }
    match rules.until {
        Some(until) => {
            let _ = writeln!(
                text,
                "stop     when {} is known to ± {until}; the number of blocks is fixed after the first {}",
                rules.headline, rules.blocks_min
            );
        }
        None => {
            let _ = writeln!(text, "stop     after {} blocks, which share the budget", rules.blocks_min);
        }
    }
    if let Some(longer) = over_budget(experiment, &batches(experiment), period_of) {
        let _ = writeln!(text, "time     {longer}");
    }
    if experiment.capacity.is_none() {
        let same = match rules.pairing {
            PairingChoice::Duet => "the same time for both variants",
            _ => "the same number of requests for every variant of a round",
        };
        let _ = match passages(experiment) {
            Some(passages) => writeln!(text, "window   {passages}\npairing  windows by turns"),
            None => {
                writeln!(text, "window   {}; {same}\npairing  {}", window(experiment), pairing(rules.pairing))
            }
        };
    }
    let _ = writeln!(text, "margin   {}; seed {}", rules.margin, rules.seed);
    describe_batches(&mut text, experiment);
    text
}

/// The batches, if there are several, and the first block.
fn describe_batches(text: &mut String, experiment: &Experiment) {
    let name = |id: &VariantId| experiment.variants[id.index()].name.as_str();
    let names = |ids: &[VariantId]| ids.iter().map(name).collect::<Vec<_>>().join(", ");
    let batches = batches(experiment);
    let rules = &experiment.plan;
    if batches.count() > 1 {
        let _ = writeln!(text, "together at most {} variants; fewer where memory is short", rules.together);
        for (number, members) in (1..).zip(batches.iter()) {
            let _ = writeln!(text, "batch {number}  {}", names(members));
        }
    }
    let mut title = "block 1";
    text.push('\n');
    for plan in first_block(experiment, &batches) {
        let BatchPlan { batch, starts, connects, points, .. } = plan;
        let BatchPlan { first_rounds_of_each_point, stretches_of_each_point, .. } = plan;
        let batch = if batches.count() > 1 { format!("batch {}, ", batch + 1) } else { String::new() };
        let _ = writeln!(text, "{title}  {batch}starts {}", names(&starts));
        let _ = writeln!(text, "         connects to {}", names(&connects));
        title = "       ";
        for point in points {
            let label = point_words(&experiment.points[point.index()].label);
            let label = if label.is_empty() { label } else { format!(" at {label}") };
            if rules.pairing == PairingChoice::Sequential {
                let turns = names(&stretches_of_each_point[point.index()]);
                let _ = writeln!(text, "         one after another{label}: {turns}");
                continue;
            }
            for (round, turns) in (1..).zip(&first_rounds_of_each_point[point.index()]) {
                let places = match (rules.pairing, &turns[..]) {
                    (PairingChoice::Duet, [first, second]) => {
                        format!("{} on the first cores, {} on the second", name(first), name(second))
                    }
                    _ => names(turns),
                };
                let _ = writeln!(text, "         round {round}{label}: {places}");
            }
        }
        let _ =
            writeln!(text, "         … at least 10 rounds at each point, then the block's share of the time");
    }
}

fn pairing(choice: PairingChoice) -> &'static str {
    match choice {
        PairingChoice::Auto => {
            "auto: windows where they hold 200 requests within 1 s, else requests where all are almost idle, else sequential"
        }
        PairingChoice::Windows => "windows by turns, or the run ends where they cannot hold 200 requests",
        PairingChoice::Duet => {
            "duet: both variants at the same time, each on cores of its own, swapped from round to round"
        }
        PairingChoice::Requests => {
            "requests: all variants in common windows, request by request; nothing is frozen"
        }
        PairingChoice::Sequential => "sequential: one variant after another in each block; not paired",
    }
}

/// What a window is where it is a whole passage of a script.
fn passages(experiment: &Experiment) -> Option<String> {
    let sessions = |point: &Point| point.workload.sessions_of_a_passage();
    let sessions: BTreeSet<u32> = experiment.points.iter().filter_map(sessions).collect();
    let numbers = sessions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let plural = if numbers == "1" { "" } else { "s" };
    (!sessions.is_empty()).then(|| {
        format!("a whole passage of the script, {numbers} session{plural}, from a restored database; as long as it takes")
    })
}

/// The length of windows as far as the experiment gives it; services and hosts may add time constants.
fn window(experiment: &Experiment) -> String {
    let quota =
        experiment.variants.iter().any(|variant| variant.limits.cpu.is_some()).then_some(CpuLimit::PERIOD);
    let layers = experiment.variants.iter().filter_map(|variant| layers::period(&variant.layers)).max();
    let period = quota.max(layers);
    let rule =
        WindowRule { nominal: experiment.plan.window, period, slots: 1, headline: experiment.plan.headline };
    match experiment.plan.window {
        _ if period.is_some() && rule.nominal() > experiment.plan.window.unwrap_or_default() => {
            let whose = if period == quota { "a CPU quota" } else { "a layer" };
            format!("{}, 20 periods of {whose}", rule.nominal())
        }
        Some(wanted) => wanted.to_string(),
        None => "about 20 ms, by the pace of the warm-up".to_owned(),
    }
}

/// What a search for capacity keeps, and where it looks.
fn capacity(spec: &CapacitySpec) -> String {
    let mut text = String::new();
    for (at, objective) in spec.objectives.iter().enumerate() {
        let headline = if at == 0 && spec.objectives.len() > 1 { " (headline)" } else { "" };
        let _ = writeln!(text, "capacity the highest rate that keeps {objective}{headline}");
    }
    let rates = match &spec.rates {
        TriedRates::Searched { from, to, curve } => {
            let from = from.map_or("an eighth of the warm-up's pace".to_owned(), |rate| rate.to_string());
            let to = to.map_or("what the generator can offer".to_owned(), |rate| rate.to_string());
            let curve =
                if *curve > 0 { format!(", and {curve} more below for the curve") } else { String::new() };
            format!(
                "searched by the first block from {from} to {to}; then five near the limit in every block{curve}"
            )
        }
        TriedRates::Listed(rates) => rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let _ = writeln!(text, "rates    {rates}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::assert_golden;

    #[test]
    fn a_plan_is_printed_as_the_golden_files_have_it() {
        let text = include_str!("../../testdata/plan.toml");
        for (name, pairing) in [("plan.txt", "auto"), ("plan-sequential.txt", "sequential")] {
            let text = text.replace("seed = 7", &format!("seed = 7\npairing = \"{pairing}\""));
            let experiment = Experiment::parse("plan.toml", &text).expect("an experiment");
            let why = "service `memcached` cannot have `cache.policy = fifo`: it has `lru`, `none`";
            let refused = vec![("memcached".to_owned(), why.to_owned())];
            let foreseen = Foreseen { refused, ..Foreseen::default() };
            let printed = fitted(&describe(&experiment, &foreseen), 80);
            assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
            assert_golden(name, &printed);
        }
    }
}
