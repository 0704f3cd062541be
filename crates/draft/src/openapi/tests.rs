//! Descriptions of APIs: generated values that respect their schemas, and errors with their positions.

use serde_json::json;

use super::*;

fn api(paths: Value, more: Value) -> String {
    let mut whole = json!({ "openapi": "3.0.3", "info": { "title": "Shop" },
                            "servers": [{ "url": "http://127.0.0.1:8080/v1" }], "paths": paths });
    let Value::Object(more) = more else { panic!("a map") };
    whole.as_object_mut().expect("a map").extend(more);
    whole.to_string()
}

fn read(paths: Value, more: Value) -> Draft {
    let wanted = Selection { methods: vec!["all".to_owned()], url: None };
    parse("a.json", &api(paths, more), &wanted).unwrap_or_else(|error| panic!("{error}"))
}

fn body(schema: Value) -> Value {
    let post = json!({ "/a": { "post": { "requestBody": { "required": true,
        "content": { "application/json": { "schema": schema } } } } } });
    let draft = read(post, json!({}));
    serde_json::from_str(draft.requests[0].body.as_deref().expect("a body")).expect("JSON")
}

#[test]
fn parameters_are_filled_in_by_example_default_and_schema() {
    let parameters = json!([
        { "name": "id", "in": "path", "required": true, "schema": { "type": "integer", "minimum": 7 } },
        { "name": "q", "in": "query", "example": "a b", "schema": { "type": "string" } },
        { "name": "page", "in": "query", "schema": { "type": "integer" } },
        { "name": "tags", "in": "query", "required": true, "schema": { "type": "array", "items": { "enum": ["x", "y"] } } },
        { "name": "ids", "in": "query", "explode": false, "example": [1, 2] },
        { "name": "X-Trace", "in": "header", "required": true, "schema": { "type": "string", "format": "uuid" } },
    ]);
    let get = json!({ "operationId": "getItem", "responses": { "200": {}, "404": {} } });
    let draft = read(json!({ "/items/{id}": { "parameters": parameters, "get": get } }), json!({}));
    let request = &draft.requests[0];
    assert_eq!(request.path, "/v1/items/7?q=a%20b&tags=x&ids=1,2");
    assert_eq!((&*request.name, request.status), ("getItem", Some(200)));
    assert_eq!(request.headers, [("X-Trace".to_owned(), "3fa85f64-5717-4562-b3fc-2c963f66afa6".to_owned())]);
}

#[test]
fn generated_values_respect_their_schema() {
    assert_eq!(body(json!({ "type": "integer", "exclusiveMinimum": 4, "multipleOf": 5 })), json!(5));
    assert_eq!(body(json!({ "type": "integer", "minimum": 4, "exclusiveMinimum": true })), json!(5));
    assert_eq!(body(json!({ "type": "integer", "maximum": -3 })), json!(-3));
    assert_eq!(body(json!({ "type": "number", "maximum": 1 })), json!(1.0));
    assert_eq!(body(json!({ "type": "string", "minLength": 6, "maxLength": 6 })), json!("textte"));
    assert_eq!(body(json!({ "type": "string", "maxLength": 2 })), json!("te"));
    assert_eq!(body(json!({ "type": ["null", "boolean"] })), json!(true));
    assert_eq!(body(json!({ "type": "array", "minItems": 2, "items": { "const": 3 } })), json!([3, 3]));
    assert_eq!(body(json!({ "examples": ["first", "second"] })), json!("first"));
    let parts = json!({ "allOf": [{ "properties": { "a": { "type": "integer" } } }, { "properties": { "b": { "default": "x" } } }] });
    assert_eq!(body(parts), json!({ "a": 1, "b": "x" }));
    let read_only = json!({ "type": "object", "properties": { "id": { "type": "integer", "readOnly": true }, "n": { "enum": [2] } } });
    assert_eq!(body(read_only), json!({ "n": 2 }));
}

