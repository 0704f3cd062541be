//! See `src/hpack_decode.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::hpack_decode::check(data));
