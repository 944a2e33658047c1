#![no_main]
//! See `cangate_fuzz::targets::log_trc`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_trc::TARGET.run)(input));
