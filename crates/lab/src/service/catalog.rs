//! The catalogue of services: where `services/` is found, what it contains, and what can be used here.
//!
//! The search goes upward from the experiment's folder, then upward from the current folder, then to
//! `$WEIGH_SERVICES`. It ignores where the executable is, so that the same files give the same services
//! wherever `weigh` is installed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::{FILE, Service, ServiceError, Tls};

const FOLDER: &str = "services";

#[derive(Debug)]
pub struct Catalog {
    folder: PathBuf,
    /// By folder name, ascending; an invalid file is kept as its error.
    services: Vec<(String, Result<Service, ServiceError>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("found no `{FOLDER}` folder with a `*/{FILE}` in or above {}; set `WEIGH_SERVICES` to one", places(.sought))]
    NotFound {
        /// Where the search began.
        sought: Vec<PathBuf>,
    },
    #[error("{missing}; those that come with `weigh` could not be unpacked: {why}")]
    NotUnpacked {
        /// That there is no other.
        missing: Box<CatalogError>,
        why: String,
    },
    #[error("there is no service `{name}` in `{}`{}; there are {}", folder.display(), meant(.nearest), known.join(", "))]
    Unknown {
        name: String,
        folder: PathBuf,
        /// The closest name, if one is close.
        nearest: Option<String>,
        known: Vec<String>,
    },
    #[error(transparent)]
    Invalid(#[from] ServiceError),
}

fn places(sought: &[PathBuf]) -> String {
    sought.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ")
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(", did you mean `{name}`")).unwrap_or_default()
}

/// Whether a service can be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Its toolchain is there.
    Available,
    /// It cannot be used; the reason says why and what to do.
    Unavailable,
}

/// One line of `weigh services list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Listing {
    /// The word by which experiments name it.
    pub name: String,
    /// Its language; `None` where its file is wrong.
    pub language: Option<String>,
    /// The protocols over which it offers each workload; none where its file is wrong.
    pub workloads: BTreeMap<String, Vec<String>>,
    /// All of these protocols.
    pub protocols: Vec<String>,
    /// Whether it speaks TLS over each of them.
    pub tls: bool,
    /// Whether it can be used.
    pub status: Status,
    /// Its version in its own words; `None` where it is not built yet.
    pub version: Option<String>,
    /// Who was asked for it; `None` where nobody could be.
    pub asked: Option<Asked>,
    /// Why it is unavailable, with the remedy; that it is not built yet; or why it could not be asked while
    /// it runs.
    pub reason: Option<String>,
}

/// Who told a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// The running service.
    Running,
    /// Its program, by `--version`.
    Program,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionAnswer {
    pub version: String,
    pub asked: Asked,
    /// Why the running service was not asked, where that was wanted.
    pub reason: Option<String>,
}

/// Asks a service's program, without starting the service.
pub fn by_program(service: &Service) -> Result<VersionAnswer, String> {
    let told = |version| VersionAnswer { version, asked: Asked::Program, reason: None };
    service.version().map(told).map_err(|error| error.to_string())
}

impl Catalog {
    /// Finds the services for an experiment in the folder `experiment` (`None` without a file) and the
    /// current folder `current`; `variable` is the value of `WEIGH_SERVICES`.
    pub fn find(
        experiment: Option<&Path>,
        current: &Path,
        variable: Option<&OsStr>,
    ) -> Result<Self, CatalogError> {
        let starts: Vec<PathBuf> = experiment
            .into_iter()
            .chain([current])
            // A relative path would lack the ancestors of the current folder.
            .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
            .collect();
        let above = starts.iter().flat_map(|start| start.ancestors().map(|folder| folder.join(FOLDER)));
        let named = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
        let found = above.chain(named.clone()).find_map(|folder| Self::read(&folder));
        found.ok_or_else(|| {
            let mut sought = starts.clone();
            sought.dedup();
            sought.extend(named);
            CatalogError::NotFound { sought }
        })
    }

