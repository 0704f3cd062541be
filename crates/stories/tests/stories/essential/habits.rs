//! What users of other load generators type by habit: it works, or they are told what it is called here.

use std::path::Path;

use crate::support::server::{GOOD, Server, refusing};
use crate::support::{Ended, World};

/// The command lines of the table in docs/OTHER-TOOLS.md, as words behind `weigh`.
fn documented() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OTHER-TOOLS.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let ours = |row: &str| {
        let line = row.rsplit('|').nth(1)?.trim().strip_prefix("`weigh ")?.strip_suffix('`')?;
        Some(shell_words::split(line).expect("words"))
    };
    page.lines().filter(|line| line.starts_with("| ")).filter_map(ours).collect()
}

/// Shortened to what a test may take.
fn brief(mut words: Vec<String>) -> Vec<String> {
    const DURATION: [&str; 4] = ["-d", "-z", "--duration", "--test-time"];
    let is_count = |word: &String| word == "-n" || word == "--iterations";
    let joined = |word: &String| word.starts_with("-d") && word.len() > 2;
    if let Some(at) = words.iter().position(|word| DURATION.contains(&word.as_str())) {
        words[at + 1] = "50ms".to_owned();
    } else if let Some(at) = words.iter().position(joined) {
        words[at] = "-d50ms".to_owned();
    } else if !words.iter().any(is_count) {
        words.extend(["-d".to_owned(), "50ms".to_owned()]);
    }
    words
}

fn weigh(world: &World, words: &[String]) -> Ended {
    world.weigh(&words.iter().map(String::as_str).collect::<Vec<_>>()).end()
}

#[test]
fn every_line_of_the_table_runs() {
    let world = World::idle();
    world.write("body.json", "{}");
    world.write(
        "greet.proto",
        "syntax = \"proto3\"; package greet; message M { string name = 1; }\n\
         service Greeter { rpc Hello(M) returns (M); }",
    );
    let (web, nobody) = (Server::answering(GOOD).address.to_string(), refusing().to_string());
    let lines = documented();
    assert!(lines.len() >= 35, "{}", lines.len());
    for line in lines {
        let is_answered =
            line.iter().any(|word| word.contains("http://")) && !line.contains(&"--http2".to_owned());
        let address = if is_answered { &web } else { &nobody };
        let there = |word: &String| {
            ["127.0.0.1:8080", "127.0.0.1:6379", "127.0.0.1:11211", "127.0.0.1:50051"]
                .iter()
                .fold(word.clone(), |word, old| word.replace(old, address))
        };
        let words: Vec<String> = brief(line).iter().map(there).collect();
        let ended = weigh(&world, &words);
        // Nobody answers the others here: they are understood, and their server is missing.
        let is_understood = ended.says("no connection to");
        assert!(matches!(ended.code, Some(0 | 3)) || is_understood, "{words:?}: {ended}");
        assert!(is_answered || is_understood, "{words:?}: {ended}");
    }
}

#[test]
fn a_flag_of_another_program_is_answered_by_ours_in_one_line() {
    let world = World::idle();
    let url = "http://127.0.0.1:1/";
    for (typed, ours) in [
        ("-s mix.lua", "`--mix"),
        ("-U", "service times are printed"),
        ("-T text/plain", "`--header 'Content-Type"),
        ("-A text/html", "`--header 'Accept"),
        ("-a me:secret", "`--header 'Authorization"),
        ("-C a=b", "`--header 'Cookie"),
        ("-i", "`--method HEAD`"),
        ("-p body.json", "`--body-file FILE`"),
        ("-w", "`--format csv`"),
        ("-j", "`--format json`"),
        ("--output-format json", "`--format json`"),
        ("--latency-correction", "`--rate`"),
        ("--burst-rate 10", "`--profile"),
        ("--no-tui", "`--quiet`"),
        ("--http-version 2", "`--http2`"),
        ("--host example.org", "`--connect-to"),
        ("--disable-redirects", "neither is done"),
        ("-x proxy:3128", "`--connect-to"),
        ("--stage 30s:10", "`--profile"),
        ("--summary-export out.json", "`--format json --output FILE`"),
        ("--threshold p99", "`--fail-if"),
        ("--call greet.Greeter/Hello", "`--grpc"),
        ("--import-paths proto", "`--include DIR`"),
        ("--skipTLS", "`--insecure`"),
        ("--load-schedule step", "`--profile`"),
        ("--ratio 1:10", "`--command"),
        ("--hide-histogram", "`--latency`"),
        ("-q 100", "`--rate 100`"),
        ("-d {}", "a body is `--body`"),
        ("-k", "plain text"),
    ] {
        let words: Vec<&str> = ["load"].into_iter().chain(typed.split(' ')).chain([url]).collect();
        let ended = world.weigh(&words).end();
        ended.assert_error(&[ours]);
        assert_eq!(ended.stderr.trim().lines().count(), 1, "{typed}: {ended}");
        assert!(!ended.says("similar argument"), "{typed}: {ended}");
    }
    let ended = world.weigh(&["load", "--duraton", "1s", url]).end();
    ended.assert_code(2);
    assert!(ended.says("a similar argument exists: '--duration'"), "{ended}");
}

#[test]
fn names_before_urls_are_those_of_the_variants() {
    let world = World::idle();
    let same = "a=http://127.0.0.1:1/";
    world.weigh(&["load", same, same]).end().assert_error(&["`a` names two URLs"]);
    let ended = world.weigh(&["load", "http://127.0.0.1:1/?a=b"]).end();
    ended.assert_error(&["no connection to `127.0.0.1:1`"]);
}

#[test]
fn latency_gives_percentiles_and_a_histogram() {
    let world = World::idle();
    let server = Server::answering(GOOD);
    let ended = world.weigh(&["load", "-n", "400", "--latency", &server.url()]).end();
    assert!(ended.stdout.contains("requests by response time"), "{ended}");
    let ended = world.weigh(&["load", "-n", "400", "-L", "--format", "json", &server.url()]).end();
    let latency = &ended.json()["latency"];
    let counts = latency["histogram"].as_array().expect("buckets").iter();
    assert_eq!(counts.map(|bucket| bucket["count"].as_u64().expect("a count")).sum::<u64>(), 400);
    let quantiles = latency["percentiles"].as_array().expect("percentiles").iter();
    let quantiles: Vec<_> = quantiles.map(|one| one["quantile"].as_f64().expect("a share")).collect();
    assert_eq!(quantiles, [0.5, 0.75, 0.9, 0.95], "20 of 400 lie beyond p95");
    let ended = world.weigh(&["load", "-n", "400", "--format", "json", &server.url()]).end();
    assert!(ended.json().get("latency").is_none(), "{ended}");
}
