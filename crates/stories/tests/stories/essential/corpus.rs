//! Replays the fuzzers' corpora (`fuzz/corpus/`) through the fuzzers' own checks, so that whatever was once found stays
//! fixed on the stable toolchain and without a fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
}

fn replay(target: &str, check: fn(&[u8])) {
    let folder = fuzz().join("corpus").join(target);
    let names = names_in(&folder);
    assert!(names.len() >= 10, "`{target}` has only {} inputs", names.len());
    let failed: Vec<_> = names
        .into_iter()
        .filter(|name| {
            let input = fs::read(folder.join(name)).expect("a readable input");
            catch_unwind(AssertUnwindSafe(|| check(&input))).is_err()
        })
        .collect();
    assert!(failed.is_empty(), "`fuzz/corpus/{target}`: {}", failed.join(", "));
}

/// One test a target, so that a failure names it and they run side by side.
macro_rules! replays {
    ($($target:ident),+ $(,)?) => {
        $(#[test] fn $target() { replay(stringify!($target), crate::checks::$target::check); })+

        #[test]
        fn every_target_is_replayed_built_and_seeded() {
            let replayed: BTreeSet<String> = [$(stringify!($target).to_owned()),+].into();
            let known: BTreeSet<String> = crate::checks::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
            assert_eq!(replayed, known);
            assert_eq!(names_in(&fuzz().join("corpus")), known);
            let files = known.iter().map(|name| format!("{name}.rs"));
            assert_eq!(names_in(&fuzz().join("fuzz_targets")), files.collect());
            let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("a manifest");
            let built = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next());
            assert_eq!(built.map(str::to_owned).collect::<BTreeSet<_>>(), known);
        }
    };
}

replays!(
    cache_tool_line,
    control_messages,
    curl_line,
    direct_answer,
    experiment,
    extract,
    frames_way,
    gate,
    grpc_reply,
    h2_reply,
    har,
    hpack_decode,
    http1_reply,
    jvm_counters,
    law,
    memcached_reply,
    mping,
    openapi,
    person_value,
    ppbench_csv,
    probe_http2,
    probe_request,
    probe_thrift,
    proc_parsers,
    quantity,
    replay_rows,
    resp_reply,
    run_record,
    secrets,
    service_toml,
    shape,
    sidecar_counters,
    template,
    thrift_reply,
    trace,
    trade_script,
    url,
    view_path,
    wireguard_answer,
);

/// The check of run records must not pass for lack of anything that is accepted.
#[test]
fn whole_records_are_accepted() {
    for name in [
        "windows.csv",
        "windows-batch.csv",
        "operations.csv",
        "resources.csv",
        "total.hlog",
        "events.jsonl",
        "trial.json",
        "trial-machine.json",
        "stamps.csv",
        "counts.csv",
    ] {
        let seed = fs::read(fuzz().join("corpus/run_record").join(name)).expect("a seed");
        assert!(crate::checks::run_record::accepts(&seed), "`{name}`");
    }
}
