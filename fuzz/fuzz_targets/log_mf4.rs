#![no_main]
//! See `cangate_fuzz::targets::log_mf4`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_mf4::TARGET.run)(input));
