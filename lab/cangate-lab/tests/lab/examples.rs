//! The examples of the documents that need a guest, as written, each within its time limit.

use super::documents::{Trial, examples, trial};
use super::lab;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

fn run(folder: &Path, command: &str, seconds: u64) -> String {
    let path = std::env::var("PATH").unwrap();
    let output = assert_cmd::Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .timeout(Duration::from_secs(seconds))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{command}: {:?}\n{out}\n{err}",
        output.status
    );
    out
}

fn folder_with_cangate() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("cangate");
    let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", crate::program().display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Commands of one code block, for one guest.
struct Block {
    place: (String, usize),
    bench: &'static str,
    seconds: u64,
    commands: Vec<String>,
}

#[test]
#[ignore = "boots a guest"]
fn examples_with_can_interfaces_run_in_a_guest_that_has_them() {
    let Some(_lab) = lab() else { return };
    let mut blocks: Vec<Block> = Vec::new();
    for example in examples() {
        let Some(Trial::InGuest(bench, seconds)) = trial(&example) else {
            continue;
        };
        let place = (example.place.0, example.block);
        match blocks.last_mut() {
            Some(last) if last.place == place => last.commands.push(example.command),
            _ => blocks.push(Block {
                place,
                bench,
                seconds,
                commands: vec![example.command],
            }),
        }
    }
    assert!(blocks.len() >= 3, "only {} blocks", blocks.len());
    let folder = folder_with_cangate();
    for block in blocks {
        // The documents have a gateway between the buses, and cards on which frames take time.
        let gateway = match block.bench {
            "kvaser" => "modprobe can-gw; ip netns exec gw cangw -A -s gw0 -d gw1\n",
            _ => "",
        };
        let script = format!("set -e\ncd /tmp\n{gateway}{}\n", block.commands.join("\n"));
        std::fs::write(folder.path().join("script"), &script).unwrap();
        let command = format!(
            "cangate lab exec --bench {} -- sh -c \"$(cat script)\"",
            block.bench
        );
        let out = run(folder.path(), &command, block.seconds);
        // The end of the output of each: the cost of system calls, the fates of round trips, of
        // frames.
        let all = |what: &str| block.commands.iter().all(|command| command.contains(what));
        let end = if all("bench syscalls") {
            "µs for this number of frames"
        } else if all("cangate ping") {
            "1000 answered, 0 not answered in time"
        } else {
            "lost"
        };
        assert!(out.contains(end), "{:?}: {out}", block.place);
    }
}

/// These take minutes, one after the other.
mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn examples_that_boot_guests_end_in_time() {
        let Some(_lab) = lab() else { return };
        let folder = folder_with_cangate();
        let mut done = std::collections::BTreeSet::new();
        for example in examples() {
            let Some(Trial::Lab(seconds)) = trial(&example) else {
                continue;
            };
            // Two documents may show the same.
            if done.insert(example.command.clone()) {
                let out = run(folder.path(), &example.command, seconds);
                assert!(!out.is_empty(), "{example:?} prints nothing");
            }
        }
        assert!(done.len() >= 8, "only {done:?}");
    }
}
