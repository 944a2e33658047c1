#![no_main]
//! See `cangate_fuzz::targets::arxml`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::arxml::TARGET.run)(input));
