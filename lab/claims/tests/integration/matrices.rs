//! The matrices of the repository.

use claims::{ClaimKind, Extent};
use config::SourceText;
use experiment::matrix::{self, ExperimentMatrix};
use experiment::settings::Setting;
use experiment::{BenchKind, Experiment};
use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &Path) -> ExperimentMatrix {
    let source = SourceText::new(
        path.display().to_string(),
        std::fs::read_to_string(path).unwrap(),
    );
    matrix::read(&source)
        .unwrap_or_else(|found| panic!("{}", config::render(&source, &found, false)))
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../matrices")
}

#[test]
fn every_matrix_can_be_made() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        assert!(!read(&path).experiments.is_empty(), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn the_papers_matrix_is_whole() {
    let all = read(&folder().join("gateway-2011.toml")).experiments;
    assert!(all.len() >= 653, "{}", all.len());
    let words =
        |setting: Setting| -> BTreeSet<String> { all.iter().map(|e| setting.word(e)).collect() };
    assert_eq!(words(Setting::Kernel).len(), 8);
    let has = |setting, wanted: &[&str]| {
        let there = words(setting);
        assert!(
            wanted.iter().all(|w| there.contains(*w)),
            "{setting}: {there:?}"
        );
    };
    has(Setting::Load, &["none", "cpu", "eth-rx"]);
    has(Setting::Traffic, &["oneatatime", "load:50", "flood"]);
    has(Setting::Gateway, &["cangw", "user:read-write", "none"]);
    has(
        Setting::Filters,
        &["none", "list:80", "list:2048", "sff:2048"],
    );
    has(
        Setting::Modify,
        &["none", "and", "or", "xor", "set", "crc8", "xorsum"],
    );
    // Every combination of gateway, load, traffic and kernel, as in the paper.
    let simple = |e: &&Experiment| {
        let like = Experiment {
            bench: e.bench,
            cpu: e.cpu,
            frames: e.frames,
            kernel: e.kernel,
            load: e.load,
            traffic: e.traffic,
            ..Experiment::default()
        };
        **e == like && e.bench == BenchKind::Timed
    };
    assert_eq!(all.iter().filter(simple).count(), 3 * 3 * 8);
}

/// Checks that the matrices of a file contain everything that these bounds need, other than by a
/// search.
fn has_what_they_need(file: &str, ids: &[&str]) {
    let all = read(&folder().join(file)).experiments;
    let bounds = claims::all();
    for id in ids {
        let bound = bounds.iter().find(|c| c.id == *id).unwrap();
        for e in bound.needs(Extent::Full) {
            assert!(all.contains(&e), "{id}: {}", e.name());
        }
    }
}

#[test]
fn the_matrix_of_routing_in_the_kernel_has_what_the_bounds_need() {
    let ids = ["O1", "O2", "O3", "O4", "O5", "O6", "O7", "O8"];
    has_what_they_need("offload.toml", &ids);
}

#[test]
fn the_matrix_of_ways_has_what_its_claims_need() {
    let ids = [
        "S2", "S3", "S5", "S6", "S7", "O9", "O10", "O11", "O12", "O13", "O16", "O17",
    ];
    has_what_they_need("syscalls-2014.toml", &ids);
    let all = read(&folder().join("syscalls-2014.toml")).experiments;
    let words =
        |setting: Setting| -> BTreeSet<String> { all.iter().map(|e| setting.word(e)).collect() };
    assert_eq!(words(Setting::Kernel).len(), 8);
    let gateways = words(Setting::Gateway);
    for (name, ways) in experiment::PAPER_NAMES {
        assert!(gateways.contains(&format!("user:{ways}")), "{name}");
    }
}

#[test]
fn the_matrix_of_drivers_has_what_its_claims_need() {
    let ids = ["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "O15"];
    has_what_they_need("drivers-2009.toml", &ids);
    let all = read(&folder().join("drivers-2009.toml")).experiments;
    let kernels: BTreeSet<_> = all.iter().map(|e| e.kernel).collect();
    assert_eq!(kernels.len(), 8);
}

#[test]
fn the_matrix_of_virtual_machines_has_what_its_claims_need() {
    let ids = [
        "V1", "V2", "V3", "V4", "V5", "O18", "O19", "O20", "O21", "O22", "O23", "O24", "O25", "V6",
        "O27",
    ];
    has_what_they_need("virtualization-2015.toml", &ids);
}

#[test]
fn every_bound_is_in_a_matrix() {
    let bounds = claims::all();
    let bounds = bounds.iter().filter(|c| c.kind() == ClaimKind::Bound);
    let files = [
        "offload.toml",
        "syscalls-2014.toml",
        "drivers-2009.toml",
        "virtualization-2015.toml",
        "worst-case.toml",
    ];
    let all: Vec<_> = files
        .iter()
        .flat_map(|file| read(&folder().join(file)).experiments)
        .collect();
    for bound in bounds {
        // A log that a claim generates cannot be a value of a matrix.
        let needs = bound.needs(Extent::Full).into_iter();
        for e in needs.filter(|e| !e.log.is_some()) {
            assert!(all.contains(&e), "{}: {}", bound.id, e.name());
        }
    }
}
