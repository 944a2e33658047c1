#![no_main]
//! See `cangate_fuzz::targets::controller`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::controller::TARGET.run)(input));
