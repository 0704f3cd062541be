//! A variant that is up, with its processes where they are ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weighbridge_lab::host::cores::CoreId;
use weighbridge_lab::host::lanes::Lane;
use weighbridge_lab::layers::Site;
use weighbridge_lab::process::freeze::FreezeError;
use weighbridge_lab::process::logs::{LINES_QUOTED, excerpt, last_lines};
use weighbridge_lab::service::postgres::DatabaseFolder;
use weighbridge_lab::service::runtime;
use weighbridge_lab::service::state::StateFolder;
use weighbridge_load::dial::Endpoint;
use weighbridge_model::experiment::Limits;
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{MemoryFacts, ServiceFacts, Void};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::Address;

use crate::tls::Secured;
use crate::variant::direct::Direct;
use crate::variant::launcher::VariantStart;
use crate::variant::output::OutputCapture;
use crate::variant::roles::{Clocks, Role, Roles};
use crate::variant::{VariantError, peer};
use crate::with_variant::with_variant;

/// How often, a millisecond apart, a process whose connections broke is asked whether it has ended: an interpreter closes
/// its sockets well before it ends. A count, since a host that stops for a second would use up a time.
const DEATH_SHOWS: usize = 1_000;

#[derive(Debug)]
pub(crate) struct RunningVariant {
    pub variant: VariantId,
    pub name: String,
    pub address: Address,
    pub addresses: Vec<Endpoint>,
    pub facts: ServiceFacts,
    pub secured: Secured,
    /// The longest time constant of its behaviour: declared by its service, or the period of a CPU quota.
    pub period: Option<Nanoseconds>,
    /// The shortest warm-up, as its service declares.
    pub warmup: Option<Nanoseconds>,
    /// Present where its operations run in its own process.
    pub direct: Option<Direct>,
    /// `None` where somebody else runs them.
    pub own: Option<OwnProcesses>,
}

/// The processes of a variant that we started, and their files.
#[derive(Debug)]
pub(crate) struct OwnProcesses {
    pub roles: Roles,
    pub site: Site,
    pub may_freeze: bool,
    /// Its current lane in a duet.
    pub lane: Lane,
    pub limits: Limits,
    /// Its output, stderr first; that of its peer or its database last.
    pub logs: Vec<OutputCapture>,
    /// Files of the run-time facts of the service and of its peer.
    pub runtime: PathBuf,
    pub peer_runtime: Option<PathBuf>,
    /// State of the service and its peer during the trial, removed when they have ended.
    pub states: Vec<StateFolder>,
    /// The files of its database, removed when its server has ended.
    pub database: Option<DatabaseFolder>,
    pub secrets: Secrets,
}

impl RunningVariant {
    /// A server that somebody else runs. Whether it is up is unknown until it is sent a request.
    pub(super) fn external(
        start: VariantStart<'_>,
        address: Address,
        addresses: Vec<Endpoint>,
        secured: Secured,
    ) -> Self {
        Self {
            variant: start.id,
            name: start.variant.name.clone(),
            address,
            addresses,
            facts: ServiceFacts::default(),
            secured,
            period: None,
            warmup: None,
            direct: None,
            own: None,
        }
    }

    /// Freezes its processes where that is allowed. Idempotent.
    pub fn freeze(&mut self) -> Result<(), VariantError> {
        self.change(Roles::freeze)
    }

    /// Thaws its processes. Idempotent.
    pub fn thaw(&mut self) -> Result<(), VariantError> {
        self.change(Roles::thaw)
    }

    fn change(
        &mut self,
        how: impl FnOnce(&mut Roles) -> Result<(), FreezeError>,
    ) -> Result<(), VariantError> {
        match &mut self.own {
            Some(own) if own.may_freeze => Ok(how(&mut own.roles).map_err(with_variant(&self.name))?),
            _ => Ok(()),
        }
    }

    /// Moves its processes to the cores of another lane, if they are ours and not there already.
    pub fn take_lane(&mut self, lane: Lane, cores: &[CoreId]) -> Result<(), VariantError> {
        if let Some(own) = self.own.as_mut().filter(|own| own.lane != lane) {
            own.roles.pin(allowed_cores(cores, own.limits)).map_err(with_variant(&self.name))?;
            own.lane = lane;
        }
        Ok(())
    }

    /// CPU time of its operations so far, where its processes are ours: that of all its processes or, with
    /// protocol `direct`, what it reports for its windows.
    pub fn cpu(&mut self) -> Option<Nanoseconds> {
        self.clocks().total()
    }

    pub fn is_ours(&self) -> bool {
        self.own.is_some()
    }

    pub fn process_cpu(&mut self) -> Option<Nanoseconds> {
        self.own.as_mut().and_then(|own| own.roles.clocks().total())
    }

    pub fn clocks(&mut self) -> Clocks {
        match &self.direct {
            Some(direct) => {
                let clocks = Clocks::of_service(direct.cpu());
                match &mut self.own {
                    Some(own) => {
                        let jvm = own.roles.service.jvm_use();
                        clocks.with_database(own.roles.database.as_mut()).with_jvm(jvm)
                    }
                    None => clocks,
                }
            }
            None => self.own.as_mut().map(|own| own.roles.clocks()).unwrap_or_default(),
        }
    }

