//! See `src/h2_reply.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::h2_reply::check(data));
