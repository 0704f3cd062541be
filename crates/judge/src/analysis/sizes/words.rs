//! Cliffs and advice as findings in words.

use weighbridge_model::finding::{BEST_BY_SIZE, CLIFF};
use weighbridge_model::quantity::{Bytes, display_nanos};
use weighbridge_model::sizes::{CliffChange, OverSize, SizeAdvice, SizeCliff, SizeJudged, SizeRange};
use weighbridge_model::summary::{Finding, Severity};

use crate::checks::subject;

/// `measured` says how many variants have times where a cliff lies.
pub fn findings(over: &OverSize, measured: &dyn Fn(&SizeCliff) -> usize) -> Vec<Finding> {
    let cliff = |one: &SizeCliff| cliff(one, SharedBy::new(one, &over.cliffs, measured(one)));
    let cut_off = over.judged.iter().filter(|judged| judged.cut_off).map(cut_off);
    over.cliffs.iter().map(cliff).chain(cut_off).chain(over.advice.iter().map(advice)).collect()
}

/// A curve of which not all cliffs are reported.
fn cut_off(judged: &SizeJudged) -> Finding {
    Finding {
        severity: Severity::Note,
        name: CLIFF.to_owned(),
        subject: subject(&judged.variant, &judged.point),
        evidence: format!(
            "`{}`: the median service time changes at more sizes than are looked for; no change of slope is reported",
            judged.operation
        ),
        remedy: "ask for a narrower range of sizes".to_owned(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedBy {
    Single,
    /// Only this one of several: the service's, or what this service makes of the host.
    Alone,
    /// So many of so many, this one included.
    Some(usize, usize),
    /// All of several: more likely the host's or the client's than each service's.
    All(usize),
}

impl SharedBy {
    /// Two cliffs are at the same place if their intervals overlap.
    fn new(one: &SizeCliff, all: &[SizeCliff], measured: usize) -> Self {
        let is_there = |other: &&SizeCliff| {
            let (a, b) = (one.place_bytes, other.place_bytes);
            (&other.point, &other.operation, other.change) == (&one.point, &one.operation, one.change)
                && a.lower <= b.upper
                && b.lower <= a.upper
        };
        let mut there: Vec<&str> = all.iter().filter(is_there).map(|other| &*other.variant).collect();
        there.sort_unstable();
        there.dedup();
        match there.len() {
            _ if measured < 2 => Self::Single,
            0 | 1 => Self::Alone,
            count if count >= measured => Self::All(measured),
            count => Self::Some(count, measured),
        }
    }

    fn words(self) -> String {
        match self {
            Self::Single => String::new(),
            Self::Alone => "; no other variant has it there".to_owned(),
            Self::Some(count, of) => format!("; {count} of {of} variants have it there"),
            Self::All(of) => format!("; all {of} variants have it there"),
        }
    }

    fn remedy(self, cause: Option<&str>) -> &'static str {
        match (self, cause) {
            (Self::All(_), Some(_)) => {
                "what all variants share has it: change that value of the host and measure again: a cause moves its cliff"
            }
            (Self::All(_), None) => {
                "look at what all variants share: windows and buffers of the host, the network, the client"
            }
            (Self::Alone, Some(_)) => {
                "look how this service uses it, change that value and measure again: a cause moves its cliff"
            }
            (Self::Alone, None) => {
                "look for what this service fills at that size: a buffer, a window, a chunk"
            }
            (_, Some(_)) => "change that value and measure again: a cause moves its cliff",
            (_, None) => "look for what is filled at that size: a buffer, a window, a chunk",
        }
    }
}

fn cliff(cliff: &SizeCliff, shared_by: SharedBy) -> Finding {
    let (place, height) = (cliff.place_bytes, cliff.height);
    let (change, show): (&str, fn(f64) -> String) = match cliff.change {
        CliffChange::Level => ("the median service time steps", signed),
        CliffChange::Slope => ("each further KiB takes", |value| signed(1024.0 * value)),
        CliffChange::Stairs => ("the median service time steps each time", signed),
    };
    let again = cliff.period_bytes.map(|period| {
        let [point, lower, upper] = [period.point, period.lower, period.upper].map(whole_bytes);
        format!(", and again every {point} [{lower}, {upper}], as chunks would")
    });
    let after = if cliff.change == CliffChange::Slope { " more" } else { "" };
    let cause = cliff.cause.as_ref().map(|cause| format!("; {cause}")).unwrap_or_default();
    Finding {
        severity: Severity::Note,
        name: CLIFF.to_owned(),
        subject: subject(&cliff.variant, &cliff.point),
        evidence: format!(
            "`{}` above {} [{}, {}]{}: {change} {} [{}, {}]{after}{cause}{}",
            cliff.operation,
            whole_bytes(place.point),
            whole_bytes(place.lower),
            whole_bytes(place.upper),
            again.unwrap_or_default(),
            show(height.point),
            show(height.lower),
            show(height.upper),
            shared_by.words()
        ),
        remedy: shared_by.remedy(cliff.cause.as_deref()).to_owned(),
    }
}

/// In single bytes: guides are values such as 87380, and readers compare places with them.
fn whole_bytes(bytes: f64) -> String {
    format!("{:.0} B", bytes.round())
}

fn signed(nanos: f64) -> String {
    let sign = if nanos > 0.0 { "+" } else { "" };
    format!("{sign}{}", display_nanos(nanos))
}

fn advice(advice: &SizeAdvice) -> Finding {
    let ranges: Vec<String> = advice.ranges.iter().map(range).collect();
    Finding {
        severity: Severity::Note,
        name: BEST_BY_SIZE.to_owned(),
        subject: subject("", &advice.point).trim().to_owned(),
        evidence: format!("`{}`: {}", advice.operation, ranges.join("; ")),
        remedy:
            "the lowest median service time at single sizes; `or` joins those that are indistinguishable, which more blocks may separate"
                .to_owned(),
    }
}

fn range(range: &SizeRange) -> String {
    let names: Vec<String> = range.best.iter().map(|name| format!("`{name}`")).collect();
    let few: Vec<String> = range.few_blocks.iter().map(|name| format!("`{name}`")).collect();
    let tie = match (range.best.len(), few.is_empty()) {
        (0 | 1, _) => String::new(),
        (_, true) => " (indistinguishable)".to_owned(),
        (_, false) => format!(" (indistinguishable; too few blocks of {})", few.join(", ")),
    };
    let lead = range.lead.filter(|lead| *lead > 0.0);
    let lead =
        lead.map(|lead| format!(", the next at least {:.0} % slower", 100.0 * lead)).unwrap_or_default();
    let sizes = (Bytes::new(range.from_bytes), Bytes::new(range.to_bytes));
    format!("{} to {} {}{tie}{lead}", sizes.0, sizes.1, names.join(" or "))
}

#[cfg(test)]
mod tests {
    use weighbridge_model::sizes::Bounded;

    use super::*;

    #[test]
    fn the_words_say_whether_it_is_the_services_or_what_all_share() {
        let cliff = |variant: &str, place: f64, change| SizeCliff {
            variant: variant.to_owned(),
            point: Default::default(),
            operation: "pong".to_owned(),
            change,
            place_bytes: Bounded { point: place, lower: 0.98 * place, upper: 1.02 * place },
            period_bytes: None,
            height: Bounded { point: 5e6, lower: 4e6, upper: 6e6 },
            before: 1e6,
            cause: None,
        };
        let (step, bend) = (CliffChange::Level, CliffChange::Slope);
        let cliffs = vec![
            cliff("go", 64_000.0, step),
            cliff("rust", 65_000.0, step),
            cliff("go", 200_000.0, step),
            cliff("rust", 200_000.0, bend),
        ];
        let over = OverSize { cliffs, ..OverSize::default() };
        let evidence_and_remedy = |measured: usize| -> Vec<(String, String)> {
            let found = findings(&over, &|_| measured).into_iter();
            found.map(|f| (f.evidence.rsplit("; ").next().unwrap_or_default().to_owned(), f.remedy)).collect()
        };
        let findings_of_two = evidence_and_remedy(2);
        assert!(findings_of_two[..2].iter().all(|(said, remedy)| {
            said == "all 2 variants have it there" && remedy.contains("what all variants share")
        }));
        assert!(findings_of_two[2..].iter().all(|(said, remedy)| {
            said == "no other variant has it there" && remedy.contains("this service fills")
        }));
        assert_eq!(evidence_and_remedy(3)[0].0, "2 of 3 variants have it there");
        assert!(evidence_and_remedy(1).iter().all(|(said, _)| !said.contains("variant")));
        let known = SizeCliff { cause: Some("segment, 65483 B".to_owned()), ..over.cliffs[0].clone() };
        assert!(super::cliff(&known, SharedBy::All(2)).remedy.contains("value of the host"));
    }

    #[test]
    fn a_cliff_and_advice_in_words() {
        let bounded = |lower, point, upper| Bounded { point, lower, upper };
        let cliff = SizeCliff {
            variant: "java".to_owned(),
            point: Default::default(),
            operation: "pong".to_owned(),
            change: CliffChange::Level,
            place_bytes: bounded(87_300.0, 87_380.0, 87_500.0),
            period_bytes: None,
            height: bounded(4.9e6, 5e6, 5.1e6),
            before: 1.2e6,
            cause: None,
        };
        let slope = SizeCliff {
            change: CliffChange::Slope,
            height: bounded(-21.0, -20.0, -19.0),
            cause: Some("send buffer, 16384 B, lies in the interval".to_owned()),
            ..cliff.clone()
        };
        let stairs = SizeCliff {
            change: CliffChange::Stairs,
            place_bytes: bounded(65_000.0, 65_500.0, 66_000.0),
            period_bytes: Some(bounded(65_300.0, 65_536.0, 65_800.0)),
            height: bounded(1.9e5, 2e5, 2.1e5),
            ..cliff.clone()
        };
        let range = |from_bytes, to_bytes, best: &[&str], lead| SizeRange {
            from_bytes,
            to_bytes,
            best: best.iter().map(|name| (*name).to_owned()).collect(),
            few_blocks: if best.len() > 2 { vec![best[2].to_owned()] } else { Vec::new() },
            lead,
        };
        let advice = SizeAdvice {
            point: Default::default(),
            operation: "pong".to_owned(),
            ranges: vec![
                range(4, 65_536, &["go"], Some(0.21)),
                range(65_536, 1 << 20, &["rust", "go"], None),
                range(1 << 20, 2 << 20, &["rust", "go", "dart"], None),
            ],
        };
        let judged = SizeJudged {
            variant: "java".to_owned(),
            point: Default::default(),
            operation: "pong".to_owned(),
            steps_bytes: (100, 499_000),
            corners_bytes: (1_000, 490_000),
            cut_off: true,
        };
        let over = OverSize {
            cliffs: vec![cliff, slope, stairs],
            judged: vec![SizeJudged { cut_off: false, ..judged.clone() }, judged],
            advice: vec![advice],
            guides: Vec::new(),
        };
        let evidence: Vec<String> =
            findings(&over, &|_| 1).into_iter().map(|finding| finding.evidence).collect();
        assert_eq!(
            evidence,
            [
                "`pong` above 87380 B [87300 B, 87500 B]: the median service time steps +5.00 ms [+4.90 ms, +5.10 ms]",
                "`pong` above 87380 B [87300 B, 87500 B]: each further KiB takes -20.5 µs [-21.5 µs, -19.5 µs] more; \
                 send buffer, 16384 B, lies in the interval",
                "`pong` above 65500 B [65000 B, 66000 B], and again every 65536 B [65300 B, 65800 B], as chunks would: \
                 the median service time steps each time +200 µs [+190 µs, +210 µs]",
                "`pong`: the median service time changes at more sizes than are looked for; no change of slope is reported",
                "`pong`: 4 B to 64 KiB `go`, the next at least 21 % slower; 64 KiB to 1 MiB `rust` or `go` (indistinguishable); \
                 1 MiB to 2 MiB `rust` or `go` or `dart` (indistinguishable; too few blocks of `dart`)",
            ]
        );
    }
}