    fn read(folder: &Path) -> Option<Self> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| folder.join(name).join(FILE).is_file())
            .collect();
        names.sort();
        let services: Vec<_> =
            names.into_iter().map(|name| (name.clone(), Service::read(&folder.join(name)))).collect();
        (!services.is_empty()).then(|| Self { folder: folder.to_owned(), services })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// In ascending order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.services.iter().map(|(name, _)| name.as_str())
    }

    pub fn get(&self, name: &str) -> Result<Service, CatalogError> {
        match self.services.iter().find(|(known, _)| known == name) {
            Some((_, Ok(service))) => Ok(service.clone()),
            // Errors cannot be cloned: reading again returns the same error, or the service if it was
            // corrected meanwhile.
            Some((known, Err(_))) => Ok(Service::read(&self.folder.join(known))?),
            None => Err(CatalogError::Unknown {
                name: name.to_owned(),
                folder: self.folder.clone(),
                nearest: nearest(name, self.names()).map(str::to_owned),
                known: self.names().map(|known| format!("`{known}`")).collect(),
            }),
        }
    }

    /// Checks each service's toolchain and asks its version by `ask`, as many at once as there are cores.
    pub fn list(&self, ask: &(dyn Fn(&Service) -> Result<VersionAnswer, String> + Sync)) -> Vec<Listing> {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let next = AtomicUsize::new(0);
        let work = || {
            let mine = || self.services.get(next.fetch_add(1, Ordering::Relaxed));
            std::iter::from_fn(mine).map(|(name, service)| listing(name, service, ask)).collect::<Vec<_>>()
        };
        let mut rows: Vec<Listing> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.min(self.services.len())).map(|_| scope.spawn(work)).collect();
            let rows = workers.into_iter().map(|worker| worker.join());
            rows.flat_map(|rows| rows.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }
}

fn listing(
    name: &str,
    service: &Result<Service, ServiceError>,
    ask: &dyn Fn(&Service) -> Result<VersionAnswer, String>,
) -> Listing {
    let line = |service: Option<&Service>, status, told: Option<VersionAnswer>, reason: Option<String>| {
        let (version, asked, why) =
            told.map_or((None, None, None), |told| (Some(told.version), Some(told.asked), told.reason));
        let (offered, protocols) =
            service.map_or_else(Default::default, |service| (service.workloads(), service.protocols()));
        Listing {
            name: name.to_owned(),
            language: service.map(|service| service.language().to_owned()),
            workloads: offered.iter().map(|offer| (offer.name.clone(), offer.protocols.clone())).collect(),
            protocols: protocols.into_iter().map(str::to_owned).collect(),
            tls: service.is_some_and(|service| service.tls() == Tls::Offered),
            status,
            version,
            asked,
            reason: reason.or(why),
        }
    };
    let service = match service {
        Ok(service) => service,
        Err(error) => return line(None, Status::Unavailable, None, Some(error.to_string())),
    };
    if let Err(error) = service.probe() {
        return line(Some(service), Status::Unavailable, None, Some(error.to_string()));
    }
    if !service.is_built() {
        let remedy = format!("not built yet; build it with `weigh services build {name}`");
        return line(Some(service), Status::Available, None, Some(remedy));
    }
    match ask(service) {
        Ok(told) => line(Some(service), Status::Available, Some(told), None),
        Err(reason) => line(Some(service), Status::Available, None, Some(reason)),
    }
}

