//! The rules of the house that no linter knows, each a test: who may depend on whom, how long things may be, where a
//! clock, a print or `unsafe` may stand, and what no tracked file may hold.
//!
//! A failure lists every place. An exception is one line in an allowlist below, with its reason.

mod modules;
mod rust;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rust::{code_of, functions, is_word, parameters, places, without_tests};

/// Longest function in lines, its signature and closing brace included.
const FUNCTION_LINES: usize = 70;
/// Longest file in lines, tests apart.
const FILE_LINES: usize = 800;
/// Longest source file of a service.
const SERVICE_LINES: usize = 300;

/// The only file that prints.
const PRINTER: &str = "crates/cli/src/printer.rs";

/// Where the standard library's clocks are read. Measured times come from a `sys.rs` or are arguments.
const CLOCKS: [(&str, &str); 3] = [
    ("crates/cli/src/live/painter.rs", "how often the view is drawn"),
    ("crates/conductor/src/clock.rs", "when a run began, in UTC, for its name"),
    ("crates/conformance/src/", "deadlines and rough times of black-box checks"),
];

/// Where the process may end at once.
const EXITS: [(&str, &str); 1] =
    [("crates/cli/src/verb/probe.rs", "the contract's exit code of a port in use")];

/// Where `unsafe` may stand besides files named `sys.rs`.
const UNSAFE: [(&str, &str); 5] = [
    ("crates/cli/src/signals.rs", "signal handlers"),
    ("crates/load/tests/allocation.rs", "a counting allocator"),
    ("crates/load/tests/memory.rs", "a counting allocator"),
    ("crates/probe/tests/allocation.rs", "a counting allocator"),
    ("crates/workload/tests/allocation.rs", "a counting allocator"),
];

/// Lock files, what stands before an origin in them, and the only origin allowed, in halves (see
/// [`no_file_names_the_host_of_a_registry`]).
const LOCKED: [(&str, &str, [&str; 2]); 2] = [
    ("Cargo.lock", "source = \"", ["registry+https://github.com/rust-lang/", "crates.io-index\""]),
    ("package-lock.json", "\"resolved\": \"", ["https://registry.np", "mjs.org/"]),
];

/// Code of the product: not tests, benches or examples, which may time and print.
fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

fn is_allowed(path: &str, allowed: &[(&str, &str)]) -> bool {
    allowed.iter().any(|(place, _)| path == *place || (place.ends_with('/') && path.starts_with(place)))
}

// --- Files -----------------------------------------------------------------------------------------------------

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file that is tracked or about to be, from the root; of an unpacked archive, every file that is not built.
fn files() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let mut files = match git {
        Ok(listed) if listed.status.success() => {
            let text = String::from_utf8(listed.stdout).expect("plain names");
            text.split_terminator('\0').map(str::to_owned).collect()
        }
        _ => walk(&root(), ""),
    };
    // A file that is deleted and still tracked is nobody's fault here.
    files.retain(|file| root().join(file).is_file());
    files.sort_unstable();
    assert!(
        files.iter().any(|file| file == "crates/stories/tests/stories/essential/tidy/mod.rs"),
        "the list of files is wrong: {files:?}"
    );
    files
}

fn walk(folder: &Path, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a plain name");
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() && !["target", "runs", ".git", "bin", "node_modules"].contains(&&*name) {
            found.extend(walk(&entry.path(), &format!("{path}/")));
        } else if kind.is_file() {
            found.push(path);
        }
    }
    found
}

