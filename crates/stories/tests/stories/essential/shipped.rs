//! The suites and services that come with the program, used where nothing else is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::World;

#[test]
fn suites_and_services_come_with_the_program() {
    let world = World::idle();
    let listed = world.weigh(&["suites"]).end();
    listed.assert_code(0);
    assert!(listed.stdout.contains("pingpong/languages  "), "{listed}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites");
    let mut names = Vec::new();
    for suite in world.weigh(&["suites", "--format", "json"]).end().json().as_array().expect("a list") {
        let name = suite["name"].as_str().expect("a name");
        let file = fs::read_to_string(root.join(format!("{name}.toml"))).expect("the suite");
        let question = suite["question"].as_str().expect("a question");
        let first = question.split_whitespace().next().expect("a word");
        assert!(file.starts_with(&format!("# {first}")) && question.contains('?'), "{name}: {question}");
        names.push(name.to_owned());
    }
    assert!(!world.path("cache/weighbridge/sources").exists(), "nothing is written to list them");

    // Whatever this host lacks, none of them is a mistake.
    for name in &names {
        world.weigh(&["plan", name]).end().assert_code(0);
    }
    world.weigh(&["plan", "suites/quickstart.toml"]).end().assert_code(0);
    let services = world.weigh(&["services", "list"]).end();
    services.assert_code(0);
    assert!(services.stdout.contains("rust"), "{services}");
    let unpacked: Vec<_> = fs::read_dir(world.path("cache/weighbridge/sources"))
        .expect("the sources")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let [sources] = &unpacked[..] else { panic!("once, and whole: {unpacked:?}") };
    let script = fs::metadata(sources.join("services/scala/build.sh")).expect("a script");
    assert!(script.permissions().mode() & 0o111 != 0, "a script stays one");
    assert!(!sources.join("services/rust/target").exists(), "without what builds left behind");

    world.weigh(&["run", "pingpong/nothing"]).end().assert_error(&["pingpong/nothing", "`weigh suites`"]);
    world.assert_nothing_left();
}

#[test]
fn what_cannot_be_unpacked_is_told_with_its_cause() {
    let world = World::idle();
    // A file where the folder should be.
    fs::create_dir_all(world.path("cache/weighbridge")).expect("a cache");
    fs::write(world.path("cache/weighbridge/sources"), "").expect("a file in the way");
    let services = world.weigh(&["services", "list"]).end();
    services.assert_error(&["could not be unpacked", "could not write what comes with `weigh`", "os error"]);
    let run = world.weigh(&["run", "quickstart"]).end();
    run.assert_error(&["could not write what comes with `weigh`", "os error"]);
    world.assert_nothing_left();
}
