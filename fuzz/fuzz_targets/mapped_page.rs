#![no_main]
//! See `cangate_fuzz::targets::mapped_page`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::mapped_page::TARGET.run)(input));