/// The files that `wanted` picks, with their text. Files that are no text, and what fuzzers made, are left out.
fn texts(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = (String, String)> {
    let ours = |file: &String| !file.starts_with("fuzz/corpus/") && wanted(file);
    let picked: Vec<_> = files().into_iter().filter(ours).collect();
    assert!(!picked.is_empty(), "the rule looks at no file");
    picked.into_iter().filter_map(|file| {
        let text = String::from_utf8(fs::read(root().join(&file)).expect("a readable file")).ok()?;
        Some((file, text))
    })
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

#[track_caller]
fn assert_none(rule: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{rule}\n  {}", found.join("\n  "));
}

// --- The rules ---------------------------------------------------------------------------------------------------

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).expect("docs/ARCHITECTURE.md");
    let allowed = edges_in(&page);
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    for (file, text) in texts(|file| file.starts_with("crates/") && file.ends_with("/Cargo.toml")) {
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        let name = short(manifest["package"]["name"].as_str().expect("a name"));
        let Some(allowed) = allowed.get(name) else {
            writeln!(wrong, "  {file}: `{name}` is not in the table").expect("memory");
            continue;
        };
        seen.insert(name.to_owned());
        let found = ours(&manifest, "dependencies");
        if found != *allowed {
            writeln!(wrong, "  {file}: depends on {found:?}, the table says {allowed:?}").expect("memory");
        }
        let more = ["dev-dependencies", "build-dependencies"].map(|key| ours(&manifest, key));
        for extra in more.iter().flatten().filter(|extra| !allowed.contains(*extra)) {
            writeln!(wrong, "  {file}: its tests or build depend on `{extra}`").expect("memory");
        }
    }
    for name in allowed.keys().filter(|name| !seen.contains(*name)) {
        writeln!(wrong, "  docs/ARCHITECTURE.md: there is no crate `{name}`").expect("memory");
    }
    assert!(wrong.is_empty(), "docs/ARCHITECTURE.md says who may depend on whom:\n{wrong}");
}

/// The table `| crate | may depend on |`, names in backticks.
fn edges_in(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| crate | may depend on |")).skip(2);
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    let edges: BTreeMap<_, _> = rows
        .map_while(|line| line.strip_prefix('|')?.split_once('|'))
        .filter_map(|(name, edges)| Some((names(name).pop_first()?, names(edges))))
        .collect();
    assert!(!edges.is_empty(), "docs/ARCHITECTURE.md has no table `| crate | may depend on |`");
    edges
}

fn short(name: &str) -> &str {
    name.strip_prefix("weighbridge-").unwrap_or(name)
}

/// The workspace's crates in a section of a manifest.
fn ours(manifest: &toml::Table, section: &str) -> BTreeSet<String> {
    let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else { return BTreeSet::new() };
    table.keys().filter(|name| name.starts_with("weighbridge")).map(|name| short(name).to_owned()).collect()
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let silent = texts(is_rust).filter(|(_, text)| !text.starts_with("//!")).map(|(file, _)| file);
    assert_none(
        "a file begins with a `//!` paragraph: what it is for, what it refuses to do",
        silent.collect(),
    );
}

#[test]
fn functions_end_within_70_lines_and_files_within_800() {
    let mut long = Vec::new();
    for (file, text) in texts(is_rust) {
        let code = code_of(&text);
        let code = if file.contains("/tests") { &code } else { without_tests(&code) };
        let lines = code.matches('\n').count();
        if lines > FILE_LINES && !file.contains("/tests") {
            long.push(format!("{file}: {lines} lines without tests (at most {FILE_LINES})"));
        }
        let functions = functions(code).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES);
        long.extend(
            functions.map(|(name, lines)| {
                format!("{file}: `{name}` has {lines} lines (at most {FUNCTION_LINES})")
            }),
        );
    }
    assert_none("divide it where its parts have names", long);
}

/// Positions in a tuple have no names: whoever reads a call must look up which value is which.
#[test]
fn no_function_takes_a_tuple() {
    let mut found = Vec::new();
    for (file, text) in texts(|file| is_rust(file) && is_product(file) && !file.ends_with("/tests.rs")) {
        let code = code_of(&text);
        for (name, parameters) in parameters(without_tests(&code)) {
            let tuples = parameters.into_iter().filter(|parameter| is_tuple(parameter));
            found.extend(tuples.map(|tuple| format!("{file}: `{name}` takes `{tuple}`")));
        }
    }
    assert_none("take the values one by one, or name a struct", found);
}

