//! The CSV of ppbench: what is read and written reads the same, and is written the same again; what is refused is refused
//! with a line of the text. A naming file likewise.

use std::collections::BTreeSet;

use weighbridge_model::ppbench::{Naming, decode, read, series, write};

/// Reads `text` as a naming file.
fn naming(text: &str) {
    match Naming::parse(text) {
        Ok(naming) => {
            let again = Naming::parse(&naming.text()).expect("what was written can be read");
            assert_eq!((again.machines, again.experiments), (naming.machines, naming.experiments));
        }
        Err(error) => assert!(error.starts_with("line ") && error.len() < 1000, "{error}"),
    }
}

/// Reads `data` as a file.
pub fn check(data: &[u8]) {
    // What is no text is refused by its line too.
    let text = match decode(data) {
        Ok(text) => text,
        Err(damage) => return assert!(damage.line >= 1),
    };
    naming(text);
    match read(text) {
        Ok(table) => {
            let written = write(&table.rows);
            let again = read(&written).expect("what was written can be read");
            assert_eq!(again.rows, table.rows);
            assert_eq!(write(&again.rows), written);
            let all = series(&again.rows, &Naming::default());
            let names: BTreeSet<&str> = all.iter().map(|series| series.name.as_str()).collect();
            assert_eq!(names.len(), all.len(), "no two series have one name");
        }
        Err(damage) => {
            assert!(!damage.what.is_empty() && !damage.at.is_empty());
            assert!((1..=1 + text.matches('\n').count() as u64).contains(&damage.line), "{damage}");
        }
    }
}
