#![no_main]
//! See `cangate_fuzz::targets::protection`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::protection::TARGET.run)(input));
