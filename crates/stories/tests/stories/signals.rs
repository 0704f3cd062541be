//! Stories of signals: Ctrl-C and Ctrl-Z in every phase of a run, and the end of a run that cannot clean up after
//! itself. Nothing is left running or frozen, whole blocks are kept, and the message says how to go on.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::server::Server;
use crate::support::{Ended, Weigh, World, eventually, is_frozen, measuring, probe, send, state};

/// More than an interrupted run may take to end on a slow machine: services get five seconds to stop.
const PROMPT: Duration = Duration::from_secs(60);

/// Two probes, the second slower.
fn two_probes(world: &World) {
    world.experiment(&[&probe("a", "null"), &probe("b", "delay 20us")]);
}

/// The same in blocks that do not end before what the story does to them.
fn two_probes_for_long(world: &World) {
    let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"10 min\"\nwindow = \"5 ms\"\n";
    world.experiment_with(plan, &[&probe("a", "null"), &probe("b", "delay 20us")]);
}

/// Fails unless the run ended by the user's wish, soon, with nothing left.
#[track_caller]
fn assert_interrupted(world: &World, ended: &Ended) {
    ended.assert_error(&["interrupted", "weigh run --resume runs/"]);
    assert!(ended.took < PROMPT, "{ended}");
    assert!(ended.stdout.is_empty(), "an interrupted run has no verdict: {ended}");
    world.assert_nothing_left();
    let events = world.events();
    assert_eq!(events.last().expect("events")["event"], "interrupted");
}

/// Goes on with the world's run and checks that it has all its blocks in the end, in the plan that it began with.
#[track_caller]
fn goes_on(world: &World, kept: usize) {
    let run = world.run_folder();
    let plan = fs::read_to_string(run.join("plan.json")).expect("a plan");
    let ended = world.weigh(&["run", "--resume", run.to_str().expect("UTF-8"), "--format", "json"]).end();
    ended.assert_measured();
    assert_eq!(fs::read_to_string(run.join("plan.json")).expect("a plan"), plan);
    assert_eq!(ended.json()["costs"][0]["ratio"]["blocks"], 4, "{ended}");
    assert!(world.blocks() >= 4);
    let again = world.count("block-started");
    assert!(again >= 4 && kept <= world.blocks());
    world.assert_nothing_left();
}

/// A story of Ctrl-C: the run is interrupted once `when` has come, and then finished.
#[track_caller]
fn interrupted_when(world: &World, when: impl Fn(&mut Weigh<'_>)) {
    let mut weigh = world.run(&[]).start();
    when(&mut weigh);
    let ended = weigh.end_by("INT");
    assert_interrupted(world, &ended);
    let kept = world.blocks();
    let words = match kept {
        0 => "no block was whole".to_owned(),
        1 => "1 whole block is kept".to_owned(),
        kept => format!("{kept} whole blocks are kept"),
    };
    ended.assert_error(&[&words]);
    goes_on(world, kept);
}

#[test]
fn ctrl_c_while_a_service_starts() {
    measuring(|| {
        let world = World::new();
        let hidden = world.path("hold");
        // Not ready as long as the story wants it; afterwards it is a probe.
        let script = format!(
            "while [ ! -e '{}' ]; do sleep 0.05; done\nexec '{}' probe null",
            hidden.display(),
            crate::support::WEIGH
        );
        let slow = world.script("slow", &script);
        world.experiment(&[&probe("a", "null"), &format!("name = \"b\"\n{slow}")]);
        let mut weigh = world.run(&[]).start();
        weigh.until("the start of the slow one", |world| !world.processes("slow").is_empty());
        let ended = weigh.end_by("INT");
        assert_interrupted(&world, &ended);
        assert_eq!(world.blocks(), 0);
        fs::write(hidden, "").expect("a file");
        goes_on(&world, 0);
    });
}

#[test]
fn ctrl_c_while_answers_are_compared() {
    let world = World::idle();
    let (silent, asked) = Server::silent_once_asked();
    // A minute is allowed for an answer, but Ctrl-C does not wait for it.
    let load = "[load]\nwarmup = \"20 ms\"\ntimeout = \"600 s\"";
    let url = format!("name = \"b\"\nurl = \"{}\"", silent.url());
    world.experiment_with(load, &[&probe("a", "null"), &url]);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("started", 2);
    weigh.until("a question", |_| asked.load(Ordering::SeqCst));
    let ended = weigh.end_by("INT");
    assert_interrupted(&world, &ended);
}

#[test]
fn ctrl_c_in_the_warm_up() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        interrupted_when(&world, |weigh| weigh.until_event("verified", 1));
    });
}

