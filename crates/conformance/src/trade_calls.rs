//! Calls of a brokerage over one protocol, one by one and as whole passages.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::exchange::{Collected, Limits as ExchangeLimits, exchange};
use weighbridge_load::generator::{Generator, LoopOptions, Progress, WindowSpec};
use weighbridge_load::request::Rendered;
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{LoadSpec, Protocol, TradeOperation};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{Outcome, Tallies};
use weighbridge_workload::trade::{TradeCall, TradeClient, TradeFault};
use weighbridge_workload::{Address, Received, UrlScheme, Workload, WorkloadError};

use super::harness::{Harness, Service};
use super::limits::{Limits, left};
use super::outcome::{Shortfall, Verdict, differs};
use super::trade_model::Model;

/// Longest reply to a call.
const LONGEST: Bytes = Bytes::new(1 << 20);
/// For a whole passage of the small script, of some thousand requests.
const PASSAGE: std::time::Duration = std::time::Duration::from_secs(30);

/// The protocols for which the service offers the workload, but for `direct`.
pub(super) fn spoken(harness: &Harness) -> impl Iterator<Item = Protocol> + use<> {
    let names = harness.subject.workloads.get("trade").cloned().unwrap_or_default();
    let is_spoken = move |protocol: &Protocol| {
        *protocol != Protocol::DIRECT && names.iter().any(|name| name == protocol.name())
    };
    Protocol::NAMED.into_iter().map(|row| row.protocol).filter(is_spoken)
}

pub(super) fn over(protocol: Protocol, shortfall: Shortfall) -> Shortfall {
    shortfall.behind(format_args!(" (over {})", protocol.name()))
}

pub(super) fn start(harness: &Harness, protocol: Protocol, folder: &Path) -> Result<Service, Shortfall> {
    let folder = folder.display().to_string();
    harness.start_with(&[("WORKLOAD", "trade"), ("PROTOCOL", protocol.name()), ("DATA", &folder)])
}

/// A brokerage that listens.
pub(super) struct AskedBrokerage {
    pub(super) protocol: Protocol,
    place: SocketAddr,
    limits: Limits,
    client: TradeClient,
}

impl AskedBrokerage {
    pub(super) fn new(protocol: Protocol, place: SocketAddr, limits: Limits) -> Result<Self, Shortfall> {
        let client = TradeClient::new(protocol, &address(place)).map_err(unsaid)?;
        Ok(Self { protocol, place, limits, client })
    }

    /// What a call answers: a reply or a fault.
    pub(super) fn call(
        &self,
        operation: TradeOperation,
        arguments: &Value,
    ) -> Result<Result<Value, TradeFault>, Shortfall> {
        let call = TradeCall { operation, arguments: arguments.clone() };
        let title = self.title(&call);
        let reply = self.exchange(&title, &self.client.request(&call).map_err(unsaid)?)?;
        let read = self.client.read(operation, &received(&reply));
        read.map_err(|came| differs(title, "a reply or a fault of the contract", came))
    }

    /// The reply to a call that should be carried out.
    pub(super) fn reply(&self, operation: TradeOperation, arguments: &Value) -> Result<Value, Shortfall> {
        let title = self.title(&TradeCall { operation, arguments: arguments.clone() });
        self.call(operation, arguments)?
            .map_err(|fault| differs(title, "a reply", format_args!("the fault `{}`", fault.word())))
    }

    /// The reply to a call, whose fields of these names must have these values.
    pub(super) fn answers(
        &self,
        operation: TradeOperation,
        arguments: &Value,
        expected: &Value,
    ) -> Result<Value, Shortfall> {
        let reply = self.reply(operation, arguments)?;
        let title = self.title(&TradeCall { operation, arguments: arguments.clone() });
        for (field, expected) in expected.as_object().into_iter().flatten() {
            if reply[field] != *expected {
                let what = format_args!("{title} with `{arguments}`, `{field}`");
                return Err(differs(what, format_args!("`{expected}`"), format_args!("`{}`", reply[field])));
            }
        }
        Ok(reply)
    }

    /// A call that should be refused.
    pub(super) fn refuses(
        &self,
        operation: TradeOperation,
        arguments: &Value,
        expected: TradeFault,
    ) -> Verdict {
        let call = TradeCall { operation, arguments: arguments.clone() };
        let what = format!("{} with `{arguments}`", self.title(&call));
        self.is_fault(&what, self.call(operation, arguments)?, expected)
    }

    /// A call whose body ends too early. What libraries of gRPC answer to that is their own.
    pub(super) fn refuses_half(&self, operation: TradeOperation, arguments: &Value) -> Verdict {
        let call = TradeCall { operation, arguments: arguments.clone() };
        let what = format!("half of the body of {}", self.title(&call));
        let reply = self.exchange(&what, &self.client.truncated(&call).map_err(unsaid)?)?;
        if self.protocol.has_calls() {
            return match reply.header("grpc-status") {
                Some(status) if status != "0" => Ok(()),
                status => Err(differs(what, "a status that is not 0", format_args!("{status:?}"))),
            };
        }
        let read = self.client.read(operation, &received(&reply));
        let read = read.map_err(|came| differs(&what, "the fault `wrong`", came))?;
        self.is_fault(&what, read, TradeFault::Wrong)
    }

