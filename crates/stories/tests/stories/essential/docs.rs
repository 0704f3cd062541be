//! The documents are true of the code: edges between crates, thresholds, keys and defaults, files and columns, names of
//! tests, commands and their output, links.
//!
//! `UPDATE_GOLDEN=1 cargo test -p weighbridge-stories docs` writes the schemas in `docs/schema` anew; everything else is
//! mended by hand.

#[allow(dead_code)] // only what is needed to parse a command line
#[path = "../../../../cli/src/args.rs"]
mod args;
mod script;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{CommandFactory, Parser};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::experiment::{
    Arrivals, Experiment, Flow, LoadModel, Scheme, Sizes, Think, WorkloadSpec, typed_schemes,
};
use weighbridge_model::quantity::{Nanoseconds, Ratio, percentage_points};
use weighbridge_report::Schema;

// --- Reading pages -----------------------------------------------------------------------------------------------

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two folders down").to_owned()
}

fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files of a folder whose name ends so, by name.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root().join(folder)) else { return Vec::new() };
    let names =
        entries.map(|entry| entry.expect("a folder's entry").file_name().to_string_lossy().into_owned());
    let mut found: Vec<_> =
        names.filter(|name| name.ends_with(ending)).map(|name| format!("{folder}/{name}")).collect();
    found.sort();
    found
}

/// Every page that people read.
fn pages() -> Vec<String> {
    let mut pages = files(".", ".md");
    pages.extend(files("docs", ".md"));
    pages.extend(files("services", ".md"));
    for folder in files("services", "").iter().chain(&files("suites", "")) {
        pages.extend(files(folder, "README.md"));
    }
    assert!(pages.len() > 8, "{pages:?}");
    pages
}

/// Every Rust file of the crates.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder's entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A fenced block: what stands behind the fence, its text, and the line it begins on.
struct Block {
    info: String,
    text: String,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (line, text) in (1..).zip(page.lines()) {
        match (text.strip_prefix("```"), open) {
            (Some(info), false) => {
                found.push(Block { info: info.trim().to_owned(), text: String::new(), line });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let block = found.last_mut().expect("a block is open");
                block.text.push_str(text);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!open, "a fence is not closed");
    found
}

/// The page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let outside = page.lines().filter(|line| {
        let fence = line.starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    outside.collect::<Vec<_>>().join("\n")
}

/// From a heading to the next of the same rank or above.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading `{heading}`")) + 1;
    let rank = heading.chars().take_while(|c| *c == '#').count();
    let body = &page[start + heading.len()..];
    let ends = body.match_indices("\n#").find(|(at, _)| {
        let marks = body[at + 1..].chars().take_while(|c| *c == '#').count();
        marks <= rank && body[at + 1 + marks..].starts_with(' ')
    });
    &body[..ends.map_or(body.len(), |(at, _)| at)]
}

/// Rows of every table whose header begins with these cells.
fn rows(text: &str, header: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Option<Vec<String>> {
        let inner = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
        Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
    };
    let (mut found, mut wanted) = (Vec::new(), false);
    let mut before: Option<Vec<String>> = None;
    for line in text.lines() {
        let row = cells(line);
        match (&before, &row) {
            (None, Some(first)) => wanted = header.iter().zip(first).all(|(a, b)| a == b),
            (Some(_), Some(row)) if wanted && !row[0].starts_with("---") => found.push(row.clone()),
            _ => {}
        }
        before = row;
    }
    assert!(!found.is_empty(), "no table with {header:?}");
    found
}

/// What stands between backticks.
fn ticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What stands between backticks and is a name, in `text`.
fn names(text: &str) -> BTreeSet<String> {
    ticked(text).into_iter().collect()
}

// --- Architecture ------------------------------------------------------------------------------------------------

#[test]
fn every_crate_is_described() {
    let page = read("docs/ARCHITECTURE.md");
    let described: BTreeSet<String> =
        rows(&page, &["crate", "does", "refuses"]).iter().map(|row| ticked(&row[0]).remove(0)).collect();
    let edges: BTreeSet<String> =
        rows(&page, &["crate", "may depend on"]).iter().map(|row| ticked(&row[0]).remove(0)).collect();
    assert_eq!(described, edges);
}