/// Whether a parameter has a tuple as its pattern or as its type.
fn is_tuple(parameter: &str) -> bool {
    let kind = parameter.split_once(':').map_or("", |(_, kind)| kind.trim_start());
    let kind = kind.trim_start_matches('&').trim_start();
    let lifetime = kind.strip_prefix('\'').map_or(kind, |rest| rest.trim_start_matches(is_word).trim_start());
    let kind = lifetime.strip_prefix("mut ").unwrap_or(lifetime);
    parameter.starts_with('(') || (kind.starts_with('(') && kind != "()" && !kind.starts_with("(dyn "))
}

#[test]
fn tuples_are_told_from_other_parameters() {
    for tuple in ["(a, b): (u8, u8)", "a: (u8, u8)", "a: &'a mut (u8, u8)"] {
        assert!(is_tuple(tuple), "{tuple}");
    }
    for other in
        ["&mut self", "a: u8", "a: &[(u8, u8)]", "a: impl Fn((u8, u8))", "a: &(dyn Fn(u8) -> u8 + Sync)"]
    {
        assert!(!is_tuple(other), "{other}");
    }
}

#[test]
fn sources_of_services_end_within_300_lines() {
    const SOURCES: [&str; 14] =
        ["c", "cc", "cpp", "dart", "go", "h", "hpp", "java", "js", "mjs", "py", "rb", "rs", "scala"];
    let is_source = |file: &str| {
        let end = file.rsplit('.').next().unwrap_or_default();
        file.starts_with("services/") && SOURCES.contains(&end)
    };
    let written = texts(is_source).filter(|(_, text)| !is_generated(text));
    let lines = written.map(|(file, text)| (file, text.lines().count()));
    let long = lines.filter(|(_, lines)| *lines > SERVICE_LINES);
    assert_none(
        "a service is one file of at most 300 lines for a workload, and one for its gRPC",
        long.map(|(file, lines)| format!("{file}: {lines} lines")).collect(),
    );
}

/// Whether the file's opening comment says what generators of several lands write, Go's among them.
fn is_generated(text: &str) -> bool {
    let opening =
        text.lines().take_while(|line| line.is_empty() || line.starts_with("//") || line.starts_with('#'));
    let mut words = opening.map(|line| line.trim_start_matches(['/', '#', ' ']));
    words.any(|line| line.starts_with("Code generated ") && line.ends_with(" DO NOT EDIT."))
}

#[test]
fn a_generated_file_says_so_in_its_opening_comment() {
    assert!(is_generated(
        "// An interface.\n\n// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n"
    ));
    assert!(!is_generated("package a\n// Code generated by protoc-gen-go. DO NOT EDIT.\n"));
    assert!(!is_generated("// Code generated by hand.\n"));
}

#[test]
fn only_the_printer_prints() {
    let words = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    let product = texts(|file| is_rust(file) && is_product(file) && file != PRINTER);
    let found = product.flat_map(|(file, text)| places(&file, without_tests(&code_of(&text)), &words));
    assert_none("hand it to the printer, or return it", found.collect());
}

#[test]
fn clocks_are_arguments() {
    let product = texts(|file| is_rust(file) && is_product(file) && !is_allowed(file, &CLOCKS));
    let words = ["Instant::now", "SystemTime::now", "UNIX_EPOCH.elapsed"];
    let found = product.flat_map(|(file, text)| places(&file, without_tests(&code_of(&text)), &words));
    assert_none("take the time as an argument, or the crate's own clock from its `sys.rs`", found.collect());
}