#[test]
fn ctrl_c_in_the_rounds() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        interrupted_when(&world, |weigh| {
            weigh.until_event("block-ended", 1);
            weigh.until_event("warm", 4);
        });
    });
}

#[test]
fn ctrl_c_between_blocks_and_at_the_end() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        interrupted_when(&world, |weigh| weigh.until_event("block-ended", 2));
        // Where every block is whole already there is nothing to interrupt: the verdict follows. (The turn to measure is
        // still the first world's.)
        let world = World::idle();
        two_probes(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("block-ended", 4);
        weigh.end_by("INT").assert_measured();
        world.assert_nothing_left();
    });
}

#[test]
fn sigterm_and_a_closed_terminal_are_as_good_as_ctrl_c() {
    for signal in ["TERM", "HUP"] {
        let world = World::idle();
        two_probes_for_long(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("warm", 2);
        let ended = weigh.end_by(signal);
        assert_interrupted(&world, &ended);
    }
}

#[test]
fn ctrl_c_while_a_service_is_built_ends_the_build() {
    let world = World::idle();
    let text = "name = \"slow\"\nlanguage = \"Shell\"\n\
                freeze = \"safe\"\n[workloads]\npingpong = [\"http1-json\"]\n[toolchain]\nprobe = [\"true\"]\nremedy = \"none\"\n\
                [build]\ncommand = [\"sh\", \"-c\", \"sleep 601 & wait\"]\n[start]\ncommand = [\"./run\"]\n";
    world.write("services/slow/service.toml", text);
    world.experiment(&["service = \"slow\""]);
    let mut weigh = world.run(&[]).start();
    weigh.until("the build", |world| !world.processes("sleep 601").is_empty());
    let ended = weigh.end_by("INT");
    ended.assert_error(&["interrupted before anything was measured"]);
    assert!(ended.took < PROMPT, "{ended}");
    assert!(!ended.says("left out"), "an interrupted build is not a missing toolchain: {ended}");
    world.assert_nothing_left();
    assert!(world.run_folders().is_empty());
}

#[test]
fn ctrl_c_in_a_hook_ends_the_hook_and_still_cleans_up() {
    let world = World::idle();
    for hook in ["prepare", "reset"] {
        let hooks =
            format!("[hooks]\n{hook} = \"sleep 602 & wait\"\ncleanup = \"echo done > cleaned-{hook}\"");
        world.experiment_with(&hooks, &[&probe("a", "null")]);
        let mut weigh = world.run(&[]).start();
        weigh.until("the hook", |world| !world.processes("sleep 602").is_empty());
        let ended = weigh.end_by("INT");
        ended.assert_error(&["interrupted", "weigh run --resume"]);
        assert!(ended.took < PROMPT, "{ended}");
        world.assert_nothing_left();
        assert!(world.path(&format!("cleaned-{hook}")).exists());
    }
}

#[test]
fn ctrl_c_lets_services_end_as_their_contract_says() {
    let world = World::idle();
    let polite = world.script(
        "polite",
        &format!(
            "trap 'kill $child; echo finished > farewell; exit 0' TERM\n'{}' probe null & child=$!\nwait",
            crate::support::WEIGH
        ),
    );
    world.experiment(&[&format!("name = \"a\"\n{polite}")]);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("started", 1);
    let ended = weigh.end_by("INT");
    assert_interrupted(&world, &ended);
    assert!(world.path("farewell").exists(), "it got SIGTERM and its time: {ended}");
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_the_guardian_cleans_up() {
    let world = World::idle();
    let stubborn = world.script(
        "stubborn",
        &format!("trap '' TERM\n'{}' probe null &\nwhile :; do sleep 0.1; done", crate::support::WEIGH),
    );
    world.experiment(&[&format!("name = \"a\"\n{stubborn}")]);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("started", 1);
    weigh.signal("INT");
    // The first is being obeyed: the service has been asked to stop and does not want to.
    std::thread::sleep(Duration::from_millis(300));
    let ended = weigh.end_by("INT");
    assert_eq!(ended.code, Some(130), "{ended}");
    eventually("the guardian ends everything", || world.processes("").is_empty());
    eventually("no control group is left", || world.groups().is_empty());
}

// --- Ctrl-Z -------------------------------------------------------------------------------------------------------

/// Stops the run by Ctrl-Z, checks that everything runs while it stands still, and continues it.
#[track_caller]
fn suspend(world: &World, weigh: &Weigh<'_>) {
    weigh.signal("TSTP");
    eventually("weigh stands still", || state(weigh.pid()) == Some('T'));
    let services = world.processes("probe");
    eventually("nothing is frozen while we are stopped", || services.iter().all(|pid| !is_frozen(*pid)));
    weigh.signal("CONT");
}

/// A story of Ctrl-Z: the block is void, measured again, and the run ends well.
#[track_caller]
fn suspended_when(world: &World, when: impl Fn(&mut Weigh<'_>)) {
    let mut weigh = world.run(&["--format", "json"]).start();
    when(&mut weigh);
    suspend(world, &weigh);
    let ended = weigh.end();
    ended.assert_measured();
    assert_eq!(ended.json()["costs"][0]["ratio"]["blocks"], 4, "{ended}");
    assert_eq!(world.count("block-ended"), 4);
    world.assert_nothing_left();
}

#[test]
fn ctrl_z_in_the_rounds_thaws_everything_and_voids_the_block() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        suspended_when(&world, |weigh| {
            weigh.until_event("warm", 4);
            weigh.until("a frozen service", |world| {
                world.processes("probe").iter().any(|pid| is_frozen(*pid))
            });
        });
        assert_eq!(world.count("block-void"), 1);
        let void =
            world.events().into_iter().find(|event| event["event"] == "block-void").expect("a void block");
        assert_eq!(void["reason"], "the run was stopped in the middle of it");
    });
}

