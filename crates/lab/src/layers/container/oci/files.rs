//! Which of this host's files a program needs: derived from its command and environment, to be mounted inside
//! at the same paths. Nothing is copied.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::bundle::{Access, BindMount};

/// Where systems install programs and libraries.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt"];
/// Parts of `/etc` that programs and libraries read; names that end in `-` are prefixes.
const SETTINGS: [&str; 13] = [
    "alternatives",
    "group",
    "host.conf",
    "hosts",
    "java-",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "ssl",
];

/// What to mount inside, and the symbolic links of this host's root to make there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Files and folders, each before its contents.
    pub shown: Vec<BindMount>,
    /// Name and target of links, such as `/lib` to `usr/lib`.
    pub links: Vec<(PathBuf, PathBuf)>,
}

impl Files {
    /// What the program of `command`, run in `folder`, needs: the system's files, its own folder, and
    /// whatever its command and environment name. `writes` are files and folders that it writes to.
    pub fn needed_by(
        command: &[String],
        environment: &[(String, String)],
        folder: &Path,
        writes: &[PathBuf],
    ) -> Self {
        let mut files = Self::default();
        let mut shown = BTreeMap::new();
        for path in SYSTEM.map(PathBuf::from) {
            match fs::read_link(&path) {
                Ok(target) => files.links.push((path, target)),
                Err(_) if path.is_dir() => drop(shown.insert(path, Access::Read)),
                Err(_) => {}
            }
        }
        let settings = fs::read_dir("/etc").into_iter().flatten().flatten();
        let wanted = settings.filter(|entry| is_setting(&entry.file_name().to_string_lossy()));
        shown.extend(wanted.map(|entry| (entry.path(), Access::Read)));
        shown.insert(folder.to_owned(), Access::Read);
        for path in
            command.iter().flat_map(|word| named(word, folder)).chain(command.first().and_then(sought))
        {
            add(&mut shown, &path);
        }
        // The program's own folder is found above; it does not need the rest of its search path.
        let named_in = environment.iter().filter(|(key, _)| key != "PATH" && key != "HOME");
        for path in named_in.flat_map(|(_, value)| named(value, folder)) {
            add(&mut shown, &path);
        }
        // Nothing can be mounted below a link; its target is mounted instead.
        shown.retain(|path, _| !files.links.iter().any(|(link, _)| path.starts_with(link)));
        shown.extend(writes.iter().map(|path| (path.clone(), Access::Write)));
        files.shown = without_inner(shown);
        files
    }
}

fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|wanted| match wanted.strip_suffix('-') {
        Some(beginning) => name.strip_prefix(beginning).is_some_and(|rest| rest.starts_with('-')),
        None => name == *wanted,
    })
}

/// The existing paths in a text such as `-Dx=/a/b` or `/a:/b`.
fn named(text: &str, folder: &Path) -> Vec<PathBuf> {
    let parts = text.split(['=', ':', ',']).filter(|part| part.starts_with('/') && part.len() > 1);
    let inside = |path: &PathBuf| path.exists() && !path.starts_with(folder);
    parts.map(PathBuf::from).filter(inside).collect()
}

fn sought(program: &String) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Adds a path and its link target; for a program `<prefix>/bin/x` the whole prefix, which has its libraries.
fn add(shown: &mut BTreeMap<PathBuf, Access>, path: &Path) {
    let mut found = vec![path.to_owned()];
    if let Ok(real) = fs::canonicalize(path) {
        // Version managers install wrappers of the same names, which look for the real programs beside them.
        let holds_programs = |folder: &&Path| folder.ends_with("bin") || folder.ends_with("shims");
        let prefix = real.parent().filter(holds_programs).and_then(Path::parent);
        found.extend(prefix.filter(|prefix| prefix.parent().is_some()).map(Path::to_owned));
        found.push(real);
    }
    // The host's root as a whole is never mounted.
    for path in found.into_iter().filter(|path| path.parent().is_some()) {
        shown.entry(path).or_insert(Access::Read);
    }
}

/// Leaves out paths inside others with the same access; parents come before their contents.
fn without_inner(all: BTreeMap<PathBuf, Access>) -> Vec<BindMount> {
    let special = ["/proc", "/sys", "/dev"].map(Path::new);
    let mut kept: Vec<(PathBuf, Access)> = Vec::new();
    for (path, access) in all {
        let in_other = |(other, theirs): &(PathBuf, Access)| path.starts_with(other) && *theirs == access;
        // The container has its own `/tmp`.
        if path != Path::new("/tmp")
            && !kept.iter().any(in_other)
            && !special.iter().any(|place| path.starts_with(place))
        {
            kept.push((path, access));
        }
    }
    kept.into_iter().map(|(path, access)| BindMount { path: path.display().to_string(), access }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_names_is_mounted_with_its_prefix() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a folder");
        for made in ["kit/bin", "kit/lib", "service", "certificates", "state"] {
            fs::create_dir_all(root.join(made)).expect("a folder");
        }
        fs::write(root.join("kit/bin/tool"), "").expect("a file");
        fs::write(root.join("certificates/key"), "").expect("a file");
        let text = |path: &str| root.join(path).display().to_string();
        let environment = [
            ("TLS_KEY".to_owned(), text("certificates/key")),
            ("STATE".to_owned(), text("state")),
            ("X".to_owned(), "/nonexistent".to_owned()),
        ];
        let writes = [root.join("facts.txt"), root.join("state")];
        let command = [text("kit/bin/tool"), format!("-Dhome={}", text("service"))];
        let files = Files::needed_by(&command, &environment, &root.join("service"), &writes);
        let shown = |path: &str| files.shown.iter().find(|one| one.path == text(path)).map(|one| one.access);
        assert_eq!(shown("kit"), Some(Access::Read));
        assert_eq!(shown("kit/bin/tool"), None);
        assert_eq!(shown("service"), Some(Access::Read));
        assert_eq!(shown("certificates/key"), Some(Access::Read));
        assert_eq!(shown("facts.txt"), Some(Access::Write));
        assert_eq!(shown("state"), Some(Access::Write));
        assert!(files.shown.iter().any(|one| one.path == "/usr"));
        assert!(!files.shown.iter().any(|one| one.path == "/" || one.path == "/etc/shadow"));
    }

    #[test]
    fn of_etc_only_what_programs_read_is_mounted() {
        assert!(is_setting("java-17-openjdk") && is_setting("ld.so.cache"));
        assert!(!is_setting("java") && !is_setting("shadow") && !is_setting("sslx"));
    }
}
