//! Stories of wrong inputs: what a person types, starts and points at goes wrong in every way that is to be expected,
//! and each time there is one clear message, the right exit code, and nothing left behind.

use std::fs;
use std::io::Write;
use std::time::Duration;

use crate::support::server::{self, GOOD, Server, read_head};
use crate::support::{Ended, World, eventually, experiment, measuring, probe, state};

/// Runs the world's experiment, which cannot succeed, and checks that nothing of it is left.
#[track_caller]
fn fails(world: &World, words: &[&str]) -> Ended {
    let ended = world.run(&[]).end();
    ended.assert_error(words);
    world.assert_nothing_left();
    ended
}

// --- What is typed ------------------------------------------------------------------------------------------------

#[test]
fn a_mistake_in_the_file_is_named_with_its_line_and_the_nearest_word() {
    let world = World::idle();
    let null = probe("a", "null");
    for (table, line, words) in [
        ("gates", "fail_fi = \"p50 > 1 ms\"", ["`fail_fi` in `[gates]`", "did you mean `fail_if`"]),
        ("plan", "headline = \"respons p50\"", ["`plan.headline`", "allowed: response p50"]),
        ("plan", "budget = \"10 parsecs\"", ["`plan.budget`", "parsecs"]),
        ("plan", "blocks = { min = 9, max = 3 }", ["min = 9", "max = 3"]),
        ("load", "model = \"opn\"", ["`load.model`", "did you mean `open`"]),
        ("load", "connections = 0", ["`load.connections`", "from 1"]),
        ("workload", "name = \"pong\"", ["`workload.name`", "`pingpong`"]),
        ("load", "timeout = ", ["", ""]),
    ] {
        let file = world.experiment_with(&format!("[{table}]\n{line}"), &[&null]);
        let text = fs::read_to_string(file).expect("the file");
        let number = 1 + text.lines().position(|one| one == line).expect("the line");
        let ended = world.run(&[]).end();
        ended.assert_error(&[&words[..], &[&format!("experiment.toml:{number}:")]].concat());
    }
    world.experiment(&[&null, &null]);
    world.run(&[]).end().assert_error(&["experiment.toml:", "two variants are named `a`"]);
    world.experiment(&["name = \"x\""]);
    world.run(&[]).end().assert_error(&["exactly one of `service`, `command` and `url`"]);
    world.weigh(&["run", "absent.toml"]).end().assert_error(&["`absent.toml`", "`weigh init`"]);
    assert!(world.run_folders().is_empty(), "nothing was begun");
    world.assert_nothing_left();
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused_before_anything_is_done() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null")]);
    for (arguments, words) in [
        (vec!["run", "experiment.toml", "--only", "b"], vec!["`--only b`", "`a`"]),
        (vec!["run", "experiment.toml", "--fail-if", "p50"], vec!["`p50`", "`p50 > +2 %`"]),
        (
            vec!["run", "experiment.toml", "--require", "hit rate > 90 %"],
            vec!["`hit rate > 90 %`", "only the workload `cache` has"],
        ),
        (vec!["run", "experiment.toml", "--require", "speed < 1 ms"], vec!["`speed`"]),
        (vec!["run", "experiment.toml", "-o", "absent/x.txt"], vec!["`absent/x.txt`"]),
        (vec!["run"], vec!["required arguments"]),
        (vec!["run", "--resume", "absent"], vec!["`absent`", "not a run folder"]),
        (vec!["load", "gopher://x/"], vec!["gopher"]),
        (vec!["load", "http://127.0.0.1:1/", "-H", "nonsense"], vec!["`nonsense`", "`Name: value`"]),
        (vec!["load", "http://127.0.0.1:1/", "--fail-if", "p99 > +5%"], vec!["no baseline"]),
        (vec!["load", "http://127.0.0.1:1/", "--body-file", "absent"], vec!["`absent`"]),
        (vec!["load", "-t", "4", "-c", "2", "http://127.0.0.1:1/"], vec!["4 threads"]),
        (vec!["frobnicate"], vec!["frobnicate"]),
        (vec!["probe", "delay", "soon"], vec!["soon"]),
        (vec!["report", "absent"], vec!["`absent`"]),
        (vec!["compare", "absent"], vec!["absent"]),
        (vec!["export", "--format", "yaml"], vec!["yaml", "json"]),
    ] {
        world.weigh(&arguments).end().assert_error(&words);
    }
    assert!(world.run_folders().is_empty());
}

