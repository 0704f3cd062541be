//! See `src/probe_http2.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::probe_http2::check(data));
