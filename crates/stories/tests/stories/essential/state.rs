//! A service has an empty folder for what it keeps in each of its trials, and the folder is gone afterwards, however the
//! run ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::support::{World, eventually, measuring};

/// A service that refuses a folder that is not empty, writes into it, and notes where it was.
fn keeper(world: &World) {
    let text = "name = \"keeper\"\nlanguage = \"Shell\"\nfreeze = \"safe\"\n\
                [workloads]\npingpong = [\"http1-json\"]\n[toolchain]\nprobe = [\"true\"]\nremedy = \"none\"\n\
                [build]\ncommand = [\"true\"]\n[start]\ncommand = [\"./run\"]\n";
    world.write("services/keeper/service.toml", text);
    let script = format!(
        "if [ \"$1\" = --version ]; then echo Shell 1 sh 1; exit; fi\n\
         if [ -n \"$DATA\" ]; then echo \"DATA is $DATA\" >&2; exit 2; fi\n\
         if [ -n \"$(ls -A \"$STATE\")\" ]; then echo \"STATE is $STATE and not empty\" >&2; exit 2; fi\n\
         mkdir \"$STATE/tables\" && echo rows > \"$STATE/tables/one\" && chmod 500 \"$STATE/tables\" || exit 1\n\
         echo \"$STATE\" >> seen\nexec '{}' probe null",
        crate::support::WEIGH
    );
    world.script("services/keeper/run", &script);
    world.experiment(&["service = \"keeper\"", "name = \"again\"\nservice = \"keeper\""]);
}

/// Where the trials so far kept what they wrote.
fn folders(world: &World) -> Vec<PathBuf> {
    let seen = fs::read_to_string(world.path("services/keeper/seen")).unwrap_or_default();
    seen.lines().map(PathBuf::from).collect()
}

#[test]
fn each_trial_has_an_empty_folder_for_its_state() {
    measuring(|| {
        let world = World::new();
        keeper(&world);
        // Variables of the user's shell configure nothing.
        world.run(&[]).env("DATA", "/etc").env("STATE", "/etc").end().assert_measured();
        let folders = folders(&world);
        let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials").count();
        assert_eq!((folders.len(), folders.iter().collect::<BTreeSet<_>>().len()), (trials, trials));
        assert!(folders.iter().all(|folder| folder.is_absolute() && !folder.exists()), "{folders:?}");
        assert!(!world.run_folder().join("logs/data").exists(), "the workload has nothing for services");
        world.assert_nothing_left();
    });
}

#[test]
fn state_is_gone_after_ctrl_c_and_after_a_kill() {
    for signal in ["INT", "KILL"] {
        measuring(|| {
            let world = World::new();
            keeper(&world);
            let mut weigh = world.run(&[]).start();
            weigh.until_event("warm", 2);
            let folders = folders(&world);
            assert!(folders.iter().any(|folder| folder.join("tables/one").is_file()), "{folders:?}");
            weigh.end_by(signal);
            eventually("no state is left", || folders.iter().all(|folder| !folder.exists()));
            world.weigh(&["doctor", "--clean"]).end().assert_code(0);
            world.assert_nothing_left();
        });
    }
}

#[test]
fn what_a_guardian_could_not_remove_the_doctor_removes() {
    measuring(|| {
        let world = World::new();
        keeper(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("warm", 2);
        let folders = folders(&world);
        for guardian in world.processes("guardian") {
            crate::support::send("KILL", guardian);
        }
        weigh.end_by("KILL");
        assert!(folders.iter().any(|folder| folder.exists()), "{folders:?}");
        let doctor = world.weigh(&["doctor", "--clean"]).end();
        assert!(doctor.assert_code(0).stdout.contains("state folder"), "{doctor}");
        assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
        world.assert_nothing_left();
    });
}
