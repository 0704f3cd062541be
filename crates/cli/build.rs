//! Puts the suites and the services' sources into the program, so that they are there wherever it is.

use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDERS: [&str; 2] = ["services", "suites"];
/// What builds leave behind, where git cannot be asked.
const BUILT: [&str; 10] =
    ["target", "build", "bin", "node_modules", "venv", "runs", "jars", "__pycache__", ".bsp", ".ruff_cache"];

fn main() {
    // Asked while it runs: where clones share their build output, this may have been compiled in one that is gone.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    let root = Path::new(&manifest).join("../..").canonicalize().expect("the repository");
    let files = tracked(&root).unwrap_or_else(|| walked(&root));
    let mut version = DefaultHasher::new();
    let mut code = String::from("const FILES: &[Shipped] = &[\n");
    for file in &files {
        let path = root.join(file);
        let Ok(metadata) = fs::metadata(&path) else { continue };
        println!("cargo:rerun-if-changed={}", path.display());
        (file, fs::read(&path).expect("a file of the repository")).hash(&mut version);
        let is_executable = metadata.permissions().mode() & 0o111 != 0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            code,
            "    Shipped {{ path: {file:?}, is_executable: {is_executable}, bytes: include_bytes!({:?}) }},",
            path.display().to_string(),
        );
    }
    let _ = writeln!(code, "];\n\nconst VERSION: &str = \"{:016x}\";", version.finish());
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    let out = std::env::var_os("OUT_DIR").expect("Cargo sets it");
    fs::write(Path::new(&out).join("shipped.rs"), code).expect("it can be written");
}

/// Paths from the root, ascending; `None` where this is no clone.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
    let output = git.args(FOLDERS).output().ok().filter(|output| output.status.success())?;
    let mut files: Vec<String> =
        String::from_utf8(output.stdout).ok()?.split_terminator('\0').map(str::to_owned).collect();
    files.sort();
    (!files.is_empty()).then_some(files)
}

fn walked(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(root.join(&folder)).expect("a folder of the repository");
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            match entry.file_type().expect("a type").is_dir() {
                true if BUILT.contains(&name.as_str()) => {}
                true => open.push(folder.join(name)),
                false => files.push(folder.join(name).display().to_string()),
            }
        }
    }
    files.sort();
    files
}