    fn is_fault(&self, what: &str, came: Result<Value, TradeFault>, expected: TradeFault) -> Verdict {
        let came = match came {
            Err(fault) if fault == expected => return Ok(()),
            Err(fault) => format!("the fault `{}`", fault.word()),
            Ok(reply) => format!("`{reply}`"),
        };
        Err(differs(what, format_args!("the fault `{}`", expected.word()), came))
    }

    pub(super) fn reset(&self) -> Verdict {
        self.restored().map(drop)
    }

    fn restored(&self) -> Result<Collected, Shortfall> {
        let control = self.client.control();
        let reply = self.exchange("reset", &control.reset)?;
        let done = control.check_reset(&received(&reply));
        done.map(|()| reply).map_err(|came| differs("reset", "a database restored", came))
    }

    pub(super) fn state(&self) -> Result<Value, Shortfall> {
        let control = self.client.control();
        let reply = self.exchange("state", &control.state)?;
        let state = control.read_state(&received(&reply));
        state.map_err(|came| differs("state", "the numbers and sums of the contract", came))
    }

    /// What is in the database must be this.
    pub(super) fn has(&self, when: &str, expected: &Value) -> Verdict {
        same_state(when, expected, &self.state()?)
    }

    /// Plays the whole script from a restored database; every reply and the end must be the model's.
    pub(super) fn passage(&self, model: &Model, connections: u32) -> Verdict {
        let restored = self.restored()?;
        let when = format!("a passage of {} grain, connections: {connections}", model.grain_name());
        let workload =
            Workload::new(&model.spec, &LoadSpec::default(), self.protocol, &address(self.place), &|_| None);
        let workload = workload.map_err(unsaid)?;
        workload
            .emptied(&received(&restored))
            .map_err(|came| differs("reset", "a database restored", came))?;
        self.play(&workload, connections).map_err(|came| differs(&when, "the model's replies", came))?;
        self.has(&format!("the end of {when}"), &model.end)
    }

    /// Plays a passage; the error is the first reply that was wrong.
    fn play(&self, workload: &Workload, connections: u32) -> Result<(), String> {
        let (variant, count) = (VariantId(0), workload.passage().unwrap_or_default());
        let stop = Arc::new(AtomicBool::new(false));
        let options = LoopOptions { stop: Arc::clone(&stop), ..LoopOptions::default() };
        let dial = Box::new(SocketDial::to(variant, [self.place]));
        let mut generator = Generator::new(dial, options).map_err(|error| error.to_string())?;
        let settings = Settings { connections, ..Settings::default() };
        generator.attach(variant, settings, workload.framing(), workload.sessions());
        generator.connect(variant).map_err(|error| error.to_string())?;
        let load = Load::Closed(Stop::Count(count));
        let window = WindowSpec { substream: 1, load, recording: Recording::Exact };
        let deadline = self.limits.within(PASSAGE);
        let mut watch = |_: Progress| stop.store(Instant::now() >= deadline, Ordering::Relaxed);
        let (mut tallies, mut samples) = (Tallies::default(), Vec::new());
        let report = generator
            .run(variant, &window, &mut tallies, Some(&mut samples), Some(&mut watch))
            .map_err(|error| error.to_string())?;
        if let Some(failure) = report.failures.texts().first() {
            return Err(String::from_utf8_lossy(&failure.text).into_owned());
        }
        if let Some(trouble) = report.trouble {
            return Err(trouble.to_string());
        }
        let wrong = samples.iter().filter(|sample| sample.outcome != Outcome::Ok).count();
        match samples.len() as u64 {
            requests if requests == count && wrong == 0 => Ok(()),
            requests => {
                Err(format!("{requests} requests of {count} in time, {wrong} of them without a good reply"))
            }
        }
    }

    fn title(&self, call: &TradeCall) -> String {
        format!("`{}`", self.client.title(call))
    }

    fn exchange(&self, what: &str, request: &Rendered) -> Result<Collected, Shortfall> {
        let timeout = left(self.limits.for_reply(LONGEST.get() as usize));
        let timeout = Nanoseconds::from_nanos(timeout.as_nanos() as u64);
        let limits = ExchangeLimits { timeout, body: LONGEST, stop: None };
        exchange(&[self.place], self.client.framing(), request, limits)
            .map_err(|error| differs(what, "a reply", error))
    }
}

/// Two states are compared number by number.
pub(super) fn same_state(when: &str, expected: &Value, came: &Value) -> Verdict {
    for (field, expected) in expected.as_object().into_iter().flatten() {
        if came[field] != *expected {
            let what = format_args!("state, {when}, `{field}`");
            return Err(differs(what, format_args!("`{expected}`"), format_args!("`{}`", came[field])));
        }
    }
    Ok(())
}

fn received(reply: &Collected) -> Received<'_> {
    let Collected { status, headers, body, messages, .. } = reply;
    Received { status: *status, headers, body, messages }
}

fn address(place: SocketAddr) -> Address {
    Address { authority: place.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() }
}

fn unsaid(error: WorkloadError) -> Shortfall {
    Shortfall::Skipped(error.to_string())
}
