//! Turns the load that an experiment asks for into the load of one window.
//!
//! Loads that windows cannot measure are refused with a remedy: a profile that the budget does not cover,
//! sessions that never all end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weighbridge_load::pace::{Flow, Part, Source};
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_model::experiment::{
    Experiment, Flow as FlowSpec, LoadModel, LoadSpec, SessionLength, Think, TraceSpec, WorkloadSpec,
};
use weighbridge_model::hex;
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::Batches;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::trace::{Trace, TraceError};
use weighbridge_workload::trade::TradeScript;
use weighbridge_workload::{Replay, Rows};

use crate::prepare::plan::whole_plan;
use crate::prepare::replay::{ReplayFileError, ReplayedFile, Replays};
use crate::prepare::rows::{self, RowsFileError};
use crate::prepare::script::{self, ScriptFolderError};

/// Longest mean time, in seconds, between moments without any session, as far as think times alone decide it.
/// A window ends at such a moment.
const EMPTY_WITHIN_S: f64 = 1.0;

/// Fewest requests that may wait for a slot in a step: a burst is not overload.
const QUEUE_LEAST: u32 = 64;

/// Largest trace file, in bytes.
const TRACE_BYTES: u64 = 1 << 30;

#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    #[error("trace `{}`: {source}; name a file of arrival times, relative to the experiment's folder", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("trace `{}` has {bytes} bytes; at most {TRACE_BYTES} are read, cut it", file.display())]
    Large { file: PathBuf, bytes: u64 },
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("trace `{}` is another file: its SHA-256 is {found}, the experiment names {wanted}; bring the file back, or remove `sha256`", file.display())]
    Changed { file: PathBuf, wanted: String, found: String },
    #[error(transparent)]
    Rows(#[from] RowsFileError),
    #[error(transparent)]
    Replay(#[from] ReplayFileError),
    #[error(transparent)]
    Script(#[from] ScriptFolderError),
    #[error(
        "the profile lasts {length}, and one passage of every variant in each of {blocks} blocks takes {needed} in all; raise the budget (now {budget}) or shorten the profile"
    )]
    Budget { length: Nanoseconds, blocks: u32, needed: Nanoseconds, budget: Nanoseconds },
    #[error(
        "about {present:.1} sessions think at any moment, so a window would hardly ever find the system empty and end; lower `sessions`, `length` or `think`, or load one URL with `weigh load`"
    )]
    EndlessSessions { present: f64 },
}

/// A load, ready to be cut into windows.
#[derive(Debug, Clone)]
pub struct Shape {
    /// `None` in closed load.
    source: Option<Source>,
    /// `None` where single requests arrive.
    length: Option<SessionLength>,
    think: Think,
    /// Mean requests of the workload's own sessions.
    own_length: f64,
    sha256: Option<String>,
    rows: Vec<Arc<Rows>>,
    /// The requests of the workload's trace.
    replay: Option<Arc<Replay>>,
    /// The workload's script, if it is in files.
    script: Option<Arc<TradeScript>>,
}

impl ShapeError {
    /// Whether a trace or script that is there says what none may say.
    pub(crate) const fn is_mistake(&self) -> bool {
        matches!(
            self,
            Self::Trace(_)
                | Self::Replay(ReplayFileError::Trace(_))
                | Self::Script(ScriptFolderError::Damaged { .. })
        )
    }
}

/// Where a window of open load lies in its flow, and the thread's part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    pub offset: Nanoseconds,
    pub part: Part,
    pub origin: Option<Timestamp>,
}

impl Slice {
    pub const fn from(offset: Nanoseconds) -> Self {
        Self { offset, part: Part::WHOLE, origin: None }
    }
}

impl Shape {
    /// Reads the trace that the load names, relative to `folder`.
    pub fn new(load: &LoadSpec, folder: Option<&Path>) -> Result<Self, ShapeError> {
        Self::replaying(load, folder, None)
    }

