//! Generated scripts against the law, the files against their own readers, the model against its books, and all of it against
//! DaCapo's shipped files where they lie.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use weighbridge_model::experiment::STOCKS_MOST;
use weighbridge_model::hex;

use super::dacapo::{ScriptFiles, read, write};
use super::session::STEPS;
use super::*;
use crate::direct::fnv1a;

fn law(sessions: u32) -> ScriptLaw {
    ScriptLaw::default().with_sessions(sessions.into()).expect("allowed")
}

fn script(sessions: u32) -> TradeScript {
    ScriptMaker::new(law(sessions)).script()
}

fn files(script: &TradeScript) -> [Vec<u8>; 3] {
    write(script).map(|file| file.contents)
}

fn read_back(files: &[Vec<u8>; 3]) -> TradeScript {
    let [stocks, users, workload] = files;
    read(&ScriptFiles { stocks, users, workload }, None).expect("what was written is read")
}

/// Fails unless the text is that of the file in `testdata`.
#[track_caller]
fn assert_golden(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, printed).expect("a golden file");
    } else {
        assert_eq!(printed, std::fs::read_to_string(path).expect("a golden file"));
    }
}

// --- The maker ---------------------------------------------------------------------------------------------

#[test]
fn smaller_scripts_are_prefixes_byte_for_byte_and_read_back_the_same() {
    let mut before: Option<[Vec<u8>; 3]> = None;
    for sessions in [1, 32, 256, 1_024, 8_192] {
        let script = script(sessions);
        let files = files(&script);
        assert_eq!(script.users.len(), (sessions as usize * 3).div_ceil(2));
        if let Some(before) = before.replace(files.clone()) {
            assert_eq!(before[0], files[0]);
            assert!(before.iter().zip(&files).all(|(short, long)| long.starts_with(short)), "{sessions}");
        }
        let again = read_back(&files);
        assert!(again == script, "{sessions}");
        assert_eq!(self::files(&again), files);
    }
    // Half-sizes too, and what a reader cuts off a longer one is the shorter one.
    let [stocks, users, workload] = &before.expect("the longest");
    for sessions in [1, 2, 3, 255] {
        let cut = read(&ScriptFiles { stocks, users, workload }, Some(sessions)).expect("a script");
        assert!(cut == script(sessions), "{sessions}");
    }
}

#[test]
fn every_number_of_stocks_is_a_prefix_too_and_symbols_are_unique() {
    let stocks = |number| ScriptMaker::new(law(1).with_stocks(number).expect("allowed")).stocks().to_vec();
    let most = stocks(STOCKS_MOST.into());
    assert_eq!(most.iter().map(|stock| &stock.symbol).collect::<HashSet<_>>().len(), STOCKS_MOST as usize);
    for number in [1, 2, 100, 1_098] {
        assert_eq!(stocks(number), most[..number as usize]);
    }
    assert!(most.iter().all(|stock| {
        (1..=5).contains(&stock.symbol.len()) && (50..=40_000).contains(&stock.price.get())
    }));
    let mut prices: Vec<_> = most.iter().map(|stock| stock.price.get()).collect();
    prices.sort_unstable();
    assert!((1_900..2_100).contains(&prices[prices.len() / 2]), "median {}", prices[prices.len() / 2]);
    let one = ScriptMaker::new(law(64).with_stocks(1).expect("allowed")).script();
    Brokerage::new(&one).play(&one.sessions, Grain::Fine).expect("it can be carried out with one stock");
}

#[test]
fn texts_need_escaping_and_letters_beyond_ascii() {
    let text = String::from_utf8(files(&script(256)).concat()).expect("UTF-8");
    for part in ["&", "<", "'", "Ω", "ø", "Ł"] {
        assert!(text.contains(part), "{part}");
    }
}

