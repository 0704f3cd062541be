//! What a run needs before anything is started: services looked up and built, what cannot run here left out, and what is written
//! down of it. It measures nothing.

use serde_json::{Value, json};
use weighbridge_judge::Absent;
use weighbridge_lab::layers;
use weighbridge_lab::service::Service;
use weighbridge_lab::{memory, quota};
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::{Experiment, Limits, Peer, Target, Variant};
use weighbridge_model::idle::Idle;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::Batches;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_store::RunWriter;
use weighbridge_store::scrub::Secrets;

use crate::actor::{Recipe, find_service};
use crate::control::Control;
use crate::division::Division;
use crate::environment;
use crate::ground::Grounds;
use crate::idle::{self, IdleCores};
use crate::peer;
use crate::run::{Options, RunError, batches, find_catalog, plan_value, secrets_of, words_of};
use crate::seating::Seating;
use crate::shape::{self, Shape};

/// An experiment with every variant ready to be started.
pub(crate) struct Prepared {
    pub experiment: Experiment,
    pub shapes: Vec<Shape>,
    pub recipes: Vec<Recipe>,
    /// What is hidden in whatever is kept or said.
    pub secrets: Secrets,
    /// Which variants live at once.
    pub batches: Batches,
    /// Variants that are left out.
    pub unavailable: Vec<Absent>,
    /// Blocks that an earlier run advises, instead of the plan's fewest.
    pub division: Option<Division>,
    /// What programs stand on, for as long as they are needed.
    pub grounds: Grounds,
    pub idle: IdleCores,
}

impl Prepared {
    /// Writes the experiment, the environment and the plan down as they are now; returns the environment.
    pub fn write_down(&mut self, writer: &RunWriter, options: &Options) -> Result<Value, RunError> {
        let text = environment::redacted(&self.experiment).to_toml();
        let mut facts = environment::environment(
            &self.experiment,
            &self.recipes,
            options.experiment_folder.as_deref(),
            self.idle.wait(),
        );
        self.secrets.hide_json(&mut facts);
        self.division = Division::of(&options.out, &text, &facts, &self.experiment.plan);
        let mut plan = plan_value(&self.experiment, options, &self.batches);
        plan["division"] = json!(self.division);
        writer.write_experiment(&text)?;
        writer.write_environment(&facts)?;
        writer.write_plan(&plan)?;
        Ok(facts)
    }

    /// Goes on without a variant that turned out not to be runnable here; what is to be said of that.
    ///
    /// # Errors
    /// Where too few are left.
    pub fn leave_out(&mut self, variant: &str, reason: &str) -> Result<Event, RunError> {
        let reason = self.secrets.hide(reason).into_owned();
        if let Some(at) = self.experiment.variants.iter().position(|own| own.name == variant) {
            let variant = self.experiment.variants.remove(at);
            self.recipes.remove(at);
            self.unavailable.push(Absent::new(&variant, reason.clone()));
        }
        enough(&self.experiment, &self.unavailable)?;
        self.batches = batches(&self.experiment);
        Ok(Event::Unavailable { variant: variant.to_owned(), reason })
    }
}

/// Whether enough variants are left to be measured.
fn enough(experiment: &Experiment, unavailable: &[Absent]) -> Result<(), RunError> {
    if experiment.variants.is_empty() {
        return Err(RunError::NothingLeft(reasons(unavailable)));
    }
    if experiment.plan.pairing == PairingChoice::Duet && !unavailable.is_empty() {
        return Err(RunError::Alone(reasons(unavailable)));
    }
    Ok(())
}

