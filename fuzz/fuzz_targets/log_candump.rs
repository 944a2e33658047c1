#![no_main]
//! See `cangate_fuzz::targets::log_candump`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_candump::TARGET.run)(input));
