//! Removes a folder into which a foreign program wrote.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a folder with its contents, if it exists. Links are removed, not followed.
pub(super) fn remove_with_contents(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) && fs::remove_dir_all(path).is_err() {
        // Some programs leave read-only folders.
        make_writable(path)?;
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}
