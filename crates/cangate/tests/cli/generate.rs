//! Man pages, completions, help and version, made from one definition.

use crate::{cangate, root, stderr, stdout};

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
        let name = format!("cangate-{command}.1");
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        assert!(page.contains(".SH"), "{command:?}");
    }
    let page = std::fs::read_to_string(pages.join("cangate.1")).unwrap();
    assert!(page.contains("verbose"), "{page}");
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
            // The explanation is on the line of the option, or on the next line.
            let here = pair[0].split_once("  ").is_some();
            let below = pair[1].starts_with(|c: char| c.is_uppercase());
            assert!(
                !pair[0].starts_with("--") || here || below,
                "{command:?}: {}",
                pair[0]
            );
        }
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command:?}: {line}");
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

#[test]
fn the_version_is_one_line() {
    let line = concat!("cangate ", env!("CARGO_PKG_VERSION"), "\n");
    for option in ["-V", "--version"] {
        assert_eq!(stdout(cangate().arg(option), 0), line);
    }
    let output = stderr(cangate().args(["--verbose", "demo"]), 2);
    assert!(output.contains("--version"), "{output}");
    // Words after `--` are not options of this program.
    let output = stdout(cangate().args(["--version", "--", "--verbose"]), 0);
    assert_eq!(output, line);
}

#[test]
fn the_verbose_version_has_the_licence_of_each_part() {
    let output = stdout(cangate().args(["--version", "--verbose"]), 0);
    for others in [["--verbose", "--version"], ["-V", "--verbose"]] {
        assert_eq!(stdout(cangate().args(others), 0), output);
    }
    let first = concat!("cangate ", env!("CARGO_PKG_VERSION"), "\n");
    assert!(output.starts_with(first), "{output}");
    for words in [
        "licence: Apache-2.0 OR MIT",
        "embedded BPF object: crates/offload/bpf/gateway.bpf.o\n  licence:  GPL-2.0",
        "compiler: clang ",
    ] {
        assert!(output.contains(words), "{words}: {output}");
    }
    // The named files exist.
    for path in [
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "LICENSE-GPL-2.0",
        "crates/offload/bpf",
        "crates/offload/bpf/gateway.bpf.o",
    ] {
        assert!(output.contains(path), "{path}: {output}");
        assert!(root().join(path).exists(), "{path}");
    }
    let gpl = std::fs::read_to_string(root().join("LICENSE-GPL-2.0")).unwrap();
    assert!(gpl.contains("GNU GENERAL PUBLIC LICENSE\n"));
    assert!(gpl.contains("Version 2, June 1991"));
    assert_eq!(gpl.len(), 18_092, "the text is Debian's, unchanged");
}

/// The kernel reads the licence of a BPF object from its section `license`: it must be the GPL.
/// `cargo xtask structure` looks at the sources.
#[test]
fn the_bpf_object_states_its_licence() {
    let object = std::fs::read(root().join("crates/offload/bpf/gateway.bpf.o")).unwrap();
    assert!(object.windows(4).any(|bytes| bytes == b"GPL\0"));
}

/// The kinds of port and the data paths are those that a gateway file can name.
#[test]
fn the_verbose_version_names_what_a_gateway_file_can_name() {
    let output = stdout(cangate().args(["--version", "--verbose"]), 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    for (text, feature) in [
        ("[ports.a]\nkind = '?'\n", "ports:"),
        ("[gateway]\noffload = '?'\n", "offload:"),
    ] {
        // The message about a wrong word lists all valid ones: "help: there is `socketcan`, …".
        std::fs::write(&file, text).unwrap();
        let wrong = stderr(cangate().arg("check").arg(&file), 2);
        let (_, help) = wrong.split_once("help: there is ").unwrap();
        let there_are: Vec<&str> = help.lines().next().unwrap().split('`').collect();
        let there_are: Vec<&str> = there_are.into_iter().skip(1).step_by(2).collect();
        let own = output.lines().find(|l| l.trim().starts_with(feature));
        let (_, own) = own.unwrap().split_once(": ").unwrap();
        assert_eq!(own.trim().split(", ").collect::<Vec<_>>(), there_are);
        assert!(there_are.len() > 2, "{wrong}");
    }
}
