//! The fuzz targets: each is a plain function that must not panic, whatever bytes it gets.
//!
//! Two programs run the same functions: libFuzzer (`fuzz_targets/`, nightly, guided by coverage)
//! and the smoke runner (`src/bin/smoke.rs`, stable Rust, seeds mutated at random).

#![forbid(unsafe_code)]

pub mod bytes;
pub mod mutate;
pub mod reading;
pub mod targets;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name; also of its file in `fuzz_targets/` and of its folder in `seeds/`.
    pub name: &'static str,
    /// The function, which must not panic.
    pub run: fn(&[u8]),
    /// Pieces of valid input, which random bytes would almost never contain.
    pub words: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    #[cfg(feature = "xml")]
    targets::arxml::TARGET,
    targets::bus_operations::TARGET,
    targets::cangw::TARGET,
    targets::chardev_area::TARGET,
    targets::configuration::TARGET,
    targets::control::TARGET,
    targets::controller::TARGET,
    targets::dbc::TARGET,
    #[cfg(feature = "xml")]
    targets::kcd::TARGET,
    targets::log_formats::TARGET,
    targets::log_packed::TARGET,
    targets::log_text::TARGET,
    targets::mapped_page::TARGET,
    targets::machine_plan::TARGET,
    targets::matrix::TARGET,
    targets::monitor::TARGET,
    targets::protection::TARGET,
    targets::network::TARGET,
    targets::ring_block::TARGET,
    targets::shm_rings::TARGET,
    targets::sym::TARGET,
    targets::vcontroller::TARGET,
    targets::virtio_rings::TARGET,
    targets::wire::TARGET,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    #[test]
    fn each_target_has_its_program_and_its_seeds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let names: BTreeSet<String> = TARGETS.iter().map(|t| t.name.to_owned()).collect();
        let programs: BTreeSet<String> = fs::read_dir(root.join("fuzz_targets"))
            .unwrap()
            .map(|entry| {
                entry
                    .unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|name| cfg!(feature = "xml") || !matches!(name.as_str(), "kcd" | "arxml"))
            .collect();
        assert_eq!(names, programs);
        for name in names {
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            let seeds = fs::read_dir(root.join("seeds").join(&name)).unwrap();
            assert!(seeds.count() > 0, "{name}");
        }
    }
}