#[test]
fn files_that_the_architecture_points_to_are_there() {
    let page = read("docs/ARCHITECTURE.md");
    for row in rows(&page, &["question", "file"]) {
        let mut folder = PathBuf::new();
        for name in ticked(&row[1]) {
            let is_whole = name.starts_with("crates/") || name.starts_with("web/");
            let path = if is_whole { PathBuf::from(&name) } else { folder.join(&name) };
            assert!(root().join(&path).exists(), "`{}`: no `{}`", row[0], path.display());
            folder = path.parent().expect("a file in a folder").to_owned();
        }
    }
    let tops = ["crates/", "web/", "services/", "suites/", "peers/", "scripts/", "fuzz/"];
    for page in ["docs/ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let paths =
            ticked(&read(page)).into_iter().filter(|name| tops.iter().any(|top| name.starts_with(top)));
        for path in paths.filter(|path| !path.contains(['*', ' ', '<'])) {
            assert!(root().join(&path).exists(), "{page}: no `{path}`");
        }
    }
}

// --- Methodology -------------------------------------------------------------------------------------------------

/// A number as documented: a share, a time in nanoseconds, or plain.
fn documented(cell: &str) -> f64 {
    if let Ok(plain) = cell.replace(',', "").parse() {
        return plain;
    }
    let share = || cell.parse::<Ratio>().map(Ratio::get).ok();
    let time = || cell.parse::<Nanoseconds>().map(|time| time.as_nanos() as f64).ok();
    share().or_else(time).unwrap_or_else(|| panic!("`{cell}` is no number"))
}

/// The value of a constant as it is written in the source: a number, or a time in nanoseconds.
fn constant(source: &str, name: &str) -> f64 {
    let start = source.find(&format!("const {name}:")).unwrap_or_else(|| panic!("no constant `{name}`"));
    let text = source[start..].split_once('=').and_then(|(_, rest)| rest.split_once(';')).expect("a value").0;
    let scales = [("from_nanos", 1.0), ("from_micros", 1e3), ("from_millis", 1e6), ("from_secs", 1e9)];
    let scale = scales.iter().find(|(word, _)| text.contains(word)).map_or(1.0, |(_, scale)| *scale);
    let number = text.trim().rsplit('(').next().unwrap_or_default().trim_end_matches(')').replace('_', "");
    scale * number.parse::<f64>().unwrap_or_else(|_| panic!("`{name}` is `{text}`"))
}

fn assert_equal(name: &str, cell: &str, value: f64) {
    let said = documented(cell);
    assert!((said - value).abs() <= 1e-9 * value.abs(), "`{name}` is {value}, documented as `{cell}`");
}

#[test]
fn documented_thresholds_are_those_of_the_code() {
    let page = read("docs/METHODOLOGY.md");
    let source = read("crates/judge/src/thresholds.rs");
    let mut told = BTreeSet::new();
    for row in rows(&page, &["constant", "value", "meaning"]) {
        let name = ticked(&row[0]).remove(0);
        assert_equal(&name, &row[1], constant(&source, &name));
        told.insert(name);
    }
    let declared = source.lines().filter_map(|line| line.strip_prefix("pub const "));
    let declared: BTreeSet<String> =
        declared.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    assert_eq!(told, declared, "left: docs/METHODOLOGY.md, right: thresholds.rs");
    for row in rows(&page, &["file", "constant", "value", "meaning"]) {
        let (file, name) = (ticked(&row[0]).remove(0), ticked(&row[1]).remove(0));
        assert_equal(&name, &row[2], constant(&read(&file), &name));
    }
}

