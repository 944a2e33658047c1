#![no_main]
//! See `cangate_fuzz::targets::log_asc`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_asc::TARGET.run)(input));
