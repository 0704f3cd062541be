//! The experiment files, compared byte by byte. `UPDATE_GOLDEN=1 cargo test -p weighbridge-draft --test golden` writes
//! them anew; then read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge_draft::{Draft, curl, har, openapi};
use weighbridge_model::experiment::{Experiment, Url};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn data(name: &str) -> String {
    fs::read_to_string(here("data").join(name)).expect("it is there")
}

/// Fails unless the draft is written exactly like the golden file, and is an experiment without the secrets of the
/// data.
#[track_caller]
fn assert_written(name: &str, draft: &Draft) {
    let text = draft.to_file();
    let experiment = Experiment::parse(name, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let again = Experiment::parse("again", &experiment.to_toml()).expect("what is stored is read");
    assert_eq!(again, experiment);
    assert!(!text.contains("swordfish") && !format!("{draft:?}").contains("swordfish"), "{text}");
    let path = here("golden").join(format!("{name}.toml"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).expect("a file");
    }
    let golden = fs::read_to_string(&path).expect("a golden file; UPDATE_GOLDEN=1 writes it");
    assert_eq!(text, golden, "{}", path.display());
}

fn no_file(_: &str) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

#[test]
fn an_address() {
    let url = Url::parse("http://127.0.0.1:8080/items?page=1").expect("a URL");
    assert_written("address", &Draft::of_url(&url));
    let url = Url::parse("https://127.0.0.1:8443/").expect("a URL");
    assert_written("address-tls", &Draft::of_url(&url));
}

#[test]
fn a_command() {
    assert_written("command", &Draft::of_commands(&["python3 server.py {port}".to_owned()], "/items/1"));
}

#[test]
fn a_line_of_curl() {
    for name in ["copied", "plain"] {
        let draft = curl::parse_line(&data(&format!("{name}.curl")), &mut no_file).expect("a line");
        assert_written(&format!("curl-{name}"), &draft);
    }
}

#[test]
fn a_recording() {
    let read = |taken_as| {
        let origin = Some("https://shop.example.org".to_owned());
        let wanted = har::Selection { origin, assets: har::Assets::Skipped, taken_as };
        har::parse("session.har", &data("session.har"), &wanted).expect("a recording")
    };
    assert_written("recording", &read(har::TakenAs::Requests));
    assert_written("recording-session", &read(har::TakenAs::Session));
}

#[test]
fn a_recording_whose_requests_take_values_from_replies() {
    let draft = har::parse("flow.har", &data("flow.har"), &har::Selection::default()).expect("a recording");
    assert_written("recording-flow", &draft);
}

#[test]
fn a_description_of_an_api() {
    let read = |wanted| openapi::parse("shop.yaml", &data("shop.yaml"), &wanted).expect("a description");
    assert_written("api", &read(openapi::Selection::default()));
    let all =
        openapi::Selection { methods: vec!["all".to_owned()], url: Some("http://127.0.0.1:8080".to_owned()) };
    assert_written("api-all", &read(all));
}