#[test]
fn a_process_ends_where_main_returns() {
    let product = texts(|file| is_rust(file) && is_product(file) && !is_allowed(file, &EXITS));
    let found =
        product.flat_map(|(file, text)| places(&file, &code_of(&text), &["process::exit", "exit(0)"]));
    assert_none("return an error or an exit code instead", found.collect());
}

#[test]
fn unsafe_stands_in_sys_and_few_other_places() {
    let outside = |file: &str| {
        is_rust(file)
            && file.starts_with("crates/")
            && !file.ends_with("/sys.rs")
            && !is_allowed(file, &UNSAFE)
    };
    let found = texts(outside).flat_map(|(file, text)| places(&file, &code_of(&text), &["unsafe"]));
    assert_none("wrap it in the crate's `sys.rs`", found.collect());
}

#[test]
fn every_exception_is_still_needed() {
    let words = [
        (&CLOCKS[..], &["Instant::now", "SystemTime::now"][..]),
        (&EXITS[..], &["process::exit"][..]),
        (&UNSAFE[..], &["unsafe"][..]),
    ];
    let mut idle = Vec::new();
    for (allowed, words) in words {
        for (place, reason) in allowed {
            let used = texts(|file| is_rust(file) && is_allowed(file, &[(place, reason)]))
                .any(|(file, text)| !places(&file, &code_of(&text), words).is_empty());
            if !used {
                idle.push(format!("{place} ({reason})"));
            }
        }
    }
    assert_none("take it off the allowlist", idle);
}

#[test]
fn no_file_holds_a_promise_or_a_path_of_the_makers_machine() {
    // In halves, so that this file may be looked at too.
    let words = [["TO", "DO"], ["FIX", "ME"], ["X", "XX"]].map(|halves| halves.concat());
    let folder = ["/wo", "rk/"].concat();
    let mut found = Vec::new();
    for (file, text) in texts(|_| true) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        found.extend(places(&file, &text, &words));
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| line.contains(&folder)) {
            // Part of a longer path (`a/work/b`) is somebody else's.
            let own = line.match_indices(&folder).any(|(at, _)| !line[..at].ends_with(is_word));
            if own {
                found.push(format!("{file}:{number}: `{folder}`"));
            }
        }
    }
    assert_none("finish it or open an issue; name no folder of one machine", found);
}

/// Clients know their registries; a host written into a script, a page or a setting binds everybody to it.
#[test]
fn no_file_names_the_host_of_a_registry() {
    let hosts = [
        ["index.cr", "ates.io"],
        ["static.cr", "ates.io"],
        ["proxy.go", "lang.org"],
        ["registry.np", "mjs.org"],
        ["pypi", ".org"],
        ["python", "hosted.org"],
        ["repo.maven.ap", "ache.org"],
        ["repo1.ma", "ven.org"],
    ]
    .map(|halves| halves.concat());
    let mut found = Vec::new();
    for (file, text) in texts(|file| !LOCKED.iter().any(|(name, ..)| file.ends_with(name))) {
        for (line, number) in text.lines().zip(1..) {
            let named = hosts.iter().filter(|host| line.contains(*host));
            found.extend(named.map(|host| format!("{file}:{number}: `{host}`")));
        }
    }
    assert_none("leave it to the client's own settings", found);
}

/// Where lock files may say that packages come from. A mirror written into one would bind everybody to it.
#[test]
fn packages_are_locked_to_the_public_registries() {
    let mut found = Vec::new();
    for (file, text) in texts(|file| LOCKED.iter().any(|(name, ..)| file.ends_with(name))) {
        for (_, key, origin) in LOCKED.iter().filter(|(name, ..)| file.ends_with(name)) {
            let origin = origin.concat();
            let foreign = |line: &str| line.split_once(key).is_some_and(|(_, at)| !at.starts_with(&origin));
            let lines = text.lines().zip(1..).filter(|(line, _)| foreign(line));
            found.extend(lines.map(|(line, number)| format!("{file}:{number}: {}", line.trim())));
        }
    }
    assert_none("lock it anew against the public registry", found);
}

