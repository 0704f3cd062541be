//! The workload `trade`: scripted sessions of a brokerage.
//!
//! A [`TradeScript`] is made from a seed ([`ScriptMaker`]) or read from files ([`dacapo`]); a [`Brokerage`] carries it out and
//! knows each reply and the end state. Nothing here opens files or connections, or reads a clock.

mod about;
mod books;
mod brokerage;
mod calls;
mod canonical;
mod client;
mod contention;
mod control;
mod counts;
pub mod dacapo;
mod draws;
mod dump;
mod end_state;
mod in_process;
mod law;
mod maker;
mod passage;
mod records;
mod script;
mod session;
mod sessions;
mod source;
mod words;

use std::sync::Arc;

use weighbridge_model::experiment::{Equality, Protocol, TradeOperation, TradeSpec};

use crate::bind::{Bind, Binding, DataFile};
use crate::stream::Mix;
use crate::{Entry, Given, Workload, WorkloadError};

pub use about::{About, ActionShare, ScriptParts};
pub use books::{BookCounts, EndState, Imbalance};
pub use brokerage::{Brokerage, PassageError, Refusal, Visit};
pub use calls::TradeCall;
pub use canonical::{
    AccountReply, HoldingReply, OrderKind, OrderReply, PassageDigest, ProfileReply, QuoteReply, SessionHash,
    TradeReply, reply_hashes,
};
pub use client::{TradeClient, TradeFault};
pub use contention::moved;
pub use control::TradeControl;
pub use counts::ActionCounts;
pub use end_state::ExpectedState;
pub use in_process::{ScriptInProcess, SessionsAsk};
pub use law::{END, LawError, ScriptLaw, expected_share, target};
pub use maker::ScriptMaker;
pub use script::{
    Action, ActionKind, Cents, FEE, HOLDINGS_MOST, Lot, Profile, Session, Stock, StockId, TradeScript, User,
};

pub use weighbridge_model::experiment::{Grain, ScriptSize};

pub(crate) use passage::Passage;
pub use sessions::ATTEMPTS;
pub(crate) use sessions::PassageSessions;
pub use source::ScriptError;
use source::ScriptSource;

/// The actions of a passage; `None` where its script is in files that were not read.
pub(crate) fn actions(spec: &TradeSpec, read: Option<&Arc<TradeScript>>) -> Option<ActionCounts> {
    let source = ScriptSource::new(spec, read).ok()?;
    let mut counts = ActionCounts::default();
    (0..source.sessions()).for_each(|number| counts.add(&source.session(number)));
    Some(counts)
}

impl Bind for TradeSpec {
    /// Before anything is timed, variants with a protocol are asked for the quote of the first stock.
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        if binding.protocol == Protocol::DIRECT {
            let source = ScriptSource::new(self, binding.given.script)?;
            let script = Arc::new(ScriptInProcess::new(source, self.grain)?);
            return Ok(Workload {
                in_process: Some(script),
                ..binding.plain(Vec::new(), Mix::even(0), Equality::Json)
            });
        }
        let passage = Arc::new(Passage::new(self, binding)?);
        let entry = Entry {
            name: TradeOperation::Quote.name().to_owned(),
            title: passage.title(),
            rendered: passage.first_quote().clone(),
            expect: Arc::new(sessions::QuoteExpect::new(Arc::clone(&passage))),
        };
        let plain = binding.plain(vec![entry], Mix::even(1), Equality::Json);
        Ok(Workload { trade: Some(passage), ..plain })
    }

    /// None where the script is in files that were not read: then they are missed before anything is started.
    fn service_data(&self, given: Given<'_>) -> Vec<DataFile> {
        let source = ScriptSource::new(self, given.script);
        source.map(|source| dacapo::write(&source.script()).into()).unwrap_or_default()
    }
}

/// A quote as a message of gRPC.
#[cfg(test)]
pub(crate) fn quote_message(quote: &serde_json::Value) -> Vec<u8> {
    crate::codec::encode(weighbridge_model::experiment::CodecName::Protobuf, &records::QUOTE, quote)
}

#[cfg(test)]
mod passage_tests;
#[cfg(test)]
mod tests;