    /// The same of a workload with a trace, whose times the load may have too.
    fn replaying(
        load: &LoadSpec,
        folder: Option<&Path>,
        replay: Option<ReplayedFile>,
    ) -> Result<Self, ShapeError> {
        let mut sha256 = None;
        let source = match load.model.flow() {
            None => None,
            Some(FlowSpec::Law { profile, arrivals }) => {
                Some(Source::Law { profile: profile.clone(), arrivals: *arrivals })
            }
            Some(FlowSpec::Trace(spec)) => {
                let (trace, hash) = match &replay {
                    Some(replay) if replay.file == spec.file => {
                        (replay.requests.times(&spec.file)?, replay.sha256.clone())
                    }
                    _ => read_trace(spec, folder)?,
                };
                sha256 = Some(hash);
                Some(Source::Trace { trace: Arc::new(trace), speed: spec.speed })
            }
        };
        let length = match load.model {
            LoadModel::PartlyOpen { length, .. } => Some(length),
            LoadModel::Closed | LoadModel::Open { .. } => None,
        };
        let replay = replay.map(|replay| replay.requests);
        Ok(Self {
            source,
            length,
            think: load.think,
            own_length: 1.0,
            sha256,
            rows: Vec::new(),
            replay,
            script: None,
        })
    }

    /// Looks up the operations that a trace names in the workload, and notes the length of its sessions.
    pub fn resolve(&mut self, load: &LoadSpec, workload: &WorkloadSpec) -> Result<(), ShapeError> {
        if let (Some(Source::Trace { trace, .. }), Some(FlowSpec::Trace(spec))) =
            (&mut self.source, load.model.flow())
        {
            Arc::make_mut(trace).resolve(&spec.file, &workload.first_operations())?;
        }
        self.own_length = workload.session_length();
        Ok(())
    }

    /// Mean requests due per second, for sessions of mean length; `None` in closed load.
    pub fn request_rate(&self) -> Option<PerSecond> {
        PerSecond::new(self.arrival_rate()? * self.mean_length())
    }

    /// Mean requests per arrival.
    fn mean_length(&self) -> f64 {
        match self.length {
            None => 1.0,
            Some(SessionLength::Workload) => self.own_length,
            Some(length) => length.mean(),
        }
    }

    pub(crate) fn rows(&self) -> &[Arc<Rows>] {
        &self.rows
    }

    pub(crate) const fn replay(&self) -> Option<&Arc<Replay>> {
        self.replay.as_ref()
    }

    pub(crate) const fn script(&self) -> Option<&Arc<TradeScript>> {
        self.script.as_ref()
    }

    fn arrival_rate(&self) -> Option<f64> {
        self.source.clone().map(|source| Flow::new(source).mean())
    }

    /// The highest request rate known beforehand; for a trace, the mean.
    pub fn peak_rate(&self) -> Option<PerSecond> {
        let arrivals = match self.source.as_ref()? {
            Source::Law { profile, .. } => profile.peak().get(),
            Source::Trace { .. } => self.arrival_rate()?,
        };
        PerSecond::new(arrivals * self.mean_length())
    }

    pub fn passage(&self) -> Option<Nanoseconds> {
        self.source.clone().and_then(|source| Flow::new(source).length())
    }

    /// The default duration of a load: one passage of steps, a ramp or a trace.
    pub fn default_duration(&self) -> Option<Nanoseconds> {
        match self.source.as_ref()? {
            Source::Law { profile, .. } => profile.length().filter(|_| profile.ends()),
            Source::Trace { .. } => self.passage(),
        }
    }

    /// Closed load for warming up, with the think time of closed load so that the pace is that of the
    /// windows.
    pub(crate) fn closed(&self, stop: Stop) -> Load {
        match (&self.source, self.think) {
            (None, think) if think != Think::None => Load::Thinking { stop, think },
            _ => Load::Closed(stop),
        }
    }

