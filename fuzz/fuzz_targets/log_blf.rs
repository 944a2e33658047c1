#![no_main]
//! See `cangate_fuzz::targets::log_blf`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_blf::TARGET.run)(input));
