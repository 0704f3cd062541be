//! Calls beside a script, which are never timed: the database is made what it was at first, and asked what it holds.

use serde_json::Value;
use weighbridge_load::request::Rendered;
use weighbridge_model::experiment::CodecName;

use super::calls::{Caller, TradeCarrier};
use super::records::{DUMP, STATE};
use crate::WorkloadError;
use crate::canonical::Received;
use crate::codec;

/// The requests, rendered, and how their answers are read. Errors say why an answer is not good.
#[derive(Debug, Clone)]
pub struct TradeControl {
    carrier: TradeCarrier,
    /// Makes the database what it was at first.
    pub reset: Rendered,
    /// Numbers and sums of what the database holds.
    pub state: Rendered,
    /// Everything that it holds.
    pub dump: Rendered,
}

impl TradeControl {
    pub(super) fn new(caller: &Caller) -> Result<Self, WorkloadError> {
        Ok(Self {
            carrier: caller.carrier(),
            reset: caller.control("POST", "/control/reset", "Reset")?,
            state: caller.control("GET", "/control/state", "GetState")?,
            dump: caller.control("GET", "/control/dump", "GetDump")?,
        })
    }

    pub fn check_reset(&self, received: &Received<'_>) -> Result<(), String> {
        self.check(received)
    }

    pub fn read_state(&self, received: &Received<'_>) -> Result<Value, String> {
        self.check(received)?;
        match self.carrier {
            TradeCarrier::Grpc => {
                codec::decode(CodecName::Protobuf, &STATE, received.body).map_err(|error| error.to_string())
            }
            TradeCarrier::Rest | TradeCarrier::Soap => {
                serde_json::from_slice(received.body).map_err(|error| error.to_string())
            }
        }
    }

    pub fn read_dump(&self, received: &Received<'_>) -> Result<String, String> {
        self.check(received)?;
        match self.carrier {
            TradeCarrier::Grpc => {
                let dump = codec::decode(CodecName::Protobuf, &DUMP, received.body);
                let dump = dump.map_err(|error| error.to_string())?;
                Ok(dump["text"].as_str().unwrap_or_default().to_owned())
            }
            TradeCarrier::Rest | TradeCarrier::Soap => {
                Ok(String::from_utf8_lossy(received.body).into_owned())
            }
        }
    }

    fn check(&self, received: &Received<'_>) -> Result<(), String> {
        if received.status != 200 {
            return Err(format!("status {}, expected 200", received.status));
        }
        if self.carrier != TradeCarrier::Grpc {
            return Ok(());
        }
        let told = |name: &str| {
            let found = received.headers.iter().rev().find(|(field, _)| field.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.as_str())
        };
        match told("grpc-status") {
            "0" => Ok(()),
            status => Err(format!("`grpc-status` is `{status}`, expected `0`: {}", told("grpc-message"))),
        }
    }
}
