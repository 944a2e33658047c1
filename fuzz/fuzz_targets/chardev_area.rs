#![no_main]
//! See `cangate_fuzz::targets::chardev_area`.
libfuzzer_sys::fuzz_target!(
    |input: &[u8]| (cangate_fuzz::targets::chardev_area::TARGET.run)(input)
);
