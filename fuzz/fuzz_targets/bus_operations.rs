#![no_main]
//! See `cangate_fuzz::targets::bus_operations`.
libfuzzer_sys::fuzz_target!(
    |input: &[u8]| (cangate_fuzz::targets::bus_operations::TARGET.run)(input)
);