/// The digests and the ends' SHA-256 are also those of another implementation of the canonical form, in Python.
#[test]
fn golden_hashes_digests_and_end_states() {
    let mut printed = String::new();
    for size in ScriptSize::ALL {
        let script = script(size.sessions());
        writeln!(printed, "{}: {} sessions", size.name(), size.sessions()).expect("memory");
        for file in write(&script) {
            writeln!(printed, "{} {}", file.name, hex::encode(&Sha256::digest(&file.contents)))
                .expect("memory");
        }
        let mut brokerage = Brokerage::new(&script);
        writeln!(printed, "opening {}", serde_json::to_string(&brokerage.end_state()).expect("JSON"))
            .expect("memory");
        let fine = brokerage.play(&script.sessions, Grain::Fine).expect("it can be carried out");
        let coarse = Brokerage::new(&script).play(&script.sessions, Grain::Coarse).expect("likewise");
        assert_eq!(brokerage.check(), Ok(()));
        writeln!(printed, "fine {fine}\ncoarse {coarse}").expect("memory");
        writeln!(printed, "end {}\n", serde_json::to_string(&brokerage.end_state()).expect("JSON"))
            .expect("memory");
    }
    assert_golden("trade-scripts.txt", &printed);
}

/// Spearman's rank correlation of two lists, ranks of equals being averaged.
fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let below = |value: f64, limit: f64| f64::from(u8::from(value < limit));
        let rank = |one: &f64| -> f64 {
            values.iter().map(|other| (below(*other, *one) + 1.0 - below(*one, *other)) / 2.0).sum()
        };
        values.iter().map(rank).collect()
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = a.iter().sum::<f64>() / a.len() as f64;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
}

/// What a script of many sessions shows of the law.
#[derive(Default)]
struct Shown {
    drawn: [u64; STEPS.len()],
    counts: ActionCounts,
    /// Buys where a stock had been quoted in the session, and those of such a stock.
    could: u64,
    did: u64,
    /// Sells that sessions left owed.
    owed: u64,
}

