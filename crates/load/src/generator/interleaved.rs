//! One window on several variants at once, request by request, in one loop on one schedule.
//!
//! Every variant has its own connections, recorder and figures; the loop is shared, and so are its busy time and CPU
//! time. [`Interleave`] decides which variant is sent a request when.

use std::io;
use std::sync::atomic::Ordering;

use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, LoopHealth, RequestRecord, Tallies, WindowEnd, WindowFigures};

use super::account::Account;
use super::waiting::{Until, Waits};
use super::{
    EVENT_BATCH, Generator, LoopOptions, RunError, Trouble, WindowReport, WindowSpec, catch_up, dispatch,
    expected,
};
use crate::connection::Reason;
use crate::interleave::Interleave;
use crate::pool::{Demand, Io, Pool, Token};
use crate::recorder::Recorder;
use crate::sys;
use crate::window::{Load, Stop};

/// One variant's part in an interleaved window.
#[derive(Debug)]
pub struct Share<'a> {
    pub variant: VariantId,
    /// Receives its histograms.
    pub tallies: &'a mut Tallies,
    /// Receives each of its requests, if given.
    pub samples: Option<&'a mut Vec<RequestRecord>>,
}

/// State of one run of the loop.
struct LoopState<'a> {
    interleave: Interleave,
    variants: Vec<VariantId>,
    accounts: Vec<Account<'a>>,
    waits: Waits,
}

/// How the loop ended.
struct Over {
    end: WindowEnd,
    /// The index of the variant that caused an abort, and why.
    trouble: Option<(usize, Trouble)>,
}