#[test]
fn every_finding_is_documented_and_every_documented_one_exists() {
    let mut files = files("crates/judge/src/checks", ".rs");
    for other in [
        "crates/judge/src/analysis/variance_components.rs",
        "crates/judge/src/imported.rs",
        "crates/conductor/src/compare/across.rs",
        "crates/model/src/finding.rs",
    ] {
        files.push(other.to_owned());
    }
    let mut found: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let text = read(&file);
        let text = text.split("#[cfg(test)]").next().expect("a beginning").to_owned();
        // What imported rows asked for is no finding.
        let text = text.replace("const OPERATION: &str", "const OPERATION");
        // In a field, in a constant, or after the impact.
        let literals = text.split("name: \"").skip(1).chain(text.split("&str = \"").skip(1));
        found.extend(literals.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        let after_impact = text.split("Impact::").skip(1).filter_map(|rest| {
            let (_, rest) = rest.split_once(',')?;
            rest.trim_start().strip_prefix('"')?.split_once('"')
        });
        found.extend(after_impact.map(|(name, _)| name.to_owned()));
    }
    let rows = rows(&read("docs/FINDINGS.md"), &["finding", "means", "effect", "what to do"]);
    let told: BTreeSet<String> = rows.iter().map(|row| ticked(&row[0]).remove(0)).collect();
    assert!(told.is_subset(&found), "no such finding: {:?}", told.difference(&found));
    assert!(found.is_subset(&told), "not documented: {:?}", found.difference(&told));
    for row in rows {
        let name = ticked(&row[0]).remove(0);
        let title = weighbridge_model::finding::title(&name);
        let named = if title == name { format!("`{name}`") } else { format!("`{name}`<br>*{title}*") };
        assert_eq!(row[0], named, "what people read stands below the name");
        assert!(row.iter().all(|cell| !cell.is_empty()), "a finding without meaning or remedy: {row:?}");
    }
}

#[test]
fn tests_that_the_methodology_names_exist() {
    let page = read("docs/METHODOLOGY.md");
    let (mut paths, mut text) = (Vec::new(), String::new());
    sources(&root().join("crates"), &mut paths);
    for path in paths {
        text.push_str(&fs::read_to_string(path).expect("a source file"));
    }
    let table = rows(&page, &["no.", "defect", "guard", "tests"]);
    assert_eq!(table.len(), 17, "each of the 17 known defects has its guard");
    let in_table = table.iter().flat_map(|row| ticked(&row[3]));
    // Elsewhere a test is named by a whole sentence in snake case.
    let elsewhere = ticked(&prose(&page)).into_iter().filter(|name| name.matches('_').count() > 3);
    for name in in_table.chain(elsewhere) {
        assert!(text.contains(&format!("fn {name}(")), "there is no test `{name}`");
    }
}

// --- Experiment --------------------------------------------------------------------------------------------------

/// A fragment made whole by what it leaves out.
fn whole(text: &str) -> String {
    let has = |part: &str| text.lines().any(|line| line.starts_with(part));
    let mut file = text.to_owned();
    if !has("[workload]") {
        file.push_str("\n[workload]\nname = \"pingpong\"\n");
    }
    if !has("[[variant]]") && !has("[matrix]") {
        file.push_str("\n[[variant]]\nservice = \"go\"\n");
    }
    file
}

