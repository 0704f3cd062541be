//! Recordings: what is used, what is left out, and the notes about it.

use serde_json::{Value, json};
use weighbridge_model::experiment::ExtractFrom;

use super::*;

fn entry(method: &str, url: &str) -> Value {
    json!({ "request": { "method": method, "url": url, "httpVersion": "HTTP/1.1", "headers": [] },
            "response": { "status": 200, "content": { "mimeType": "application/json", "text": "{}" } } })
}

fn recording(entries: &[Value]) -> String {
    json!({ "log": { "version": "1.2", "creator": { "name": "Browser" }, "entries": entries } }).to_string()
}

fn read(entries: &[Value], wanted: &Selection) -> Result<Draft, HarError> {
    parse("a.har", &recording(entries), wanted)
}

fn plain(entries: &[Value]) -> Draft {
    read(entries, &Selection::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn equal_requests_are_one_with_their_frequency() {
    let entries = [
        entry("GET", "http://h:80/a"),
        entry("POST", "http://h/b?x=1"),
        entry("GET", "http://h/a"),
        entry("GET", "http://h/a#top"),
    ];
    let wanted = Selection { taken_as: TakenAs::Requests, ..Selection::default() };
    let draft = read(&entries, &wanted).expect("a recording");
    assert_eq!(draft.session, None);
    let found: Vec<_> = draft.requests.iter().map(|r| (&*r.name, &*r.path, r.weight, r.status)).collect();
    assert_eq!(found, [("GET /a", "/a", 3, Some(200)), ("POST /b", "/b?x=1", 1, Some(200))]);
    assert_eq!(draft.title, "a recording of h, by Browser");
    assert!(draft.notes.is_empty(), "{:?}", draft.notes);
}

#[test]
fn connection_fields_and_conditions_are_dropped_and_secrets_are_named() {
    let mut one = entry("get", "https://h/a");
    one["request"]["headers"] = json!([
        { "name": ":authority", "value": "h" }, { "name": "Connection", "value": "keep-alive" },
        { "name": "Accept", "value": "*/*" }, { "name": "Cookie", "value": "id=swordfish" },
        { "name": "If-None-Match", "value": "\"1\"" }, { "name": "X-Odd", "value": "ü" },
    ]);
    one["request"]["httpVersion"] = json!("h2");
    one["response"]["status"] = json!(304);
    let draft = plain(&[one]);
    let request = &draft.requests[0];
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(request.headers, [pair("Accept", "*/*"), pair("Cookie", "env:COOKIE")]);
    assert_eq!((&*request.method, request.status), ("GET", None));
    let Server::Address(address) = &draft.server else { panic!("an address") };
    assert_eq!(address.protocol, Some(Protocol::HTTP2_JSON));
    let notes = draft.notes.join("\n");
    assert!(notes.contains("set `COOKIE`") && notes.contains("`X-Odd`"), "{notes}");
    assert!(!draft.to_file().contains("swordfish"));
}

#[test]
fn of_several_origins_one_is_chosen() {
    let entries = [
        entry("GET", "https://a.org/x"),
        entry("GET", "http://b.org:8080/y"),
        entry("GET", "https://a.org/z"),
    ];
    let error = read(&entries, &Selection::default()).expect_err("two").to_string();
    assert_eq!(
        error,
        "a.har: requests went to 2 origins; choose one with `--origin`: `https://a.org` (2), `http://b.org:8080` (1)"
    );
    for origin in ["http://b.org:8080", "http://b.org:8080/", "b.org:8080"] {
        let draft = read(&entries, &Selection { origin: Some(origin.to_owned()), ..Selection::default() })
            .expect(origin);
        assert_eq!(draft.requests.len(), 1);
        assert_eq!(draft.notes, ["left out: requests to other origins (2)"]);
    }
    let wanted = Selection { origin: Some("https://c.org".to_owned()), ..Selection::default() };
    let error = read(&entries, &wanted).expect_err("not there").to_string();
    assert!(
        error.contains("no request went to `https://c.org`; the recording has `https://a.org` (2)"),
        "{error}"
    );
}

#[test]
fn assets_are_left_out_by_kind_type_or_ending() {
    let mut script = entry("GET", "http://h/main");
    script["_resourceType"] = json!("script");
    let mut picture = entry("GET", "http://h/logo");
    picture["response"]["content"]["mimeType"] = json!("image/png");
    let mut data = entry("GET", "http://h/data.js");
    data["_resourceType"] = json!("fetch");
    let entries = [script, picture, entry("GET", "http://h/a.css?v=1"), data, entry("GET", "http://h/api")];
    assert_eq!(plain(&entries).requests.len(), 5);
    let draft = read(&entries, &Selection { assets: Assets::Skipped, ..Selection::default() }).expect("two");
    let names: Vec<&str> = draft.requests.iter().map(|request| &*request.name).collect();
    assert_eq!(names, ["GET /data.js", "GET /api"]);
    assert_eq!(draft.notes, ["left out: pictures, scripts, style sheets and fonts (3)"]);
}

#[test]
fn bodies_are_text_forms_or_left_out() {
    let with = |posted: Value| {
        let mut one = entry("POST", "http://h/a");
        one["request"]["postData"] = posted;
        read(&[one], &Selection::default())
    };
    let body = |posted: Value| with(posted).expect("a body").requests[0].body.clone();
    assert_eq!(body(json!({ "mimeType": "text/plain", "text": "x" })).as_deref(), Some("x"));
    let form = json!({ "mimeType": "application/x-www-form-urlencoded", "params": [{ "name": "a", "value": "b c" }] });
    assert_eq!(body(form).as_deref(), Some("a=b%20c"));
    assert_eq!(body(json!({ "mimeType": "", "text": "aGk=", "encoding": "base64" })).as_deref(), Some("hi"));
    assert_eq!(body(json!({ "mimeType": "text/plain" })), None);
    let multipart = json!({ "mimeType": "multipart/form-data; boundary=x", "params": [{ "name": "a", "fileName": "f" }] });
    let error = with(multipart).expect_err("no body").to_string();
    assert_eq!(
        error,
        "a.har: no request is left of 1; left out: multipart forms whose body was not recorded (1)"
    );
}

/// Browsers name a character set behind the type of a form.
#[test]
fn a_password_in_a_form_is_kept_out_of_the_file_whatever_stands_behind_its_type() {
    for kind in ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=UTF-8"] {
        let mut login = entry("POST", "http://h/login");
        login["request"]["headers"] = json!([{ "name": "Content-Type", "value": kind }]);
        login["request"]["postData"] = json!({ "mimeType": kind, "text": "user=ann&password=swordfish" });
        let file = plain(&[login]).to_file();
        assert!(file.contains("user=ann&password=${env:PASSWORD:url}"), "{kind}: {file}");
        assert!(!file.contains("swordfish"), "{kind}: {file}");
    }
}

#[test]
fn unusable_entries_are_left_out_with_the_reason() {
    let mut socket = entry("GET", "http://h/live");
    socket["response"]["status"] = json!(101);
    let mut blocked = entry("GET", "http://h/ad");
    blocked["_resourceType"] = json!("ping");
    blocked["response"] = json!({ "status": 0, "content": { "mimeType": "" } });
    let entries = [
        socket,
        blocked,
        entry("GET", "data:text/plain,x"),
        entry("G T", "http://h/"),
        entry("GET", "http://h/a"),
    ];
    let draft = plain(&entries);
    assert_eq!(draft.requests.len(), 1);
    assert_eq!(draft.notes.len(), 4, "{:?}", draft.notes);
}

#[test]
fn an_error_names_line_and_column() {
    let error = parse("a.har", "{\n  \"log\": { \"entries\": 1 }\n}", &Selection::default())
        .expect_err("wrong")
        .to_string();
    assert!(error.starts_with("a.har:2:23: this is no HAR recording: invalid type: integer `1`"), "{error}");
}

/// A request with a JSON reply.
fn call(url: &str, reply: &Value) -> Value {
    let mut one = entry("GET", url);
    one["response"]["content"]["text"] = json!(reply.to_string());
    one
}

fn extracts(draft: &Draft) -> Vec<(usize, &str, Option<&str>)> {
    let all = draft.requests.iter().enumerate().flat_map(|(at, request)| {
        request.extract.iter().map(move |one| match &one.from {
            ExtractFrom::Json(pointer) => (at, &*one.name, Some(&**pointer)),
            ExtractFrom::Body | ExtractFrom::Header(_) => (at, &*one.name, None),
        })
    });
    all.collect()
}

#[test]
fn a_session_has_its_order_and_each_status_of_its_own() {
    let mut last = entry("GET", "http://h/a");
    last["response"]["status"] = json!(404);
    let draft =
        plain(&[entry("GET", "http://h/a"), entry("GET", "http://h/b"), entry("GET", "http://h/a"), last]);
    assert_eq!(draft.session, Some(vec![0, 1, 0, 2]));
    let found: Vec<_> = draft.requests.iter().map(|r| (&*r.name, r.weight, r.status)).collect();
    assert_eq!(found, [("GET /a", 1, Some(200)), ("GET /b", 1, Some(200)), ("GET /a #2", 1, Some(404))]);
    assert_eq!(plain(&[entry("GET", "http://h/a")]).session, None);
}

#[test]
fn a_value_is_taken_from_the_first_reply_that_held_it() {
    let draft = plain(&[
        call(
            "http://h/items",
            &json!({ "items": [{ "id": 1 }, { "id": 42, "a/b": { "key": "0123-4567" } }] }),
        ),
        call("http://h/items/42", &json!({ "id": 42 })),
        call("http://h/items/42/parts?item_id=42&key=0123-4567&page=42", &json!({ "id": 43 })),
        call("http://h/items/43", &json!({})),
    ]);
    let paths: Vec<&str> = draft.requests.iter().map(|request| &*request.path).collect();
    let wanted = [
        "/items",
        "/items/${id:url}",
        "/items/${id:url}/parts?item_id=${id:url}&key=${key:url}&page=42",
        "/items/${id_2:url}",
    ];
    assert_eq!(paths, wanted);
    let found = extracts(&draft);
    assert_eq!(
        found,
        [(0, "id", Some("/items/1/id")), (0, "key", Some("/items/1/a~1b/key")), (2, "id_2", Some("/id"))]
    );
    assert_eq!(draft.requests[1].name, "GET /items/{id}");
}

#[test]
fn values_the_client_knew_and_plain_words_stay_as_recorded() {
    let draft = plain(&[
        call("http://h/users/abc-12345", &json!({ "id": "abc-12345", "state": "finished", "count": 2 })),
        call("http://h/users/abc-12345?state=finished&count=2", &json!({})),
    ]);
    assert_eq!(extracts(&draft), []);
    assert_eq!(draft.requests[1].path, "/users/abc-12345?state=finished&count=2");
    assert!(draft.notes.is_empty(), "{:?}", draft.notes);
}

#[test]
fn recorded_dollar_signs_are_sent_unchanged() {
    for (taken_as, text) in [(TakenAs::Session, "${a}"), (TakenAs::Requests, "{\"${b}\": \"${c\"}")] {
        let mut one = entry("POST", "http://h/${d}?${e}=${f}");
        one["request"]["headers"] = json!([{ "name": "X-Shell", "value": "${g}" }]);
        one["request"]["postData"] = json!({ "mimeType": "application/json", "text": text });
        let wanted = Selection { taken_as, ..Selection::default() };
        let draft = read(&[one, entry("GET", "http://h/")], &wanted).expect("a recording");
        let request = &draft.requests[0];
        let texts = [&request.path, &request.headers[0].1, request.body.as_ref().expect("a body")];
        let plain = texts.map(|text| text.replace("${$}{", "${"));
        assert_eq!(plain, ["/${d}?${e}=${f}", "${g}", text]);
        weighbridge_model::experiment::Experiment::parse("a.toml", &draft.to_file()).expect("an experiment");
    }
}

#[test]
fn a_session_that_is_too_long_is_refused() {
    let entries: Vec<Value> = (0..=SESSION_LONGEST).map(|_| entry("GET", "http://h/a")).collect();
    let error = read(&entries, &Selection::default()).expect_err("too long").to_string();
    assert!(error.contains("1001 requests are more than the 1000 of a session"), "{error}");
    let wanted = Selection { taken_as: TakenAs::Requests, ..Selection::default() };
    assert_eq!(read(&entries, &wanted).expect("one request").requests[0].weight, 1001);
}
