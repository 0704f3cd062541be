//! For tests of what is printed: text against a file of `testdata/`, to the letter. `UPDATE_GOLDEN=1 cargo test -p weighbridge
//! --bin weigh` writes the files anew; whoever does that reads the difference.

use std::path::Path;

/// Fails unless `text` is what the file says.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("a file");
    }
    let golden = std::fs::read_to_string(&path).expect("a golden file; UPDATE_GOLDEN=1 writes it");
    assert_eq!(text, golden, "{}", path.display());
}