#[test]
fn a_misspelt_service_gets_the_nearest_name_and_nothing_is_built() {
    let world = World::idle();
    service(&world, "rust", "touch built", "exec sleep 600");
    world.experiment(&["service = \"rsut\""]);
    let ended = fails(&world, &["`rsut`", "did you mean `rust`"]);
    assert!(!ended.says("building"), "{ended}");
    assert!(!world.path("services/rust/built").exists());
    world.experiment(&["service = \"cobol\""]);
    fails(&world, &["`cobol`", "`rust`"]);
}

#[test]
fn one_bad_file_in_a_suite_is_found_before_anything_is_measured() {
    let world = World::idle();
    service(&world, "rust", "true", "exec sleep 600");
    world.write("suite/a.toml", &experiment("", &[&probe("a", "null")]));
    for (bad, words) in [
        ("nonsense = 1\n".to_owned(), ["b.toml:1:", "`nonsense`"]),
        (experiment("", &["service = \"rsut\""]), ["b.toml", "`rsut`"]),
        (
            experiment("", &["command = \"x\"\nenv = { A = \"env:WB_ABSENT\" }"]),
            ["b.toml", "`env:WB_ABSENT`"],
        ),
    ] {
        world.write("suite/b.toml", &bad);
        world.weigh(&["run", "suite", "--out", "runs"]).end().assert_error(&words);
        assert!(world.run_folders().is_empty(), "the first file was not begun");
    }
    fs::create_dir(world.path("empty")).expect("a folder");
    world.weigh(&["run", "empty"]).end().assert_error(&["`empty`", "`.toml`"]);
}

// --- What is started ----------------------------------------------------------------------------------------------

/// A service in the world's `services/` folder.
fn service(world: &World, name: &str, build: &str, run: &str) {
    let text = format!(
        "name = \"{name}\"\nlanguage = \"Shell\"\n\
         freeze = \"safe\"\n[workloads]\npingpong = [\"http1-json\"]\n[toolchain]\nprobe = [\"true\"]\nremedy = \"install a shell\"\n\
         [build]\ncommand = [\"sh\", \"-c\", '''{build}''']\n[start]\ncommand = [\"./run\"]\n"
    );
    world.write(&format!("services/{name}/service.toml"), &text);
    let script = format!("if [ \"$1\" = --version ]; then echo Shell 1 sh 1; exit; fi\n{run}");
    world.script(&format!("services/{name}/run"), &script);
}

#[test]
fn a_program_that_cannot_be_executed_or_ends_at_once_is_quoted() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null"), "name = \"b\"\ncommand = [\"/nonexistent/server\"]"]);
    fails(&world, &["`/nonexistent/server`", "`b`", "No such file"]);
    let broken = world.script("broken", "echo starting\necho cannot open table >&2\nexit 5");
    world.experiment(&[&probe("a", "null"), &format!("name = \"b\"\n{broken}")]);
    let ended = fails(&world, &["`b` ended with exit code 5", "cannot open table"]);
    assert_eq!(ended.stderr.matches("cannot open table").count(), 1, "said once: {ended}");
}

#[test]
fn a_service_that_refuses_its_configuration_or_port_says_so() {
    let world = World::idle();
    service(&world, "picky", "true", "echo TLS_KEY is missing >&2; exit 2");
    world.experiment(&["service = \"picky\""]);
    fails(&world, &["`picky` refused its configuration", "TLS_KEY is missing"]);
    service(&world, "late", "true", "echo address in use >&2; exit 3");
    world.experiment(&["service = \"late\""]);
    fails(&world, &["port of `late`", "in use", "address in use"]);
    service(&world, "odd", "true", "echo ready soon; exec sleep 600");
    world.experiment(&["service = \"odd\""]);
    fails(&world, &["`ready soon`", "`ready <port>`"]);
}

