//! Man pages, completions and help, made from one definition.

use crate::{cangate, stdout};

const COMMANDS: [&str; 11] = [
    "demo",
    "run",
    "check",
    "stats",
    "routes",
    "reload",
    "timing",
    "import",
    "export",
    "completions",
    "man",
];

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("made/for/it");
    stdout(cangate().arg("man").arg(&pages), 0);
    for command in COMMANDS {
        let page = std::fs::read_to_string(pages.join(format!("cangate-{command}.1"))).unwrap();
        assert!(page.contains(".SH"), "{command}");
    }
    assert!(pages.join("cangate.1").exists());
}

#[test]
fn each_shell_has_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(cangate().args(["completions", shell]), 0);
        for command in COMMANDS {
            assert!(script.contains(command), "{command} for {shell}");
        }
    }
}

#[test]
fn each_command_and_each_option_is_explained() {
    for command in COMMANDS {
        let help = stdout(cangate().args(["help", command]), 0);
        assert!(help.contains("Usage: cangate"), "{help}");
        let lines: Vec<&str> = help.lines().map(str::trim).collect();
        for pair in lines.windows(2) {
            // An option's words stand behind it, or in the next line.
            let here = pair[0].split_once("  ").is_some();
            let below = pair[1].starts_with(|c: char| c.is_uppercase());
            assert!(
                !pair[0].starts_with("--") || here || below,
                "{command}: {}",
                pair[0]
            );
        }
    }
}

#[test]
fn unknown_words_are_refused() {
    assert_eq!(
        cangate().arg("fly").output().unwrap().status.code(),
        Some(2)
    );
    assert_eq!(cangate().output().unwrap().status.code(), Some(2));
}
