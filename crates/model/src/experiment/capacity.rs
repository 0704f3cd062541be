//! The table `[capacity]`, read and written: the objectives to keep, and the rates at which they are tried.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{Node, Read, Reader, Value};
use super::{LoadModel, PlanRules, Point, WorkloadSpec};
use crate::estimate::Quantity;
use crate::objective::{Objective, ObjectiveError, Objectives};
use crate::pairing::PairingChoice;
use crate::quantity::PerSecond;

/// Most objectives of one run; each is a search of its own in the first block.
const OBJECTIVES_MOST: usize = 8;
/// Most rates that a file lists.
const RATES_MOST: usize = 100;
/// Most further rates for the curve.
const CURVE_MOST: u32 = 50;

/// Asks for the highest rate that keeps an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacitySpec {
    /// At least one; the first is the headline.
    pub objectives: Vec<Objective>,
    pub rates: TriedRates,
}

/// Which rates are tried. A rate counts what arrives by the load: requests per second, or sessions per second
/// in partly open load; of a profile or a trace it is the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriedRates {
    Searched {
        /// The lowest rate that is tried; `None` begins at an eighth of the pace of the warm-up.
        from: Option<PerSecond>,
        /// The highest rate that is tried; `None` for no limit but the generator's.
        to: Option<PerSecond>,
        /// Further rates below the capacity, at equal distances, for the curve.
        curve: u32,
    },
    /// Just these, ascending.
    Listed(Vec<PerSecond>),
}

/// Which rates somebody asks for; unchecked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AskedRates {
    pub from: Option<PerSecond>,
    pub to: Option<PerSecond>,
    pub curve: Option<u32>,
    /// Empty to search.
    pub rates: Vec<PerSecond>,
}

impl CapacitySpec {
    /// Errors: in words, with what is allowed.
    pub fn new(texts: &[String], asked: AskedRates) -> Result<Self, String> {
        Ok(Self { objectives: objectives(texts)?, rates: asked.checked()? })
    }

    /// The objectives with their operations found in the workload.
    pub fn objectives_for(&self, workload: &WorkloadSpec) -> Result<Objectives, ObjectiveError> {
        Objectives::new(self.objectives.clone(), &workload.operations())
    }

    /// Checks what stands beside it. Errors: in words.
    pub fn check(&self, points: &[Point], plan: &PlanRules) -> Result<(), String> {
        if points.iter().any(|point| point.load.model == LoadModel::Closed) {
            return Err("`[capacity]` varies a rate, and closed load has none; leave `load.model` out, or set `open` or `partly-open`".to_owned());
        }
        if plan.headline != Quantity::Capacity {
            return Err(format!(
                "the headline of a run with `[capacity]` is `capacity`, and `plan.headline` is `{}`; leave it out",
                plan.headline
            ));
        }
        if plan.window.is_some() {
            return Err("`plan.window` has no use with `[capacity]`, whose steps are as long as the budget allows; leave it out".to_owned());
        }
        if matches!(plan.pairing, PairingChoice::Duet | PairingChoice::Requests) {
            return Err(format!(
                "`plan.pairing = \"{}\"` measures variants at once, and with `[capacity]` each is loaded alone; use `windows` or `sequential`",
                plan.pairing.name()
            ));
        }
        points.iter().try_for_each(|point| {
            let resolved = self.objectives_for(&point.workload);
            resolved.map(drop).map_err(|error| format!("`capacity.objective`: {error}"))
        })
    }
}

impl AskedRates {
    fn checked(self) -> Result<TriedRates, String> {
        let Self { from, to, curve, mut rates } = self;
        let given = from.iter().chain(&to).chain(&rates);
        if given.into_iter().any(|rate| rate.get() <= 0.0) {
            return Err("rates must be above zero, such as `500/s`".to_owned());
        }
        if rates.is_empty() {
            if let (Some(from), Some(to)) = (from, to)
                && from.get() >= to.get()
            {
                return Err(format!("`from` ({from}) must be below `to` ({to})"));
            }
            return match curve.unwrap_or_default() {
                curve @ 0..=CURVE_MOST => Ok(TriedRates::Searched { from, to, curve }),
                curve => Err(format!("`curve` takes up to {CURVE_MOST} further rates, and here are {curve}")),
            };
        }
        if from.is_some() || to.is_some() || curve.is_some() {
            return Err("`rates` are all that is tried; leave `from`, `to` and `curve` out, or leave `rates` out and let them be searched".to_owned());
        }
        if rates.len() > RATES_MOST {
            return Err(format!("`rates` takes up to {RATES_MOST} rates, and here are {}", rates.len()));
        }
        rates.sort_by(|a, b| a.get().total_cmp(&b.get()));
        match rates.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(format!("`rates` has {} twice; leave one out", two[0])),
            None => Ok(TriedRates::Listed(rates)),
        }
    }
}