#[test]
fn recursive_schemas_end_where_they_can() {
    let schemas = json!({ "components": { "schemas": {
        "Tree": { "type": "object", "properties": { "name": { "example": "oak" }, "left": { "$ref": "#/components/schemas/Tree" },
                  "all": { "type": "array", "items": { "$ref": "#/components/schemas/Tree" } } } },
        "Endless": { "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#/components/schemas/Endless" } } },
    } } });
    let post = |name: &str| {
        json!({ "requestBody": { "required": true, "content": { "application/json": {
        "schema": { "$ref": format!("#/components/schemas/{name}") } } } } })
    };
    let draft =
        read(json!({ "/tree": { "post": post("Tree") }, "/endless": { "post": post("Endless") } }), schemas);
    assert_eq!(draft.requests.len(), 1);
    assert_eq!(draft.requests[0].body.as_deref(), Some(r#"{"all":[],"name":"oak"}"#));
    assert_eq!(
        draft.notes,
        ["left out: POST /endless: its body: its schema contains itself and has no example"]
    );
}

#[test]
fn lists_within_lists_do_not_grow_without_end() {
    let mut schema = json!({ "type": "integer" });
    for _ in 0..10 {
        schema = json!({ "type": "array", "minItems": 100, "items": schema });
    }
    let post = json!({ "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } } });
    let draft = read(json!({ "/a": { "get": {}, "post": post } }), json!({}));
    assert_eq!(draft.notes, ["left out: POST /a: its body: its list is too long to be made here"]);
}

#[test]
fn credentials_come_from_the_environment() {
    let more = json!({ "security": [{ "bearer": [] }], "components": { "securitySchemes": {
        "bearer": { "type": "http", "scheme": "bearer" }, "key": { "type": "apiKey", "in": "header", "name": "X-Auth" },
        "query": { "type": "apiKey", "in": "query", "name": "api_key" } } } });
    let paths = json!({ "/a": { "get": {} }, "/b": { "get": { "security": [{ "key": [] }] } },
                        "/c": { "get": { "security": [{ "query": [] }] } }, "/d": { "get": { "security": [] } } });
    let draft = read(paths, more);
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    assert_eq!(draft.requests[0].headers, pair("Authorization", "env:AUTHORIZATION"));
    assert_eq!(draft.requests[1].headers, pair("X-Auth", "env:X_AUTH"));
    assert_eq!(draft.requests[2].path, "/v1/c?api_key=REPLACE");
    assert!(draft.requests[3].headers.is_empty());
    let notes = draft.notes.join("\n");
    for part in ["set `AUTHORIZATION`", "set `X_AUTH`", "in the place of `REPLACE`"] {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn reading_methods_go_first_and_others_on_request() {
    let paths = json!({ "/a": { "get": {}, "delete": {}, "post": {} } });
    let draft =
        parse("a.json", &api(paths.clone(), json!({})), &Selection::default()).expect("a description");
    assert_eq!(draft.requests.len(), 1);
    assert_eq!(
        draft.notes,
        ["left out: 2 operations of other methods; `--methods get,delete,post` takes them too"]
    );
    let methods: Vec<String> =
        read(paths, json!({})).requests.into_iter().map(|request| request.method).collect();
    assert_eq!(methods, ["GET", "POST", "DELETE"]);
    let wanted = Selection { methods: vec!["fetch".to_owned()], url: None };
    let error = parse("a", &api(json!({}), json!({})), &wanted).expect_err("no method").to_string();
    assert!(error.starts_with("`--methods`: `fetch` is not known"), "{error}");
}

#[test]
fn the_server_is_the_first_unless_another_is_given() {
    let base = |servers: Value, url: Option<&str>| {
        let text = api(json!({ "/a": { "get": {} } }), json!({ "servers": servers }));
        let wanted = Selection { url: url.map(str::to_owned), methods: Vec::new() };
        parse("a.json", &text, &wanted).map(|draft| {
            let Server::Address(address) = draft.server else { panic!("an address") };
            format!("{} {}", address.url, draft.requests[0].path)
        })
    };
    let with_variables = json!([{ "url": "https://{where}.example.org/{v}", "variables": { "where": { "default": "eu" }, "v": { "default": "v2" } } }]);
    assert_eq!(base(with_variables.clone(), None).expect("a server"), "https://eu.example.org/ /v2/a");
    assert_eq!(
        base(with_variables.clone(), Some("http://127.0.0.1:81")).expect("given"),
        "http://127.0.0.1:81/ /v2/a"
    );
    assert_eq!(
        base(with_variables, Some("http://127.0.0.1:81/x/")).expect("given"),
        "http://127.0.0.1:81/ /x/a"
    );
    let error = base(json!([{ "url": "/api" }]), None).expect_err("no host").to_string();
    assert_eq!(
        error,
        "a.json: `/servers/0/url`: gives no absolute URL; say where the API is served: `--url http://127.0.0.1:8080`"
    );
}

#[test]
fn errors_name_the_position() {
    let wrong = |text: &str| parse("a.yaml", text, &Selection::default()).expect_err(text).to_string();
    assert!(wrong("openapi: 3.1.0\npaths:\n  - x: [\n").starts_with("a.yaml:"), "{}", wrong("a: [\n"));
    assert!(
        wrong("{\n \"openapi\": }").starts_with("a.yaml:2: this is no description of an API: expected value")
    );
    assert_eq!(
        wrong("swagger: '2.0'"),
        "a.yaml: `/swagger`: version 2.0 is older than OpenAPI 3.0; convert it, for one with `swagger2openapi`"
    );
    assert!(wrong("openapi: 4.0.0").ends_with("version `4.0.0` is not read; allowed: 3.0, 3.1"));
    assert!(wrong("info: {}").contains("`/openapi`: is missing"));
    let base = "openapi: 3.1.0\nservers: [{url: 'http://h/'}]\n";
    assert!(wrong(&format!("{base}paths: []")).contains("`/paths`: must be a map of paths"));
    assert!(wrong(&format!("{base}paths: {{a: {{}}}}")).contains("`/paths/a`: a path begins with `/`"));
    assert!(wrong(&format!("{base}paths: {{}}")).ends_with("no operation is left; its `paths` are empty"));
    let dangling = format!("{base}paths: {{/a: {{get: {{parameters: [{{$ref: '#/x'}}]}}}}}}");
    assert!(
        wrong(&dangling).contains("`/paths/~1a/get/parameters/0`: `#/x` is not in the file"),
        "{}",
        wrong(&dangling)
    );
    let outside = format!("{base}paths: {{/a: {{$ref: 'other.yaml#/a'}}}}");
    assert!(wrong(&outside).contains("lies outside the file; bundle it into one"));
    let circle = format!("{base}paths: {{/a: {{$ref: '#/paths/~1a'}}}}");
    assert!(wrong(&circle).contains("references lead in a circle"));
}
