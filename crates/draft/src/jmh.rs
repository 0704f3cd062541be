//! The options of the Java microbenchmark harness (JMH) as an experiment over the workload `person`.
//!
//! | JMH | here |
//! | --- | --- |
//! | fork (`-f`) | block: everything is started anew |
//! | warm-up iterations and their time (`-wi`, `-w`) | the shortest warm-up: it ends when times are steady |
//! | iterations and their time (`-i`, `-r`) | the time that is measured; windows are shorter, so that variants take turns |
//! | threads (`-t`) | connections, each with one request in flight |

use std::fmt::Write as _;

use weighbridge_model::quantity::Nanoseconds;

const OPTIONS: [&str; 6] = ["-f", "-wi", "-i", "-t", "-w", "-r"];

/// Fewer blocks give no interval.
const FEWEST: u32 = 4;
/// The blocks of the file where the forks are fewer.
const BLOCKS: u32 = 6;
/// Variants × operations of the file.
const CELLS: u64 = 9;

/// How the harness was called; its own defaults are those of version 1.37.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JmhOptions {
    forks: u32,
    warm_ups: u32,
    warm_up: Nanoseconds,
    iterations: u32,
    iteration: Nanoseconds,
    threads: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}`: {why}; allowed are `-i`, `-wi`, `-f`, `-t` with a number, `-r` and `-w` with a time in s or such as `100ms`"
)]
pub struct JmhError {
    word: String,
    why: &'static str,
}

impl Default for JmhOptions {
    fn default() -> Self {
        let ten = Nanoseconds::from_secs(10);
        Self { forks: 5, warm_ups: 5, warm_up: ten, iterations: 5, iteration: ten, threads: 1 }
    }
}

impl JmhOptions {
    /// Reads such as `-i 20 -wi 20 -f 2 -t 4 -r 1 -w 1`.
    pub fn parse(text: &str) -> Result<Self, JmhError> {
        let mut options = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let refused = |why| JmhError { word: word.to_owned(), why };
            if !OPTIONS.contains(&word) {
                return Err(refused("it has no meaning here"));
            }
            let value = words.next().ok_or_else(|| refused("it needs a value"))?;
            let number = || value.parse().ok().filter(|number| (1..=1_000).contains(number));
            let number = || number().ok_or_else(|| refused("its value is a whole number from 1 to 1000"));
            match word {
                "-f" => options.forks = number()?,
                "-wi" => options.warm_ups = number()?,
                "-i" => options.iterations = number()?,
                "-t" => options.threads = number()?,
                "-w" => options.warm_up = time(value).ok_or_else(|| refused("its value is a time"))?,
                // `-r`, the only one left.
                _ => options.iteration = time(value).ok_or_else(|| refused("its value is a time"))?,
            }
        }
        Ok(options)
    }

    /// The experiment file over three stacks and three operations, commented.
    pub fn to_file(self) -> String {
        let Self { forks, warm_ups, warm_up, iterations, iteration, threads } = self;
        let blocks = if forks < FEWEST { BLOCKS } else { forks };
        let warm = seconds(warm_up * u64::from(warm_ups));
        let measured = iteration * u64::from(iterations) * u64::from(forks) * CELLS;
        let mut text = String::from(
            "# Stacks under the same calls, as a harness for Java would measure them, and side by side.\n",
        );
        if forks < FEWEST {
            let _ = writeln!(
                text,
                "# {forks} forks say nothing of how much starts differ: an interval needs at least four. Here are {blocks},\n\
                 # each shorter, so that the time that is measured stays the same."
            );
        }
        let _ = write!(
            text,
            r#"title = "three stacks of the same service"

[workload]
name = "person"

[load]
connections = {threads}           # -t {threads}: threads
warmup = "{warm}"         # -wi {warm_ups}, -w {each_warm_up}: at least; it ends when times are steady

[plan]
headline = "response mean"
blocks = {{ min = {blocks}, max = {blocks} }}   # -f {forks}: forks
budget = "{budget}"       # -i {iterations}, -r {each}: {in_all} measured, and as long for warm-ups and starts
together = 3

# `weigh export --format jmh --class variant` writes what the harness writes.
[matrix]
service = ["rust"]
protocol = ["http1-json", "grpc", "grpc-avro"]
workload.operation = ["listPersons", "getPerson", "createPerson"]
"#,
            each_warm_up = seconds(warm_up),
            each = seconds(iteration),
            in_all = seconds(measured),
            budget = seconds(measured * 2),
        );
        text
    }
}

/// A time in seconds, as an experiment has it.
fn seconds(time: Nanoseconds) -> String {
    format!("{} s", time.as_secs_f64())
}

/// A time as the harness writes it: seconds without a unit.
fn time(text: &str) -> Option<Nanoseconds> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let time: Nanoseconds = if has_unit { text.parse() } else { format!("{text} s").parse() }.ok()?;
    (Nanoseconds::from_millis(1)..=Nanoseconds::from_secs(3_600)).contains(&time).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_harness_are_read() {
        let seed = JmhOptions::parse("-i 20 -wi 20 -f 2 -t 4 -r 1 -w 100ms").expect("options");
        let second = Nanoseconds::from_secs(1);
        let tenth = Nanoseconds::from_millis(100);
        assert_eq!(
            seed,
            JmhOptions {
                forks: 2,
                warm_ups: 20,
                warm_up: tenth,
                iterations: 20,
                iteration: second,
                threads: 4
            }
        );
        assert_eq!(JmhOptions::parse(""), Ok(JmhOptions::default()));
        for (text, told) in [
            ("-i", "`-i`: it needs a value"),
            ("-i many", "a whole number from 1 to 1000"),
            ("-f 0", "a whole number"),
            ("-r 0", "its value is a time"),
            ("-w soon", "its value is a time"),
            ("-bm", "`-bm`: it has no meaning here; allowed are `-i`"),
        ] {
            let error = JmhOptions::parse(text).expect_err(text).to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn the_file_keeps_the_time_and_has_enough_blocks() {
        let file = JmhOptions::parse("-i 20 -wi 20 -f 2 -t 4 -r 1 -w 1").expect("options").to_file();
        for part in [
            "connections = 4",
            "warmup = \"20 s\"",
            "blocks = { min = 6, max = 6 }",
            "# 2 forks say nothing",
            "360 s measured",
        ] {
            assert!(file.contains(part), "{part} in {file}");
        }
        assert!(!JmhOptions::default().to_file().contains("say nothing"), "five forks are enough");
    }
}