#[test]
fn every_experiment_in_the_documents_is_one() {
    let mut count = 0;
    for page in pages() {
        for block in blocks(&read(&page)).iter().filter(|block| block.info == "toml") {
            let text = whole(&block.text);
            let parsed = Experiment::parse(&format!("{page}:{}", block.line), &text);
            let experiment = parsed.unwrap_or_else(|error| panic!("{error}\n{text}"));
            let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
            assert_eq!(again, experiment, "{page}:{}", block.line);
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
    let mut suites = files("suites", ".toml");
    suites.extend(files("suites", "").iter().flat_map(|folder| files(folder, ".toml")));
    assert!(suites.len() > 10, "{suites:?}");
    for suite in suites {
        Experiment::parse(&suite, &read(&suite)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn wrong_experiments_are_refused_in_the_documented_words() {
    let blocks = blocks(&read("docs/EXPERIMENT.md"));
    let wrong: Vec<_> = blocks.windows(2).filter(|pair| pair[0].info == "toml wrong").collect();
    assert!(wrong.len() >= 3);
    for pair in wrong {
        let error = Experiment::parse("experiment.toml", &whole(&pair[0].text)).expect_err("a wrong file");
        assert_eq!(error.to_string(), pair[1].text.trim_end());
    }
}

#[test]
fn every_word_that_is_read_is_documented() {
    let folder = "crates/model/src/experiment";
    let mut readers = files(&format!("{folder}/workload"), ".rs");
    readers.extend(["cache/mod", "commands/file"].map(|name| format!("{folder}/workload/{name}.rs")));
    readers.extend(["read", "load", "spell", "program"].map(|name| format!("{folder}/{name}.rs")));
    let source = readers.iter().map(|file| {
        let text = read(file);
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("#[");
        let text = text.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        // What stands before the readers are attributes of types.
        text[text.find("type Read<T>").unwrap_or(0)..].to_owned()
    });
    let source: Vec<String> = source.collect();
    let page = read("docs/EXPERIMENT.md");
    let is_word =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    // File by file: an escaped quote shifts what stands between quotes behind it.
    let words = source.iter().flat_map(|text| text.split('"').skip(1).step_by(2));
    let words: BTreeSet<&str> = words.filter(is_word).collect();
    assert!(words.contains("keep_alive") && words.contains("poisson"), "{words:?}");
    for word in words {
        let spellings =
            [format!("`{word}`"), format!("\"{word}\""), format!(".{word}`"), format!("`{word}.")];
        assert!(spellings.iter().any(|spelling| page.contains(spelling)), "`{word}` is not documented");
    }
}

/// What stands in backticks as the default of a key, in a section of the page.
fn defaults(heading: &str, key: &str) -> Vec<String> {
    let page = read("docs/EXPERIMENT.md");
    let rows = rows(section(&page, heading), &["key", "type", "default", "meaning"]);
    let row = rows.into_iter().find(|row| row[0] == format!("`{key}`"));
    ticked(&row.unwrap_or_else(|| panic!("no row `{key}` below `{heading}`"))[2])
}

fn default(heading: &str, key: &str) -> String {
    defaults(heading, key).remove(0)
}

#[test]
fn documented_defaults_of_the_load_are_those_of_the_code() {
    let load = |load: &str| {
        let text = format!("[load]\n{load}\n");
        Experiment::parse("minimal", &whole(&text)).expect("a minimal experiment").points[0].load.clone()
    };
    let (closed, open) = (load(""), load("model = \"open\"\nrate = 100"));
    assert_eq!((default("## Load", "model").as_str(), &closed.model), ("closed", &LoadModel::Closed));
    assert!(matches!(open.model.flow(), Some(Flow::Law { arrivals: Arrivals::Poisson, .. })));
    assert_eq!(default("## Load", "arrivals"), "poisson");
    let connections = [closed.connections, open.connections].map(|count| count.to_string());
    assert_eq!(defaults("## Load", "connections"), connections);
    assert_eq!(default("## Load", "in_flight"), closed.in_flight.to_string());
    assert_eq!(default("## Load", "timeout").parse(), Ok(closed.timeout));
    assert_eq!(default("## Load", "warmup").parse(), Ok(closed.warmup));
    assert_eq!((closed.think, closed.churn), (Think::None, None));
    assert_eq!(default("## Load", "keep_alive"), closed.keep_alive().to_string());
}

#[test]
fn documented_defaults_of_the_plan_are_those_of_the_code() {
    let experiment = Experiment::parse("minimal", &whole("")).expect("a minimal experiment");
    let plan = &experiment.plan;
    assert_eq!(default("## Top level", "title"), experiment.title);
    assert_eq!(default("## Plan", "headline").parse(), Ok(plan.headline));
    assert_eq!(default("## Plan", "blocks.min"), plan.blocks_min.to_string());
    assert_eq!(default("## Plan", "blocks.max"), plan.blocks_max.to_string());
    assert_eq!(default("## Plan", "budget").parse(), Ok(plan.budget));
    assert_eq!(default("## Plan", "margin").parse(), Ok(plan.margin));
    assert_eq!(percentage_points(&default("## Plan", "share_margin")), Some(plan.share_margin));
    assert_eq!(default("## Plan", "seed"), plan.seed.to_string());
    assert_eq!(default("## Plan", "together"), plan.together.to_string());
    assert_eq!(default("## Plan", "freeze"), plan.freeze.to_string());
    assert_eq!((plan.until, plan.window), (None, None));
    let variant = &experiment.variants[0];
    assert_eq!(default("## Variant", "protocol"), variant.protocol.name());
    let WorkloadSpec::Pingpong(spec) = &experiment.points[0].workload else { panic!("pingpong") };
    let Sizes::List(sizes) = &spec.sizes else { panic!("a list") };
    assert_eq!(default("### pingpong", "size").parse(), Ok(sizes[0]));
}

#[test]
fn every_quantity_is_documented() {
    let page = read("docs/EXPERIMENT.md");
    let section = section(&page, "## Plan");
    for quantity in Quantity::ALL {
        let label = quantity.label();
        let spelled = section.contains(&format!("`{label}`"));
        assert!(spelled || label.starts_with("service"), "`{label}` is not documented");
    }
}

// --- Record ------------------------------------------------------------------------------------------------------

#[test]
fn every_column_and_field_of_the_record_is_documented() {
    let page = read("docs/RECORD.md");
    for table in ["windows.csv", "operations.csv", "resources.csv", "stamps.csv", "counts.csv", "samples.csv"]
    {
        let text = read(&format!("crates/store/testdata/{table}"));
        let told = names(section(&page, &format!("## {table}")));
        for column in text.lines().next().expect("a header").split(',') {
            assert!(told.contains(column), "`{column}` of `{table}` is not documented");
        }
    }
    for (file, heading) in [
        ("crates/store/testdata/run.json", "## run.json"),
        ("crates/store/testdata/trial.json", "## trial.json"),
        ("crates/report/testdata/load.json", "## JSON of weigh load"),
        ("crates/report/testdata/valid.json", "## summary.json"),
        ("crates/report/testdata/reliability.json", "## JSON of weigh calibrate"),
    ] {
        let value: serde_json::Value = serde_json::from_str(&read(file)).expect("JSON");
        let told = names(section(&page, heading));
        for key in value.as_object().expect("an object").keys() {
            assert!(told.contains(key), "`{key}` of `{file}` is not documented");
        }
        for key in value["costs"][0].as_object().into_iter().flat_map(|cost| cost.keys()) {
            assert!(told.contains(key), "`{key}` of a cost is not documented");
        }
    }
}

#[test]
fn every_event_is_documented() {
    let source = read("crates/model/src/event.rs");
    let body = source.split_once("pub enum Event {").expect("the enumeration").1;
    let variants = body.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?.strip_suffix(" {")?;
        name.chars().next()?.is_ascii_uppercase().then_some(name)
    });
    let kebab = |name: &str| -> String {
        let dashed = name.chars().flat_map(|c| {
            let dash = c.is_ascii_uppercase().then_some('-');
            dash.into_iter().chain([c.to_ascii_lowercase()])
        });
        dashed.skip(1).collect()
    };
    let there: BTreeSet<String> = variants.map(kebab).collect();
    let told = rows(&read("docs/RECORD.md"), &["event", "fields"]);
    let told: BTreeSet<String> = told.iter().map(|row| ticked(&row[0]).remove(0)).collect();
    assert_eq!(told, there, "left: docs/RECORD.md, right: event.rs");
}

#[test]
fn the_published_schemas_are_those_of_the_types() {
    for schema in Schema::ALL {
        let (name, text) = (format!("docs/schema/{schema}.json"), schema.text());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(root().join(&name), &text).expect("the schema can be written");
        }
        assert!(read(&name) == text, "`{name}` is stale; set UPDATE_GOLDEN=1 to write it");
    }
    assert_eq!(files("docs/schema", ".json").len(), Schema::ALL.len());
}

// --- Commands and links ------------------------------------------------------------------------------------------

/// A command line as words: quotes are obeyed, a comment ends it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => (quote, word) = (Some(c), Some(word.unwrap_or_default())),
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Commands of `weigh` in the fenced blocks of a page, without the program's name.
fn commands(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for block in blocks(page).iter().filter(|block| ["sh", "console"].contains(&block.info.as_str())) {
        let joined = block.text.replace("\\\n", " ");
        for line in joined.lines() {
            let line = match block.info.as_str() {
                "console" => line.strip_prefix("$ ").unwrap_or_default(),
                _ => line,
            };
            let words = words(line);
            let one = |command: &[String]| {
                let at = command.iter().position(|word| word == "weigh" || word.ends_with("/weigh"))?;
                Some((line.to_owned(), command[at + 1..].to_vec()))
            };
            found.extend(
                words.split(|word| ["|", "&&", "||", ";", "&"].contains(&word.as_str())).filter_map(one),
            );
        }
    }
    found
}

#[test]
fn every_documented_command_line_is_understood() {
    let mut count = 0;
    for page in pages() {
        for (line, mut words) in commands(&read(&page)) {
            words.truncate(words.iter().position(|word| word.starts_with('>')).unwrap_or(words.len()));
            let typed = std::iter::once("weigh".to_owned()).chain(words);
            match args::Arguments::try_parse_from(typed) {
                Ok(_) => {}
                Err(error) if !error.use_stderr() => {} // `--help`, `--version`
                Err(error) => panic!("{page}: `{line}`: {error}"),
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn a_heading_of_the_help_holds_its_own_flags_alone() {
    let command = args::Arguments::command();
    let load = command.find_subcommand("load").expect("the verb");
    let under = |heading: &str| -> Vec<&str> {
        let headed = load.get_arguments().filter(|argument| argument.get_help_heading() == Some(heading));
        headed.map(|argument| argument.get_id().as_str()).collect()
    };
    let grpc = ["call", "proto", "include", "reflection", "data", "alternating", "metadata", "deadline"];
    assert_eq!(under("gRPC"), grpc);
    let tls = ["insecure", "cacert", "cert", "key", "server_name", "no_resumption", "tls_min", "tls_max"];
    assert_eq!(under("TLS"), tls);
}

#[test]
fn every_flag_is_documented() {
    let pages: String = pages().iter().map(|page| read(page)).collect();
    let is_told = |flag: &str| {
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
        pages.match_indices(flag).any(|(at, _)| ends(&pages[at + flag.len()..]))
    };
    let command = args::Arguments::command();
    let mut untold = BTreeSet::new();
    let mut open: Vec<&clap::Command> =
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).collect();
    while let Some(verb) = open.pop() {
        let flags = verb.get_arguments().filter(|argument| !argument.is_hide_set());
        let flags = flags.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
        untold.extend(flags.filter(|flag| !is_told(flag)).map(|flag| format!("{} {flag}", verb.get_name())));
        open.extend(verb.get_subcommands());
    }
    assert!(untold.is_empty(), "no page tells of: {untold:?}");
}

#[test]
fn every_scheme_is_told() {
    let command = args::Arguments::command();
    let load = command.find_subcommand("load").expect("the verb");
    let help = load.get_arguments().find(|argument| argument.get_id() == "urls").expect("the argument");
    let help = help.get_long_help().expect("it says something").to_string();
    let page = section(&read("docs/CLI.md"), "## One URL, or several").to_owned();
    for scheme in ticked(&typed_schemes(|_| true)) {
        assert!(help.contains(&scheme), "`weigh load --help` says nothing of `{scheme}`: {help}");
        assert!(page.contains(&format!("`{scheme}")), "CLI.md says nothing of `{scheme}`");
    }
    let row = rows(&read("docs/EXPERIMENT.md"), &["key"]).into_iter().find(|row| row[0] == "`url`");
    let row = row.expect("the key of a variant").join(" ");
    for scheme in Scheme::ALL {
        assert!(row.contains(&format!("`{}://", scheme.name())), "EXPERIMENT.md, `url`: {scheme:?}");
    }
}

/// The first page is two screens, and what it tells to type is understood.
#[test]
fn the_readme_is_short_and_its_commands_and_suites_exist() {
    let page = read("README.md");
    assert!(page.lines().count() <= 100, "{}", page.lines().count());
    let prose_lines = page.lines().filter(|line| !line.starts_with('|'));
    let long: Vec<&str> = prose_lines.filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "longer than 120 columns: {long:?}");
    let commands = rows(&page, &["question", "command"]);
    let commands = commands.iter().flat_map(|row| ticked(&row[1])).filter(|code| code.starts_with("weigh "));
    let mut count = 0;
    for line in commands {
        let typed = shell_words::split(&line).expect("words of a shell");
        if let Err(error) = args::Arguments::try_parse_from(typed) {
            panic!("`{line}`: {error}");
        }
        count += 1;
    }
    assert!(count > 6, "{count}");
    for row in rows(&page, &["question", "`weigh run …`"]) {
        for suite in ticked(&row[1]) {
            let path = root().join("suites").join(&suite);
            assert!(path.is_dir() || path.with_extension("toml").is_file(), "there is no suite `{suite}`");
        }
    }
}

#[test]
fn every_verb_that_is_named_exists() {
    let command = args::Arguments::command();
    let verbs: BTreeSet<&str> =
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name()).collect();
    let told = rows(&read("docs/CLI.md"), &["verb", "does"]);
    let told: Vec<_> = told.iter().map(|row| ticked(&row[0]).remove(0)).collect();
    assert_eq!(told.iter().map(String::as_str).collect::<BTreeSet<_>>(), verbs);
    for page in pages() {
        for code in ticked(&prose(&read(&page))) {
            let mut words = code.split_whitespace();
            if words.next() == Some("weigh")
                && let Some(verb) = words.next()
            {
                let free = verb.starts_with(['-', '<']) || verb.chars().any(char::is_uppercase);
                assert!(free || verbs.contains(verb), "{page}: `{code}`: there is no verb `{verb}`");
            }
        }
    }
}

/// Runs the binary at the root with `input` on stdin; its stdout.
fn weigh(arguments: &[String], input: &str) -> String {
    let mut child = Command::new(crate::support::WEIGH)
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A command that reads no input may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the binary ends");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Examples in `docs/` that measure and write nothing are carried out; `-` is the experiment that stands before.
#[test]
fn documented_output_is_what_the_command_says() {
    let mut count = 0;
    for page in files("docs", ".md") {
        let mut before = String::new();
        for block in blocks(&read(&page)) {
            if block.info == "toml" {
                before = block.text;
            } else if block.info == "console" {
                let (line, expected) = block.text.split_once('\n').expect("a command");
                let arguments = words(line).split_off(2);
                if ["plan", "--version"].contains(&arguments[0].as_str()) {
                    let said = weigh(&arguments, &before);
                    assert_eq!(said.trim_end(), expected.trim_end(), "{page}: `{line}`");
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 1);
}

#[test]
fn make_has_the_targets_that_are_named() {
    let Ok(makefile) = fs::read_to_string(root().join("Makefile")) else { return };
    for page in pages() {
        for block in blocks(&read(&page)).iter().filter(|block| block.info == "sh") {
            for line in
                block.text.lines().map(words).filter(|words| words.first().is_some_and(|w| w == "make"))
            {
                let target = format!("{}:", line.get(1).map_or("all", String::as_str));
                assert!(
                    makefile.lines().any(|rule| rule.starts_with(&target)),
                    "{page}: no target `{target}`"
                );
            }
        }
    }
}

/// The anchor of a heading, as code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Targets of the links in a page, code left out.
fn links(page: &str) -> Vec<String> {
    let plain: String = prose(page).split('`').step_by(2).collect();
    let targets = plain.split("](").skip(1);
    targets.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

#[test]
fn every_link_within_the_repository_leads_somewhere() {
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        let folder = root().join(&page).parent().expect("a page lies in a folder").to_owned();
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (path, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { root().join(&page) } else { folder.join(path) };
            assert!(target.exists(), "{page}: `{link}` leads nowhere");
            if !place.is_empty() {
                let there = anchors(&fs::read_to_string(&target).expect("a page"));
                assert!(there.contains(place), "{page}: `{link}`: there is no such heading");
            }
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn the_glossary_has_one_entry_for_each_word() {
    let page = read("docs/GLOSSARY.md");
    let mut seen = BTreeSet::new();
    for row in rows(&page, &["word", "meaning"]) {
        for word in row[0].split("**").skip(1).step_by(2) {
            assert!(seen.insert(word.to_owned()), "`{word}` has two entries");
        }
    }
    assert!(seen.len() > 70, "{}", seen.len());
}
