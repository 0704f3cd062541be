//! See `src/sidecar_counters.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::sidecar_counters::check(data));