#[test]
fn ctrl_z_in_the_warm_up_voids_the_block() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        suspended_when(&world, |weigh| weigh.until_event("verified", 1));
        assert_eq!(world.count("block-void"), 1);
    });
}

#[test]
fn ctrl_z_while_services_start_begins_the_block_again() {
    measuring(|| {
        let world = World::new();
        let hidden = world.path("hold");
        let script = format!(
            "while [ ! -e '{}' ]; do sleep 0.05; done\nexec '{}' probe null",
            hidden.display(),
            crate::support::WEIGH
        );
        let slow = world.script("slow", &script);
        world.experiment(&[&probe("a", "null"), &format!("name = \"b\"\n{slow}")]);
        let mut weigh = world.run(&[]).start();
        weigh.until("the start of the slow one", |world| !world.processes("slow").is_empty());
        suspend(&world, &weigh);
        weigh.until_event("block-void", 1);
        fs::write(hidden, "").expect("a file");
        weigh.end().assert_measured();
        assert_eq!(world.count("block-ended"), 4);
        world.assert_nothing_left();
    });
}

#[test]
fn ctrl_z_while_answers_are_compared_asks_again() {
    let world = World::idle();
    let (silent, asked) = Server::silent_once_asked();
    let load = "[load]\nwarmup = \"20 ms\"\ntimeout = \"600 s\"";
    let url = format!("name = \"b\"\nurl = \"{}\"", silent.url());
    world.experiment_with(load, &[&probe("a", "null"), &url]);
    let mut weigh = world.run(&[]).start();
    weigh.until("a question", |_| asked.load(Ordering::SeqCst));
    suspend(&world, &weigh);
    weigh.until_event("started", 4);
    assert_eq!(world.count("block-void"), 1);
    let ended = weigh.end_by("INT");
    assert_interrupted(&world, &ended);
}

