//! How the modules at the top of a crate may use each other: without a circle; and where a type's name may stand.

use std::collections::{BTreeMap, BTreeSet};

use super::rust::{code_of, is_word, without_tests};
use super::{assert_none, is_product, is_rust, texts};

/// Which top-level modules of a crate each of them uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_at_the_top_of_a_crate_import_each_other_in_one_direction() {
    let mut sources = BTreeMap::<String, Vec<(String, String)>>::new();
    for (file, text) in texts(|file| is_rust(file) && is_product(file)) {
        let (name, path) = file["crates/".len()..].split_once("/src/").expect("a product's file");
        let code = without_tests(&code_of(&text)).to_owned();
        sources.entry(name.to_owned()).or_default().push((path.to_owned(), code));
    }
    let found = sources.iter().flat_map(|(name, files)| {
        circles(&uses(files)).into_iter().map(move |circle| format!("{name}: {}", circle.join(", ")))
    });
    assert_none("move what both need below them, or one into the other's folder", found.collect());
}

/// What the modules of one crate use, from its files below `src` and their code.
fn uses(files: &[(String, String)]) -> Uses {
    let root = files.iter().find(|(path, _)| path == "lib.rs").map_or("", |(_, code)| code);
    let exported = exports(root);
    let modules: BTreeSet<_> = files.iter().filter_map(|(path, _)| module_of(path)).collect();
    let mut uses = Uses::new();
    for (path, code) in files {
        let Some(module) = module_of(path) else { continue };
        let used = uses.entry(module.to_owned()).or_default();
        for name in named_from_the_root(path, code) {
            let name = exported.get(name).map_or(name, String::as_str);
            if name != module && modules.contains(name) {
                used.insert(name.to_owned());
            }
        }
    }
    uses
}

/// The top-level module that a file belongs to; `None` for the roots of a crate.
fn module_of(path: &str) -> Option<&str> {
    match path.split_once('/') {
        Some((folder, _)) => Some(folder),
        None => path.strip_suffix(".rs").filter(|name| !matches!(*name, "lib" | "main")),
    }
}

/// The first names of all paths that begin at the root: `crate::…`, or `super::…` as often as the file lies deep.
fn named_from_the_root<'c>(path: &str, code: &'c str) -> Vec<&'c str> {
    let depth = path.matches('/').count() + usize::from(!path.ends_with("/mod.rs"));
    let above = "super::".repeat(depth);
    let mut names = Vec::new();
    for root in ["crate::", &above] {
        for (at, _) in code.match_indices(root) {
            let before = &code[..at];
            if before.ends_with(is_word) || before.ends_with("::") || before.ends_with('$') {
                continue;
            }
            names.extend(first_names(&code[at + root.len()..]));
        }
    }
    names
}

/// The first name of each path in `a::b`, or in `{a, b::{c, d}}`.
fn first_names(rest: &str) -> Vec<&str> {
    let word = |text: &'_ str| text.find(|c| !is_word(c)).unwrap_or(text.len());
    let Some(group) = rest.strip_prefix('{') else { return vec![&rest[..word(rest)]] };
    let mut names = Vec::new();
    let (mut depth, mut expected) = (1, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => expected = true,
            c if expected && is_word(c) => {
                names.push(&group[at..at + word(&group[at..])]);
                expected = false;
            }
            _ => {}
        }
    }
    names
}

/// What the root offers under a shorter path: name to the module it comes from.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for (at, _) in root.match_indices("pub use ") {
        let rest = &root[at + "pub use ".len()..];
        let path = rest[..rest.find(';').unwrap_or(rest.len())].trim_start_matches("crate::");
        let Some((module, names)) = path.split_once("::") else { continue };
        let names = names.split(|c| !is_word(c)).filter(|name| !name.is_empty());
        exported.extend(names.map(|name| (name.to_owned(), module.to_owned())));
    }
    exported
}

