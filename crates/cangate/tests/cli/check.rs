//! `cangate check`.

use crate::{cangate, root, stderr, stdout};

#[test]
fn all_mistakes_are_shown_at_once_each_with_its_place_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    let text = "\
[ports.a]
kind = \"socketcan\"
interface = \"can0\"

[ports.b]
kind = \"sockets\"
interface = \"can1\"

[[routes]]
name = \"one\"
from = \"a\"
to = \"c\"
id = \"8FF\"
";
    std::fs::write(&file, text).unwrap();
    let err = stderr(cangate().arg("check").arg(&file), 2);
    for line in [6, 12, 13] {
        assert!(
            err.contains(&format!("gateway.toml:{line}:")),
            "{line}: {err}"
        );
    }
    assert!(err.contains('^'), "no caret: {err}");
    for word in ["sockets", "socketcan", "8FF"] {
        assert!(err.contains(word), "{word}: {err}");
    }
}

#[test]
fn what_is_no_toml_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, "[ports.a\nkind = 1\n").unwrap();
    let err = stderr(cangate().arg("check").arg(&file), 2);
    assert!(
        err.contains("gateway.toml:1:") && err.contains('^'),
        "{err}"
    );
    std::fs::write(&file, b"[ports.a]\nkind = \"\xFF\"\n").unwrap();
    stderr(cangate().arg("check").arg(&file), 2);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = cangate().args(["check", "/no/such.toml"]).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(crate::text(&output.stderr).contains("/no/such.toml"));
}

#[test]
fn all_examples_are_right() {
    let mut examples = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let words = stdout(cangate().arg("check").arg(&path), 0);
            assert!(!words.is_empty(), "{}", path.display());
            examples += 1;
        }
    }
    assert!(examples > 0, "no example at all");
}

#[test]
fn a_broken_file_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, "[ports.a]\nkind = \"none\"\n").unwrap();
    let err = stderr(cangate().arg("run").arg(&file), 2);
    assert!(
        err.contains("gateway.toml:2:") && err.contains('^'),
        "{err}"
    );
}