    /// The load of one window: ends by `stop` in closed load, by `end` where there are arrivals.
    pub(crate) fn window(&self, stop: Stop, end: OpenEnd, slice: Slice) -> Load {
        let Some(source) = self.source.clone() else { return self.closed(stop) };
        let flow = Flow { source, offset: slice.offset, part: slice.part, origin: slice.origin };
        match self.length {
            None => Load::Open { flow, queue: QUEUE, end },
            Some(length) => Load::PartlyOpen { flow, queue: QUEUE, end, length, think: self.think },
        }
    }

    /// The load of a step: what arrives within `length` at a mean rate of `rate`, sent and awaited. What has
    /// waited for a slot longer than `patience` is not sent, so that overload ends.
    pub(crate) fn step(&self, rate: PerSecond, length: Nanoseconds, patience: Nanoseconds) -> Option<Load> {
        let flow = Flow::new(self.source.as_ref()?.at(rate));
        let waiting = (rate.get() * patience.as_secs_f64()).ceil().max(f64::from(QUEUE_LEAST));
        let queue = (waiting as u64).min(u64::from(QUEUE)) as u32;
        let end = OpenEnd::Drain { stop: Stop::Time(length), limit: patience };
        Some(match self.length {
            None => Load::Open { flow, queue, end },
            Some(length) => Load::PartlyOpen { flow, queue, end, length, think: self.think },
        })
    }

    /// The shortest length from `nominal` up with which windows tile the profile: a whole fraction of it, or
    /// a whole number of passages where it is shorter than a window.
    pub(crate) fn fitted(&self, nominal: Nanoseconds) -> Nanoseconds {
        let Some(passage) = self.passage() else { return nominal };
        let (passage, nominal) = (passage.as_nanos().max(1), nominal.as_nanos().max(1));
        Nanoseconds::from_nanos(match passage / nominal {
            0 => nominal.div_ceil(passage) * passage,
            slices => passage.div_ceil(slices),
        })
    }

    /// How many windows of a [`fitted`](Self::fitted) length one passage has.
    pub(crate) fn slices(&self, window: Nanoseconds) -> u32 {
        let Some(passage) = self.passage() else { return 1 };
        ((passage.as_nanos() as f64 / window.as_nanos().max(1) as f64).round() as u32).max(1)
    }
}

fn read_trace(spec: &TraceSpec, folder: Option<&Path>) -> Result<(Trace, String), ShapeError> {
    let file = folder.unwrap_or(Path::new("")).join(&spec.file);
    let unreadable = |source| ShapeError::Unreadable { file: file.clone(), source };
    let bytes = std::fs::metadata(&file).map_err(unreadable)?.len();
    if bytes > TRACE_BYTES {
        return Err(ShapeError::Large { file, bytes });
    }
    let text = std::fs::read_to_string(&file).map_err(unreadable)?;
    let found = hex::encode(&Sha256::digest(text.as_bytes()));
    if let Some(wanted) = spec.sha256.clone().filter(|wanted| *wanted != found) {
        return Err(ShapeError::Changed { file, wanted, found });
    }
    Ok((Trace::parse(&spec.file, &text)?, found))
}

/// Also writes the hashes of traces, data files and scripts into the experiment.
pub(crate) fn shapes(experiment: &mut Experiment, folder: Option<&Path>) -> Result<Vec<Shape>, ShapeError> {
    let (mut shapes, mut replays) = (Vec::new(), Replays::default());
    for point in &mut experiment.points {
        let replay = match point.workload.replaying() {
            None => None,
            Some(spec) => replays.read(spec, folder)?,
        };
        let mut shape = Shape::replaying(&point.load, folder, replay)?;
        shape.resolve(&point.load, &point.workload)?;
        if let LoadModel::Open { flow: FlowSpec::Trace(spec) }
        | LoadModel::PartlyOpen { flow: FlowSpec::Trace(spec), .. } = &mut point.load.model
        {
            spec.sha256.clone_from(&shape.sha256);
        }
        shape.rows = rows::read(point.workload.data_files(), folder)?;
        if let Some(spec) = point.workload.scripted() {
            shape.script = script::read(spec, folder)?;
        }
        shapes.push(shape);
    }
    Ok(shapes)
}