impl Generator {
    /// Runs one window on several variants at once and returns when nothing is outstanding: one report per share, in
    /// their order. Counts and times of the load are of rounds of requests, one to each variant.
    ///
    /// The figures' `health` is the whole loop's and the same for every variant, except lag and loop delay. If one
    /// variant causes an abort, the window ends for all, and only its report has the trouble.
    ///
    /// Errors: [`RunError`] if nothing could be run; failed requests are counted in the figures instead.
    ///
    /// # Panics
    /// If a variant has two shares.
    pub fn run_interleaved(
        &mut self,
        shares: &mut [Share<'_>],
        spec: &WindowSpec,
    ) -> Result<Vec<WindowReport>, RunError> {
        let Self { io, pools, recorders, options, .. } = self;
        sys::sharpen_timers();
        let cpu = sys::thread_cpu();
        catch_up(pools, io).map_err(RunError::Loop)?;
        let variants: Vec<VariantId> = shares.iter().map(|share| share.variant).collect();
        if recorders.len() < shares.len() {
            recorders.resize_with(shares.len(), Recorder::new);
        }
        recorders.iter_mut().for_each(|recorder| recorder.begin(spec.recording, expected(&spec.load)));
        let begun = sys::clock();
        let load = without_think(&spec.load);
        let mut slots = 1;
        for &variant in &variants {
            let pool = pool_of(pools, variant)?;
            pool.begin_window(io, &load, spec.substream, begun);
            slots = pool.settings.connections * pool.settings.in_flight;
        }
        let start = sys::clock();
        for &variant in &variants {
            pool_of(pools, variant)?.free_all(start);
        }
        let interleave = Interleave::new(&spec.load, variants.len(), slots, spec.substream, start);
        let mut tallies = Vec::with_capacity(shares.len());
        let mut accounts = Vec::with_capacity(shares.len());
        for (recorder, share) in recorders.iter_mut().zip(shares.iter_mut()) {
            accounts.push(Account::new(recorder, share.samples.as_deref_mut(), start));
            tallies.push(&mut *share.tallies);
        }
        let mut run = LoopState { interleave, variants, accounts, waits: Waits::new(start) };
        let mut taken = take(pools, &run.variants)?;
        let over = run.run_loop(pools, &mut taken, io, options);
        let wall = sys::clock().since(start);
        let health = LoopHealth {
            wall,
            busy: wall.saturating_sub(run.waits.waited),
            cpu: sys::thread_cpu().saturating_sub(cpu),
            ..LoopHealth::default()
        };
        let reports = over.as_ref().ok().map(|over| run.reports(&mut taken, over, health, tallies));
        for pool in taken {
            let at = pool.variant.index();
            pools[at] = Some(pool);
        }
        over.map_err(RunError::Loop)?;
        Ok(reports.unwrap_or_default())
    }
}

/// Takes the pools out of the list, so that all can be borrowed at once.
#[expect(clippy::vec_box, reason = "a pool keeps the place that it was given when it was attached")]
fn take(pools: &mut [Option<Box<Pool>>], variants: &[VariantId]) -> Result<Vec<Box<Pool>>, RunError> {
    let missing = variants.iter().find(|variant| pools.get(variant.index()).is_none_or(Option::is_none));
    if let Some(missing) = missing {
        return Err(RunError::NotAttached(*missing));
    }
    let one = |variant: &VariantId| pools[variant.index()].take().expect("each variant has one share");
    Ok(variants.iter().map(one).collect())
}

fn pool_of(pools: &mut [Option<Box<Pool>>], variant: VariantId) -> Result<&mut Pool, RunError> {
    super::pool_of(pools, variant).ok_or(RunError::NotAttached(variant))
}

/// The load as a pool sees it: in closed load the interleaving handles think time, not the pool.
fn without_think(load: &Load) -> Load {
    match load {
        Load::Thinking { stop, .. } => Load::Closed(*stop),
        Load::Closed(_) => Load::Closed(Stop::Count(0)),
        Load::Open { .. } | Load::PartlyOpen { .. } => load.clone(),
    }
}

impl LoopState<'_> {
    /// Runs the loop until the window is over.
    fn run_loop(
        &mut self,
        others: &mut [Option<Box<Pool>>],
        pools: &mut [Box<Pool>],
        io: &mut Io,
        options: &LoopOptions,
    ) -> io::Result<Over> {
        loop {
            let now = sys::clock();
            for pool in pools.iter_mut() {
                pool.housekeeping(io, now);
                pool.read_again(io);
            }
            let sent = self.advance(pools, io, now);
            if let Some(end) = self.interleave.end(now) {
                if end == WindowEnd::Saturated {
                    self.give_up(pools, now);
                }
                let mut is_waiting = false;
                for pool in pools.iter_mut().filter(|_| end == WindowEnd::Complete) {
                    is_waiting |= pool.finish_follow_ups(now);
                }
                if !is_waiting {
                    return Ok(Over { end, trouble: None });
                }
            }
            let accounts = self.accounts.iter().zip(pools.iter_mut()).enumerate();
            let trouble =
                accounts.filter_map(|(at, (one, pool))| Some((at, one.trouble(pool, io, now)?))).next();
            if trouble.is_some() || options.stop.load(Ordering::Relaxed) {
                self.interleave.abort(now);
                for (at, pool) in pools.iter_mut().enumerate() {
                    let is_own = trouble.as_ref().is_some_and(|(troubled, _)| *troubled == at);
                    self.accounts[at].give_up(pool, is_own, now);
                    self.settle(at, pool);
                }
                return Ok(Over { end: WindowEnd::Aborted, trouble });
            }
            // If nothing was sent since, the last clock reading is recent enough.
            let now = if sent { sys::clock() } else { now };
            let until = self.until(pools, now);
            let found = self.waits.wait(io, options, now, until)?;
            self.events(others, pools, io, found);
        }
    }

