#![no_main]
//! See `cangate_fuzz::targets::network`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::network::TARGET.run)(input));
