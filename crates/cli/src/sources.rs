//! The suites and services that come with the program: written into the user's cache once for each version of them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use weighbridge_lab::service::checkout::cache_folder;

/// A file of `services/` or `suites/`.
pub struct Shipped {
    /// From the folder that holds both.
    path: &'static str,
    is_executable: bool,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The folder that holds `services` and `suites`.
pub fn unpack() -> anyhow::Result<PathBuf> {
    let cache = cache_folder().context("there is no folder for a cache; set `XDG_CACHE_HOME` or `HOME`")?;
    let folder = cache.join("weighbridge/sources");
    let place = folder.join(VERSION);
    if !place.is_dir() {
        write_whole(&folder, &place)
            .with_context(|| format!("could not write what comes with `weigh` to `{}`", place.display()))?;
    }
    Ok(place)
}

/// All files or none: another process may write the same.
fn write_whole(folder: &Path, place: &Path) -> io::Result<()> {
    let unfinished = folder.join(format!(".{VERSION}.{}", std::process::id()));
    for file in FILES {
        let path = unfinished.join(file.path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, file.bytes)?;
        if file.is_executable {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    match fs::rename(&unfinished, place) {
        Err(_) if place.is_dir() => fs::remove_dir_all(&unfinished),
        renamed => renamed,
    }
}

/// An experiment that comes with the program.
pub struct Suite {
    /// Such as `pingpong/languages`.
    pub name: &'static str,
    /// What it asks: its first comment.
    pub question: String,
}

/// In the order of their names.
pub fn suites() -> Vec<Suite> {
    let suite = |file: &Shipped| {
        let name = file.path.strip_prefix("suites/")?.strip_suffix(".toml")?;
        let text = String::from_utf8_lossy(file.bytes);
        let comment = text.lines().map_while(|line| line.strip_prefix('#'));
        Some(Suite { name, question: comment.map(str::trim).collect::<Vec<_>>().join(" ") })
    };
    FILES.iter().filter_map(suite).collect()
}

/// The file or folder of a suite in the unpacked sources; `None` if none has that name.
pub fn suite(name: &str) -> anyhow::Result<Option<PathBuf>> {
    let name = name.trim_end_matches('/').trim_end_matches(".toml");
    let name = name.strip_prefix("suites/").unwrap_or(name);
    let is_folder = |suite: &Suite| suite.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    match suites() {
        all if all.iter().any(|suite| suite.name == name) => {
            Ok(Some(unpack()?.join(format!("suites/{name}.toml"))))
        }
        all if all.iter().any(is_folder) => Ok(Some(unpack()?.join("suites").join(name))),
        _ => Ok(None),
    }
}
