#![no_main]
//! See `cangate_fuzz::targets::shm_rings`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::shm_rings::TARGET.run)(input));
