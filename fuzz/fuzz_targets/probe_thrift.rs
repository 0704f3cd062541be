//! See `src/probe_thrift.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::probe_thrift::check(data));