#[test]
fn a_command_whose_port_was_taken_meanwhile_is_told_who_has_it() {
    let world = World::idle();
    // The program finds its port taken by another, as it would by a server that was forgotten.
    let thief = "python3 -c 'import os, socket, time\ns = socket.socket(); \
                 s.bind((\"127.0.0.1\", int(os.environ[\"PORT\"]))); s.listen()\n\
                 if os.fork(): os._exit(1)\ntime.sleep(600)'";
    let command = world.script("thief", &format!("{thief}\necho bind: address already in use >&2\nexit 1"));
    world.experiment(&[&format!("name = \"b\"\nready = \"port\"\n{command}")]);
    // It may be seen to accept before it ends; then it is not what answers `GET /pong`.
    let ended = world.run(&[]).end();
    ended.assert_error(&["`b`"]);
    world.assert_nothing_left();
}

#[test]
fn a_suite_with_an_experiment_that_could_not_be_carried_out_ends_with_2() {
    let world = World::idle();
    for name in ["1", "2"] {
        let text = experiment("", &["name = \"x\"\ncommand = [\"/nonexistent\"]"]);
        world.write(&format!("suite/{name}.toml"), &text);
    }
    let ended = world.weigh(&["run", "suite", "--out", "runs"]).end();
    ended.assert_code(2);
    assert_eq!(ended.stderr.matches("`/nonexistent`").count(), 2, "both are tried: {ended}");
    world.assert_nothing_left();
}

#[test]
fn a_service_that_never_gets_ready_is_ended_after_its_time() {
    let world = World::idle();
    let sleeper = world.script("sleeper", "echo loading model >&2\nexec sleep 600");
    world.experiment(&[&format!("name = \"b\"\nready_timeout = \"1 s\"\n{sleeper}")]);
    fails(&world, &["`b` was not ready within 1", "`ready <port>`"]);
}

#[test]
fn a_build_that_fails_makes_its_variant_unavailable_and_the_others_run() {
    measuring(|| {
        let world = World::new();
        service(&world, "broken", "echo undefined reference >&2; exit 1", "true");
        world.experiment(&[&probe("a", "null"), "service = \"broken\""]);
        let ended = world.run(&[]).end();
        ended.assert_measured();
        assert!(ended.says("`broken` is left out") && ended.says("undefined reference"), "{ended}");
        world.assert_nothing_left();
        let all = World::idle();
        service(&all, "broken", "echo undefined reference >&2; exit 1", "true");
        all.experiment(&["service = \"broken\""]);
        let ended = all.run(&[]).end();
        ended.assert_error(&["no variant can run here", "`broken`", "undefined reference"]);
    });
}

#[test]
fn wrong_answers_are_found_before_anything_is_timed() {
    let world = World::idle();
    let wrong = Server::answering(GOOD);
    let variant = |url: &str| format!("name = \"b\"\nurl = \"{url}\"");
    world.experiment(&[&probe("a", "null"), &variant(&wrong.url())]);
    fails(&world, &["`b` answers `GET /pong/64` wrongly", "hello"]);
    assert_eq!(world.count("warm"), 0, "nothing was timed");
    let failing = Server::answering(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    let other = World::idle();
    other.experiment(&[&probe("a", "null"), &variant(&failing.url())]);
    fails(&other, &["`b` answers `GET /pong/64` wrongly", "status 503"]);
    let differs = World::idle();
    let one = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
    let two = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 2}");
    let http = "[workload]\nname = \"http\"\nequal = \"json\"";
    let first = format!("name = \"a\"\nurl = \"{}\"", one.url());
    differs.experiment_with(http, &[&first, &variant(&two.url())]);
    fails(&differs, &["answers to `GET /` differ", "`a` says", "`b` says"]);
}

#[test]
fn a_service_that_dies_while_it_is_asked_is_named_with_its_last_words() {
    let world = World::idle();
    let mortal = world.script(
        "mortal",
        "exec python3 -c 'import os, socket, sys\ns = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()\n\
         print(\"ready\", s.getsockname()[1], flush=True)\nwhile True:\n  c, _ = s.accept()\n  \
         if os.fork() == 0 and c.recv(1):\n    sys.stderr.write(\"out of memory\\n\"); sys.stderr.flush()\n    \
         os.kill(os.getppid(), 9); os._exit(9)'",
    );
    world.experiment(&[&probe("a", "null"), &format!("name = \"b\"\n{mortal}")]);
    fails(&world, &["`b` ended with signal 9", "out of memory"]);
}

