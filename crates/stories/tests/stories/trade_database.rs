//! Databases of the brokerage: each serves whole passages without an error, a server of PostgreSQL is a role of its variant,
//! and nothing of one is left however a run ends.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Weigh, World, eventually, measuring, send, service, skipped_layers};

const UNIX: &str = "name = \"unix\"\nservice = \"rust-trade\"\ndatabase = \"postgres\"";
const TCP: &str = "name = \"tcp\"\nservice = \"rust-trade\"\n\
    database = { engine = \"postgres\", via = \"tcp\", durability = \"off\" }";

/// An experiment of few sessions with these variants, each the lines of its table.
fn experiment(world: &World, blocks: u32, variants: &[&str]) {
    let plan = format!(
        "[workload]\nname = \"trade\"\nsessions = 24\n[load]\nconnections = 3\nwarmup = \"50 ms\"\n\
         [plan]\nblocks = {blocks}\nbudget = \"10 s\"\n"
    );
    world.experiment_with(&plan, variants);
}

fn has_postgres() -> bool {
    match weighbridge_lab::service::postgres::Postgres::find() {
        Ok(_) => true,
        Err(error) => {
            skipped_layers(&error.to_string());
            false
        }
    }
}

/// `trial.json` and `resources.csv` of each trial of these variants, by name.
fn trials(run: &Path, names: &[&str]) -> Vec<(String, Value, String)> {
    let folders = fs::read_dir(run.join("trials")).expect("trials").flatten();
    let read = |folder: PathBuf| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        let trial: Value = serde_json::from_str(&text("trial.json")).expect("JSON");
        let name = names[trial["variant"].as_u64().expect("a number") as usize];
        (name.to_owned(), trial, text("resources.csv"))
    };
    folders.map(|entry| read(entry.path())).collect()
}

fn assert_no_errors(summary: &Value, count: usize) {
    let variants = summary["variants"].as_array().expect("variants");
    assert_eq!(variants.len(), count);
    for variant in variants {
        assert_eq!(variant["errors"], 0, "{variant}");
        assert!(variant["requests"].as_u64() > Some(0), "{variant}");
    }
}

/// CPU time of a role in all windows.
fn cpu_of(role: &str, resources: &str) -> u64 {
    let rows = resources.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row.first() == Some(&"cpu") && row.get(2) == Some(&role));
    rows.map(|row| row[3].parse::<u64>().expect("a number")).sum()
}

/// Processes in a folder of a database; those of a server overwrite their environment.
fn in_databases() -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let folders = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|folder| folder.to_string_lossy().contains("-database-")).collect()
}

/// Segments of System V shared memory of the whole host.
fn segments() -> usize {
    fs::read_to_string("/proc/sysvipc/shm").expect("the kernel tells").lines().count()
}

fn assert_nothing_left(world: &World, segments_before: usize) {
    eventually("no process of a database is left", || in_databases().is_empty());
    eventually("no folder of a database is left", || world.databases().is_empty());
    assert_eq!(segments(), segments_before, "no segment of shared memory is left");
    world.assert_nothing_left();
}

