#![no_main]
//! See `cangate_fuzz::targets::monitor`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::monitor::TARGET.run)(input));
