#![no_main]
//! See `cangate_fuzz::targets::configuration`.
libfuzzer_sys::fuzz_target!(
    |input: &[u8]| (cangate_fuzz::targets::configuration::TARGET.run)(input)
);