#[test]
fn each_database_serves_whole_passages_and_a_server_is_a_role_of_its_variant() {
    if !has_postgres() {
        return;
    }
    service::build("rust-trade");
    measuring(|| {
        let world = World::new();
        let before = segments();
        let [memory, file] = ["memory", "file"]
            .map(|name| format!("name = \"{name}\"\nservice = \"rust-trade\"\ndatabase = \"{name}\""));
        experiment(&world, 2, &[&memory, &file, UNIX, TCP]);
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        assert_no_errors(&ended.json(), 4);
        let environment = world.json("environment.json");
        for (name, trial, resources) in trials(&world.run_folder(), &["memory", "file", "unix", "tcp"]) {
            let database = &trial["service"]["database"];
            let build = &environment["variants"][trial["variant"].as_u64().expect("a number") as usize];
            if !["unix", "tcp"].contains(&name.as_str()) {
                assert!(database.is_null() && !resources.contains("database"), "{trial}");
                continue;
            }
            let version = database["version"].as_str().expect("its version");
            assert!(version.split('.').next().is_some_and(|major| major.parse::<u32>().is_ok()), "{version}");
            assert_eq!(
                (&database["engine"], &build["database"]["engine"]),
                (&"postgres".into(), &"postgres".into())
            );
            assert_eq!(build["database"]["version"], version);
            assert!(database["start_ns"].as_u64() > Some(0), "{database}");
            let (address, durable) = if name == "tcp" { ("127.0.0.1", "off") } else { ("", "on") };
            let settings = &database["settings"];
            assert_eq!(
                (&settings["listen_addresses"], &settings["fsync"]),
                (&address.into(), &durable.into())
            );
            assert_eq!(settings["autovacuum"], "off");
            for role in ["service", "database"] {
                assert!(cpu_of(role, &resources) > 0, "{name}, {role}: {resources}");
            }
        }
        assert_nothing_left(&world, before);
    });
}

#[test]
fn orders_that_meet_leave_books_that_add_up() {
    if !has_postgres() {
        return;
    }
    service::build("rust-trade");
    measuring(|| {
        let world = World::new();
        let plan = "[workload]\nname = \"trade\"\nsessions = 40\nprices = \"moving\"\nsharing = 4\nstocks = 3\n\
            [load]\nconnections = 8\nwarmup = \"50 ms\"\n[plan]\nblocks = 1\nbudget = \"10 s\"\n";
        let memory =
            "name = \"memory\"\nservice = \"rust-trade\"\ndatabase = \"memory\"\nprotocol = \"soap\"";
        world.experiment_with(plan, &[memory, UNIX, &format!("{TCP}\nprotocol = \"grpc\"")]);
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        assert_no_errors(&ended.json(), 3);
        world.assert_nothing_left();
    });
}

#[test]
fn derby_serves_whole_passages_too() {
    service::build("java-trade");
    measuring(|| {
        let world = World::new();
        let derby = |protocol: &str| {
            format!(
                "name = \"{protocol}\"\nservice = \"java-trade\"\ndatabase = \"derby\"\nprotocol = \"{protocol}\""
            )
        };
        let [direct, rest] = ["direct", "http1-json"].map(derby);
        experiment(&world, 1, &[&direct, &rest]);
        let ended = world.run(&["--format", "json"]).with_services().end();
        ended.assert_measured();
        let summary = ended.json();
        assert_no_errors(&summary, 2);
        for variant in summary["variants"].as_array().expect("variants") {
            assert_told_apart(&summary, variant);
        }
        // What a service does not have it refuses itself.
        world.write(
            "experiment.toml",
            "[workload]\nname = \"trade\"\nsize = \"small\"\n[[variant]]\nservice = \"rust-trade\"\ndatabase = \"derby\"\n",
        );
        let refused = world.run(&[]).with_services().end();
        refused.assert_error(&["rust-trade", "DATABASE", "derby", "`memory`, `file`"]);
        world.assert_nothing_left();
    });
}

/// The threads of a Java virtual machine are roles that add up to the variant.
fn assert_told_apart(summary: &Value, variant: &Value) {
    let roles = summary["roles"].as_array().expect("roles").iter();
    let own: Vec<&Value> = roles.filter(|role| role["variant"] == variant["name"]).collect();
    let names: Vec<&str> = own.iter().filter_map(|role| role["role"].as_str()).collect();
    assert_eq!(names, ["collector", "compiler", "service"], "{variant}");
    let cpu = |figure: &Value| figure["point"].as_f64().expect("a figure");
    let parts: Vec<f64> = own.iter().map(|role| cpu(&role["cpu_per_operation"])).collect();
    assert!(parts[2] > 0.0 && parts.iter().all(|part| *part >= 0.0), "{own:?}");
    let mut figures = variant["figures"].as_array().expect("figures").iter();
    let whole = figures.find(|figure| figure["quantity"] == "cpu_per_operation").expect("CPU time");
    let whole = cpu(&whole["estimate"]);
    assert!((parts.iter().sum::<f64>() / whole - 1.0).abs() < 1e-6, "{own:?}: {whole}");
}