    /// Peaks of resident memory since the start or the last [`RunningVariant::forget_memory_peak`].
    pub fn memory_peaks(&mut self) -> Vec<(Role, Bytes)> {
        self.own.as_mut().map(|own| own.roles.memory_peaks()).unwrap_or_default()
    }

    pub fn record_processes(&mut self) {
        let Some(own) = &mut self.own else { return };
        let OwnProcesses { roles, runtime, peer_runtime, secrets, .. } = own;
        self.facts.quota = roles.quota().or(self.facts.quota);
        self.facts.memory = roles.service.memory_limit();
        let said = |file: &Path| -> BTreeMap<String, String> {
            let said = runtime::said(file).into_iter();
            said.map(|(key, value)| (key, secrets.hide(&value).into_owned())).collect()
        };
        self.facts.runtime = Some(peer::runtime_facts(&mut roles.service, said(runtime)));
        if let (Some(facts), Some(peer), Some(file)) = (&mut self.facts.peer, &mut roles.peer, peer_runtime) {
            facts.runtime = Some(peer::runtime_facts(peer, said(file)));
        }
    }

    pub fn forget_memory_peak(&mut self) {
        if let Some(own) = &mut self.own {
            for pid in own.roles.members() {
                // 5 resets the peak to what is resident now (proc(5)). Where the kernel refuses, the peak is
                // the trial's, which is an upper bound of the point's.
                let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
            }
        }
    }

    /// [`RunningVariant::death`], after waiting briefly for a process that is about to end.
    pub fn death_soon(&mut self) -> Option<Void> {
        Self::first_death(std::slice::from_mut(self))
    }

    /// The same of several, which are waited for together.
    pub fn first_death(variants: &mut [Self]) -> Option<Void> {
        // A frozen process that is about to end would seem alive.
        variants.iter_mut().for_each(|running| drop(running.thaw()));
        for _ in 0..DEATH_SHOWS {
            let death = variants.iter_mut().find_map(Self::death);
            if death.is_some() || variants.iter().all(|running| running.own.is_none()) {
                return death;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// How a process of ours ended and its last output; `None` while all run.
    pub fn death(&mut self) -> Option<Void> {
        let own = self.own.as_mut()?;
        let (role, exit) = own.roles.exit()?;
        // With a peer or a database, the last two files are theirs.
        let (services, others) = own.logs.split_at(own.logs.len().min(2));
        let (logs, whose): (&[OutputCapture], _) = match role {
            Role::Service => (services, ""),
            Role::Peer => (others, "the peer of "),
            Role::Database => (others, "the database of "),
            Role::Layer(_) => (&[][..], "a layer of "),
        };
        let last =
            logs.iter().map(|log| last_lines(&log.path(), LINES_QUOTED)).find(|lines| !lines.is_empty());
        let said = excerpt(&last.unwrap_or_default());
        let text = format!("{whose}`{}` ended with {exit}{}", self.name, own.secrets.hide(&said));
        // Whether a memory limit killed one of its processes.
        let starved = own.roles.service.memory_limit().filter(|facts| facts.killed > 0);
        Some(match starved {
            Some(facts) => Void::OutOfMemory(format!("{text}; {}", limit_in_words(facts))),
            None => Void::ServiceDied(text),
        })
    }

    /// Stops its processes as the contract of services says, then removes their network.
    pub fn stop(self) {
        if let Some(own) = self.own {
            own.stop();
        }
    }
}

impl OwnProcesses {
    fn stop(self) {
        let Self { roles, site, logs, runtime, peer_runtime, states, database, secrets, .. } = self;
        roles.stop();
        let folder = site.variant().folder.clone();
        drop(site);
        drop((states, database));
        for log in &logs {
            // A log that cannot be rewritten is removed.
            let _ = log.keep(&secrets);
        }
        let said = [Some(runtime), peer_runtime].into_iter().flatten().filter(|said| said.exists());
        for file in layer_files(&folder).into_iter().chain(said) {
            if secrets.hide_file(&file).is_err() {
                let _ = std::fs::remove_file(&file);
            }
        }
    }
}

/// The first service cores, as many as the variant may use with its peer and the programs of its layers.
pub(super) fn allowed_cores(cores: &[CoreId], limits: Limits) -> &[CoreId] {
    limits.cores.and_then(|count| cores.get(..count as usize)).unwrap_or(cores)
}

fn limit_in_words(facts: MemoryFacts) -> String {
    let peak = facts.peak.map(|peak| format!(", and it held {peak} at most")).unwrap_or_default();
    format!("its limit is {} of memory{peak}", facts.limit)
}

/// Configurations and logs of layers' programs, each in its own folder. A container's contains its
/// environment.
fn layer_files(folder: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = within(folder).flat_map(|program| within(&program.path()).collect::<Vec<_>>());
    files.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}
