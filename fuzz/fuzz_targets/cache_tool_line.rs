//! See `src/cache_tool_line.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::cache_tool_line::check(data));
