#![no_main]
//! See `cangate_fuzz::targets::ring_block`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::ring_block::TARGET.run)(input));
