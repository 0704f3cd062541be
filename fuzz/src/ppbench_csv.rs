//! The CSV of ppbench: what is read and written reads the same, and is written the same again; what is refused is refused
//! with a line of the text.

use weighbridge_model::ppbench::{read, write};

/// Reads `data` as a file.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match read(text) {
        Ok(table) => {
            let written = write(&table.rows);
            let again = read(&written).expect("what was written can be read");
            assert_eq!(again.rows, table.rows);
            assert_eq!(write(&again.rows), written);
        }
        Err(damage) => {
            assert!(!damage.what.is_empty() && !damage.at.is_empty());
            assert!((1..=1 + text.matches('\n').count() as u64).contains(&damage.line), "{damage}");
        }
    }
}