#[test]
fn a_service_that_dies_in_every_block_ends_the_run_and_in_one_block_only_that_block() {
    measuring(|| {
        let world = World::new();
        // Kills itself on a signal of the story's, in the middle of a block.
        world.experiment(&[&probe("a", "null"), &probe("b", "delay 50us")]);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("round", 1);
        let victims = world.processes("probe delay");
        assert_eq!(victims.len(), 1);
        crate::support::send("KILL", victims[0]);
        let ended = weigh.end();
        ended.assert_measured();
        assert!(ended.says("block 1 is void and measured again") && ended.says("signal 9"), "{ended}");
        assert_eq!(world.count("block-void"), 1);
        assert_eq!(world.count("block-ended"), 4);
        world.assert_nothing_left();
    });
}

#[test]
fn a_service_started_by_hand_says_who_has_its_port_and_ends_with_ctrl_c() {
    let world = World::idle();
    service(&world, "mine", "true", &format!("exec '{}' probe null", crate::support::WEIGH));
    let taken = Server::silent();
    let port = taken.address.port().to_string();
    let ended = world.weigh(&["services", "start", "mine", "--port", &port]).end();
    let holder = format!("by process {}", std::process::id());
    ended.assert_error(&["the port of `mine`", &port, "is in use", &holder]);
    world.assert_nothing_left();
    let mut weigh = world.weigh(&["services", "start", "mine", "--port", "0"]).start();
    weigh.until("the service", |world| !world.processes("probe null").is_empty());
    eventually("its URL", || weigh.stdout().starts_with("http://127.0.0.1:"));
    weigh.end_by("INT").assert_code(0);
    world.assert_nothing_left();
    let list = world.weigh(&["services", "list", "--format", "json"]).end().json();
    assert_eq!((&list[0]["name"], &list[0]["status"]), (&"mine".into(), &"available".into()));
    world.weigh(&["services", "start", "mien"]).end().assert_error(&["`mien`", "did you mean `mine`"]);
}

#[test]
fn a_service_that_cannot_be_built_holds_up_no_other() {
    let world = World::idle();
    service(&world, "a", "echo no compiler of C >&2; exit 7", "true");
    service(&world, "b", "touch built", "true");
    world.write("services/c/service.toml", "name = 1\n");
    service(&world, "d", "touch built", "true");
    let ended = world.weigh(&["services", "build"]).end();
    ended.assert_code(2);
    for said in
        ["no compiler of C; if its toolchain is the cause, install a shell", "key `name`", ": `a`, `c`"]
    {
        assert!(ended.says(said), "{said}: {ended}");
    }
    assert!(["b", "d"].iter().all(|name| world.path(&format!("services/{name}/built")).exists()), "{ended}");
    let ended = world.weigh(&["services", "build", "a", "d"]).end();
    ended.assert_code(2);
    assert!(ended.says("1 of the services could not be built, as said above: `a`"), "{ended}");
    let ended = world.weigh(&["services", "build", "d", "e"]).end();
    ended.assert_error(&["there is no service `e`"]);
    assert!(!ended.says("building"), "{ended}");
    // Verified is what was built: `d` is none, and `a` is said to be missing all the same.
    let ended = world.weigh(&["verify", "--quick", "--format", "json", "a", "d"]).end();
    ended.assert_code(2);
    assert_eq!(ended.json()[0]["service"], "d");
}

// --- What is pointed at -------------------------------------------------------------------------------------------

/// A run of a probe against a URL that cannot be measured.
#[track_caller]
fn url_fails(url: &str, words: &[&str]) {
    let world = World::idle();
    let load = "[load]\nwarmup = \"20 ms\"\ntimeout = \"500 ms\"";
    world.experiment_with(load, &[&probe("a", "null"), &format!("name = \"b\"\nurl = \"{url}\"")]);
    fails(&world, words);
}

#[test]
fn a_url_that_cannot_be_reached_is_named() {
    let refusing = server::refusing();
    url_fails(&format!("http://{refusing}/"), &["`b`", &refusing.to_string(), "refused"]);
    url_fails("http://no-such-host.invalid/", &["`b`", "`no-such-host.invalid`", "cannot be resolved"]);
}

