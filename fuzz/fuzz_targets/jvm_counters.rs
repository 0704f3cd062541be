//! See `src/jvm_counters.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::jvm_counters::check(data));
