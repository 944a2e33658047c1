#![no_main]
//! See `cangate_fuzz::targets::cangw`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::cangw::TARGET.run)(input));
