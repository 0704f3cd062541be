//! Checks an experiment before anything is started: reads and looks up what it names, and refuses mistakes
//! that can be seen by then.
//!
//! Loads, cores, catalogue, revisions and secrets are carried on from here and never looked up again.

use std::sync::Arc;

use weighbridge_lab::service::catalog::Catalog;
use weighbridge_model::experiment::{Experiment, Target, Variant};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::trade::TradeScript;
use weighbridge_workload::{
    Address, Given, GrpcError, Replay, UrlScheme, Workload, WorkloadError, service_data,
};

use crate::options::Options;
use crate::prepare::cores::CorePlacement;
use crate::prepare::error::PrepareError;
use crate::prepare::shapes::{self, Shape};
use crate::prepare::sources::{self, Revisions};
use crate::prepare::{connections, forecast, heaps, launch_spec, limits, remote, secrets, services};
use crate::words::factors;

/// An experiment without a mistake that can be seen before anything is started.
#[derive(Debug)]
pub struct Checked {
    pub(crate) experiment: Experiment,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) placement: CorePlacement,
    /// `None` where the experiment names no service.
    pub(crate) catalog: Option<Catalog>,
    pub(crate) revisions: Revisions,
    /// Hidden in everything that is stored or displayed.
    pub(crate) secrets: Secrets,
    shortened: Option<String>,
}

/// Those at the places `kept`.
fn retained<T>(all: Vec<T>, kept: &[usize]) -> Vec<T> {
    let places = all.into_iter().enumerate();
    places.filter(|(at, _)| kept.contains(at)).map(|(_, one)| one).collect()
}

impl Checked {
    /// Refuses unknown services, rates that need permission, unreadable files, missing environment variables,
    /// and requests that cannot be sent.
    pub fn new(experiment: Experiment, options: &Options) -> Result<Self, PrepareError> {
        let mut checked = Self::for_resume(experiment, options)?;
        if options.quick {
            checked.shorten();
        }
        checked.check(options).map_err(|error| error.without(&checked.secrets))?;
        Ok(checked)
    }

    /// The same without the checks, for an experiment that passed them when its run began.
    pub(crate) fn for_resume(mut experiment: Experiment, options: &Options) -> Result<Self, PrepareError> {
        let folder = options.experiment_folder.as_deref();
        Ok(Self {
            shapes: shapes::shapes(&mut experiment, folder)?,
            placement: CorePlacement::detect(&experiment, options)?,
            catalog: services::catalog_of(&experiment, folder)?,
            revisions: sources::revisions(&experiment)?,
            secrets: secrets::experiment_secrets(&experiment),
            shortened: None,
            experiment,
        })
    }

    /// The experiment, with the hashes of the files that it names.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The requests of each point's trace, where the workload has one.
    pub fn replays(&self) -> Vec<Option<Arc<Replay>>> {
        self.shapes.iter().map(|shape| shape.replay().cloned()).collect()
    }

    /// The script of the first point, where its workload names files of one.
    pub fn script(&self) -> Option<&Arc<TradeScript>> {
        self.shapes.first().and_then(Shape::script)
    }

    /// Which points a quick run keeps, if all of them would take longer than five minutes.
    pub fn shortened(&self) -> Option<&str> {
        self.shortened.as_deref()
    }

    fn shorten(&mut self) {
        let declared = |variant: &Variant| {
            let service = self.catalog.as_ref().and_then(|catalog| services::service_of(variant, catalog));
            service.and_then(|service| service.warmup()).unwrap_or_default()
        };
        let Some(kept) = forecast::kept_in_quick(&self.experiment, declared) else { return };
        let all = self.experiment.points.len();
        self.shapes = retained(std::mem::take(&mut self.shapes), &kept);
        self.experiment.points = retained(std::mem::take(&mut self.experiment.points), &kept);
        let labels: Vec<String> = self.experiment.points.iter().map(|point| factors(&point.label)).collect();
        self.shortened = Some(format!(
            "quick: {} of {all} points, since all would take longer than five minutes: {}; the others without `--quick`",
            kept.len(),
            labels.join("; ")
        ));
    }

    /// Variants whose server cannot keep a setting of their cache, and why: a run leaves them out.
    pub fn refused_caches(&self) -> Vec<(String, String)> {
        let workload = &self.experiment.points[0].workload;
        let refused = |variant: &Variant| {
            let service = services::service_of(variant, self.catalog.as_ref()?)?;
            let why = service.takes_cache(variant.cache.as_ref()?, workload.offered_as(variant)).err()?;
            Some((variant.name.clone(), why.to_string()))
        };
        self.experiment.variants.iter().filter_map(refused).collect()
    }

    fn check(&self, options: &Options) -> Result<(), PrepareError> {
        shapes::check_windows(&self.experiment, &self.shapes)?;
        self.check_remote(options)?;
        connections::check(&self.experiment, options.connect_to.as_ref())?;
        limits::check(&self.experiment, &self.placement)?;
        heaps::check(&self.experiment)?;
        self.check_data()?;
        self.check_requests()
    }

    /// A service loads its files once, and answers at all points.
    fn check_data(&self) -> Result<(), PrepareError> {
        let Experiment { points, variants, .. } = &self.experiment;
        if !variants.iter().any(|variant| matches!(variant.target, Target::Service { .. })) {
            return Ok(());
        }
        let data = |at: usize| service_data(&points[at].workload, self.shapes[at].script());
        let differs = |at: &usize| points[*at].workload != points[0].workload && data(*at) != data(0);
        match (1..points.len()).find(differs).map(|at| &points[at]) {
            Some(point) => {
                Err(PrepareError::Data { from: factors(&points[0].label), to: factors(&point.label) })
            }
            None => Ok(()),
        }
    }

    fn check_remote(&self, options: &Options) -> Result<(), PrepareError> {
        let variants = self.experiment.variants.iter().filter(|variant| variant.unix.is_none());
        let urls: Vec<_> = variants
            .filter_map(|variant| match &variant.target {
                Target::Url(url) => Some(url),
                _ => None,
            })
            .collect();
        for shape in &self.shapes {
            // A search for capacity begins with closed load.
            let peak = shape.peak_rate().filter(|_| self.experiment.capacity.is_none());
            remote::check_remote(
                urls.iter().copied(),
                options.connect_to.as_ref(),
                peak,
                options.allow_remote,
            )?;
        }
        Ok(())
    }

    fn check_requests(&self) -> Result<(), PrepareError> {
        // Rendering does not depend on the address.
        let anywhere =
            Address { authority: "localhost".to_owned(), base: "/".to_owned(), scheme: UrlScheme::default() };
        let set = |name: &str| std::env::var(name).ok();
        for variant in &self.experiment.variants {
            launch_spec::environment(variant)?;
            if let Some(peer) = &variant.peer {
                launch_spec::lookup(&variant.name, &peer.env)?;
            }
            launch_spec::secured(variant)?;
            for (point, shape) in self.experiment.points.iter().zip(&self.shapes) {
                let given = Given {
                    environment: &set,
                    rows: shape.rows(),
                    replay: shape.replay(),
                    script: shape.script(),
                };
                let asked = point.workload.for_variant(variant);
                match Workload::with_rows(&asked, &point.load, variant.protocol, &anywhere, given) {
                    // A server that is not running yet cannot be asked for its descriptors.
                    Err(WorkloadError::Grpc(error)) if *error == GrpcError::Unreflected => {}
                    bound => drop(bound?),
                }
            }
        }
        Ok(())
    }
}