/// Looks services up, builds them, and leaves out what cannot run here.
pub(crate) fn prepare(
    mut experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Prepared, RunError> {
    let mut say = |event: Event| sink(&TimedEvent { at: Nanoseconds::ZERO, event });
    let shapes = shape::shapes(&mut experiment, options.experiment_folder.as_deref())?;
    let secrets = secrets_of(&experiment);
    let wants_catalog = experiment.variants.iter().any(|v| matches!(v.target, Target::Service { .. }));
    let catalog =
        if wants_catalog { Some(find_catalog(options.experiment_folder.as_deref())?) } else { None };
    let grounds = Grounds::lay(&mut experiment, options, &mut say)?;
    let (mut recipes, mut unavailable, mut built) = (Vec::new(), Vec::new(), Vec::<Service>::new());
    let cores = Seating::detect(&experiment, options)?.usual().service().len();
    let mut kept = Vec::new();
    let no_poll = idle::cannot_be_compared(&experiment);
    for variant in std::mem::take(&mut experiment.variants) {
        if options.control.is_interrupted() {
            return Err(RunError::InterruptedEarly);
        }
        let found = match (&variant.target, &catalog) {
            (Target::Service { name }, Some(catalog)) => {
                // A name that is in no catalogue is a mistake in the file, not a missing toolchain.
                catalog.get(name)?;
                variant.peer.as_ref().map_or(Ok(()), |peer| catalog.get(&peer.service).map(drop))?;
                let found = find_service(&variant, &experiment.points[0].workload, catalog)
                    .and_then(|service| build(service, &mut built, (&mut say, &options.control)));
                let peer = |peer: &Peer| {
                    peer::find(peer, catalog).and_then(|service| {
                        let outcome = build(service, &mut built, (&mut say, &options.control));
                        outcome.map_err(|why| peer::of_peer(peer, &why))
                    })
                };
                found.and_then(|service| Ok((Some(service), variant.peer.as_ref().map(peer).transpose()?)))
            }
            _ => Ok((None, None)),
        };
        let found = found.and_then(|services| limitable(variant.limits, cores).map(|()| services));
        let awake = variant.idle.unwrap_or(experiment.plan.idle) == Idle::Polled;
        let found = match no_poll.clone().filter(|_| awake) {
            Some(why) => Err(why),
            None => found,
        };
        let found = found.and_then(|services| layers::probe(&variant.layers).map(|()| services));
        match found {
            Ok(services) => {
                recipes.push(Recipe::new(
                    &redirected(&variant, options),
                    services,
                    grounds.of(&variant.name),
                )?);
                kept.push(variant);
            }
            Err(_) if options.control.is_interrupted() => return Err(RunError::InterruptedEarly),
            Err(reason) => {
                say(Event::Unavailable { variant: variant.name.clone(), reason: reason.clone() });
                unavailable.push(Absent::new(&variant, reason));
            }
        }
    }
    if options.control.is_interrupted() {
        return Err(RunError::InterruptedEarly);
    }
    experiment.variants = kept;
    enough(&experiment, &unavailable)?;
    let batches = batches(&experiment);
    let idle = IdleCores::open(&experiment);
    Ok(Prepared { experiment, shapes, recipes, secrets, batches, unavailable, division: None, grounds, idle })
}

/// Why each of these is left out.
fn reasons(unavailable: &[Absent]) -> String {
    let reasons: Vec<_> = unavailable.iter().map(|one| format!("`{}`: {}", one.name, one.reason)).collect();
    reasons.join("; ")
}

/// The variant with its URL's host and port replaced where `--connect-to` says so; the path stays.
fn redirected(variant: &Variant, options: &Options) -> Variant {
    let mut variant = variant.clone();
    if let (Target::Url(url), Some((host, port))) = (&mut variant.target, &options.connect_to) {
        url.host.clone_from(host);
        url.port = *port;
    }
    variant
}

fn build(
    service: Service,
    built: &mut Vec<Service>,
    (say, control): (&mut dyn FnMut(Event), &Control),
) -> Result<Service, String> {
    if !built.contains(&service) {
        say(Event::Building { service: service.name().to_owned() });
        let log =
            std::env::temp_dir().join(format!("weigh-build-{}-{}.log", service.name(), std::process::id()));
        service.build(&log, &|| control.is_interrupted()).map_err(|error| error.to_string())?;
        built.push(service.clone());
    }
    Ok(service)
}

/// Whether this host can limit what a variant may have, `cores` being what services may use. A number of cores is a factor by which
/// machines of several sizes are compared, so one that is too many is no mistake: the variant cannot be run here.
fn limitable(limits: Limits, cores: usize) -> Result<(), String> {
    if let Some(count) = limits.cores.filter(|count| *count as usize > cores) {
        let all = words_of(cores);
        return Err(format!(
            "`cores = {count}` is more than the {all} of this machine that services may use; give it less, or use a machine with more"
        ));
    }
    if limits.cpu.is_some() {
        quota::Controller::detect().map_err(|why| why.to_string())?;
    }
    if limits.memory.is_some() {
        memory::Controller::detect().map_err(|why| why.to_string())?;
    }
    Ok(())
}
