//! What a brokerage should answer and hold: by the workload's model, which knows nothing of databases and threads.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use weighbridge_model::experiment::{Grain, ScriptSize, TradeOperation, TradeSpec, WorkloadSpec};
use weighbridge_workload::service_data;
use weighbridge_workload::trade::{ActionKind, Brokerage, ScriptLaw, ScriptMaker, Visit};

use super::outcome::Shortfall;

/// No other script has it.
const SEED: u64 = 2_009;

/// A small script of fine or of coarse grain, and what comes of it.
pub(super) struct Model {
    pub(super) spec: WorkloadSpec,
    pub(super) grain: Grain,
    pub(super) sessions: u32,
    /// What is in the database before and after a passage.
    pub(super) opening: Value,
    pub(super) end: Value,
    /// Of the replies of a passage.
    pub(super) digest: String,
    /// How many of each operation a passage has.
    pub(super) operations: BTreeMap<&'static str, u64>,
}

impl Model {
    pub(super) fn of(grain: Grain) -> Self {
        let spec = spec(grain);
        let law = ScriptLaw::default().with_seed(spec.seed);
        let law = law.with_sessions(spec.sessions.into()).expect("a size of the model");
        let script = ScriptMaker::new(law).script();
        let mut brokerage = Brokerage::new(&script);
        let opening = value(&brokerage);
        let digest = brokerage.play(&script.sessions, grain).expect("it is generated").to_string();
        let end = value(&brokerage);
        let mut operations: BTreeMap<_, _> =
            TradeOperation::recorded(grain).iter().map(|one| (one.name(), 0)).collect();
        let mut counted = Brokerage::new(&script);
        for session in &script.sessions {
            let mut visit = Visit::of(session);
            for action in session.whole() {
                let replies = counted.apply(&mut visit, action).expect("it was carried out before").len();
                for (operation, count) in operations_of(action.kind(), replies as u64, grain) {
                    *operations.entry(operation.name()).or_default() += count;
                }
            }
        }
        let sessions = spec.sessions;
        Self { spec: WorkloadSpec::Trade(spec), grain, sessions, opening, end, digest, operations }
    }

    pub(super) fn grain_name(&self) -> &'static str {
        grain_name(self.grain)
    }
}

fn grain_name(grain: Grain) -> &'static str {
    Grain::NAMED.iter().find(|(_, named)| *named == grain).map_or("", |(name, _)| name)
}

fn spec(grain: Grain) -> TradeSpec {
    TradeSpec { sessions: ScriptSize::Small.sessions(), seed: SEED, grain, ..TradeSpec::default() }
}

fn value(brokerage: &Brokerage) -> Value {
    serde_json::to_value(brokerage.end_state()).expect("plain fields")
}

/// What an action with so many replies of fine grain is told as.
fn operations_of(kind: ActionKind, replies: u64, grain: Grain) -> Vec<(TradeOperation, u64)> {
    use TradeOperation as Op;
    let mut all = match kind {
        ActionKind::Login => vec![(Op::Login, 1)],
        ActionKind::Logout => vec![(Op::Logout, 1)],
        ActionKind::Quote => vec![(Op::Quote, 1)],
        ActionKind::Buy => vec![(Op::Buy, 1)],
        ActionKind::Update => vec![(Op::Update, 1)],
        ActionKind::Home => vec![(Op::Home, 1), (Op::Account, 1), (Op::Holdings, 1)],
        ActionKind::Portfolio => vec![(Op::Portfolio, 1), (Op::Holdings, 1), (Op::Quote, replies - 1)],
        ActionKind::Sell => vec![(Op::SellFirst, 1), (Op::Holdings, 1), (Op::Sell, 1)],
        ActionKind::Register => vec![(Op::SwitchUser, 1), (Op::Logout, 1), (Op::Register, 1)],
    };
    if grain == Grain::Coarse {
        all.truncate(1);
    }
    all
}

/// A folder with the files of the small script.
pub(super) fn script_folder() -> Result<TempDir, Shortfall> {
    let files = service_data(&WorkloadSpec::Trade(spec(Grain::Fine)), None);
    folder_of(files.iter().map(|file| (file.name.as_str(), file.contents.as_slice())))
}

pub(super) fn folder_of<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<TempDir, Shortfall> {
    let unwritten = |error: std::io::Error| Shortfall::Skipped(format!("this host takes no file: {error}"));
    let folder = tempfile::tempdir().map_err(unwritten)?;
    for (name, contents) in files {
        fs::write(folder.path().join(name), contents).map_err(unwritten)?;
    }
    Ok(folder)
}

pub(super) fn profile(user: &str) -> Value {
    json!({ "user": user, "full_name": "f", "address": "a", "email": "e", "card": "c", "password": "p" })
}

pub(super) fn registration(user: &str) -> Value {
    let mut fields = profile(user);
    fields["balance"] = 100_000.into();
    fields
}
