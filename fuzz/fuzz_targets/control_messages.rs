//! See `src/control_messages.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weighbridge_fuzz::control_messages::check(data));
