#![no_main]
//! See `cangate_fuzz::targets::kcd`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::kcd::TARGET.run)(input));
