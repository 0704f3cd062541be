//! This run's entry in the host's registry, and other runs that are listed there.

use std::io::ErrorKind;
use std::path::Path;

use weighbridge_lab::cleanup::registry::{self, Listed, Registry, RegistryError};
use weighbridge_lab::host::procfs::{Pid, ProcessIdentity};

/// Creates a registry with this name, or numbered where a dead run left one: in containers every process may
/// have the same process number.
pub(crate) fn own_registry(
    base: &Path,
    name: &str,
    guardian: Option<ProcessIdentity>,
) -> Result<Registry, RegistryError> {
    let mut made = Registry::create_guarded(base, name, guardian);
    for number in 2..100 {
        match &made {
            Err(RegistryError::Write { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                made = Registry::create_guarded(base, &format!("{name}-{number}"), guardian);
            }
            _ => break,
        }
    }
    made
}

pub(crate) fn other_runs() -> Vec<String> {
    // An unreadable list causes no warning here; creating this run's registry will report the problem.
    let listed = registry::default_base().and_then(|base| registry::list(&base).ok()).unwrap_or_default();
    // This process may already be listed, for its worktrees.
    let own = |listed: &Listed| listed.owner.as_ref().is_some_and(|owner| owner.process.pid == Pid::own());
    listed.into_iter().filter(|listed| !listed.is_stale() && !own(listed)).map(|listed| listed.run).collect()
}