impl Shown {
    fn add(&mut self, composed: &session::Composed) {
        self.counts.add(&composed.session);
        self.owed += u64::from(composed.owed);
        self.drawn.iter_mut().zip(composed.drawn).for_each(|(all, one)| *all += u64::from(one));
        let mut quoted = HashSet::new();
        for action in &composed.session.actions {
            match action {
                Action::Quote(stock) => {
                    quoted.insert(*stock);
                }
                Action::Buy(lot) if !quoted.is_empty() => {
                    self.could += 1;
                    self.did += u64::from(quoted.contains(&lot.stock));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn thirty_thousand_sessions_follow_the_law() {
    const SESSIONS: u32 = 32_768;
    let maker = ScriptMaker::new(law(SESSIONS));
    let mut shown = Shown::default();
    (0..SESSIONS).for_each(|number| shown.add(&maker.composed(number)));
    // The steps drawn, and the ends: 7 degrees of freedom, exceeded once in 10⁶ by 40.5.
    let steps = shown.drawn.iter().sum::<u64>() + u64::from(SESSIONS);
    let chi = |seen: u64, share: f64| (seen as f64 - steps as f64 * share).powi(2) / (steps as f64 * share);
    let chi_square: f64 = chi(SESSIONS.into(), END)
        + STEPS.iter().zip(shown.drawn).map(|(kind, seen)| chi(seen, target(*kind))).sum::<f64>();
    assert!(chi_square < 40.5, "{chi_square}: {:?}", shown.drawn);
    for kind in ActionKind::ALL {
        let (found, expected) = (100.0 * shown.counts.share(kind), 100.0 * expected_share(kind));
        assert!((found - expected).abs() < 0.3, "{kind}: {found} %, expected {expected} %");
    }
    // Sessions leave as many owed as they begin with: then buys and sells come out alike.
    let owed = shown.owed as f64 / f64::from(SESSIONS);
    assert!((owed - session::OWED).abs() < 0.01, "{owed}");
    // Holdings are drawn apart from each other; what is quoted and traded follows them.
    let mut held = vec![0.0; maker.stocks().len()];
    maker.users().flat_map(|user| user.holdings).for_each(|lot| held[lot.stock.0 as usize] += 1.0);
    let held: Vec<f64> = maker.ranked().iter().map(|stock| held[stock.0 as usize]).collect();
    let ranks: Vec<f64> = (0..held.len()).rev().map(|rank| rank as f64).collect();
    let correlation = spearman(&ranks, &held);
    assert!(correlation >= 0.95, "{correlation}");
    let (could, did) = (shown.could as f64, shown.did as f64);
    let sigma = (0.75 * 0.25 * could).sqrt();
    assert!(could > 10_000.0 && (did - 0.75 * could).abs() < 5.0 * sigma, "{did} of {could}");
}

#[test]
fn the_top_tenth_of_stocks_holds_a_third() {
    let script = script(8_192);
    let maker = ScriptMaker::new(law(1));
    let top: HashSet<_> = maker.ranked().iter().take(script.stocks.len() / 10).collect();
    let all: Vec<_> = script.users.iter().flat_map(|user| &user.holdings).collect();
    let held = all.iter().filter(|lot| top.contains(&lot.stock)).count() as f64 / all.len() as f64;
    // P(rank r) ∝ r^−0.55: the sum over the first 109 ranks by that over 1,098.
    let weight = |ranks: u32| (1..=ranks).map(|rank| f64::from(rank).powf(-0.55)).sum::<f64>();
    let expected = weight(109) / weight(1_098);
    assert!(
        (held - expected).abs() < 5.0 * (expected * (1.0 - expected) / all.len() as f64).sqrt(),
        "{held} {expected}"
    );
    assert!((0.32..0.34).contains(&expected), "{expected}");
    let mean = all.len() as f64 / script.users.len() as f64;
    assert!((5.4..5.6).contains(&mean), "{mean} holdings a user");
    assert_eq!(script.users.iter().map(|user| user.holdings.len()).max(), Some(HOLDINGS_MOST));
}

/// Every sell names a holding that is alive then (the model refuses any other), nobody overdraws, spare users stay away, and
/// who registers is new and acts.
#[test]
fn every_action_can_be_carried_out() {
    let script = script(32_768);
    let mut brokerage = Brokerage::new(&script);
    let mut acted = HashMap::new();
    for (session, number) in script.sessions.iter().zip(0u32..) {
        assert_eq!(session.user, script.users[ScriptLaw::default().user_of(number) as usize].user);
        let mut visit = Visit::of(session);
        for action in session.whole() {
            brokerage
                .apply(&mut visit, action)
                .unwrap_or_else(|refusal| panic!("session {number}: {refusal}"));
            let customer = &brokerage.customers[visit.user()];
            assert!(customer.balance >= Cents::default(), "session {number}: {action:?}");
            assert!(customer.holdings.len() <= HOLDINGS_MOST);
            *acted.entry(visit.user().to_owned()).or_insert(0u32) += 1;
        }
    }
    assert_eq!(brokerage.check(), Ok(()));
    let spare = script.users.iter().skip(2).step_by(3);
    assert!(spare.clone().count() == 16_384 && spare.clone().all(|user| !acted.contains_key(&user.user)));
    assert_eq!(acted.len(), 32_768 + brokerage.done.registers);
    let registered = acted.iter().filter(|(user, _)| user.len() == 7);
    assert!(registered.map(|(_, actions)| actions).sum::<u32>() > 10 * brokerage.done.registers as u32);
}

#[test]
fn what_cannot_be_made_is_told() {
    let default = ScriptLaw::default();
    for (error, words) in [
        (default.with_sessions(0).unwrap_err(), "`sessions` is 0; allowed: 1 to 1,048,576"),
        (default.with_sessions(1_048_577).unwrap_err(), "`sessions` is 1048577; allowed: 1 to 1,048,576"),
        (default.with_stocks(0).unwrap_err(), "`stocks` is 0; allowed: 1 to 10,000"),
        (
            default.with_skew(f64::NAN).unwrap_err(),
            "`skew` is NaN; allowed: 0 (every stock alike) to 3, such as 0.55",
        ),
        (
            LawError::Size("tiny".to_owned()),
            "`tiny` is no size of a script; allowed: small (32 sessions), default (256), large (1,024), huge (8,192)",
        ),
    ] {
        assert_eq!(error.to_string(), words);
    }
    let total: f64 = ActionKind::ALL.map(target).iter().sum();
    assert!(
        (total - 1.065).abs() < 1e-12 && (STEPS.map(target).iter().sum::<f64>() + END - 1.0).abs() < 1e-12
    );
    // The table of the design.
    let shares = ActionKind::ALL.map(|kind| format!("{:.1}", 100.0 * expected_share(kind)));
    assert_eq!(shares, ["18.8", "8.5", "42.3", "8.5", "8.5", "1.4", "0.5", "5.6", "6.1"]);
}

// --- Files -----------------------------------------------------------------------------------------------------

const STOCKS: &str = "A\tA & B\t17.87\t6.13B\nBF-B\tc\t0.55\t78.15M\n";
const USERS: &str = "# a comment\n000000\t90000\t1-2\ta@b\tpw\tfirst: X last: Y\tat home\tA 3, BF-B 0, A 3\n000001\t1\t\t\t\t\t\t\n";

fn parsed(stocks: &str, users: &str, workload: &str) -> Result<TradeScript, dacapo::ScriptFileError> {
    read(
        &ScriptFiles { stocks: stocks.as_bytes(), users: users.as_bytes(), workload: workload.as_bytes() },
        None,
    )
}

#[test]
fn foreign_files_are_read_and_what_is_wrong_is_told_with_its_place() {
    let workload =
        "000000\tpw\th\tp\ta\tq A\tb BF-B 0\ts A 3\tu 1|2|3|4|5\tr 9|7|1|2|3|4|5\tb A 1000000\n\n000001\t";
    let script = parsed(STOCKS, USERS, workload).expect("a script");
    assert_eq!((script.sessions.len(), script.sessions[0].actions.len()), (2, 8));
    assert_eq!((script.stocks[1].volume(), script.users[0].holdings.len()), (142_090, 3));
    let mut printed = String::new();
    let mut wrong = |stocks: &str, users: &str, workload: &str| {
        let error = parsed(stocks, users, workload).expect_err(workload);
        writeln!(printed, "{error}").expect("memory");
    };
    for stocks in [
        "A\tb\t1.00\n",
        "A B\tb\t1.00\t1B\n",
        "A\tb\t0.00\t1B\n",
        "A\tb\t10001\t1B\n",
        "A\tb\t1,00\t1B\n",
        "A\tb\t1.00\t1T\n",
        "A\tb\t1.00\t1.234M\n",
        "# s\nA\tb\t1.00\t1M\nA\tb\t1.00\t1M\n",
        "A\tb\u{7}\t1.00\t1M\n",
    ] {
        wrong(stocks, USERS, "");
    }
    for users in [
        "0\t1\n",
        "0\t1.5\t\t\t\t\t\t\n",
        "0/1\t1\t\t\t\t\t\t\n",
        "0\t1\t\t\ta|b\t\t\t\n",
        "0\t1\t\t\t\t\t\tB 1\n",
        "0\t1\t\t\t\t\t\tA 1,A 2\n",
        "0\t1\t\t\t\t\t\tA\n",
        "0\t1\t\t\t\t\t\t\n0\t1\t\t\t\t\t\t\n",
    ] {
        wrong(STOCKS, users, "");
    }
    for workload in [
        "000000\n",
        "000009\tpw\n",
        "000000\tpw\th\tx\n",
        "000000\tpw\th 1\n",
        "000000\tpw\tq C\n",
        "000000\tpw\tb A -1\n",
        "000000\tpw\tb A 1000001\n",
        "000000\tpw\ts A\n",
        "000000\tpw\tu 1|2|3|4\n",
        "000000\tpw\tr 9|x|1|2|3|4|5\n",
        "000000\tpw\t\n",
        "000000\tpw\r\n",
    ] {
        wrong(STOCKS, USERS, workload);
    }
    let bytes = b"000000\tp\xff".as_slice();
    let files = ScriptFiles { stocks: STOCKS.as_bytes(), users: USERS.as_bytes(), workload: bytes };
    writeln!(printed, "{}", read(&files, None).expect_err("no text")).expect("memory");
    let files = ScriptFiles { workload: b"000000\tpw\n", ..files };
    writeln!(printed, "{}", read(&files, Some(2)).expect_err("too few")).expect("memory");
    assert_golden("trade-errors.txt", &printed);
}

/// DaCapo's files; `None`, visibly, where they are not.
fn shipped() -> Option<[Vec<u8>; 3]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/dacapo");
    let read = |name: &str| std::fs::read(PathBuf::from(&folder).join(name)).ok();
    Some([read("stocks.txt")?, read("users.txt")?, read("workload.txt")?])
}

/// What the test needs of them, or a line that says why it is skipped.
fn with_shipped(test: impl FnOnce(&[Vec<u8>; 3])) {
    match shipped() {
        Some(files) => test(&files),
        None => {
            use std::io::Write as _;
            let line = b"SKIPPED: DaCapo's files are not in ../shared/data/dacapo\n";
            std::io::stderr().write_all(line).expect("stderr");
        }
    }
}

#[test]
fn the_shipped_files_have_the_published_counts() {
    with_shipped(|[_, _, workload]| {
        for (sessions, actions) in [(32, 771), (128, 2_280), (512, 8_862), (2_048, 35_887), (8_192, 143_773)]
        {
            let counts = dacapo::count(workload, "workload.txt", Some(sessions)).expect("they count");
            assert_eq!((counts.sessions(), counts.total()), (sessions.into(), actions));
        }
        let counts = dacapo::count(workload, "workload.txt", Some(512)).expect("they count");
        // The sample of DaCapo's page.
        let sample = "Completed 512 trade sessions comprising 8862 trader actions
Home .................... 1653 (18.7%)
Portfolio ............... 738 ( 8.3%)
Quote ................... 3758 (42.4%)
Buy ..................... 726 ( 8.2%)
Sell .................... 761 ( 8.6%)
Update .................. 126 ( 1.4%)
Register ................ 38 ( 0.4%)
Login ................... 512 ( 5.8%)
Logout .................. 550 ( 6.2%)
";
        assert_eq!(counts.to_string(), sample);
        let error = dacapo::count(workload, "w", Some(8_193)).expect_err("too many");
        assert!(error.to_string().starts_with("w:8193: column 1: the file has 8192 sessions"), "{error}");
    });
}

/// 99 buys overdraw, and 7 are of no shares: the model carries out both.
#[test]
fn the_shipped_files_are_carried_out_and_written_the_same() {
    with_shipped(|[stocks, users, workload]| {
        let files = ScriptFiles { stocks, users, workload };
        let script = read(&files, None).expect("a script");
        let mut brokerage = Brokerage::new(&script);
        let (mut overdrawing, mut least, mut empty) = (0, Cents::default(), 0);
        for session in &script.sessions {
            let mut visit = Visit::of(session);
            for action in session.whole() {
                brokerage.apply(&mut visit, action).expect("it can be carried out");
                let balance = brokerage.customers[visit.user()].balance;
                if let Action::Buy(lot) = action {
                    overdrawing += u32::from(balance < Cents::default());
                    empty += u32::from(lot.quantity == 0);
                }
                least = least.min(balance);
            }
        }
        assert_eq!(brokerage.check(), Ok(()));
        assert_eq!((overdrawing, least.get() / 100, empty), (99, -555_213, 7));
        // Whatever replies and end state another implementation of the canonical form found, in Python.
        let played =
            |grain| Brokerage::new(&script).play(&script.sessions, grain).map(|digest| digest.to_string());
        assert_eq!(played(Grain::Fine).as_deref(), Ok("8a24fc3980ca3148"));
        assert_eq!(played(Grain::Coarse).as_deref(), Ok("a8ea3e44ca51eab2"));
        let end = "12bf8d815ee02f5d7c15f558de2859958f757345d314a8cf5663f12d5fc8abe6";
        assert_eq!(brokerage.end_state().sha256, end);
        // Without comments and `a` the files are what we write.
        let plain = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8(text.to_vec()).expect("UTF-8");
            text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
        };
        let [ours_stocks, ours_users, ours_workload] = self::files(&script);
        assert_eq!(plain(&ours_stocks), plain(stocks));
        assert_eq!(plain(&ours_users), plain(users));
        let without_a =
            |line: &String| line.split('\t').filter(|step| *step != "a").collect::<Vec<_>>().join("\t");
        assert_eq!(plain(&ours_workload), plain(workload).iter().map(without_a).collect::<Vec<_>>());
    });
}

// --- The model --------------------------------------------------------------------------------------------------

#[test]
fn the_hash_is_fnv_1a() {
    // Of the test suite of its authors.
    for (text, hash) in
        [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
    {
        assert_eq!(fnv1a(text.as_bytes()), hash);
    }
}

/// The replies of a short session, by hand.
#[test]
fn replies_have_their_canonical_form() {
    let workload = "000000\tpw\th\tp\tb BF-B 2\ts A 3\tu c|e|p|n|a & b\tr 9|7|1|2|3|4|5\n";
    let script = parsed(STOCKS, USERS, workload).expect("a script");
    let session = &script.sessions[0];
    let mut brokerage = Brokerage::new(&script);
    let mut visit = Visit::of(session);
    let mut texts = Vec::new();
    for action in session.whole() {
        let replies = brokerage.apply(&mut visit, action).expect("it can be carried out");
        let of_action: Vec<String> = replies.iter().map(TradeReply::canonical).collect();
        let fine: Vec<u64> = reply_hashes(action, &replies, Grain::Fine);
        let coarse = reply_hashes(action, &replies, Grain::Coarse);
        assert_eq!((fine.len(), coarse.len()), (of_action.len(), 1));
        if matches!(action, Action::Portfolio) {
            let sorted: Vec<_> = [0, 1, 3, 2].map(|at: usize| of_action[at].clone()).into();
            assert_eq!(fine, sorted.iter().map(|text| fnv1a(text.as_bytes())).collect::<Vec<_>>());
            assert_eq!(coarse, [fnv1a(sorted.concat().as_bytes())]);
        }
        texts.push(of_action.concat());
    }
    assert_golden("trade-replies.txt", &(texts.join("\n") + "\n" + &brokerage.dump()));
    let state = serde_json::to_value(brokerage.end_state()).expect("JSON");
    // 90,000 $ − 2 · 0.55 − 24.95 + 3 · 17.87 − 24.95, 1 $ and 7 $.
    assert_eq!(state["balance"], 9_000_000 - 110 - 2_495 + 5_361 - 2_495 + 100 + 700);
    assert_eq!((&state["logins"], &state["logouts"], &state["accounts"]), (&2.into(), &2.into(), &3.into()));
}

#[test]
fn refusals_name_session_and_action() {
    for (workload, words) in [
        ("000000\tno\n", "session 1, action 1 (`login`): the password of `000000` is another one"),
        ("000000\tpw\th\ts A 4\n", "session 1, action 3 (`sell`): `000000` holds no 4 shares of `A`"),
        (
            "000000\tpw\ts A 3\ts A 3\ts A 3\n",
            "session 1, action 4 (`sell`): `000000` holds no 3 shares of `A`",
        ),
        (
            "000000\tpw\n000000\tpw\tr 000001|1|1|2|3|4|5\n",
            "session 2, action 2 (`register`): there is a user `000001` already",
        ),
    ] {
        let script = parsed(STOCKS, USERS, workload).expect("a script");
        let error = Brokerage::new(&script).play(&script.sessions, Grain::Fine).expect_err(workload);
        assert_eq!(error.to_string(), words);
    }
}

#[test]
fn books_that_were_tampered_with_do_not_add_up() {
    let script = script(32);
    let played = || {
        let mut brokerage = Brokerage::new(&script);
        brokerage.play(&script.sessions, Grain::Fine).expect("it can be carried out");
        brokerage
    };
    let tamper = |change: fn(&mut brokerage::Customer)| {
        let mut brokerage = played();
        let traded =
            brokerage.customers.values_mut().find(|one| one.orders.len() > 1 && !one.holdings.is_empty());
        change(traded.expect("somebody traded"));
        brokerage.check().expect_err("tampered with").to_string()
    };
    assert!(tamper(|one| one.balance += Cents::new(1)).contains("and its orders leave"));
    assert!(tamper(|one| one.orders[0].fee += Cents::new(1)).contains("and its orders leave"));
    assert!(tamper(|one| one.holdings.truncate(one.holdings.len() - 1)).contains("are worth"));
    assert!(tamper(|one| one.logins += 1).contains("logins"));
    assert!(tamper(|one| (one.logins, one.logouts) = (2, 2)).contains("logins"));
    let mut sold_twice = played();
    sold_twice.done.sells += 1;
    assert!(sold_twice.check().is_err());
}

/// Any action, also such as overdraw, sell what is not held, or register who is there.
fn any_action() -> impl Strategy<Value = Action> {
    let lot = || {
        (0..2u32, 0..6u32).prop_map(|(stock, quantity)| Lot {
            stock: StockId(stock),
            quantity: quantity * quantity * 2_000,
        })
    };
    let profile = || {
        "[a-c]{2}".prop_map(|text| Profile {
            card: text.clone(),
            email: text.clone(),
            password: text.clone(),
            full_name: text.clone(),
            address: text,
        })
    };
    let held = prop_oneof![Just((0, 3)), Just((1, 0))];
    prop_oneof![
        Just(Action::Home),
        Just(Action::Portfolio),
        Just(Action::Login),
        Just(Action::Logout),
        (0..2u32).prop_map(|stock| Action::Quote(StockId(stock))),
        lot().prop_map(Action::Buy),
        lot().prop_map(Action::Sell),
        held.prop_map(|(stock, quantity)| Action::Sell(Lot { stock: StockId(stock), quantity })),
        profile().prop_map(|profile| Action::Update(Box::new(profile))),
        (0..4u32, profile()).prop_map(|(number, profile)| {
            let (user, balance) = (format!("00000{number}"), Cents::dollars(number.into()));
            Action::Register(Box::new(User { user, balance, profile, holdings: Vec::new() }))
        }),
    ]
}

proptest! {
    /// The books add up after each action of any sessions in any order, whether it was carried out or refused.
    #[test]
    fn books_add_up_after_any_prefix(actions in prop::collection::vec((0..2usize, any_action()), 0..60)) {
        let script = parsed(STOCKS, USERS, "000000\tpw\n000001\t\n").expect("a script");
        let mut brokerage = Brokerage::new(&script);
        let mut visits = [Visit::of(&script.sessions[0]), Visit::of(&script.sessions[1])];
        // Who is in: more logouts than logins are no sessions.
        let mut is_in = [false; 2];
        for (who, action) in actions {
            match action {
                Action::Login if is_in[who] => continue,
                Action::Login => {}
                _ if !is_in[who] => continue,
                _ => {}
            }
            match (brokerage.apply(&mut visits[who], &action), &action) {
                (Ok(_), Action::Login) => is_in[who] = true,
                (Ok(_), Action::Logout) | (Err(_), Action::Register(_)) => is_in[who] = false,
                _ => {}
            }
            prop_assert_eq!(brokerage.check(), Ok(()));
        }
    }

    /// A passage has one digest however its sessions are interleaved.
    #[test]
    fn interleaving_changes_no_digest(seed in 0..8u64, order in prop::collection::vec(0..8usize, 400)) {
        let law = law(8).with_seed(seed);
        let script = ScriptMaker::new(law).script();
        let mut brokerage = Brokerage::new(&script);
        let mut under_way: Vec<_> = script
            .sessions
            .iter()
            .map(|session| (Visit::of(session), SessionHash::default(), session.whole().collect::<Vec<_>>().into_iter()))
            .collect();
        let everyone = order.into_iter().chain((0..8).flat_map(|who| [who; 400]));
        for who in everyone {
            let (visit, hash, actions) = &mut under_way[who];
            if let Some(action) = actions.next() {
                let replies = brokerage.apply(visit, action).expect("it can be carried out");
                reply_hashes(action, &replies, Grain::Fine).into_iter().for_each(|reply| hash.add(reply));
            }
        }
        let mut digest = PassageDigest::default();
        under_way.iter().for_each(|(_, hash, _)| digest += hash);
        let mut in_order = Brokerage::new(&script);
        prop_assert_eq!(in_order.play(&script.sessions, Grain::Fine), Ok(digest));
        prop_assert_eq!(in_order.end_state(), brokerage.end_state());
        prop_assert_eq!(brokerage.check(), Ok(()));
    }
}