#[test]
fn ctrl_z_outside_a_block_stops_at_once_and_voids_nothing() {
    measuring(|| {
        let world = World::new();
        let hooks = "[hooks]\nprepare = \"while [ ! -e go ]; do sleep 0.05; done\"";
        world.experiment_with(hooks, &[&probe("a", "null"), &probe("b", "null")]);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("run-started", 1);
        std::thread::sleep(Duration::from_millis(200));
        suspend(&world, &weigh);
        fs::write(world.path("go"), "").expect("a file");
        weigh.end().assert_measured();
        assert_eq!((world.count("block-ended"), world.count("block-void")), (4, 0));
        world.assert_nothing_left();
    });
}

#[test]
fn ctrl_c_ends_a_run_that_was_stopped_before() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("warm", 2);
        weigh.signal("TSTP");
        eventually("weigh stands still", || state(weigh.pid()) == Some('T'));
        weigh.signal("INT");
        let ended = weigh.end_by("CONT");
        assert_interrupted(&world, &ended);
    });
}

// --- One URL ------------------------------------------------------------------------------------------------------

#[test]
fn ctrl_c_shows_what_was_measured_and_says_that_it_was_cut() {
    let world = World::idle();
    let (_server, url) = probe_server(&world);
    let weigh = world.weigh(&["load", "-d", "60s", "--format", "json", &url]).start();
    std::thread::sleep(Duration::from_millis(1500));
    let ended = weigh.end_by("INT");
    ended.assert_error(&["interrupted after", "of 60.0 s"]);
    assert!(ended.took < PROMPT, "{ended}");
    let figures = ended.json();
    assert!(figures["requests"].as_u64() > Some(0) && figures["reasons"].to_string().contains("interrupted"));
    let silent = Server::silent();
    let weigh = world.weigh(&["load", "-d", "60s", "--timeout", "60s", &silent.url()]).start();
    std::thread::sleep(Duration::from_millis(500));
    let ended = weigh.end_by("INT");
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(ended.stdout.contains("no good reply came"), "{ended}");
}

#[test]
fn ctrl_z_begins_the_load_on_one_url_again() {
    let world = World::idle();
    let (_server, url) = probe_server(&world);
    let weigh = world.weigh(&["load", "-d", "2s", "-c", "4", "-t", "2", "--format", "json", &url]).start();
    std::thread::sleep(Duration::from_millis(1000));
    weigh.signal("TSTP");
    eventually("weigh stands still", || state(weigh.pid()) == Some('T'));
    std::thread::sleep(Duration::from_millis(500));
    weigh.signal("CONT");
    let ended = weigh.end();
    ended.assert_measured();
    assert!(ended.says("begun anew"), "{ended}");
    let took = ended.json()["took_ns"].as_u64().expect("a time");
    assert!(took >= 1_900_000_000, "the whole load, from its beginning: {took}");
}

/// A null probe of its own, and its URL.
fn probe_server(world: &World) -> (Weigh<'_>, String) {
    let mut server = world.weigh(&["probe", "null", "--port", "0"]).start();
    server.until("the probe is ready", |_| true);
    let ready = || server.stdout().lines().find_map(|line| line.strip_prefix("ready ").map(str::to_owned));
    eventually("the probe is ready", || ready().is_some());
    let port = ready().expect("it was there");
    (server, format!("http://127.0.0.1:{port}/pong/64"))
}

// --- kill -9 ------------------------------------------------------------------------------------------------------

