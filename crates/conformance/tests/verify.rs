//! The table of `services/README.md` against the real services, and against versions of the Go service with
//! one defect each, and a brokerage that lies: exactly the rows about that defect must fail.
//!
//! A service whose program is missing is built first by its own `build.command`. All tests together take
//! minutes, mostly waiting: `cargo test -p weighbridge-conformance --test verify -- --ignored`.

#[path = "verify/lies.rs"]
mod lies;
#[path = "../../lab/tests/skips/mod.rs"]
mod skips;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tempfile::TempDir;
use weighbridge_conformance::{Depth, Row, RowResult, Subject, TlsOffer};

/// The parts of a `service.toml` needed here.
#[derive(Deserialize)]
struct Manifest {
    name: String,
    language: String,
    workloads: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    clients: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    tls: bool,
    toolchain: Toolchain,
    build: Step,
    start: Step,
}

#[derive(Deserialize)]
struct Toolchain {
    probe: Vec<String>,
}

#[derive(Deserialize)]
struct Step {
    command: Vec<String>,
}

fn services() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services")
}

fn manifest(folder: &Path) -> Manifest {
    let text = fs::read_to_string(folder.join("service.toml")).expect("a service.toml");
    toml::from_str(&text).expect("a service.toml of the contract")
}

fn build(folder: &Path, command: &[String]) {
    let mut build = Command::new(&command[0]);
    // Cargo sets it for this test; it would override the toolchain that the service pins.
    build.env_remove("RUSTUP_TOOLCHAIN");
    let output = build.args(&command[1..]).current_dir(folder).output().expect("the toolchain is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Whether a command exits with 0.
fn succeeds(folder: &Path, command: &[String]) -> bool {
    let first = folder.join(&command[0]);
    let program = if command[0].contains('/') { first.as_os_str() } else { command[0].as_ref() };
    Command::new(program)
        .args(&command[1..])
        .current_dir(folder)
        .output()
        .is_ok_and(|output| output.status.success())
}

fn subject(folder: &Path) -> Subject {
    let Manifest { name, language, workloads, mut clients, tls, build: step, start, .. } = manifest(folder);
    let clients = clients.remove("person").unwrap_or_default();
    if !succeeds(folder, &[&start.command[..], &["--version".to_owned()]].concat()) {
        build(folder, &step.command);
    }
    let tls = if tls { TlsOffer::Offered } else { TlsOffer::Absent };
    Subject {
        name,
        language,
        folder: folder.to_owned(),
        start: start.command,
        workloads,
        clients,
        others: Vec::new(),
        tls,
    }
}

/// One workload over one protocol.
fn offers(workload: &str, protocol: &str) -> BTreeMap<String, Vec<String>> {
    [(workload.to_owned(), vec![protocol.to_owned()])].into()
}

fn ids<'a>(rows: &'a [Row], of_interest: impl Fn(&RowResult) -> bool + 'a) -> Vec<&'static str> {
    rows.iter().filter(|row| of_interest(&row.result)).map(|row| row.id).collect()
}

fn failures(rows: &[Row]) -> Vec<&'static str> {
    ids(rows, |result| matches!(result, RowResult::Failed(_)))
}

fn row<'a>(rows: &'a [Row], id: &str) -> &'a Row {
    rows.iter().find(|row| row.id == id).expect("every row is reported")
}

/// All rows that did not pass, for an assertion's message.
fn remarks(rows: &[Row]) -> String {
    let remark = |row: &Row| Some(format!("{} {}: {}\n", row.id, row.result.word(), row.result.detail()?));
    rows.iter().filter_map(remark).collect()
}

