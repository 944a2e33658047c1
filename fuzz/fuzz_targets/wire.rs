#![no_main]
//! See `cangate_fuzz::targets::wire`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::wire::TARGET.run)(input));
