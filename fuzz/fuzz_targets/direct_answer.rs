//! See `src/direct_answer.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::direct_answer::check(data));
