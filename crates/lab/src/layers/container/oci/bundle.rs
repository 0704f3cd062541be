//! A bundle's `config.json` by the OCI runtime specification: what the container sees and may do, and its
//! environment.
//!
//! A pure function of a [`BundleConfig`]. `{port}` in it stands for the port until the container starts.

use serde_json::{Value, json};

/// The filter of system calls; its file explains what it allows.
const SECCOMP: &str = include_str!("../../../../data/seccomp.json");

/// One file or folder of this host that is mounted inside at the same path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindMount {
    /// Its path, here and inside.
    pub path: String,
    /// Whether it is writable inside.
    pub access: Access,
}

/// Access to a file from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Only read.
    Read,
    /// Written too.
    Write,
}

/// The content of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleConfig {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs.
    pub folder: String,
    /// What it sees of this host.
    pub shown: Vec<BindMount>,
    /// Whether its root is read-only.
    pub read_only: bool,
    /// Whether system calls are filtered.
    pub filtered: bool,
    /// The control group that the runtime makes; `None` if it makes none.
    pub group: Option<String>,
    /// A script that the runtime runs before the program, with the container's state on its standard input.
    pub hook: Option<String>,
    /// The container's host name.
    pub name: String,
}

/// The configuration as JSON text.
pub fn configuration(config: &BundleConfig) -> String {
    let environment: Vec<String> =
        config.environment.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut whole = json!({
        "ociVersion": "1.0.2",
        "hostname": config.name,
        "root": { "path": "rootfs", "readonly": config.read_only },
        "process": {
            "terminal": false,
            "user": { "uid": 0, "gid": 0 },
            "args": config.command,
            "env": environment,
            "cwd": config.folder,
            // Without capabilities it has the rights of an ordinary user who owns root's files.
            "capabilities": { "bounding": [], "effective": [], "inheritable": [], "permitted": [], "ambient": [] },
            "noNewPrivileges": true
        },
        "mounts": mounts(config),
        "linux": linux(config)
    });
    if let Some(script) = &config.hook {
        whole["hooks"] = json!({ "createRuntime": [{ "path": "/bin/sh", "args": ["sh", "-c", script] }] });
    }
    format!("{whole:#}\n")
}

fn mounts(config: &BundleConfig) -> Vec<Value> {
    let tmpfs = |at: &str, options: &[&str]| json!({ "destination": at, "type": "tmpfs", "source": "tmpfs", "options": options });
    let mut mounts = vec![
        json!({ "destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"] }),
        tmpfs("/dev", &["nosuid", "strictatime", "mode=755", "size=65536k"]),
        tmpfs("/dev/shm", &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
        // Language runtimes read their limits there.
        json!({ "destination": "/sys", "type": "none", "source": "/sys", "options": ["rbind", "rro", "nosuid", "noexec", "nodev"] }),
        tmpfs("/tmp", &["nosuid", "nodev", "mode=1777"]),
    ];
    mounts.extend(config.shown.iter().map(|BindMount { path, access }| {
        let access = match access {
            Access::Read => "ro",
            Access::Write => "rw",
        };
        json!({ "destination": path, "type": "none", "source": path, "options": ["rbind", access, "nosuid", "nodev"] })
    }));
    mounts
}

fn linux(config: &BundleConfig) -> Value {
    // Its network is that of its runtime.
    let own = ["mount", "pid", "ipc", "uts"];
    let mut linux = json!({
        "namespaces": own.iter().map(|kind| json!({ "type": kind })).collect::<Vec<_>>(),
        "maskedPaths": [
            "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
            "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"
        ],
        "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
    });
    if let Some(group) = &config.group {
        linux["cgroupsPath"] = json!(group);
    }
    if config.filtered {
        // It is part of this program, and a test parses it.
        linux["seccomp"] = serde_json::from_str(SECCOMP).unwrap_or(Value::Null);
    }
    linux
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> BundleConfig {
        BundleConfig {
            command: vec!["/s/rust/weigh-rust".to_owned(), "{port}".to_owned()],
            environment: vec![("PORT".to_owned(), "{port}".to_owned())],
            folder: "/s/rust".to_owned(),
            shown: vec![
                BindMount { path: "/usr".to_owned(), access: Access::Read },
                BindMount { path: "/run/facts.txt".to_owned(), access: Access::Write },
            ],
            read_only: true,
            filtered: true,
            group: Some("/wb-00000000-0-container".to_owned()),
            hook: Some("true".to_owned()),
            name: "wb-00000000-0-container".to_owned(),
        }
    }

    fn read(config: &BundleConfig) -> Value {
        serde_json::from_str(&configuration(config)).expect("JSON")
    }

    #[test]
    fn a_container_has_namespaces_a_filter_and_no_capability() {
        let whole = read(&config());
        let kinds = |whole: &Value| {
            let all = whole["linux"]["namespaces"].as_array().expect("a list").clone();
            all.iter().map(|one| one["type"].as_str().expect("a kind").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&whole), ["mount", "pid", "ipc", "uts"]);
        assert_eq!(whole["process"]["noNewPrivileges"], true);
        for (kind, held) in whole["process"]["capabilities"].as_object().expect("sets") {
            assert_eq!(held.as_array().map(Vec::len), Some(0), "{kind}");
        }
        assert_eq!(whole["root"]["readonly"], true);
        let last = whole["mounts"].as_array().and_then(|all| all.last()).expect("mounts");
        assert_eq!(last["options"][1], "rw");
        let bare = read(&BundleConfig { filtered: false, group: None, hook: None, ..config() });
        assert!(bare["linux"]["seccomp"].is_null() && bare["linux"]["cgroupsPath"].is_null());
        assert!(bare["hooks"].is_null());
    }

    #[test]
    fn the_filter_lets_servers_work_and_refuses_what_manages_the_host() {
        let filter = read(&config())["linux"]["seccomp"].clone();
        assert_eq!(
            (&filter["defaultAction"], &filter["defaultErrnoRet"]),
            (&json!("SCMP_ACT_ERRNO"), &json!(1))
        );
        let names: Vec<&str> = filter["syscalls"][0]["names"]
            .as_array()
            .expect("names")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        for needed in ["accept4", "epoll_pwait2", "execve", "futex", "sendmsg", "openat2", "rseq", "statx"] {
            assert!(names.contains(&needed), "{needed}");
        }
        for refused in
            ["mount", "init_module", "setns", "unshare", "bpf", "reboot", "keyctl", "io_uring_setup"]
        {
            assert!(!names.contains(&refused), "{refused}");
        }
        assert!(names.is_sorted(), "kept in order, so that a change shows");
    }
}
