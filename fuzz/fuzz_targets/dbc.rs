#![no_main]
//! See `cangate_fuzz::targets::dbc`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::dbc::TARGET.run)(input));