/// When a run is killed: the phase, and how it is known.
type Phase = (&'static str, fn(&mut Weigh<'_>));

const PHASES: [Phase; 5] = [
    ("while the database is made", |weigh| {
        weigh.until("initdb", |world| !world.processes("initdb").is_empty());
    }),
    ("while its server starts", |weigh| {
        weigh.until("a server", |world| !world.processes("listen_addresses").is_empty());
    }),
    ("in the warm-up", |weigh| weigh.until_event("verified", 1)),
    ("in the rounds", |weigh| weigh.until_event("warm", 2)),
    ("while its variants are stopped", |weigh| {
        weigh.until_event("warm", 2);
        weigh.signal("INT");
    }),
];

#[test]
fn of_a_server_nothing_is_left_whenever_a_run_is_killed() {
    if !has_postgres() {
        return;
    }
    service::build("rust-trade");
    measuring(|| {
        for (phase, reached) in PHASES {
            for with_guardian in [false, true] {
                killed(phase, reached, with_guardian);
            }
        }
    });
}

/// Kills a run in a phase, alone or behind its guardian, so that all is left to the doctor.
fn killed(phase: &str, reached: fn(&mut Weigh<'_>), with_guardian: bool) {
    let world = World::new();
    let before = segments();
    experiment(&world, 30, &[UNIX, TCP]);
    let mut weigh = world.run(&[]).with_services().start();
    reached(&mut weigh);
    if with_guardian {
        weigh.signal("STOP");
        world.processes("guardian").into_iter().for_each(|pid| send("KILL", pid));
        eventually("the guardian is gone", || world.processes("guardian").is_empty());
    }
    weigh.end_by("KILL");
    if with_guardian {
        assert!(!world.databases().is_empty(), "{phase}: something has to be left for the doctor");
    }
    world.weigh(&["doctor", "--clean"]).end().assert_code(0);
    assert_eq!((in_databases(), world.databases()), (Vec::new(), Vec::new()), "{phase}");
    assert_nothing_left(&world, before);
}

#[test]
fn a_database_that_cannot_be_is_one_clear_error_before_anything_is_started() {
    let world = World::idle();
    let refused = |variant: &str, words: &[&str]| {
        experiment(&world, 2, &[variant]);
        world.run(&[]).with_services().end().assert_error(words);
    };
    let service = |database: &str| format!("service = \"rust-trade\"\ndatabase = {database}");
    refused(
        &service("\"oracle\""),
        &["experiment.toml:", "`oracle`", "`memory`, `file`, `derby`, `postgres`"],
    );
    let maybe = service("{ engine = \"postgres\", durability = \"maybe\" }");
    refused(&maybe, &["`variant.database.durability`: `maybe`", "`on`, `off`"]);
    let twice = format!("{}\nenv = {{ DATABASE = \"file\" }}", service("\"memory\""));
    refused(&twice, &["`env.DATABASE` beside `database`"]);
    assert!(world.run_folders().is_empty());
    if !may_hide() {
        return skipped_layers("only root can hide PostgreSQL from a program");
    }
    experiment(&world, 2, &[UNIX]);
    let hide = "for folder in /usr/lib/postgresql /usr/pgsql-*; do \
        if [ -d $folder ]; then mount -t tmpfs none $folder || exit 9; fi; done; exec \"$@\"";
    let run = world.run(&[]).with_services().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let ended = run.through("unshare", &["--mount", "sh", "-c", hide, "sh"]).end();
    ended.assert_error(&[
        "`unix`",
        "PostgreSQL 15 or later",
        "`PATH`",
        "/usr/lib/postgresql/*/bin",
        "install `postgresql`",
    ]);
    assert!(world.run_folders().is_empty());
    world.assert_nothing_left();
}

fn may_hide() -> bool {
    let tried = std::process::Command::new("unshare").args(["--mount", "true"]).status();
    tried.is_ok_and(|status| status.success())
}