    /// What ends the next wait.
    fn until(&mut self, pools: &[Box<Pool>], now: Timestamp) -> Until {
        let mut due = self.interleave.wake(now);
        let mut housekeeping = now + super::NAP;
        let mut unread = false;
        for (at, pool) in pools.iter().enumerate() {
            let own = self.interleave.window(at).wake(now, pool.slots(), pool.think.next_due());
            due = [due, own, pool.follow_ups.wake(now, pool.slots())].into_iter().flatten().min();
            housekeeping = housekeeping.min(pool.housekeeping_at);
            unread |= pool.has_unread();
        }
        Until { due, housekeeping, unread }
    }

    /// Takes over finished requests and starts due ones, for every variant. Returns whether anything was started.
    fn advance(&mut self, pools: &mut [Box<Pool>], io: &mut Io, now: Timestamp) -> bool {
        let mut sent = false;
        for (at, pool) in pools.iter_mut().enumerate() {
            self.settle(at, pool);
        }
        self.interleave.advance(now);
        let issuing = self.interleave.issuing(now);
        for (at, pool) in pools.iter_mut().enumerate() {
            let window = self.interleave.window(at);
            let before = window.requests();
            pool.fill(window, now);
            sent |= window.requests() > before;
            if !issuing && pool.follow_ups.is_empty() {
                pool.demand = Demand::Idle;
            }
            pool.flush(io);
            self.settle(at, pool);
        }
        sent
    }

    /// Records the requests of one variant that ended.
    fn settle(&mut self, at: usize, pool: &mut Pool) {
        let Self { interleave, accounts, .. } = self;
        accounts[at].settle(pool, |finished| match finished.reason {
            Reason::Load => interleave.completed(at, finished.record.done),
            Reason::FollowUp(_) | Reason::Remainder => interleave.window(at).completed(),
        });
        interleave.window(at).sessions_ended(std::mem::take(&mut pool.ended_sessions));
    }

    /// Handles the events of one wait; one of them is timed for the loop's delay.
    fn events(
        &mut self,
        others: &mut [Option<Box<Pool>>],
        pools: &mut [Box<Pool>],
        io: &mut Io,
        found: usize,
    ) {
        if found == 0 {
            return;
        }
        let timed = self.waits.timed(found);
        for event in 0..found {
            let readiness = io.epoll.event(event);
            let token = Token::unpack(readiness.token);
            let Some(at) = self.variants.iter().position(|variant| variant.0 == token.variant) else {
                dispatch(others, io, event);
                continue;
            };
            if event == timed {
                self.accounts[at].recorder.loop_delay(self.waits.delay(event), found as u32);
            }
            pools[at].event(io, token, readiness);
            self.settle(at, &mut pools[at]);
            if (event + 1) % EVENT_BATCH == 0 {
                self.advance(pools, io, self.waits.returned);
            }
        }
    }

    /// Ends the outstanding requests of every variant as timed out.
    fn give_up(&mut self, pools: &mut [Box<Pool>], now: Timestamp) {
        self.interleave.abort(now);
        for (at, pool) in pools.iter_mut().enumerate() {
            pool.abandon(ErrorKind::Timeout, now);
            self.settle(at, pool);
        }
    }

    fn reports(
        mut self,
        pools: &mut [Box<Pool>],
        over: &Over,
        health: LoopHealth,
        tallies: Vec<&mut Tallies>,
    ) -> Vec<WindowReport> {
        let mut reports = Vec::with_capacity(pools.len());
        let accounts = std::mem::take(&mut self.accounts);
        for (at, (account, (pool, tallies))) in
            accounts.into_iter().zip(pools.iter_mut().zip(tallies)).enumerate()
        {
            let given_up = account.given_up;
            let figures: WindowFigures =
                account.figures(pool, self.interleave.window(at), over.end, health, tallies);
            let trouble = over.trouble.as_ref().filter(|(culprit, _)| *culprit == at);
            let trouble = trouble.map(|(_, trouble)| trouble.clone());
            let (failures, seen) = (pool.take_failures(), pool.take_seen());
            reports.push(WindowReport { figures, trouble, given_up, failures, seen });
        }
        reports
    }
}
