#![no_main]
//! See `cangate_fuzz::targets::machine_plan`.
libfuzzer_sys::fuzz_target!(
    |input: &[u8]| (cangate_fuzz::targets::machine_plan::TARGET.run)(input)
);