fn objectives(texts: &[String]) -> Result<Vec<Objective>, String> {
    if texts.is_empty() || texts.len() > OBJECTIVES_MOST {
        return Err(format!(
            "`objective` takes 1 to {OBJECTIVES_MOST} objectives, such as `p99 < 10 ms and errors < 0.1 %`, and here are {}",
            texts.len()
        ));
    }
    let mut objectives: Vec<Objective> = Vec::new();
    for text in texts {
        let objective: Objective = text.parse().map_err(|error: ObjectiveError| error.to_string())?;
        if objectives.contains(&objective) {
            return Err(format!("the objective `{objective}` stands there twice; leave one out"));
        }
        objectives.push(objective);
    }
    Ok(objectives)
}

pub(super) fn read(reader: Reader<'_>) -> Read<CapacitySpec> {
    let missing =
        "`[capacity]` needs an `objective`, such as `objective = \"p99 < 10 ms and errors < 0.1 %\"`";
    let texts = reader.value("objective", |node| Ok(listed(node)))?;
    let texts = texts.ok_or_else(|| reader.error(reader.line(), missing))?;
    let rates = reader.value("rates", |node| {
        let rate = |text: String| text.parse::<PerSecond>().map_err(|error| error.to_string());
        match &node.value {
            Value::List(items) if items.is_empty() => Err("is empty; leave it out to search".to_owned()),
            Value::List(_) => listed(node).into_iter().map(rate).collect::<Result<Vec<_>, _>>(),
            _ => Err("takes a list, such as `[\"500/s\", \"1000/s\", \"2000/s\"]`".to_owned()),
        }
    })?;
    let asked = AskedRates {
        from: reader.quantity("from")?,
        to: reader.quantity("to")?,
        curve: reader.integer("curve", 0, u64::from(CURVE_MOST))?.map(|curve| curve as u32),
        rates: rates.unwrap_or_default(),
    };
    let spec = CapacitySpec::new(&texts, asked);
    let spec = spec.map_err(|message| reader.error(reader.line(), format!("`[capacity]`: {message}")))?;
    reader.finish()?;
    Ok(spec)
}

/// A list's entries, or the one text.
fn listed(node: &Node) -> Vec<String> {
    match &node.value {
        Value::List(items) => items.iter().map(Node::show).collect(),
        _ => vec![node.show()],
    }
}