#[test]
fn kill_9_leaves_nothing_running_even_what_was_frozen_and_the_run_goes_on() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("block-ended", 1);
        weigh.until_event("warm", 4);
        weigh.until("a frozen service", |world| world.processes("probe").iter().any(|pid| is_frozen(*pid)));
        let ended = weigh.end_by("KILL");
        assert_eq!(ended.code, None);
        eventually("the guardian ends everything", || world.processes("").is_empty());
        eventually("no control group is left", || world.groups().is_empty());
        // The registry is what a dead run cannot remove.
        assert_eq!(world.registries().len(), 1);
        let doctor = world.weigh(&["doctor", "--clean", "--dry-run"]).end();
        assert!(doctor.assert_code(0).stdout.contains("would be removed"), "{doctor}");
        assert_eq!(world.registries().len(), 1, "a dry run removes nothing");
        let doctor = world.weigh(&["doctor", "--clean"]).end();
        assert!(doctor.assert_code(0).stdout.contains("removed"), "{doctor}");
        world.assert_nothing_left();
        let doctor = world.weigh(&["doctor", "--clean"]).end();
        assert_eq!(
            doctor.stdout,
            "nothing is left behind by a dead run of this user; not seen: what systemd, Docker or cron started on request\n"
        );
        assert_eq!(world.blocks(), 1);
        goes_on(&world, 1);
    });
}

#[test]
fn when_the_guardian_is_killed_too_the_doctor_cleans_up() {
    let world = World::idle();
    two_probes_for_long(&world);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("warm", 2);
    weigh.until("a frozen service", |world| world.processes("probe").iter().any(|pid| is_frozen(*pid)));
    // A stranger whose run is alive must not be touched.
    let guardians = world.processes("guardian");
    assert_eq!(guardians.len(), 1);
    send("STOP", weigh.pid());
    send("KILL", guardians[0]);
    let ended = weigh.end_by("KILL");
    assert_eq!(ended.code, None);
    assert!(!world.processes("probe").is_empty(), "somebody has to be left for the doctor");
    let doctor = world.weigh(&["doctor"]).end();
    assert!(doctor.stdout.contains("doctor --clean"), "{doctor}");
    let doctor = world.weigh(&["doctor", "--clean"]).end();
    assert!(doctor.assert_code(0).stdout.contains("process"), "{doctor}");
    world.assert_nothing_left();
}

#[test]
fn without_its_guardian_a_run_starts_nothing_more() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("block-ended", 1);
        let guardians = world.processes("guardian");
        assert_eq!(guardians.len(), 1);
        send("KILL", guardians[0]);
        let ended = weigh.end();
        ended.assert_error(&["the guardian is gone", "kept", "weigh run --resume runs/"]);
        eventually("no process is left", || world.processes("").is_empty());
        eventually("no control group is left", || world.groups().is_empty());
    });
}

#[test]
fn a_run_beside_another_is_told_so() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        let mut first = world.run(&[]).start();
        first.until_event("started", 1);
        let arguments = ["run", "experiment.toml", "--out", "others"];
        let second = world.weigh(&arguments).end();
        second.assert_measured();
        let name = world.run_folder().file_name().expect("a name").to_string_lossy().into_owned();
        assert!(second.says(&format!("run `{name}-{}` is under way too", first.pid())), "{second}");
        first.end().assert_measured();
        world.assert_nothing_left();
    });
}

#[test]
fn two_runs_at_the_same_time_do_not_touch_each_others_things() {
    measuring(|| {
        let world = World::new();
        two_probes(&world);
        let mut first = world.run(&[]).start();
        first.until_event("warm", 1);
        // The same experiment into another folder, so that even the run's name may be the same.
        let other = World::idle();
        // Its first block outlasts what is done to the other.
        let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"40 s\"\n";
        other.experiment_with(plan, &[&probe("a", "null"), &probe("b", "delay 20us")]);
        let mut second = other.run(&[]).start();
        second.until_event("warm", 2);
        let theirs = other.processes("probe");
        let ended = first.end_by("KILL");
        assert_eq!(ended.code, None);
        eventually("the first run's things are ended", || world.processes("").is_empty());
        world
            .weigh(&["doctor", "--clean"])
            .env("XDG_STATE_HOME", other.path("state").to_str().expect("UTF-8"))
            .end();
        assert_eq!(other.processes("probe"), theirs, "the second run's services live on");
        second.until_event("block-ended", 1);
        assert_interrupted(&other, &second.end_by("INT"));
    });
}
