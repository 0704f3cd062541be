//! Simulated services whose capacity is known, and the search for it in virtual time. Only the requests are
//! simulated: the judge's own code chooses the rates and estimates.

#![allow(dead_code)] // the fast form and the long one use their own parts

pub mod oracle;
pub mod peers;
pub mod server;
pub mod study;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use weighbridge_judge::capacity::{
    CapacityEstimate, CapacityRule, Outside, SearchStep, Try, capacities, record,
};
use weighbridge_model::objective::Objectives;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::LoopHealth;
use weighbridge_model::record::steps::{PARTS, Step, StepEnd, StepKind, StepRecord};

use server::{Server, Service};

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub service: Service,
    pub objective: &'static str,
    /// Spread of the speed from start to start.
    pub starts: f64,
    pub blocks: u32,
}

/// A search with what it cost.
pub struct Searched {
    pub estimate: CapacityEstimate,
    pub steps: Vec<Vec<StepRecord>>,
    /// Virtual time of all steps.
    pub seconds: f64,
    pub grid: Vec<PerSecond>,
}

pub fn objectives(text: &str) -> Objectives {
    let list = text.split(';').map(|text| text.parse().expect("an objective")).collect();
    Objectives::new(list, &["get".to_owned()]).expect("known operations")
}

pub fn rule(objective: &str, seed: u64) -> CapacityRule {
    CapacityRule {
        objectives: objectives(objective),
        from: None,
        to: None,
        curve: 0,
        rates: Vec::new(),
        length: Nanoseconds::from_secs(2),
        width: Ratio::new(0.01),
        seed,
    }
}

/// A whole search: the first block looks for rates, all measure them.
pub fn search(case: &Case, rule: &CapacityRule, seed: u64) -> Searched {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut run = Run { rule, blocks: Vec::new(), seconds: 0.0 };
    let mut grid = Vec::new();
    for block in 0..case.blocks {
        let mut server = Server::start(case.service, case.starts, &mut random);
        let pace = PerSecond::new(0.97 * server.pace()).expect("finite");
        run.blocks.push(Vec::new());
        if grid.is_empty() {
            match run.search(&mut server, None, pace) {
                Some(rates) => grid = rates,
                None => return run.end(Vec::new()),
            }
        }
        run.measure(&mut server, &grid, block);
        if let Some(outside) = rule.lies_outside(&run.views())
            && let Some(rates) = run.search(&mut server, Some(outside), pace)
        {
            grid = rates;
            run.measure(&mut server, &grid, block);
        }
        while let Some(next) = run.extra() {
            run.step(&mut server, next);
        }
        if block + 1 == case.blocks
            && let Some(last) = rule.confirm(&run.estimate())
        {
            run.step(&mut server, last);
        }
    }
    run.end(grid)
}

struct Run<'a> {
    rule: &'a CapacityRule,
    blocks: Vec<Vec<StepRecord>>,
    seconds: f64,
}

impl Run<'_> {
    /// The rates that every block measures, or nothing where the search ended.
    fn search(
        &mut self,
        server: &mut Server,
        outside: Option<Outside>,
        pace: PerSecond,
    ) -> Option<Vec<PerSecond>> {
        loop {
            match self.rule.search(self.blocks.last().expect("a block"), outside, pace) {
                SearchStep::Try(next) => self.step(server, next),
                SearchStep::Grid(rates) => return Some(rates),
                SearchStep::Ended(_) => return None,
            }
        }
    }

    fn measure(&mut self, server: &mut Server, grid: &[PerSecond], block: u32) {
        for placed in self.rule.order(grid, block) {
            let length = self.rule.grid_length(placed.rate);
            self.step(server, Try { rate: placed.rate, length, kind: StepKind::Grid });
        }
    }

    fn step(&mut self, server: &mut Server, next: Try) {
        let steps = self.blocks.last_mut().expect("a block");
        let before = steps.last().map(|step| step.step.rate);
        let mut step = Step {
            number: steps.len() as u32,
            kind: next.kind,
            course: Step::course(before, next.rate),
            rate: next.rate,
            start: server::START,
            length: next.length,
            end: StepEnd::Complete,
            health: LoopHealth::default(),
        };
        let requests = server.requests(next.rate.get(), next.length);
        let mut made = record(&self.rule.objectives, step, requests);
        let tenths: Vec<_> = [made.lead_in].into_iter().chain(made.tenths).collect();
        let over = (1..PARTS).find(|at| self.rule.is_overloaded(next.rate, &tenths[..*at]));
        if let Some(over) = over {
            step.end = StepEnd::Cut;
            let until = server::START + next.length / PARTS as u64 * over as u64;
            let due: Vec<_> = requests.iter().copied().take_while(|request| request.due < until).collect();
            made = record(&self.rule.objectives, step, &due);
        }
        self.seconds += next.length.as_secs_f64() * over.unwrap_or(PARTS) as f64 / PARTS as f64;
        steps.push(made);
    }

    fn extra(&self) -> Option<Try> {
        let mut blocks = self.views();
        let own = blocks.pop()?;
        self.rule.extra(&blocks, &own)
    }

    fn views(&self) -> Vec<Vec<&StepRecord>> {
        self.blocks.iter().map(|block| block.iter().collect()).collect()
    }

    fn estimate(&self) -> CapacityEstimate {
        capacities(&self.rule.objectives, &self.views(), self.blocks.len()).swap_remove(0)
    }

    fn end(self, grid: Vec<PerSecond>) -> Searched {
        Searched { estimate: self.estimate(), steps: self.blocks, seconds: self.seconds, grid }
    }
}
