//! How many blocks a run's budget is divided into, as an earlier run on this host advises.
//!
//! The number is fixed before anything is measured, and from another run's data only, so that the interval
//! over blocks stays exact. What a run learns about its own spread serves the next one.

use std::path::Path;

use weighbridge_model::environment::Environment;
use weighbridge_model::experiment::PlanRules;
use weighbridge_model::plan::Division;
use weighbridge_model::summary::{Advice, Spread, Summary};
use weighbridge_store::RunFolder;

/// The advice of the newest finished run in `out` of the same experiment (`text`, as resolved) on this host.
///
/// `None` where the plan allows one number only, where a goal decides (Stein's rule), and where that run
/// advises the fewest blocks, which is the default.
pub(crate) fn advised_division(
    out: &Path,
    text: &str,
    now: &Environment,
    rules: &PlanRules,
) -> Option<Division> {
    if rules.until.is_some() || rules.blocks_max <= rules.blocks_min {
        return None;
    }
    // A folder that cannot be listed or read advises nothing.
    let runs = RunFolder::list(out).unwrap_or_default();
    let like = |run: &RunFolder| {
        let host = |of: &Environment| of.host.as_ref().and_then(|host| host.hostname_sha256.clone());
        run.experiment().is_ok_and(|other| other == text)
            && run.environment().is_ok_and(|other| host(&other) == host(now))
    };
    let (run, summary) =
        runs.iter().filter(|run| like(run)).find_map(|run| Some((run, run.summary().ok()?)))?;
    let blocks = advised(&summary).clamp(rules.blocks_min, rules.blocks_max);
    let name = || run.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    (blocks != rules.blocks_min).then(|| Division { blocks, run: name() })
}

/// The advice for the widest headline; where no other number would narrow any, the run's own number.
fn advised(summary: &Summary) -> u32 {
    let advice = |spread: &Spread| spread.advice;
    let wider = |a: &Advice, b: &Advice| a.now.get().total_cmp(&b.now.get());
    summary.spread.iter().filter_map(advice).max_by(wider).map_or(summary.blocks.used, |advice| advice.blocks)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use weighbridge_judge as judge;
    use weighbridge_model::environment::HostFacts;
    use weighbridge_model::experiment::Experiment;
    use weighbridge_store::{RunWriter, UtcTime};

    use super::*;

    const TEXT: &str = "[workload]\nname = 'pingpong'\n[[variant]]\nname = 'a'\nurl = 'http://h/'\n\
                        [[variant]]\nname = 'b'\nurl = 'http://i/'\n";

    fn rules(text: &str) -> PlanRules {
        Experiment::parse("e.toml", &format!("{TEXT}{text}")).unwrap().plan
    }

    fn host(name: &str) -> Environment {
        let host = HostFacts { hostname_sha256: Some(name.to_owned()), ..HostFacts::default() };
        Environment { host: Some(host), ..Environment::default() }
    }

    /// A finished run of `used` blocks that advises `advice` blocks, if any.
    fn finished(out: &Path, after: u64, used: u32, advice: Option<u32>) -> String {
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + after);
        let nanos = started.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let writer = RunWriter::create(out, "one", UtcTime::from_unix_ns(nanos)).unwrap();
        writer.write_experiment(TEXT).unwrap();
        writer.write_environment(&host("here")).unwrap();
        let experiment = Experiment::parse("e.toml", TEXT).unwrap();
        let question = crate::run::question::question(&experiment, None, judge::Run::default());
        let mut summary = judge::summarise(&question, &[]);
        summary.blocks.used = used;
        summary.spread = vec![spread(advice.map(|blocks| (blocks, 0.05))), spread(Some((29, 0.01)))];
        summary.spread.truncate(if advice.is_some() { 2 } else { 1 });
        writer.write_summary(&summary).unwrap();
        writer.folder().path().file_name().unwrap().to_string_lossy().into_owned()
    }

    fn spread(advice: Option<(u32, f64)>) -> Spread {
        let advice = advice.map(|(blocks, now)| {
            serde_json::json!({ "blocks": blocks, "rounds": 10, "now": now, "then": now / 2.0 })
        });
        serde_json::from_value(serde_json::json!({
            "variant": "b", "quantity": "response_p50", "rounds": 10.0, "block": 0.0, "start": 0.01, "round": 0.01,
            "share_of_starts": { "point": 0.9, "lower": 0.8, "upper": 0.95, "level": 0.95, "blocks": 6 },
            "dominates": "starts", "advice": advice, "carry_over": null, "drift": null,
        }))
        .unwrap()
    }

    #[test]
    fn the_newest_like_run_decides_by_its_widest_headline_within_the_plan() {
        let out = tempfile::tempdir().unwrap();
        let of = |plan: &str| advised_division(out.path(), TEXT, &host("here"), &rules(plan));
        assert_eq!(of(""), None, "there is no run");
        finished(out.path(), 0, 6, Some(20));
        let newer = finished(out.path(), 60, 6, Some(12));
        assert_eq!(of(""), Some(Division { blocks: 12, run: newer.clone() }));
        assert_eq!(of("[plan]\nblocks = { min = 6, max = 9 }").unwrap().blocks, 9);
        assert_eq!(of("[plan]\nblocks = { min = 6, max = 6 }"), None, "the plan leaves no choice");
        assert_eq!(of("[plan]\nuntil = '1 %'"), None, "a goal decides");
        assert_eq!(of("[plan]\nblocks = { min = 12, max = 30 }"), None, "it is the fewest anyway");
    }

    #[test]
    fn a_run_that_was_divided_well_is_followed() {
        let out = tempfile::tempdir().unwrap();
        finished(out.path(), 0, 6, Some(12));
        let followed = finished(out.path(), 60, 12, None);
        let found = advised_division(out.path(), TEXT, &host("here"), &rules(""));
        assert_eq!(found, Some(Division { blocks: 12, run: followed }));
    }

    #[test]
    fn another_host_another_experiment_and_a_run_without_an_end_advise_nothing() {
        let out = tempfile::tempdir().unwrap();
        finished(out.path(), 0, 6, Some(12));
        assert_eq!(advised_division(out.path(), TEXT, &host("there"), &rules("")), None);
        assert_eq!(advised_division(out.path(), "another", &host("here"), &rules("")), None);
        let writer = RunWriter::create(out.path(), "cut", UtcTime::from_unix_ns(9)).unwrap();
        writer.write_experiment("cut short").unwrap();
        writer.write_environment(&host("here")).unwrap();
        assert_eq!(advised_division(out.path(), "cut short", &host("here"), &rules("")), None);
    }
}
