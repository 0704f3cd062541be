//! Charts as files.

mod support;

#[test]
fn dump() {
    let folder = std::path::Path::new("/tmp/chartlab/data");
    std::fs::create_dir_all(folder).unwrap();
    for case in support::plot::cases() {
        let json = serde_json::json!({"summary": case.summary, "detail": case.detail});
        std::fs::write(folder.join(format!("{}.json", case.name)), json.to_string()).unwrap();
    }
    let case = support::plot::dots(25_000);
    let json = serde_json::json!({"summary": case.summary, "detail": case.detail});
    std::fs::write(folder.join("many.json"), json.to_string()).unwrap();
}
