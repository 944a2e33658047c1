#![no_main]
//! See `cangate_fuzz::targets::log_pcap`.
libfuzzer_sys::fuzz_target!(|input: &[u8]| (cangate_fuzz::targets::log_pcap::TARGET.run)(input));
