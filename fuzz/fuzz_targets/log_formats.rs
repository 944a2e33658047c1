#![no_main]
//! See `cangate_fuzz::targets::log_formats`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_formats::TARGET.run)(input));
