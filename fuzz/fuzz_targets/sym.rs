#![no_main]
//! See `cangate_fuzz::targets::sym`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::sym::TARGET.run)(input));
