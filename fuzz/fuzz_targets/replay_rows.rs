//! See `src/replay_rows.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::replay_rows::check(data));
