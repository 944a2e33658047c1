#![no_main]
//! See `cangate_fuzz::targets::control`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::control::TARGET.run)(input));
