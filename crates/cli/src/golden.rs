//! For tests of output: compares text with a file of `testdata/`, byte for byte. `UPDATE_GOLDEN=1 cargo test
//! -p weighbridge --bin weigh` rewrites the files; review the difference.

use std::path::Path;

/// Fails unless `text` equals the file's content.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("a file");
    }
    let golden = std::fs::read_to_string(&path).expect("a golden file; UPDATE_GOLDEN=1 writes it");
    assert_eq!(text, golden, "{}", path.display());
}
