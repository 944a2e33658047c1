#![no_main]
//! See `cangate_fuzz::targets::vcontroller`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::vcontroller::TARGET.run)(input));
