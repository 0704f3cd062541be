//! See `src/trade_script.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::trade_script::check(data));
