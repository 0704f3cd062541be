//! Command lines of mutilate and memtier as an experiment over the workload `cache`.
//!
//! Every option of theirs is in one of four classes: it has a counterpart, it makes no difference to what is sent, it is left
//! out with a note, or it is refused by its name.

mod memtier;
mod mutilate;
mod options;

use std::fmt::Write as _;

use toml::Value;

pub use options::ToolError;

/// The tools whose command lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheTool {
    Mutilate,
    Memtier,
}

/// An experiment as a command line asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheDraft {
    /// The line, for the title.
    line: String,
    url: String,
    unix: Option<String>,
    /// Keys of `[workload]` beside its name, in TOML.
    workload: Vec<(&'static str, String)>,
    load: Vec<(&'static str, String)>,
    /// Keys of `[capacity]`, if a rate is searched for.
    capacity: Vec<(&'static str, String)>,
    /// What was left out and what to do, each a sentence without a full stop.
    pub notes: Vec<String>,
}

impl CacheTool {
    /// The tool whose command line a text is, by its first word.
    pub fn of_line(text: &str) -> Option<Self> {
        let mut words = text.trim().trim_start_matches("$ ").split_whitespace();
        let program = words.next()?.rsplit('/').next()?;
        // A single word may be a host.
        words.next()?;
        match program {
            "mutilate" => Some(Self::Mutilate),
            "memtier" | "memtier_benchmark" => Some(Self::Memtier),
            _ => None,
        }
    }

    /// Reads a command line as words, with or without the program's name, or as one text that holds them.
    pub fn parse(self, words: &[String]) -> Result<CacheDraft, ToolError> {
        let split = match words {
            [line] if line.trim().contains(char::is_whitespace) => {
                let line = line.trim().trim_start_matches("$ ");
                shell_words::split(line).map_err(|_| ToolError::Quote)?
            }
            words => words.to_vec(),
        };
        let named = split.first().is_some_and(|word| !word.starts_with('-'));
        let options = &split[usize::from(named)..];
        match self {
            Self::Mutilate => mutilate::draft(options),
            Self::Memtier => memtier::draft(options),
        }
    }
}

impl CacheDraft {
    /// The experiment file, commented.
    pub fn to_file(&self) -> String {
        let mut text = String::from(
            "# An experiment: the alternatives (`[[variant]]`), the same load on each, and how much to measure.\n\
             # `weigh plan` shows what will happen, `weigh run` does it.\n",
        );
        let _ = writeln!(text, "title = {}\n", quoted(&self.line));
        for note in &self.notes {
            let _ = writeln!(text, "# - {note}.");
        }
        table(&mut text, "workload", &[("name", quoted("cache"))], &self.workload);
        table(&mut text, "load", &[], &self.load);
        if !self.capacity.is_empty() {
            table(&mut text, "capacity", &[], &self.capacity);
        }
        text.push_str("[plan]\nblocks = { min = 6, max = 12 }\nbudget = \"5 min\"\nmargin = \"2 %\"\n\n");
        text.push_str(
            "# The first variant is the baseline; add another to weigh it against this one.\n[[variant]]\n",
        );
        let _ = writeln!(text, "url = {}", quoted(&self.url));
        if let Some(unix) = &self.unix {
            let _ = writeln!(text, "unix = {}", quoted(unix));
        }
        text
    }
}

fn table(text: &mut String, name: &str, first: &[(&str, String)], keys: &[(&str, String)]) {
    let _ = writeln!(text, "[{name}]");
    for (key, value) in first.iter().chain(keys) {
        let _ = writeln!(text, "{key} = {value}");
    }
    text.push('\n');
}

/// Text as a TOML string.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Value::from(plain).to_string()
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Experiment;

    use super::*;

    fn draft(tool: CacheTool, line: &str) -> CacheDraft {
        tool.parse(&[line.to_owned()]).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[track_caller]
    fn file(tool: CacheTool, line: &str) -> String {
        let text = draft(tool, line).to_file();
        Experiment::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}: {text}"));
        text
    }

    #[track_caller]
    fn has(tool: CacheTool, line: &str, lines: &[&str]) {
        let text = file(tool, line);
        for line in lines {
            assert!(text.lines().any(|one| one == *line), "no line `{line}` in\n{text}");
        }
    }

    #[test]
    fn lines_of_mutilate_become_experiments() {
        has(
            CacheTool::Mutilate,
            "mutilate -s cache.example:11212 -K fb_key -V fb_value -i fb_ia -r 100000 -u 0.0333 -T 2 -c 8 -d 4 -q 5000 -w 3",
            &[
                "url = \"memcached://cache.example:11212\"",
                "keys = 100000",
                "key = \"fb_key\"",
                "value = \"fb_value\"",
                "popularity = \"uniform\"",
                "mix = { get = 0.9667, set = 0.0333 }",
                "model = \"open\"",
                "rate = \"5000/s\"",
                "arrivals = \"fb_ia\"",
                "connections = 16",
                "in_flight = 4",
                "warmup = \"3 s\"",
            ],
        );
        has(
            CacheTool::Mutilate,
            "-s localhost --noload",
            &["model = \"closed\"", "connections = 1", "start = \"cold\""],
        );
        has(CacheTool::Mutilate, "-slocalhost -BS", &[]);
    }

    #[test]
    fn a_search_becomes_a_capacity() {
        has(
            CacheTool::Mutilate,
            "mutilate -s localhost --search=99:1000 -c 4",
            &["[capacity]", "objective = \"p99 < 1000 us\"", "connections = 4"],
        );
        has(
            CacheTool::Mutilate,
            "mutilate -s localhost --scan 1000:5000:2000",
            &["rates = [\"1000/s\", \"3000/s\", \"5000/s\"]"],
        );
    }

    #[test]
    fn lines_of_memtier_become_experiments() {
        has(
            CacheTool::Memtier,
            "memtier_benchmark -s 127.0.0.1 -p 6380 --ratio=1:9 -c 10 -t 2 --pipeline=8 --key-maximum=1000000 --key-minimum 1 \
             --key-pattern=Z:Z --key-zipf-exp=0.99 -d 100 --rate-limiting 50 --select-db=3 --reconnect-interval=200",
            &[
                "url = \"redis://127.0.0.1:6380/3\"",
                "keys = 1000000",
                "popularity = \"zipf:0.99\"",
                "mix = { get = 9, set = 1 }",
                "value = \"fixed:100\"",
                "start = \"cold\"",
                "rate = \"1000/s\"",
                "arrivals = \"constant\"",
                "connections = 20",
                "in_flight = 8",
                "churn = 200",
            ],
        );
        has(
            CacheTool::Memtier,
            "memtier -P memcache_text --data-size-list=16:7,1024:3 -S /run/m.sock --key-maximum=1000",
            &[
                "url = \"memcached://localhost\"",
                "unix = \"/run/m.sock\"",
                "value = \"list:16=7,1024=3\"",
                "connections = 200",
            ],
        );
        has(
            CacheTool::Memtier,
            "memtier --key-maximum=1000 --ratio=1:30 --multi-key-get=10",
            &["mix = { get = 3, set = 1 }", "batch = 10"],
        );
        has(
            CacheTool::Memtier,
            "memtier --key-maximum=1000 --multi-key-get=100",
            &["mix = { get = 1, set = 1 }", "batch = 10"],
        );
        has(
            CacheTool::Memtier,
            "memtier --data-size-range=10-90 --tls --key-maximum=1000",
            &["url = \"rediss://localhost:6379\"", "value = \"uniform:10,90\""],
        );
    }

    #[test]
    fn what_has_no_counterpart_is_refused_by_name() {
        for (tool, line, part) in [
            (CacheTool::Mutilate, "mutilate -s h -a worker", "`-a`: there are no agents"),
            (CacheTool::Mutilate, "mutilate -s h --binary", "`--binary`: the binary protocol"),
            (CacheTool::Mutilate, "mutilate -s h --username x", "`--username`: SASL"),
            (CacheTool::Mutilate, "mutilate -s h -s i", "`-s`: a second server"),
            (CacheTool::Mutilate, "mutilate -s h --scann 1:2:3", "did you mean `--scan`?"),
            (CacheTool::Mutilate, "mutilate -s h -i uniform:3", "`-i`: gaps"),
            (CacheTool::Mutilate, "mutilate -s h --search 42:10", "`--search`"),
            (CacheTool::Mutilate, "mutilate -s h -K gamma:2", "is not a law of lengths"),
            (CacheTool::Mutilate, "mutilate -s h -q", "`-q`: needs a value"),
            (CacheTool::Mutilate, "mutilate", "no server"),
            (CacheTool::Mutilate, "mutilate -s 'h", "a quote is not closed"),
            (CacheTool::Mutilate, "mutilate -s h stray", "`stray`"),
            (CacheTool::Memtier, "memtier --cluster-mode", "`--cluster-mode`"),
            (CacheTool::Memtier, "memtier -P memcache_binary", "`-P`: the binary protocol"),
            (CacheTool::Memtier, "memtier --key-pattern=G:G", "`--key-pattern`"),
            (
                CacheTool::Memtier,
                "memtier --multi-key-get=2000 --ratio=1:5000",
                "`--multi-key-get`: at most 1000",
            ),
            (
                CacheTool::Memtier,
                "memtier --expiry-range=1-10",
                "`--expiry-range`: all values live equally long",
            ),
            (CacheTool::Memtier, "memtier --command='get x'", "`--command`"),
            (CacheTool::Memtier, "memtier --ratio=0:0", "`--ratio`"),
            (CacheTool::Memtier, "memtier -c x", "`-c`: `x`"),
        ] {
            let error = tool.parse(&[line.to_owned()]).expect_err(line).to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn a_line_is_known_by_its_program() {
        assert_eq!(CacheTool::of_line("./mutilate -s h"), Some(CacheTool::Mutilate));
        assert_eq!(CacheTool::of_line("$ memtier_benchmark -c 1"), Some(CacheTool::Memtier));
        assert_eq!(CacheTool::of_line("mutilate"), None);
        assert_eq!(CacheTool::of_line("curl http://h"), None);
        let words: Vec<String> = ["-s", "h"].map(str::to_owned).to_vec();
        assert!(CacheTool::Mutilate.parse(&words).is_ok());
    }
}
