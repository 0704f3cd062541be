//! See `src/wireguard_answer.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::wireguard_answer::check(data));
