//! What this host's registry tells of other runs, and the entry of this one.

use std::io::ErrorKind;
use std::path::Path;

use weighbridge_lab::cleanup::registry::{self, Listed, Registry, RegistryError};
use weighbridge_lab::host::procfs::{Pid, ProcessIdentity};

/// A registry of this name, with a number behind it where a dead run left one: in containers every process may have
/// the same number.
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

/// Other runs on this host that are under way.
pub(crate) fn other_runs() -> Vec<String> {
    // A list that cannot be read warns of nothing; making the own registry will tell what is wrong.
    let listed = registry::default_base().and_then(|base| registry::list(&base).ok()).unwrap_or_default();
    // Revisions that this run has checked out are listed too.
    let own = |listed: &Listed| listed.owner.as_ref().is_some_and(|owner| owner.process.pid == Pid::own());
    listed.into_iter().filter(|listed| !listed.is_stale() && !own(listed)).map(|listed| listed.run).collect()
}