#[test]
fn a_url_that_answers_badly_is_named_with_what_it_does() {
    let silent = Server::silent();
    url_fails(&silent.url(), &["`b` does not answer `GET /pong/64`", "no whole reply within 500"]);
    let reset = Server::start(|stream, _| server::reset(&stream));
    url_fails(&reset.url(), &["`b`", "closed the connection before its reply was whole"]);
    let half = Server::start(|mut stream, _| {
        if read_head(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\nhalf of it");
        }
    });
    url_fails(&half.url(), &["`b`", "closed the connection before its reply was whole"]);
    let endless = Server::start(|mut stream, _| {
        if read_head(&mut stream) && stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok() {
            while stream.write_all(b"X-More: and more\r\n").is_ok() {}
        }
    });
    url_fails(&endless.url(), &["`b`", "no reply of this protocol"]);
    let trickle = Server::start(|mut stream, _| {
        if read_head(&mut stream) && stream.write_all(b"HTTP/1.1 200 OK\r\nX-Slow: ").is_ok() {
            while stream.write_all(b"a").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    url_fails(&trickle.url(), &["`b`", "no whole reply within 500"]);
    let foreign = Server::start(|mut stream, _| drop(stream.write_all(b"220 mail.example ESMTP\r\n")));
    url_fails(&foreign.url(), &["`b`"]);
}

// --- Hooks --------------------------------------------------------------------------------------------------------

#[test]
fn a_hook_that_fails_is_quoted_and_the_cleanup_runs_all_the_same() {
    let world = World::idle();
    let hooks = "[hooks]\nprepare = \"echo no database >&2; exit 3\"\ncleanup = \"echo done > cleaned\"";
    world.experiment_with(hooks, &[&probe("a", "null")]);
    fails(&world, &["hook `prepare`", "exit status: 3", "no database"]);
    assert!(world.path("cleaned").exists());
    let reset = "[hooks]\nreset = \"echo printed; exit 4\"\ncleanup = \"exit 9\"";
    let world = World::idle();
    world.experiment_with(reset, &[&probe("a", "null")]);
    let ended = fails(&world, &["hook `reset`", "exit status: 4"]);
    assert!(ended.says("warning: hook `cleanup`"), "{ended}");
    assert!(ended.stdout.is_empty(), "stdout is for data: {ended}");
}

// --- The disk -----------------------------------------------------------------------------------------------------

/// A file system of a few hundred KiB on a folder; `None` where this user may not mount one.
struct Tmpfs(std::path::PathBuf);

impl Tmpfs {
    fn mount(path: std::path::PathBuf) -> Option<Self> {
        fs::create_dir_all(&path).expect("a folder");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"])
            .arg(&path)
            .stderr(std::process::Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(path))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_run_keeps_whole_blocks_and_the_run_can_go_on() {
    measuring(|| {
        let world = World::new();
        let Some(disk) = Tmpfs::mount(world.path("runs")) else {
            crate::support::skipped("a full disk needs the right to mount a tmpfs");
            return;
        };
        world.experiment(&[&probe("a", "null"), &probe("b", "null")]);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("block-ended", 1);
        // Whatever is left is filled, as another program would.
        let mut filler = fs::File::create(world.path("runs/filler")).expect("a file");
        while filler.write_all(&[0; 4096]).is_ok() {}
        let ended = weigh.end();
        ended.assert_error(&["o space left", "runs/", "free space", "weigh run --resume runs/"]);
        let kept = world.blocks();
        assert!((1..4).contains(&kept), "{kept} whole blocks");
        world.assert_nothing_left();
        drop(filler);
        fs::remove_file(world.path("runs/filler")).expect("the filler goes");
        let remounted =
            std::process::Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk.0).status();
        assert!(remounted.is_ok_and(|status| status.success()));
        let run = world.run_folder();
        world.weigh(&["run", "--resume", run.to_str().expect("UTF-8")]).end().assert_measured();
        assert!(world.blocks() >= 4);
        world.assert_nothing_left();
    });
}

#[test]
fn results_that_cannot_be_written_are_an_error_and_a_reader_that_goes_is_none() {
    let world = World::idle();
    let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = world.weigh(&["init", "-o", "-"]).command();
    let output = command.stdout(full).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: could not write to stdout: No space left"), "{stderr}");
    let mut command = world.weigh(&["init", "-o", "-"]).command();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = command.stdout(writer).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_folder_that_may_not_be_written_is_named_before_anything_is_started() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null")]);
    world.write("runs", "a file where a folder should be");
    world.run(&[]).end().assert_error(&["`runs`", "--out"]);
    world.assert_nothing_left();
    assert!(state(std::process::id()).is_some(), "the story itself can be seen in /proc");
}
