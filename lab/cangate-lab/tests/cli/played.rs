//! `cangate lab measure --log`: a log that cannot be replayed is reported before a guest boots.

use std::path::Path;

fn refused(folder: &Path, words: &str) -> String {
    let output = crate::cangate()
        .current_dir(folder)
        .args(["lab", "measure"])
        .args(words.split(' '))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}: {err}");
    err
}

#[test]
fn what_cannot_be_played_is_reported_before_a_guest_boots() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("short.log"), "(1.0) in 123#00\n").unwrap();
    std::fs::write(at("good.log"), "(1.0) in 123#0000\n").unwrap();
    for (words, text) in [
        (
            "--bench timed --log short.log",
            "frame 1 (123#00) has no room",
        ),
        (
            "--bench timed --log good.log --log-out out",
            "no interface out (--log-out), only: in",
        ),
        ("--log good.log", "--bench timed"),
        ("--bench timed --log good.log --modify id", "leave it out"),
        (
            "--bench timed --log good.log --frames 9",
            "cannot be used with",
        ),
        ("--bench timed --log none.log", "none.log"),
    ] {
        let err = refused(folder.path(), words);
        assert!(err.contains(text), "{words}: {err}");
    }
}
