//! Man pages, completions and help of `cangate-lab`, made from one definition.

use crate::{cangate, stdout};

const COMMANDS: [&str; 11] = [
    "setup",
    "exec",
    "shell",
    "measure",
    "rate",
    "run",
    "list",
    "reproduce",
    "bench",
    "report",
    "image",
];

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    stdout(cangate().args(["lab", "man"]).arg(folder.path()), 0);
    for command in COMMANDS {
        let name = format!("cangate-lab-{command}.1");
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(page.contains(".SH"), "{command}");
    }
    assert!(folder.path().join("cangate-lab.1").exists());
}

#[test]
fn each_shell_has_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(cangate().args(["lab", "completions", shell]), 0);
        for command in COMMANDS {
            assert!(script.contains(command), "{command} for {shell}");
        }
    }
}

#[test]
fn each_command_and_each_option_is_explained() {
    for command in COMMANDS {
        let help = stdout(cangate().args(["help", "lab", command]), 0);
        assert!(
            help.contains(&format!("Usage: cangate lab {command}")),
            "{help}"
        );
        let lines: Vec<&str> = help.lines().map(str::trim).collect();
        for pair in lines.windows(2) {
            // The explanation is on the line of the option, or on the next line.
            let here = pair[0].split_once("  ").is_some();
            let below = pair[1].starts_with(|c: char| c.is_uppercase());
            assert!(
                !pair[0].starts_with("--") || here || below,
                "{command}: {}",
                pair[0]
            );
        }
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

/// The long help of an option whose value has words names each word and gives an example.
#[test]
fn each_word_of_a_value_is_explained() {
    let measure = stdout(cangate().args(["help", "lab", "measure"]), 0);
    for (option, words) in [
        ("--kernel", "5.10 6.1 6.12 7.3 -rt"),
        ("--bench", "kvaser ctucan timed"),
        (
            "--gateway",
            "cangw can-gw bpf user:read-write direct direct:irq chardev baremetal baremetal:irq baremetal:ideal ideal none io_uring mmap",
        ),
        (
            "--traffic",
            "oneatatime load:PERCENT flood period:MICROSECONDS",
        ),
        ("--load", "none cpu eth-rx eth-tx"),
        ("--filters", "none sff:N list:N eff:N"),
        ("--modify", "none copy id and or xor set crc8 xorsum"),
        ("--hops", "N:2 N:vxcan N:2:vxcan"),
        ("--cpu", "pc board board:N shift:N"),
        ("--priority", "gateway ordinary softirq"),
        ("--boot", "nohz=off nohz=off+threadirqs none"),
        ("--task", "gateway round-trip"),
        (
            "--tuning",
            "irq-thread:N softirq-thread:N threaded-napi netdev-budget:N none",
        ),
    ] {
        let own = option_of(&measure, option);
        for word in words.split(' ') {
            assert!(own.contains(word), "{option} {word}: {own}");
        }
        assert!(own.contains("Example"), "{option}: {own}");
        assert!(own.contains(&format!("{option} ")), "{option}: {own}");
    }
    let reproduce = stdout(cangate().args(["help", "lab", "reproduce"]), 0);
    assert!(option_of(&reproduce, "--claims").contains("Example: --claims G4"));
}

/// Returns the help of one option, up to the next one.
fn option_of<'h>(help: &'h str, option: &str) -> &'h str {
    let at = help.find(&format!("\n      {option} ")).unwrap() + 1;
    let own = &help[at..];
    own.split("\n      --").next().unwrap()
}
