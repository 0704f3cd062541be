//! Hints for unknown keys that exist in another table, or that other programs call differently: the error
//! names the right place.
//!
//! Only hints. No key is read in a second place or by a second name: an experiment says one thing in one way.

/// Tables, with those of their keys that users put elsewhere.
const TABLE_KEYS: [(&str, &[&str]); 2] = [
    (
        "load",
        &[
            "arrivals",
            "churn",
            "connections",
            "in_flight",
            "keep_alive",
            "model",
            "profile",
            "rate",
            "think",
            "timeout",
            "warmup",
        ],
    ),
    (
        "plan",
        &[
            "blocks",
            "budget",
            "headline",
            "margin",
            "pairing",
            "seed",
            "share_margin",
            "together",
            "until",
            "window",
        ],
    ),
];

/// Names that other programs use: their name, our table, our key.
const SYNONYMS: [(&str, &str, &str); 7] = [
    ("concurrency", "load", "connections"),
    ("clients", "load", "connections"),
    ("threads", "load", "connections"),
    ("pipelining", "load", "in_flight"),
    ("streams", "load", "in_flight"),
    ("duration", "plan", "budget"),
    ("coverage", "workload", "sizes"),
];

/// `; …` for an unknown key in `[path]` that is known by another name or in another table.
pub(super) fn misplaced_hint(path: &str, key: &str) -> Option<String> {
    if !["", "workload", "load", "plan", "variant"].contains(&path) {
        return None;
    }
    if let Some((word, table, ours)) = SYNONYMS.iter().find(|(word, _, _)| *word == key) {
        return Some(match *word {
            "coverage" => "; it stands in `sizes = { min = …, max = …, coverage = … }`".to_owned(),
            _ if path == *table => format!("; it is called `{ours}` here"),
            _ => format!("; it is `{ours}` in `[{table}]`"),
        });
    }
    let (table, _) = TABLE_KEYS.iter().find(|(table, keys)| *table != path && keys.contains(&key))?;
    Some(format!("; it belongs to `[{table}]`"))
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    fn error(text: &str) -> String {
        let text = format!("{text}\n[[variant]]\nservice = 'go'\npeer = 'go'\n");
        Experiment::parse("x.toml", &text).expect_err(&text).to_string()
    }

    #[test]
    fn a_key_in_the_wrong_table_is_told_the_right_one() {
        for (text, said) in [
            (
                "[workload]\nname='pingpong'\nconcurrency=4",
                "x.toml:3: unknown key `concurrency` in `[workload]`; it is `connections` in `[load]`",
            ),
            (
                "[workload]\nname='pingpong'\ntimeout='1 s'",
                "x.toml:3: unknown key `timeout` in `[workload]`; it belongs to `[load]`",
            ),
            (
                "[workload]\nname='pingpong'\n[load]\nconcurrency=4",
                "x.toml:4: unknown key `concurrency` in `[load]`; it is called `connections` here",
            ),
            ("[workload]\nname='pingpong'\n[load]\nbudget='1 s'", "it belongs to `[plan]`"),
            ("[workload]\nname='pingpong'\n[plan]\nduration='1 s'", "it is called `budget` here"),
            ("[workload]\nname='pingpong'\ncoverage=0.5", "it stands in `sizes = {"),
            ("[workload]\nname='pingpong'\nsizs=4", "did you mean `size`?"),
        ] {
            let error = error(text);
            assert!(error.contains(said), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_sweep_by_another_word_is_told_too_and_the_right_one_makes_points() {
        let head = "[workload]\nname='pingpong'\nsizes={ min='4 B', max='1 kB', number=10 }\n";
        let matrix = |key: &str| format!("{head}[matrix]\n{key}=[1, 4]\n[[variant]]\nservice='go'\n");
        let parse = |key: &str| Experiment::parse("x.toml", &matrix(key));
        let error = parse("workload.concurrency").expect_err("no such key").to_string();
        assert!(error.contains("`connections` in `[load]`"), "{error}");
        let points = parse("load.connections").expect("right").points;
        assert_eq!(points.iter().map(|point| point.load.connections).collect::<Vec<_>>(), [1, 4]);
    }

    /// Every key in the list exists in its table.
    #[test]
    fn every_listed_key_exists_in_its_table() {
        for (table, keys) in super::TABLE_KEYS {
            for key in keys {
                let text = format!("[workload]\nname='pingpong'\n[{table}]\n{key}={{ no = 'such' }}");
                assert!(!error(&text).contains(&format!("unknown key `{key}`")), "{table}.{key}");
            }
        }
    }
}
