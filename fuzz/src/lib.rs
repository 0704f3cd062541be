//! One check per parser of foreign bytes, each a plain function of bytes that panics where the parser is wrong.
//!
//! None only asks for the absence of a crash: what parses must read back the same, or agree with the bytes fed
//! differently, or with another parser. `crates/stories/tests/stories/essential/corpus.rs` includes this file and replays
//! `corpus/` on the stable toolchain. To search for more:
//!
//! ```sh
//! cargo install cargo-fuzz
//! mkdir -p /tmp/found && cargo +nightly fuzz run experiment /tmp/found fuzz/corpus/experiment -- -max_total_time=60
//! ```
//!
//! What it finds is named after what is wrong with it, put into `corpus/<target>/`, and stays there when it is mended.
//! Inputs named `found-…` reached code that no other input does.

pub mod cache_tool_line;
mod commands;
pub mod control_messages;
pub mod curl_line;
pub mod direct_answer;
mod draft;
pub mod experiment;
pub mod extract;
pub mod frames_way;
pub mod gate;
pub mod grpc_reply;
pub mod h2_reply;
pub mod har;
pub mod hpack_decode;
pub mod http1_reply;
pub mod jvm_counters;
pub mod law;
pub mod memcached_reply;
pub mod mping;
pub mod openapi;
pub mod person_value;
pub mod ppbench_csv;
pub mod probe_http2;
pub mod probe_request;
pub mod probe_thrift;
pub mod proc_parsers;
pub mod quantity;
pub mod replay_rows;
pub mod resp_reply;
pub mod run_record;
pub mod secrets;
pub mod service_toml;
pub mod shape;
pub mod sidecar_counters;
pub mod template;
pub mod thrift_reply;
pub mod trace;
pub mod trade_script;
pub mod url;
pub mod view_path;
pub mod wireguard_answer;

/// A check by the name of its fuzz target and corpus.
pub type Target = (&'static str, fn(&[u8]));

/// Every check.
pub const TARGETS: [Target; 39] = [
    ("cache_tool_line", cache_tool_line::check),
    ("control_messages", control_messages::check),
    ("curl_line", curl_line::check),
    ("direct_answer", direct_answer::check),
    ("experiment", experiment::check),
    ("extract", extract::check),
    ("frames_way", frames_way::check),
    ("gate", gate::check),
    ("grpc_reply", grpc_reply::check),
    ("h2_reply", h2_reply::check),
    ("har", har::check),
    ("hpack_decode", hpack_decode::check),
    ("http1_reply", http1_reply::check),
    ("jvm_counters", jvm_counters::check),
    ("law", law::check),
    ("memcached_reply", memcached_reply::check),
    ("mping", mping::check),
    ("openapi", openapi::check),
    ("person_value", person_value::check),
    ("ppbench_csv", ppbench_csv::check),
    ("probe_http2", probe_http2::check),
    ("probe_request", probe_request::check),
    ("probe_thrift", probe_thrift::check),
    ("proc_parsers", proc_parsers::check),
    ("quantity", quantity::check),
    ("replay_rows", replay_rows::check),
    ("resp_reply", resp_reply::check),
    ("run_record", run_record::check),
    ("secrets", secrets::check),
    ("service_toml", service_toml::check),
    ("shape", shape::check),
    ("sidecar_counters", sidecar_counters::check),
    ("template", template::check),
    ("thrift_reply", thrift_reply::check),
    ("trace", trace::check),
    ("trade_script", trade_script::check),
    ("url", url::check),
    ("view_path", view_path::check),
    ("wireguard_answer", wireguard_answer::check),
];