pub(super) fn write(spec: &CapacitySpec) -> Table {
    let mut table = Table::new();
    let texts: Vec<Toml> = spec.objectives.iter().map(|one| one.to_string().into()).collect();
    table.insert("objective".into(), texts.into());
    let per_second = |rate: &PerSecond| Toml::from(format!("{}/s", rate.get()));
    match &spec.rates {
        TriedRates::Searched { from, to, curve } => {
            for (key, rate) in [("from", from), ("to", to)] {
                if let Some(rate) = rate {
                    table.insert(key.into(), per_second(rate));
                }
            }
            table.insert("curve".into(), i64::from(*curve).into());
        }
        TriedRates::Listed(rates) => {
            table.insert("rates".into(), rates.iter().map(per_second).collect::<Vec<_>>().into());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;
    use super::*;

    fn parse(capacity: &str, more: &str) -> Result<Experiment, String> {
        let text = format!(
            "workload = {{ name = \"person\", operations = [\"listPersons\", \"getPerson\"] }}\n[capacity]\n{capacity}\n{more}\n[[variant]]\nurl = \"http://h:1\"\n"
        );
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_capacity_reads_back_as_it_was_written_and_makes_the_load_open() {
        for table in [
            "objective = \"mean < 1 ms\"",
            "objective = [\"mean < 1 ms and errors < 0.1 %\", \"getPerson p99.9 <= 10 ms\"]\nfrom = \"100/s\"\nto = \"5k/s\"\ncurve = 4",
            "objective = \"service p99 < 2 ms\"\nrates = [\"2k/s\", 500]",
        ] {
            let experiment = parse(table, "").expect(table);
            let written = experiment.to_toml();
            assert_eq!(Experiment::parse("y.toml", &written).expect(&written), experiment);
            assert!(!written.contains("rate ="), "{written}");
            let point = &experiment.points[0];
            assert!(matches!(point.load.model, LoadModel::Open { .. }));
            assert_eq!((point.load.connections, experiment.plan.headline), (16, Quantity::Capacity));
        }
        let listed =
            parse("objective = \"p99 < 2 ms\"\nrates = [\"2k/s\", 500]", "").unwrap().capacity.unwrap();
        assert!(matches!(&listed.rates, TriedRates::Listed(rates) if rates[0].get() == 500.0));
    }

    #[test]
    fn sessions_profiles_and_traces_keep_their_form() {
        for load in [
            "model = \"partly-open\"\nlength = 4",
            "profile = \"burst:0/s..10/s for 100 ms every 1 s\"",
            "arrivals = { trace = \"times.csv\" }",
            "arrivals = \"constant\"",
        ] {
            let experiment = parse("objective = \"p90 < 1 ms\"", &format!("[load]\n{load}")).expect(load);
            let written = experiment.to_toml();
            assert_eq!(Experiment::parse("y.toml", &written).expect(&written), experiment);
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_is_allowed() {
        let objective = "objective = \"p99 < 10 ms\"";
        for (capacity, more, said) in [
            ("", "", "needs an `objective`"),
            ("objective = []", "", "1 to 8 objectives"),
            ("objective = \"p98 < 1 ms\"", "", "allowed are mean, p50"),
            ("objective = \"p99 > 1 ms\"", "", "an upper limit"),
            ("objective = \"errors < 5 ms\"", "", "a share below 100 %"),
            ("objective = \"getPerso p99 < 5 ms\"", "", "it has listPersons"),
            ("objective = [\"p99 < 1 ms\", \"p99 < 1 ms\"]", "", "twice"),
            ("objective = \"p99 < 1 ms\"\nfrom = \"10/s\"\nto = \"10/s\"", "", "must be below `to`"),
            ("objective = \"p99 < 1 ms\"\nfrom = 0", "", "above zero"),
            ("objective = \"p99 < 1 ms\"\nrates = []", "", "leave it out to search"),
            ("objective = \"p99 < 1 ms\"\nrates = [5, 5]", "", "twice"),
            ("objective = \"p99 < 1 ms\"\nrates = [5]\ncurve = 3", "", "all that is tried"),
            ("objective = \"p99 < 1 ms\"\ncurve = 51", "", "50"),
            ("objective = \"p99 < 1 ms\"\nlimit = 3", "", "limit"),
            (objective, "[load]\nmodel = \"open\"\nrate = 5", "varies `load.rate`"),
            (
                objective,
                "[load]\nmodel = \"partly-open\"\nlength = 2\nsessions = 5",
                "varies `load.sessions`",
            ),
            (objective, "[load]\nmodel = \"closed\"", "closed load has none"),
            (objective, "[plan]\nheadline = \"p50\"", "leave it out"),
            (objective, "[plan]\nwindow = \"20 ms\"", "no use"),
            (objective, "[plan]\npairing = \"requests\"", "use `windows` or `sequential`"),
        ] {
            let error = parse(capacity, more).expect_err(capacity);
            assert!(error.contains(said), "{capacity} {more}: {error}");
        }
        let alone =
            "workload.name = \"pingpong\"\nplan.headline = \"capacity\"\n[[variant]]\nurl = \"http://h:1\"\n";
        let error = Experiment::parse("x.toml", alone).unwrap_err().to_string();
        assert!(error.contains("needs a table `[capacity]`"), "{error}");
    }
}
