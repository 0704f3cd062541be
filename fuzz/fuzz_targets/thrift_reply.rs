//! See `src/thrift_reply.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::thrift_reply::check(data));
