#![no_main]
//! See `cangate_fuzz::targets::matrix`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::matrix::TARGET.run)(input));
