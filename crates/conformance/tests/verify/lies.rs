//! A brokerage that lies: the service in Rust with one untruth at a time, chosen as it is started. Rows must find each, and say
//! where.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weighbridge_conformance::{Depth, Row, Subject};

use super::{build, failures, remarks, says, services, subject};

/// The source of each untruth: file, what stands there once, and what is to stand there.
const LIES: [(&str, &str, &str); 7] = [
    (
        "src/main.rs",
        "mod canonical;",
        "fn lies(of: &str) -> bool { env::var(\"LIE\").is_ok_and(|lie| lie == of) }\nmod canonical;",
    ),
    (
        "src/engine/sqlite_calls.rs",
        "pay(db, account, -(quantity * price + FEE))",
        "pay(db, account, -(quantity * price + FEE - i64::from(crate::lies(\"fee\"))))",
    ),
    (
        "src/engine/sqlite_calls.rs",
        "    first(db, sql::QUOTE, [symbol], sql::quote)?.ok_or_else(|| no_stock(symbol))\n",
        "    static LAST: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);\n\
         let mut quote = first(db, sql::QUOTE, [symbol], sql::quote)?.ok_or_else(|| no_stock(symbol))?;\n\
         let last = LAST.swap(quote.price, std::sync::atomic::Ordering::Relaxed);\n\
         if crate::lies(\"quote\") && last != 0 { quote.price = last; }\nOk(quote)\n",
    ),
    (
        "src/engine/sqlite_calls.rs",
        "let sold = first(db, sql::RELEASE,",
        "let kept = \"SELECT symbol, quantity FROM holding WHERE id = $1 AND account = $2\";\n\
         let sold = first(db, if crate::lies(\"sale\") { kept } else { sql::RELEASE },",
    ),
    (
        "src/engine/sqlite_calls.rs",
        "    first(db, sql::LOGIN,",
        "    if crate::lies(\"login\") {\n\
         let mut account = account(db, user)?;\naccount.logins += 1;\nreturn Ok(account);\n}\n\
         first(db, sql::LOGIN,",
    ),
    (
        "src/engine/sqlite_calls.rs",
        "    let values = params![full_name, address, email, card, password, user];\n",
        "    if crate::lies(\"update\") {\n\
         let [user, full_name, address, email, card] = [user, full_name, address, email, card].map(str::to_owned);\n\
         return Ok(Profile { user, full_name, address, email, card });\n}\n\
         let values = params![full_name, address, email, card, password, user];\n",
    ),
    (
        "src/soap.rs",
        "xml.push_str(&escape(self.as_str()))",
        "{ let unescaped = if crate::lies(\"escape\") { \"&amp;\" } else { \"\\0\" };\n\
         xml.push_str(&escape(self.as_str()).replace(unescaped, \"&\")) }",
    ),
];

/// The service with all of them, built beside the one that tells the truth, whose libraries it shares.
fn liar() -> (TempDir, PathBuf) {
    let original = services().join("rust-trade");
    // The libraries are built with it.
    subject(&original);
    let parent = TempDir::new().expect("a temporary folder");
    let folder = parent.path().join("rust-trade");
    fs::create_dir_all(folder.join("src/engine")).expect("a folder");
    symlink(services().join("trade").canonicalize().expect("it is there"), parent.path().join("trade"))
        .expect("a link");
    // Another compiler would build all libraries anew.
    let toolchain = "rust-toolchain.toml";
    fs::copy(services().join("..").join(toolchain), parent.path().join(toolchain)).expect("a copy");
    for part in ["", "src", "src/engine"] {
        for file in fs::read_dir(original.join(part)).expect("a folder").flatten() {
            if file.path().is_file() {
                fs::copy(file.path(), folder.join(part).join(file.file_name())).expect("a copy");
            }
        }
    }
    for (file, from, to) in LIES {
        patch(&folder.join(file), from, to);
    }
    // Of another name, so that neither takes the other's place.
    for file in ["Cargo.toml", "Cargo.lock"] {
        patch(&folder.join(file), "name = \"weigh-rust-trade\"", "name = \"weigh-rust-trade-liar\"");
    }
    let target = original.join("target").canonicalize().expect("it was built");
    let words = ["cargo", "build", "--release", "--locked", "--target-dir"].map(str::to_owned);
    build(&folder, &[&words[..], &[target.display().to_string()]].concat());
    (parent, target.join("release/weigh-rust-trade-liar"))
}

fn patch(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("a source");
    assert_eq!(text.matches(from).count(), 1, "`{from}` must be in {} once", file.display());
    fs::write(file, text.replace(from, to)).expect("a source");
}

/// What is found of a lie over this protocol.
fn verified(program: &Path, lie: &str, protocol: &str) -> Vec<Row> {
    let mut subject: Subject = subject(&services().join("rust-trade"));
    subject.start = vec!["env".to_owned(), format!("LIE={lie}"), program.display().to_string()];
    let protocols = ["direct", protocol].map(str::to_owned);
    subject.workloads = [("trade".to_owned(), protocols.to_vec())].into();
    weighbridge_conformance::service(&subject, Depth::Quick, &mut |_| {})
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn each_lie_of_a_brokerage_is_found() {
    let (_folder, program) = liar();
    let truth = verified(&program, "", "http1-json");
    assert_eq!(failures(&truth), [""; 0], "{}", remarks(&truth));
    for (lie, protocol, found, row, words) in [
        (
            "fee",
            "http1-json",
            &["B3", "B4", "B8", "B9", "B10"][..],
            "B8",
            "`balance`: expected `194755`, came `194756`",
        ),
        ("quote", "http1-json", &["B3", "B4", "B7", "B8", "B10"], "B3", "`price` is"),
        ("sale", "http1-json", &["B3", "B4", "B8", "B10"], "B8", "expected the fault `missing`"),
        ("login", "http1-json", &["B3", "B4", "B7", "B10"], "B3", "`logins` is `0`, expected `1`"),
        ("update", "http1-json", &["B3", "B4", "B6", "B7"], "B3", "`sha256`"),
        ("login", "direct", &["B3", "B4", "B10"], "B3", "`digest`"),
        ("update", "direct", &["B3", "B4"], "B3", "`sha256`"),
        ("escape", "soap", &["B3", "B4", "B7", "B8"], "B7", "expected a reply or a fault of the contract"),
    ] {
        let rows = verified(&program, lie, protocol);
        assert_eq!(failures(&rows), found, "{lie} over {protocol}: {}", remarks(&rows));
        says(&rows, row, words);
    }
}
