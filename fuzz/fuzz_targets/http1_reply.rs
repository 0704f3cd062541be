//! See `src/http1_reply.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::http1_reply::check(data));
