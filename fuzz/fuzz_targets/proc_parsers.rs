//! See `src/proc_parsers.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::proc_parsers::check(data));
