//! See `src/resp_reply.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::resp_reply::check(data));