/// The groups of modules that reach each other, in order of their names.
fn circles(uses: &Uses) -> Vec<Vec<String>> {
    let reached: BTreeMap<_, _> = uses.keys().map(|from| (from, reached_from(from, uses))).collect();
    let reaches = |from: &String, to: &String| reached.get(from).is_some_and(|names| names.contains(to));
    let mut found = Vec::<Vec<String>>::new();
    for from in uses.keys() {
        if found.iter().any(|circle| circle.contains(from)) {
            continue;
        }
        let circle: Vec<_> =
            uses.keys().filter(|to| reaches(from, to) && reaches(to, from)).cloned().collect();
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

/// All modules that `from` uses, directly or through others.
fn reached_from(from: &str, uses: &Uses) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(next) = open.pop() {
        for to in uses.get(&next).into_iter().flatten() {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}

#[test]
fn a_circle_is_found_through_groups_exports_and_parents() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use b::{Shown, Other as Name};"),
        ("a.rs", "use crate::{Name, d};"),
        ("b/mod.rs", "mod deep;"),
        ("b/deep.rs", "use super::super::c::X;"),
        ("c.rs", "fn f() { super::a::g() }"),
        ("d.rs", "use std::a; struct A;"),
    ]
    .map(|(path, code)| (path.to_owned(), code.to_owned()));
    assert_eq!(circles(&uses(&files)), [["a", "b", "c"]]);
    assert_eq!(circles(&uses(&files[..5])), [["a", "b", "c"]]);
    assert_eq!(circles(&uses(&files[..4])), [[""; 0]; 0]);
}

/// In how many modules a type of one name may be defined.
const MODULES_PER_NAME: usize = 3;

#[test]
fn no_type_name_stands_in_more_than_three_modules() {
    let mut homes = BTreeMap::<String, BTreeSet<String>>::new();
    for (file, text) in texts(|file| is_rust(file) && is_product(file) && !file.ends_with("/tests.rs")) {
        for name in types_defined(without_tests(&code_of(&text))) {
            homes.entry(name.to_owned()).or_default().insert(file.clone());
        }
    }
    let mut found = Vec::new();
    for (name, files) in homes.into_iter().filter(|(_, files)| files.len() > MODULES_PER_NAME) {
        found.push(format!("{name}: {}", Vec::from_iter(files).join(", ")));
    }
    assert_none("say what each of them is in its name", found);
}

/// The names of all types and traits that `code` defines, and of its aliases outside traits and their implementations.
fn types_defined(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in code.lines() {
        let item = line.trim_start();
        let item = item.strip_prefix("pub").map_or(item, |item| match item.strip_prefix('(') {
            Some(within) => within.split_once(')').map_or("", |(_, item)| item),
            None => item,
        });
        let Some((keyword, rest)) = item.trim_start().trim_start_matches("unsafe ").split_once(' ') else {
            continue;
        };
        let is_alias = keyword == "type" && !line.starts_with(' ');
        if is_alias || matches!(keyword, "struct" | "enum" | "trait" | "union") {
            names.push(&rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]);
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn types_are_found_by_their_definitions() {
    let code = "struct A;\npub enum B<T> {\n    union,\n}\npub(in crate::x) unsafe trait C {\n    type D;\n}\n\
        pub type E = A;\nfn f() {\n    struct G(u8);\n}\nstruct $name;\npublic struct H;";
    assert_eq!(types_defined(code), ["A", "B", "C", "E", "G"]);
}

/// Where it may be asked which workload it is.
const WORKLOAD_HOMES: [&str; 2] = ["crates/model/src/experiment/workload/", "crates/workload/src/"];

#[test]
fn nobody_asks_which_workload_it_is_outside_its_homes() {
    let outside = |file: &str| {
        is_rust(file)
            && is_product(file)
            && !file.ends_with("/tests.rs")
            && !WORKLOAD_HOMES.iter().any(|home| file.starts_with(home))
    };
    let mut found = Vec::new();
    for (file, text) in texts(outside) {
        let code = code_of(&text);
        let code = without_tests(&code);
        let patterns =
            code.match_indices("WorkloadSpec::").filter(|(at, name)| is_pattern(code, *at, at + name.len()));
        for (at, _) in patterns.chain(code.match_indices("each_workload!")) {
            found.push(format!("{file}:{}", code[..at].matches('\n').count() + 1));
        }
    }
    assert_none("give `WorkloadSpec` a function that answers it for every workload", found);
}

/// Whether the path at `at`, whose variant begins at `variant`, stands in a pattern: before `=>`, `=` or `|`, or in `matches!`.
fn is_pattern(code: &str, at: usize, variant: usize) -> bool {
    let name = code[variant..].find(|c| !is_word(c)).unwrap_or(0);
    let rest = &code[variant + name..];
    let after = match rest.chars().find(|c| !c.is_whitespace()) {
        Some(open @ ('(' | '{')) => {
            let close = if open == '(' { ')' } else { '}' };
            let mut depth = 0;
            let end = rest.char_indices().find(|(_, c)| {
                depth += i32::from(*c == open) - i32::from(*c == close);
                depth == 0 && *c == close
            });
            end.map_or("", |(end, _)| &rest[end + 1..])
        }
        _ => rest,
    };
    let after = after.trim_start();
    let is_function = code[variant..].starts_with(char::is_lowercase);
    let mut depth = 0;
    let opening = code[..at].char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth > 0
    });
    let in_matches = opening.is_some_and(|(open, _)| code[..open].ends_with("matches!"));
    !is_function
        && (after.starts_with("=>")
            || after.starts_with("if ")
            || after.starts_with('|')
            || (after.starts_with('=') && !after.starts_with("=="))
            || in_matches)
}

#[test]
fn patterns_are_told_from_values() {
    let found =
        |code: &str| code.match_indices("W::").filter(|(at, _)| is_pattern(code, *at, at + 3)).count();
    assert_eq!(found("match w { W::A(x) => 1, W::B { .. } | W::C => 2, W::D(x) if x => 3 }"), 4);
    assert_eq!(found("if let W::A(x) = w {} let W::B { a, .. } = w else { f() }; matches!(w, W::C(_))"), 3);
    assert_eq!(found("f(W::A(x)); let x = W::B { a }; W::read(x); x == W::C"), 0);
}
