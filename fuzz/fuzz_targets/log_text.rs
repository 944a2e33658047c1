#![no_main]
//! See `cangate_fuzz::targets::log_text`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_text::TARGET.run)(input));