/// The name closest to `wanted`, if at most a third of it would have to change.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = wanted.chars().count().div_ceil(3);
    names
        .map(|name| (strsim::levenshtein(wanted, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(root: &Path, name: &str, probe: &str) {
        let folder = root.join(FOLDER).join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "name = \"{name}\"\nlanguage = \"Shell\"\nfreeze = \"safe\"\n\
             [workloads]\npingpong = [\"http1-json\"]\n[toolchain]\nprobe = [\"{probe}\"]\nremedy = \"install it\"\n\
             [build]\ncommand = [\"true\"]\n[start]\ncommand = [\"./run\"]\n"
        );
        fs::write(folder.join(FILE), text).expect("a file");
    }

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("a folder");
        for part in ["suite/deep", "elsewhere/deep", "empty/services/notes", "empty/deep", "named"] {
            fs::create_dir_all(tree.path().join(part)).expect("a folder");
        }
        service(&tree.path().join("suite"), "rust", "true");
        service(&tree.path().join("elsewhere"), "go", "true");
        service(&tree.path().join("named"), "java", "true");
        tree
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog.names().collect()
    }

    #[test]
    fn the_experiments_folder_comes_before_the_current_one_and_that_before_the_variable() {
        let tree = tree();
        let at = |part: &str| tree.path().join(part);
        let variable = at("named/services");
        let find = |experiment: Option<&Path>, current: &Path| {
            Catalog::find(experiment, current, Some(variable.as_os_str())).expect("services")
        };
        assert_eq!(names(&find(Some(&at("suite/deep")), &at("elsewhere/deep"))), ["rust"]);
        assert_eq!(names(&find(None, &at("elsewhere/deep"))), ["go"]);
        assert_eq!(names(&find(Some(&at("empty/deep")), &at("elsewhere"))), ["go"]);
        assert_eq!(names(&find(Some(&at("empty/deep")), &at("empty"))), ["java"]);
    }

    #[test]
    fn nothing_found_names_where_it_was_sought() {
        let tree = tree();
        let place = tree.path().join("empty/deep");
        let error = Catalog::find(None, &place, None).expect_err("no services").to_string();
        assert!(error.contains(&place.display().to_string()) && error.contains("WEIGH_SERVICES"), "{error}");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_and_the_list() {
        let tree = tree();
        service(&tree.path().join("suite"), "python", "true");
        let catalog = Catalog::find(None, &tree.path().join("suite"), None).expect("services");
        let error = catalog.get("pyhton").expect_err("a slip").to_string();
        assert!(error.ends_with(", did you mean `python`; there are `python`, `rust`"), "{error}");
        let error = catalog.get("haskell").expect_err("none like it").to_string();
        assert!(!error.contains("did you mean"), "{error}");
        assert_eq!(catalog.get("rust").expect("it is there").language(), "Shell");
    }

    #[test]
    fn listing_never_stops_at_a_service_that_cannot_be_used() {
        let tree = tree();
        let root = tree.path().join("suite");
        service(&root, "absent", "wb-no-such-toolchain");
        service(&root, "broken", "true");
        fs::write(root.join("services/broken/service.toml"), "nonsense = 1\n").expect("a file");
        let catalog = Catalog::find(None, &root, None).expect("services");
        let list = catalog.list(&by_program);
        let states: Vec<_> = list.iter().map(|line| (line.name.as_str(), line.status)).collect();
        let wanted =
            [("absent", Status::Unavailable), ("broken", Status::Unavailable), ("rust", Status::Available)];
        assert_eq!(states, wanted);
        assert!(list[0].reason.as_ref().is_some_and(|reason| reason.ends_with("; install it")));
        assert!(list[1].reason.as_ref().is_some_and(|reason| reason.contains("`nonsense`")));
        let remedy = "not built yet; build it with `weigh services build rust`";
        assert_eq!(list[2].reason.as_deref(), Some(remedy));
        assert!(matches!(catalog.get("broken"), Err(CatalogError::Invalid(_))));
    }

    #[test]
    fn a_listing_has_the_published_keys() {
        let line = Listing {
            name: "go".to_owned(),
            language: Some("Go".to_owned()),
            workloads: [("ping".to_owned(), vec!["grpc".to_owned()])].into(),
            protocols: vec!["grpc".to_owned()],
            tls: true,
            status: Status::Available,
            version: None,
            asked: Some(Asked::Running),
            reason: None,
        };
        let json = serde_json::to_string(&line).expect("plain data");
        let (head, tail) = json.split_once(r#""status""#).expect("it has a status");
        assert_eq!(
            head,
            r#"{"name":"go","language":"Go","workloads":{"ping":["grpc"]},"protocols":["grpc"],"tls":true,"#
        );
        assert_eq!(tail, r#":"available","version":null,"asked":"running","reason":null}"#);
    }
}
