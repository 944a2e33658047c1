//! `cangate report`.

use crate::{cangate, stderr, stdout, text};
use std::path::Path;

fn demo(folder: &Path, name: &str) {
    let out = folder.join(name);
    let mut command = cangate();
    command
        .args(["demo", "--seconds", "0.2", "--out"])
        .arg(&out);
    stdout(&mut command, 0);
}

#[test]
fn a_folder_of_runs_becomes_a_site_and_what_is_broken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    demo(folder.path(), "a");
    demo(folder.path(), "b");
    let out = stdout(cangate().arg("report").arg(folder.path()), 0);
    assert!(out.contains("site/index.html: 2 experiments, "), "{out}");
    let site = folder.path().join("site");
    let index = std::fs::read_to_string(site.join("data/index.js")).unwrap();
    assert!(
        index.contains("a/results") && index.contains("b/results"),
        "{index}"
    );
    for outside in ["http://", "https://", "@import", "//cdn"] {
        let page = std::fs::read_to_string(site.join("index.html")).unwrap();
        assert!(!page.contains(outside), "the page needs the net: {outside}");
    }

    std::fs::write(folder.path().join("broken.parquet"), "PAR1").unwrap();
    let other = folder.path().join("elsewhere");
    let output = cangate()
        .arg("report")
        .arg(folder.path())
        .arg("--out")
        .arg(&other)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("elsewhere/index.html: 2 experiments"),
        "{output:?}"
    );
    let err = text(&output.stderr);
    assert!(
        err.contains("left out: 1 file") && err.contains("broken.parquet: "),
        "{err}"
    );
    assert!(other.join("index.html").is_file());
}

#[test]
fn nothing_to_show_is_wrong_input() {
    let folder = tempfile::tempdir().unwrap();
    let err = stderr(cangate().arg("report").arg(folder.path()), 2);
    assert!(err.contains("no results of cangate"), "{err}");
    assert!(
        !folder.path().join("site").exists(),
        "nothing is left behind"
    );
    let err = stderr(
        cangate().arg("report").arg(folder.path().join("missing")),
        2,
    );
    assert!(err.contains("missing"), "{err}");
}
