//! Scripts of a brokerage in DaCapo's form: whatever is accepted reads back the same from what is written of it, counts the same,
//! and can be carried out or is refused with the books in order; whatever is refused names a line that is there.

use weighbridge_workload::trade::dacapo::{ScriptFiles, count, read, write};
use weighbridge_workload::trade::{ActionCounts, Brokerage, Grain, TradeScript};

/// Between the files of an input.
const BETWEEN: &[u8] = b"==\n";

/// Reads `data` as stocks, users and sessions.
pub fn check(data: &[u8]) {
    let (stocks, rest) = cut(data);
    let (users, workload) = cut(rest);
    let files = ScriptFiles { stocks, users, workload };
    match read(&files, None) {
        Ok(script) => {
            reads_back(&script);
            let counted = count(workload, "w", None).expect("what is read can be counted");
            assert_eq!(counted, ActionCounts::of(&script.sessions));
            carried_out(&script);
            if !script.sessions.is_empty() {
                // Its user may be one that was cut off.
                let first = read(&files, Some(1));
                assert!(
                    first.is_err() || first.is_ok_and(|first| first.sessions[..] == script.sessions[..1])
                );
            }
        }
        Err(error) => {
            let file = match &*error.file {
                "stocks.txt" => stocks,
                "users.txt" => users,
                "workload.txt" => workload,
                other => panic!("there is no file `{other}`"),
            };
            let lines: Vec<_> = file.split(|byte| *byte == b'\n').collect();
            assert!((1..=lines.len()).contains(&error.line), "{error}");
            let columns = lines[error.line - 1].split(|byte| *byte == b'\t').count();
            assert!((1..=columns).contains(&error.column), "{error}");
            assert!(!error.to_string().chars().any(char::is_control), "{error:?}");
        }
    }
}

fn cut(data: &[u8]) -> (&[u8], &[u8]) {
    let found = data.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    found.map_or((data, &[]), |at| (&data[..at], &data[at + BETWEEN.len()..]))
}

fn reads_back(script: &TradeScript) {
    let written = write(script);
    let [stocks, users, workload] = written.each_ref().map(|file| &*file.contents);
    let again = read(&ScriptFiles { stocks, users, workload }, None).expect("what was written is read");
    assert!(again == *script);
    assert_eq!(write(&again), written);
}

fn carried_out(script: &TradeScript) {
    let mut brokerage = Brokerage::new(script);
    let ended = brokerage.play(&script.sessions, Grain::Fine);
    assert_eq!(brokerage.check(), Ok(()));
    let coarse = Brokerage::new(script).play(&script.sessions, Grain::Coarse);
    assert_eq!(ended.as_ref().err(), coarse.as_ref().err());
}
