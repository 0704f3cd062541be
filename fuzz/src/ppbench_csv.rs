//! The CSV of ppbench: what is read and written reads the same, and is written the same again; what is refused is refused
//! with a line of the text.

use weighbridge_model::ppbench::{decode, read, write};

/// Reads `data` as a file.
pub fn check(data: &[u8]) {
    // What is no text is refused by its line too.
    let text = match decode(data) {
        Ok(text) => text,
        Err(damage) => return assert!(damage.line >= 1),
    };
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
