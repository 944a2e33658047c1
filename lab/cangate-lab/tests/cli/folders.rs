//! A folder for results is created, or refused, before anything is run for them.

use crate::{cangate, stderr};
use std::path::Path;

/// Runs a command that would take long, or needs missing files, if its output folder were not
/// checked first.
fn refused(folder: &Path, line: &str) -> String {
    let mut command = cangate();
    command
        .args(line.split(' '))
        .current_dir(folder)
        .env("CANGATE_LAB", folder.join("cache"))
        // Nothing can be downloaded from here: a command that tries it has begun too early.
        .args(
            ["--mirror", "http://127.0.0.1:1"]
                .iter()
                .filter(|_| line.starts_with("lab")),
        );
    stderr(&mut command, 1)
}

#[test]
fn what_cannot_be_made_is_refused_first() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("file"), "").unwrap();
    std::fs::create_dir(dir.join("results")).unwrap();
    std::fs::write(dir.join("m.toml"), "[[matrix]]\nseed = 1\n").unwrap();
    std::fs::write(dir.join("rules"), "cangw -A -s a -d b -e\n").unwrap();
    for line in [
        "lab measure --out file/x.parquet",
        "lab measure --out /proc/none/x.parquet",
        "lab rate --out file/x",
        "lab run m.toml --out file/x",
        "lab reproduce --quick --out file/x",
        "demo --seconds 86400 --out file/x",
        "report results --out file/x",
        "import rules --output file/x.toml",
        "man file/x",
    ] {
        let output = refused(dir, line);
        assert!(
            output.starts_with("error: cannot make the folder "),
            "{line}: {output}"
        );
        assert!(!dir.join("cache").exists(), "{line}: the lab was opened");
    }
    let output = refused(dir, "lab measure --out results");
    assert!(
        output.contains("it is a folder; name a file in it"),
        "{output}"
    );
}

#[test]
fn a_folder_that_is_missing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut demo = cangate();
    demo.args(["demo", "--seconds", "0.1", "--out", "a/b/c"])
        .current_dir(dir);
    demo.assert().success();
    assert!(dir.join("a/b/c/report.html").exists());
    let mut import = cangate();
    std::fs::write(dir.join("rules"), "cangw -A -s a -d b -e\n").unwrap();
    import
        .args(["import", "rules", "-o", "new/gateway.toml"])
        .current_dir(dir);
    import.assert().success();
    assert!(dir.join("new/gateway.toml").exists());
    // Nothing else is left behind.
    assert_eq!(std::fs::read_dir(dir.join("new")).unwrap().count(), 1);
    let mut man = cangate();
    man.args(["man", "pages/of/cangate"]).current_dir(dir);
    man.assert().success();
    assert!(dir.join("pages/of/cangate/cangate.1").exists());
}
