//! The JSON schema of gateway.toml: the published one is the program's, and taplo, which editors
//! use, accepts it.

use crate::{cangate, root, stdout};
use std::path::PathBuf;
use std::process::{Command, Output};

const PUBLISHED: &str = "docs/gateway.schema.json";

#[test]
fn the_published_schema_is_the_programs() {
    let printed = stdout(cangate().arg("schema"), 0);
    let published = std::fs::read_to_string(root().join(PUBLISHED)).unwrap_or_default();
    assert!(
        printed == published,
        "{PUBLISHED} is not what the program prints: `cangate schema > {PUBLISHED}`"
    );
}

/// Returns the taplo that `cargo xtask setup` installs, or the one in PATH.
fn taplo() -> Option<PathBuf> {
    let target = root().join("target/taplo/node_modules/.bin/taplo");
    let found = [target, PathBuf::from("taplo")].into_iter().find(|taplo| {
        let version = Command::new(taplo).arg("--version").output();
        // Its exit status is 1 nevertheless.
        version.is_ok_and(|output| output.stdout.starts_with(b"taplo "))
    });
    if found.is_none() {
        eprintln!(
            "SKIPPED because there is no taplo: `cargo xtask setup` installs it, or `npm install -g @taplo/cli`"
        );
    }
    found
}

/// Returns taplo's report on files, each by its name and its text. Each names its schema in its
/// first line, as an editor would get it.
fn check(taplo: &PathBuf, files: &[(String, String)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let published = std::fs::read(root().join(PUBLISHED)).unwrap();
    std::fs::write(folder.path().join("gateway.schema.json"), published).unwrap();
    // taplo starts slowly: one run checks all files.
    let mut command = Command::new(taplo);
    command.arg("check");
    for (name, text) in files {
        let text = format!("#:schema ./gateway.schema.json\n{text}");
        std::fs::write(folder.path().join(name), text).unwrap();
        command.arg(name);
    }
    command.current_dir(folder.path()).output().unwrap()
}

#[test]
fn taplo_takes_the_examples_and_refuses_unknown_keys() {
    let Some(taplo) = taplo() else { return };
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let changed = text.replacen("[[routes]]", "[[routes]]\nfilters = \"123\"", 1);
        assert_ne!(changed, text, "{name}");
        wrong.push((name.clone(), changed));
        good.push((name, text));
    }
    assert!(good.len() >= 4, "{} examples", good.len());
    let output = check(&taplo, &good);
    assert!(output.status.success(), "{output:?}");
    let output = check(&taplo, &wrong);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{message}");
    for (name, _) in &wrong {
        assert!(message.contains(name.as_str()), "{name}: {message}");
    }
}
