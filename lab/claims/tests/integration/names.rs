//! Experiments keep their names, titles and commands: stored results are found and compared by
//! them.

use claims::Extent;
use config::SourceText;
use experiment::{Experiment, matrix};
use std::fmt::Write as _;
use std::path::Path;

/// Returns the FNV-1a hash, 64 bits.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns a line: whose experiments these are, their number, and a checksum of what identifies
/// them.
fn line(of: &str, experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for e in experiments {
        writeln!(text, "{} {} {}", e.name(), e.title(), e.command()).unwrap();
    }
    format!("{of} {} {:016x}\n", experiments.len(), checksum(&text))
}

/// The lines of all matrices and claims are those of `names.txt`. After a change of the experiments
/// of a matrix or of a claim, its line changes; after a new setting, no line does.
#[test]
fn every_matrix_and_claim_has_experiments_of_the_same_names() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration");
    let mut lines = String::new();
    let folder = tests.join("../../../matrices");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = SourceText::new(name.clone(), std::fs::read_to_string(&path).unwrap());
        lines.push_str(&line(&name, &matrix::read(&source).unwrap().experiments));
    }
    for claim in claims::all() {
        for (extent, word) in [(Extent::Quick, "quick"), (Extent::Full, "full")] {
            let all = [claim.needs(extent), claim.rates(extent)].concat();
            lines.push_str(&line(&format!("{} {word}", claim.id), &all));
        }
    }
    let kept = std::fs::read_to_string(tests.join("names.txt")).unwrap_or_default();
    assert!(
        lines == kept,
        "lab/claims/tests/integration/names.txt is:\n{lines}"
    );
}
