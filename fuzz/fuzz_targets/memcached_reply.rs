//! See `src/memcached_reply.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::memcached_reply::check(data));