#[test]
fn licences_of_dependencies_permit_ours() {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a graph");
    let used: BTreeSet<_> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(used.len() > 10 && packages.len() >= used.len());
    let foreign =
        packages.iter().filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id)));
    let foreign = foreign.filter(|package| !package["license"].as_str().is_some_and(is_permissive));
    assert_none(
        "look at what the licence asks for, and extend the list or use another crate",
        foreign.map(|package| format!("{}: {}", package["name"], package["license"])).collect(),
    );
}

/// Whether every part joined by `AND` offers a licence that asks for no more than its text and name.
fn is_permissive(expression: &str) -> bool {
    const PERMISSIVE: [&str; 10] = [
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "MIT",
        // It asks for nothing at all.
        "MIT-0",
        "Unicode-3.0",
        "Unlicense",
        "Zlib",
    ];
    let offers = |part: &str| {
        let choices = part.split(" OR ").flat_map(|choice| choice.split('/'));
        choices.map(|choice| choice.trim_matches([' ', '(', ')'])).any(|choice| PERMISSIVE.contains(&choice))
    };
    expression.split(" AND ").all(offers)
}

#[test]
fn lines_of_markdown_end_where_their_text_ends() {
    let mut found = Vec::new();
    for (file, text) in texts(|file| file.ends_with(".md")) {
        let ragged = text.lines().zip(1..).filter(|(line, _)| line.ends_with([' ', '\t', '\r']));
        found.extend(ragged.map(|(_, number)| format!("{file}:{number}")));
        if !text.ends_with('\n') || text.ends_with("\n\n") {
            found.push(format!("{file}: one line break at the end"));
        }
    }
    assert_none("remove blanks at the ends of lines", found);
}

/// `scripts/test` runs programs of tests by name, so that each runs where it may.
#[test]
fn every_program_of_tests_is_run() {
    let script = fs::read_to_string(root().join("scripts/test")).expect("a script");
    let words: BTreeSet<&str> = script.split_whitespace().collect();
    let name = |path: &str| -> Option<String> {
        let (_, inner) = path.strip_prefix("crates/")?.split_once("/tests/")?;
        let program = inner.strip_suffix("/main.rs").or_else(|| inner.strip_suffix(".rs"))?;
        (!program.contains('/')).then(|| program.to_owned())
    };
    let programs: BTreeSet<String> = files().iter().filter_map(|path| name(path)).collect();
    assert!(programs.len() > 10, "{programs:?}");
    let left_out = programs.into_iter().filter(|program| !words.contains(program.as_str()));
    assert_none("scripts/test runs every program of tests by its name", left_out.collect());
}

/// What CONTRIBUTING.md shows by example: a new workload, quantity, check and framing, and how many files each takes. Where
/// one does not apply, the message names the patch.
#[test]
fn the_additions_still_apply() {
    let done = Command::new(root().join("scripts/additions")).arg("--only-apply").output().expect("python3");
    let [out, err] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(done.status.success(), "{out}{err}");
}

#[test]
fn shell_scripts_stop_at_the_first_error() {
    let is_shell = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        first.starts_with("#!") && first.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "dash"))
    };
    let lax =
        texts(|_| true).filter(|(file, text)| (file.ends_with(".sh") || is_shell(text)) && !sets_eu(text));
    assert_none("the first command of a script is `set -eu`", lax.map(|(file, _)| file).collect());
}

fn sets_eu(script: &str) -> bool {
    let commands = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    commands.take(1).any(|line| line.starts_with("set -eu"))
}

#[test]
fn licences_are_read_as_expressions() {
    for (expression, permissive) in [
        ("MIT", true),
        ("Unlicense/MIT", true),
        ("GPL-3.0 OR Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0-only", false),
        ("MIT AND GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_permissive(expression), permissive, "{expression}");
    }
}
