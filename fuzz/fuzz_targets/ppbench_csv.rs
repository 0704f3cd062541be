//! See `src/ppbench_csv.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::ppbench_csv::check(data));