pub(crate) fn check_windows(experiment: &Experiment, shapes: &[Shape]) -> Result<(), ShapeError> {
    let rules = &experiment.plan;
    let batches = Batches::even(experiment.variants.len(), rules.together as usize);
    let plan = whole_plan(experiment);
    let plans: Vec<_> =
        (0..).zip(batches.iter()).map(|(batch, of)| plan.for_batch(batch, of.len())).collect();
    let mut needed = Nanoseconds::ZERO;
    let mut longest = Nanoseconds::ZERO;
    for (id, shape) in (0..).map(PointId).zip(shapes) {
        let windows: u64 = match rules.pairing {
            PairingChoice::Duet => 1,
            _ => plans.iter().map(|plan| plan.round(0, id, 0).len() as u64).sum(),
        };
        let passage = shape.passage().unwrap_or_default();
        needed += passage * windows * u64::from(rules.blocks_min);
        longest = longest.max(passage);
        if let Some(present) = shape.endless_sessions() {
            return Err(ShapeError::EndlessSessions { present });
        }
    }
    if needed > rules.budget {
        let (blocks, budget) = (rules.blocks_min, rules.budget);
        return Err(ShapeError::Budget { length: longest, blocks, needed, budget });
    }
    Ok(())
}

impl Shape {
    /// The mean number of thinking sessions, where windows would not end. Sessions that only think are an
    /// M/G/∞ queue: with a mean of ρ sessions its busy period lasts (e^ρ − 1)/λ (Takács 1962).
    fn endless_sessions(&self) -> Option<f64> {
        let (_, rate) = (self.length?, self.arrival_rate()?);
        let present = rate * (self.mean_length() - 1.0) * self.think.mean().as_secs_f64();
        (present.exp_m1() / rate > EMPTY_WITHIN_S).then_some(present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(load: &str) -> Shape {
        let text = format!("[workload]\nname = \"pingpong\"\n[load]\n{load}\n[[variant]]\nurl = \"h:1\"\n");
        let experiment = Experiment::parse("x", &text).expect("an experiment");
        Shape::new(&experiment.points[0].load, None).expect("a shape")
    }

    #[test]
    fn windows_tile_a_profile() {
        let ramp = shape("model = \"open\"\nprofile = \"ramp:1/s..9/s over 1s\"");
        let millis = Nanoseconds::from_millis;
        for (nominal, fitted, slices) in [(20, 20, 50), (300, 334, 3), (600, 1000, 1), (1000, 1000, 1)] {
            let window = ramp.fitted(millis(nominal));
            assert!(window.as_nanos().abs_diff(millis(fitted).as_nanos()) < 1_000_000, "{nominal}: {window}");
            assert_eq!(ramp.slices(window), slices);
        }
        assert_eq!((ramp.fitted(millis(1500)), ramp.slices(millis(2000))), (millis(2000), 1));
        let steady = shape("model = \"open\"\nrate = 5");
        assert_eq!((steady.fitted(millis(20)), steady.slices(millis(20))), (millis(20), 1));
    }

    #[test]
    fn sessions_that_never_all_end_are_refused() {
        let sessions = |load: &str| shape(&format!("model = \"partly-open\"\n{load}")).endless_sessions();
        assert_eq!(sessions("sessions = 50\nlength = 10"), None);
        assert_eq!(sessions("sessions = 50\nlength = 10\nthink = \"1ms\""), None);
        let present = sessions("sessions = 50\nlength = 10\nthink = \"100ms\"").expect("too many");
        assert!((present - 45.0).abs() < 1e-9);
    }
}
