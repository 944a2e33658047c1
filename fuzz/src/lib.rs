//! What is fuzzed: each target is a plain function that must not panic, whatever bytes it gets.
//!
//! Two things drive the same functions: libFuzzer (`fuzz_targets/`, nightly, led by coverage) and
//! the smoke runner (`src/bin/smoke.rs`, stable Rust, seeds mutated at random).

pub mod bytes;
pub mod mutate;
pub mod targets;

/// One thing to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name; also of its file in `fuzz_targets/` and of its folder in `seeds/`.
    pub name: &'static str,
    /// Must not panic.
    pub run: fn(&[u8]),
    /// Pieces of valid input, which random bytes would hardly ever hit.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[targets::log_text::TARGET];