/// Every row passes, except those in `not_offered`, each by its letter or its name, which are skipped.
fn keeps_the_contract(name: &str, not_offered: &str) {
    let subject = subject(&services().join(name));
    let mut seen = Vec::new();
    let rows = weighbridge_conformance::service(&subject, Depth::Full, &mut |row| seen.push(row.clone()));
    assert_eq!(rows, seen, "each row is told when it is done");
    assert_eq!(rows.len(), 171);
    // H20 is advice about a time, which a busy host may exceed; `::1` depends on the host.
    let allowed = |row: &Row| match row.id {
        id if not_offered.split_whitespace().any(|rows| id.starts_with(rows)) => {
            row.result.word() == "skipped"
        }
        "H20" => matches!(row.result.word(), "passed" | "warned"),
        "C15" => matches!(row.result.word(), "passed" | "skipped"),
        _ => row.result.word() == "passed",
    };
    let unexpected: Vec<Row> = rows.into_iter().filter(|row| !allowed(row)).collect();
    assert!(unexpected.is_empty(), "{name}: {}", remarks(&unexpected));
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_rust_service_keeps_the_contract() {
    keeps_the_contract("rust", "B");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_services_of_the_brokerage_keep_their_contract() {
    for name in ["rust-trade", "java-trade"] {
        keeps_the_contract(name, "C11 C12 C13 C14 C15 H P R S F G T D V W K");
    }
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_go_service_keeps_the_contract() {
    keeps_the_contract("go", "D K B");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_services_in_java_keep_the_contract() {
    thread::scope(|scope| {
        scope.spawn(|| keeps_the_contract("java", "D F G T K B"));
        // It speaks gRPC alone.
        scope.spawn(|| keeps_the_contract("java-grpc", "C11 C12 C13 C14 C15 H P R S F T D V7 K B"));
    });
}

/// Most of a table's time is waiting, so the services are verified in parallel.
#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_services_in_node_python_ruby_and_cpp_keep_the_contract() {
    thread::scope(|scope| {
        for name in ["node", "python"] {
            scope.spawn(move || keeps_the_contract(name, "D F G T K B"));
        }
        for name in ["ruby", "ruby-puma"] {
            scope.spawn(move || keeps_the_contract(name, "D F G T V W K B"));
        }
        scope.spawn(|| keeps_the_contract("cpp", "D F G T V W K15 B"));
    });
}

/// Not every system has a package of the second JDK. Without it that service is unavailable and skipped.
#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn the_services_on_netty_in_scala_dart_and_on_a_second_jdk_keep_the_contract() {
    let second = "java-25";
    let folder = services().join(second);
    let is_there = succeeds(&folder, &manifest(&folder).toolchain.probe);
    if !is_there {
        skips::skipped(&format!("`{second}` is not available here: no JDK 25"));
    }
    thread::scope(|scope| {
        scope.spawn(|| keeps_the_contract("java-netty", "D F G T K B"));
        scope.spawn(|| keeps_the_contract("scala", "D F G T K B"));
        scope.spawn(|| keeps_the_contract("dart", "D F G T V W K B"));
        if is_there {
            scope.spawn(move || keeps_the_contract(second, "D F G T K B"));
        }
    });
}

/// A service with some of its text replaced, in its own folder.
struct Mutant {
    folder: TempDir,
    subject: Subject,
}

/// What lies in a service's folder, without what its build makes.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| !path.ends_with("bin") && !path.ends_with("build")).collect()
}

/// The sources of the Go service that patches are for.
const PATCHED: [&str; 7] =
    ["main.go", "server.go", "pong.go", "grpc.go", "ping.go", "person.go", "person_http.go"];

/// A shorter grace keeps these tests short, yet allows ten replies of 1 MB on a busy machine.
const SHORTER_GRACE: (&str, &str) = ("grace = 4 * time.Second", "grace = 2500 * time.Millisecond");

impl Mutant {
    /// Of the workloads that all rows but those of persons are about, which take as long as all others together.
    fn new(patches: &[(&str, &str)]) -> Self {
        Self::of(&["pingpong", "ping"], patches)
    }

    /// With these workloads alone.
    fn of(workloads: &[&str], patches: &[(&str, &str)]) -> Self {
        Self::of_service("go", &PATCHED, workloads, &[patches, &[SHORTER_GRACE]].concat())
    }

    fn of_service(name: &str, files: &[&str], workloads: &[&str], patches: &[(&str, &str)]) -> Self {
        let original = services().join(name);
        let folder = TempDir::new().expect("a temporary folder");
        // All but what is built, and what git keeps out.
        let copied =
            Command::new("cp").args(["-r", "--"]).args(sources(&original)).arg(folder.path()).status();
        assert!(copied.expect("`cp` is there").success(), "the service is copied");
        for (from, to) in patches {
            let programs: Vec<_> = files.iter().map(|file| folder.path().join(file)).collect();
            let text = |path: &PathBuf| fs::read_to_string(path).expect("the source");
            let places: usize = programs.iter().map(|path| text(path).matches(from).count()).sum();
            assert_eq!(places, 1, "`{from}` must be in the source once");
            for path in programs.iter().filter(|path| text(path).contains(from)) {
                fs::write(path, text(path).replace(from, to)).expect("a source");
            }
        }
        let mut subject = subject(folder.path());
        subject.workloads.retain(|name, _| workloads.contains(&name.as_str()));
        Self { folder, subject }
    }

    /// The service with only the shorter grace: compiled once, and copied into a folder for each test.
    fn unpatched() -> Self {
        static BUILT: OnceLock<(PathBuf, Subject)> = OnceLock::new();
        // Separate processes copy it. A file that this process writes could be inherited, open for writing,
        // by a process that another test starts meanwhile, and could then not be executed.
        let copy = |from: &Path, to: &Path| {
            let status = Command::new("cp").args([from, to]).status().expect("`cp` is there");
            assert!(status.success(), "{} to {}", from.display(), to.display());
        };
        let (program, subject) = BUILT.get_or_init(|| {
            let Self { folder, subject } = Self::new(&[]);
            let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("weigh-go-unpatched");
            copy(&folder.path().join(&subject.start[0]), &program);
            (program, subject)
        });
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join(&subject.start[0]);
        fs::create_dir(path.parent().expect("it lies in a folder")).expect("a folder");
        copy(program, &path);
        let subject = Subject { folder: folder.path().to_owned(), ..subject.clone() };
        Self { folder, subject }
    }

    fn verify(&self) -> Vec<Row> {
        let rows = weighbridge_conformance::service(&self.subject, Depth::Quick, &mut |_| {});
        assert!(self.is_gone(), "every process must be gone: {:?}", self.processes());
        rows
    }

    /// Waits until no process is left: killed ones take a moment to end, a forgotten one stays.
    fn is_gone(&self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !self.processes().is_empty() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Processes whose program is in the folder.
    fn processes(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().canonicalize().expect("it is there");
        let programs = fs::read_dir("/proc").expect("a /proc").flatten();
        let programs = programs.filter_map(|entry| fs::read_link(entry.path().join("exe")).ok());
        programs.filter(|program| program.starts_with(&folder)).collect()
    }
}

/// The rows about SIGTERM.
const STOPPING: [&str; 18] = [
    "R15", "R17", "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "F14", "F15", "F16", "G16", "G17",
    "T12", "T13",
];

#[track_caller]
fn fails_exactly(patches: &[(&str, &str)], expected: &[&str]) -> Vec<Row> {
    let rows = Mutant::new(patches).verify();
    assert_eq!(failures(&rows), expected, "{}", remarks(&rows));
    rows
}

#[track_caller]
fn says(rows: &[Row], id: &str, text: &str) {
    let detail = row(rows, id).result.detail().expect("it did not pass");
    assert!(detail.contains(text), "{id}: {detail}");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_wrong_content_type_of_errors_is_found() {
    let rows = fails_exactly(
        &[(
            r#"reply(w, status, "application/json", body)"#,
            r#"reply(w, status, "application/json; charset=utf-8", body)"#,
        )],
        &[
            "H3", "H4", "H5", "H7", "H21", "P6", "P7", "P8", "P9", "P14", "R5", "R6", "R8", "R9", "R13",
            "R19", "R20", "F3", "F4", "T3", "T4", "T8",
        ],
    );
    says(
        &rows,
        "P8",
        "came `application/json; charset=utf-8` as `content-type` instead of `application/json`",
    );
    assert_eq!(
        ids(&rows, |result| matches!(result, RowResult::Skipped(_))),
        [
            "H19", "P5", "D1", "D2", "D3", "D4", "D5", "D6", "D7", "V1", "V2", "V3", "V4", "V5", "V6", "V7",
            "W1", "W2", "W3", "W4", "W5", "K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8", "K9", "K10", "K11",
            "K12", "K13", "K14", "K15", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10",
        ],
        "quick skips two; the service has no direct calls, no cache and no brokerage, and its persons are not tried"
    );
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_wrong_byte_amid_large_bodies_is_found() {
    let rows = fails_exactly(
        &[("\tbody[0] = 'p'", "\tbody[0] = 'p'\n\tif size > 500000 {\n\t\tbody[size/2] = '0'\n\t}")],
        &[
            "P3", "P4", "R16", "S3", "S8", "F1", "F5", "F8", "F15", "G1", "G4", "T3", "T4", "T7", "T8", "T9",
            "T13",
        ],
    );
    says(&rows, "P4", "came `0` instead of `o` as byte 5000000");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_200_instead_of_404_is_found() {
    let rows = fails_exactly(
        &[("problem(w, http.StatusNotFound, \"there", "problem(w, http.StatusOK, \"there")],
        &["H3", "H7", "H21", "R6", "F3", "T3", "T4", "T8"],
    );
    says(&rows, "H3", "`GET /`: expected error(404), came status 200");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_deaf_ear_to_sigterm_is_found() {
    let rows = fails_exactly(&[("case <-stop.Done():", "case <-make(chan struct{}):")], &STOPPING);
    says(&rows, "S1", "SIGTERM: expected exit code 0 within 5 s");
    says(&rows, "S4", "expected a refused connection, came an accepted one");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_word_too_many_on_stdout_is_found() {
    let rows = fails_exactly(
        &[(
            "\tif err := serve(stop, s, listener)",
            "\tfmt.Println(\"listening\")\n\tif err := serve(stop, s, listener)",
        )],
        // S4 does not wait for the end, and T12 does not check the output.
        &[
            "C12", "R15", "R17", "S1", "S2", "S3", "S5", "S6", "S7", "S8", "S9", "F14", "F15", "F16", "G16",
            "G17", "T13",
        ],
    );
    says(&rows, "C12", "expected nothing on stdout behind `ready <port>`, came `listening\\n`");
}

/// One program with three defects that no row shares: the rows of each must fail.
#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_short_body_a_size_that_is_not_canonical_and_a_wrong_exit_code_are_found() {
    let rows = fails_exactly(
        &[
            ("\tw.Write(body)", "\tif len(body) == 87380 {\n\t\tbody = body[1:]\n\t}\n\tw.Write(body)"),
            // Base 0 accepts underscores.
            ("strconv.ParseUint(text, 10, 63)", "strconv.ParseUint(text, 0, 63)"),
            ("exitConfiguration = 2", "exitConfiguration = 0"),
        ],
        &["C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "P3", "P7", "R1", "R2", "R16", "T1", "T2"],
    );
    says(
        &rows,
        "P3",
        "`GET /pong/87380`: expected pong(87380), came the end of the stream after 87379 bytes",
    );
    says(&rows, "C5", "start with `PORT=abc`: expected exit code 2, nothing on stdout, one line on stderr");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_service_that_hangs_and_one_that_dies_fail_their_rows_only() {
    let rows = fails_exactly(
        &[
            ("[]byte(versionText()))", "[]byte(<-make(chan string)))"),
            ("\t\"bytes\"\n", "\t\"bytes\"\n\t\"os\"\n"),
            (
                "\tif err != nil || !allowed(size)",
                "\tif r.PathValue(\"n\") == \"007\" {\n\t\tos.Exit(7)\n\t}\n\tif err != nil || !allowed(size)",
            ),
        ],
        &["H1", "H2", "P7", "F2"],
    );
    says(&rows, "H1", "0 bytes of the head and nothing more within");
    says(&rows, "P7", "the service ended: exit status: 7");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_wrapper_that_does_not_pass_sigterm_on_is_found_and_leaves_nothing_behind() {
    let mut mutant = Mutant::unpatched();
    let script = r#"bin/weigh-go "$@"; exit $?"#;
    mutant.subject.start = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    let rows = mutant.verify();
    assert_eq!(failures(&rows), STOPPING, "{}", remarks(&rows));
    says(&rows, "S1", "came signal: 15 (SIGTERM)");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_program_that_is_missing_fails_what_needs_only_it_and_skips_the_rest() {
    let mut mutant = Mutant::unpatched();
    mutant.subject.start = vec!["bin/absent".to_owned()];
    let rows = mutant.verify();
    let process_rows = (1..=12).map(|number| format!("C{number}")).collect::<Vec<_>>();
    assert_eq!(failures(&rows), process_rows, "{}", remarks(&rows));
    says(&rows, "C1", "start of `bin/absent`: expected a process, came No such file or directory");
    says(&rows, "H1", "the service could not be started before: start of `bin/absent`");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_service_without_the_workload_is_verified_as_a_program_only() {
    let mut mutant = Mutant::unpatched();
    mutant.subject.workloads = offers("another", "http1-json");
    let rows = mutant.verify();
    assert_eq!(failures(&rows), Vec::<&str>::new(), "{}", remarks(&rows));
    let passed = ids(&rows, |result| *result == RowResult::Passed);
    assert_eq!(passed, ["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"]);
    says(&rows, "P1", "does not offer the workload `pingpong`");
}

/// A slip in the workload `person`, the rows that find it, and what the first of them says.
struct Slip {
    patch: (&'static str, &'static str),
    rows: &'static [&'static str],
    said: &'static str,
}

const SLIPS_IN_PERSONS: [Slip; 4] = [
    Slip {
        patch: ("location{*place.Street, *place.City,", "location{*place.Street, *place.Street,"),
        rows: &["V1", "V4", "V5"],
        said: "/location/city",
    },
    // One reply that is kept for all.
    Slip {
        patch: ("h.people.getPerson(r.PathValue(\"id\"))", "h.people.getPerson(\"1\")"),
        rows: &["V1", "V4", "V5", "V7"],
        said: "/email",
    },
    Slip {
        patch: ("problem(w, http.StatusNotFound, noSuchPerson)", "problem(w, http.StatusOK, noSuchPerson)"),
        rows: &["V1", "V4", "V5", "V7"],
        said: "/person/0",
    },
    // The body goes back as it came.
    Slip {
        patch: (
            "\t\tproblem(w, http.StatusBadRequest, fmt.Sprintf(\"the body is no person: %v\", err))\n\t\treturn\n\t}\n",
            "\t\tproblem(w, http.StatusBadRequest, fmt.Sprintf(\"the body is no person: %v\", err))\n\t\treturn\n\t}\n\
             \tw.Header().Set(\"Content-Type\", h.codec.mediaType)\n\tw.Write(body)\n\treturn\n",
        ),
        rows: &["V3"],
        said: "createPerson",
    },
];

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn slips_in_persons_are_found() {
    for Slip { patch, rows: expected, said } in &SLIPS_IN_PERSONS {
        let rows = Mutant::of(&["person"], &[*patch]).verify();
        assert_eq!(failures(&rows), *expected, "{}", remarks(&rows));
        says(&rows, expected[0], said);
    }
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn slips_of_a_relay_are_found() {
    let rows = fails_exactly(
        &[
            // Its connections end after each request.
            ("MaxIdleConnsPerHost: math.MaxInt", "MaxIdleConnsPerHost: math.MaxInt, DisableKeepAlives: true"),
            // The clock starts only when the head has arrived.
            (
                "\tbody, err := io.ReadAll(response",
                "\tbegin = time.Now()\n\tbody, err := io.ReadAll(response",
            ),
            // Half a body is passed on as a whole one.
            ("time.Since(begin), retries}, err", "time.Since(begin), retries}, nil"),
            ("if a.code != http.StatusOK", "if a.code == http.StatusNotFound"),
            // It repeats too often, even after part of the answer has arrived.
            ("mostRetries = 3", "mostRetries = 30"),
            ("errors.Is(err, io.EOF) ||", "err != nil ||"),
        ],
        &["R7", "R8", "R10", "R11", "R13", "R19", "R20"],
    );
    says(&rows, "R7", "expected `duration_ns` from 50 ms on");
    says(&rows, "R8", "`GET /ping/5`: expected error(502), came status 200");
    says(&rows, "R10", "expected at most 2 connections to the peer, came 100");
    says(&rows, "R13", "`GET /ping/100000`: expected error(502), came status 200");
    says(&rows, "R19", "expected at most 12 requests to the peer, came 31");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn other_slips_of_a_relay_are_found() {
    let rows = fails_exactly(
        &[
            ("err != nil || peer.Port() == 0", "err != nil"),
            // It asks the peer before it checks the size.
            ("\tif !ok {\n\t\treturn", "\tif !ok {\n\t\tc.ask(size)\n\t\treturn"),
            ("`json:\"retries\"`", "`json:\"repeated\"`"),
            (r#"text != "off" && text != "default""#, r#"text != "off""#),
        ],
        &["R1", "R3", "R4", "R5", "R7", "R8", "R11", "R16", "R18"],
    );
    says(&rows, "R1", "start with `WORKLOAD=ping PEER=127.0.0.1:0`");
    says(&rows, "R5", "`GET` of wrong sizes, at the peer: expected nothing");
    says(&rows, "R16", "`NAGLE`");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn slips_in_http2_grpc_and_tls_are_found() {
    let rows = fails_exactly(
        &[
            (r#"SetHTTP1(!isHTTP2)"#, "SetHTTP1(true)"),
            ("for range request.GetCount() {", "for range request.GetCount() + 1 {"),
            ("\treflection.Register(s)", "\t_ = reflection.Register"),
            (
                "Certificates: []tls.Certificate{certificate}}",
                "Certificates: []tls.Certificate{certificate}, SessionTicketsDisabled: true}",
            ),
        ],
        &["F12", "G4", "G10", "G12", "G16", "T5", "T6"],
    );
    says(&rows, "F12", "expected GOAWAY or the end of the stream within 2 s, and no reply");
    says(&rows, "G4", "`Stream`: expected no more message, came one of 7 bytes");
    says(&rows, "G10", "status 12");
    says(&rows, "T5", "expected a resumed session on all but the first");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn protocols_and_tls_that_are_not_offered_are_skipped() {
    let mut mutant = Mutant::unpatched();
    mutant.subject.workloads = offers("pingpong", "http1-json");
    mutant.subject.tls = TlsOffer::Absent;
    let rows = mutant.verify();
    // It accepts a protocol that its file does not offer.
    assert_eq!(failures(&rows), ["C10"], "{}", remarks(&rows));
    says(
        &rows,
        "F1",
        "`go` does not offer the protocol `http2-json` for the workload `pingpong`; it has `http1-json`",
    );
    says(&rows, "G1", "`go` does not offer the protocol `grpc`");
    says(&rows, "T3", "`go` does not offer TLS");
    let group = |letter: char| rows.iter().filter(move |row| row.id.starts_with(letter));
    for row in group('F').chain(group('G')).chain(group('T')) {
        assert_eq!(row.result.word(), "skipped", "{}", row.id);
        assert!(row.stack.is_some(), "{}", row.id);
    }
}

/// The sources of the C++ service that patches are for.
const PATCHED_CACHE: [&str; 5] = ["main.cpp", "server.cpp", "cache.hpp", "cache.cpp", "cache_http.cpp"];

#[track_caller]
fn cache_fails_exactly(patches: &[(&str, &str)], expected: &[&str]) -> Vec<Row> {
    let rows = Mutant::of_service("cpp", &PATCHED_CACHE, &["cache"], patches).verify();
    assert_eq!(failures(&rows), expected, "{}", remarks(&rows));
    rows
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn slips_of_a_cache_are_found() {
    let rows = cache_fails_exactly(
        &[
            // A get is no use, and a replaced value gives `fifo` another turn.
            ("  use(found->second);\n", ""),
            ("if (policy_ == Policy::lru) items_.splice", "if (policy_ != Policy::none) items_.splice"),
            // Of several largest values, the one stored last.
            ("a.second < b.second", "a.second > b.second"),
            // A value ends at its first zero, and a plus is a blank.
            ("put_value(*key, request.body, response)", "put_value(*key, request.body.c_str(), response)"),
            ("decode_url(text, false)", "decode_url(text, true)"),
        ],
        &["K3", "K4", "K7", "K8", "K9"],
    );
    says(&rows, "K3", "`PUT /key/a+b`");
    says(&rows, "K8", "(request ");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn other_slips_of_a_cache_are_found() {
    let rows = cache_fails_exactly(
        &[
            ("range.erase(std::min(range.find(';'), range.size()));", ""),
            ("{\"POST\", \"/reset\"", "{\"PUT\", \"/reset\""),
            ("value.size() > limit_) {\n    const", "value.size() >= limit_) {\n    const"),
            (
                "if (!cache_.remove(*key)) return problem(response, 404",
                "if (!cache_.remove(*key)) return problem(response, 400",
            ),
            // What is gone still counts.
            ("  used_ -= item->value.size();\n", ""),
            ("  kill(getpid(), SIGTERM);\n", ""),
            (" || text.front() == '0'", ""),
        ],
        &["K1", "K2", "K5", "K6", "K7", "K8", "K9", "K10", "K11", "K12", "K13", "K14"],
    );
    says(&rows, "K1", "`DELETE /key/a`: expected error(404), came status 400");
    says(&rows, "K6", "with a body of 1000 bytes: expected status 201 without a body, came status 507");
    says(&rows, "K13", "the end of each connection within 1 s");
    says(&rows, "K14", "start with `WORKLOAD=cache CACHE_LIMIT=007`");
}

/// Verifies only the rows about `direct` for the Rust service as `script` starts it (arguments in `$@`);
/// exactly these rows must fail. The program is the started process if the script ends with `exec`.
#[track_caller]
fn direct_fails_exactly(script: &str, expected: &[&str]) -> Vec<Row> {
    let mut subject = subject(&services().join("rust"));
    subject.workloads = offers("pingpong", "direct");
    subject.start = ["bash", "-c", script, "bash"].map(str::to_owned).to_vec();
    let mut rows = weighbridge_conformance::service(&subject, Depth::Quick, &mut |_| {});
    rows.retain(|row| row.id.starts_with('D'));
    assert_eq!(failures(&rows), expected, "{}", remarks(&rows));
    rows
}

/// One defect for each row: in a reply, in the total time, in the seed, in what is refused.
#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn slips_in_direct_calls_are_found() {
    let script = r#"
        asked='s/^(window 2 500) 43 /\1 42 /'
        said='s/^p(o{96})ng$/p\1nn/; s/^(window 8 1000) /\1 9/; s/^error .*/nonsense/'
        exec target/release/weigh-rust "$@" < <(exec sed -uE "$asked") > >(exec sed -uE "$said")
    "#;
    let rows = direct_fails_exactly(script, &["D2", "D3", "D4", "D5"]);
    says(&rows, "D2", "`reply 99`: expected pong(99), came 99 bytes");
    says(&rows, "D3", "its times do not add up to the time in all");
    says(&rows, "D4", "`window 2 500 43 4,5,1000,65536`");
    says(&rows, "D4", "that of the right ones is");
    says(&rows, "D5", "`frobnicate`: expected `error <text>`, came `nonsense`");
}

#[test]
#[ignore = "minutes of waiting: `make test-all` has it beside its builds"]
fn a_direct_service_that_says_something_else_first_takes_any_value_or_does_not_finish_is_found() {
    let script = r#"
        [ -z "$DIRECT" ] || export DIRECT=1
        exec target/release/weigh-rust "$@" > >(exec sed -u 's/^ready direct$/ready 1/')
    "#;
    let rows = direct_fails_exactly(script, &["D1", "D2", "D3", "D4", "D5", "D6", "D7"]);
    says(&rows, "D1", "`ready direct` and a line feed on stdout, came `ready 1`");
    says(&rows, "D7", "start with `DIRECT=0`: expected exit code 2");
    let rows = direct_fails_exactly(r#"target/release/weigh-rust "$@"; exit $?"#, &["D1", "D6"]);
    says(&rows, "D1", "came signal: 15 (SIGTERM)");
}
