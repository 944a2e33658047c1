#![no_main]
//! See `cangate_fuzz::targets::log_packed`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_packed::TARGET.run)(input));
