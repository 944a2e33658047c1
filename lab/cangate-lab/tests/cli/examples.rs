//! The examples of the documents, as written. Those that need a guest are in tests/lab/examples.rs.

use crate::documents::{Example, TRIALS, Trial, blocks, examples, root, trial};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No example on this machine takes longer.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

#[test]
fn each_example_is_tried_or_has_a_reason() {
    let all = examples();
    assert!(all.len() > 40, "{} examples are found", all.len());
    let unknown: Vec<&Example> = all
        .iter()
        .filter(|example| trial(example).is_none())
        .collect();
    assert!(
        unknown.is_empty(),
        "nothing in TRIALS says how to try {unknown:#?}"
    );
    for (start, _) in TRIALS {
        let fits = |example: &Example| example.command.starts_with(start);
        assert!(all.iter().any(fits), "no document has `{start}` any more");
    }
}

#[test]
fn examples_that_are_not_run() {
    let all = examples();
    let reasons: Vec<(&Example, &str)> = all
        .iter()
        .filter_map(|example| match trial(example)? {
            Trial::Not(because) => Some((example, because)),
            _ => None,
        })
        .collect();
    for (example, because) in &reasons {
        let (file, line) = &example.place;
        eprintln!("{file}:{line}: `{}` is not run: {because}", example.command);
    }
    eprintln!(
        "SKIPPED because {} of the {} examples of the documents cannot be run by a test; each is named \
         above with its reason",
        reasons.len(),
        all.len()
    );
}

/// Writes the files that the documents name, and programs that substitute others.
fn prepare(document: &str, folder: &Path) {
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let text = std::fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let log = blocks(&text)
        .into_iter()
        .find(|(_, text)| text.starts_with("(1.0"));
    let log = log.unwrap().1;
    write("drive.log", &log);
    write("candump-….log", &log);
    let toml = text.split("```toml\n").nth(1).unwrap();
    let first = toml.split("```").next().unwrap();
    write("first.toml", first);
    // Gateway files that a document shows with their name in the first line.
    let own = match document {
        "README.md" => root().join(document),
        _ => root().join("docs").join(document),
    };
    let own = std::fs::read_to_string(own).unwrap();
    for block in own.split("```toml\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let name = block
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "));
        if let Some(name) =
            name.filter(|name| name.ends_with(".toml") && !name.contains(['/', ' ']))
        {
            write(name, block);
        }
    }
    write("cangw.txt", "cangw -A -s can0 -d can1 -e -f 123:7FF\n");
    // Ports that exist on every machine, and an input that does not end before the gateway does.
    let gateway = "[gateway]\nrealtime = false\nlock_memory = false\n\
                   [ports.a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n\
                   [[routes]]\nfrom = 'a'\nto = 'b'\n";
    write("gateway.toml", gateway);
    let interfaces = "[ports.can0]\nkind = 'socketcan'\n[ports.can1]\nkind = 'socketcan'\n\
                      [[routes]]\nfrom = 'can0'\nto = 'can1'\nkind = 'classic'\necho = true\n";
    write("FILE", interfaces);
    let database = root().join("examples/bound/body.dbc");
    std::fs::copy(database, folder.join("body.dbc")).unwrap();
    for name in ["examples", "lab"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), folder.join(name))
            .unwrap();
    }
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = |name: &str, text: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let cangate = crate::program().display().to_string();
    program("cangate", &format!("exec '{cangate}' \"$@\""));
    // The program under test has already been built.
    let cargo = "[ \"$1 $2 $3\" = 'run --release --' ] || exit 97; shift 3; exec cangate \"$@\"";
    program("cargo", cargo);
    program("cangw", "[ \"$*\" = -L ] || exit 97; cat cangw.txt");
    if ["README.md", "reproduction.md", "findings.md", "ways.md"].contains(&document) {
        let results = shell(folder, "cangate demo --seconds 1 --out DIR");
        assert!(results.status.success(), "{results:?}");
    }
}

/// Runs a command as written, within [`TEST_TIMEOUT`].
fn shell(folder: &Path, command: &str) -> Output {
    let mut child = start(folder, command);
    let began = Instant::now();
    // Read concurrently: an output can be longer than a pipe holds.
    let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > TEST_TIMEOUT {
            child.kill().unwrap();
            panic!("{command}: not ended after {TEST_TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    Output {
        status,
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}

fn start(folder: &Path, command: &str) -> Child {
    let path = std::env::var("PATH").unwrap();
    Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env("XDG_RUNTIME_DIR", folder)
        .env_remove("CANGATE_LAB")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Removes the stamps, which depend on the time of the run.
fn without_stamps(text: &str) -> String {
    let line = |line: &str| match line.split_once(") ") {
        Some((stamp, rest)) if stamp.starts_with('(') => format!("{rest}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn examples_for_this_machine_do_what_they_state() {
    let all = examples();
    let documents: BTreeSet<&str> = all.iter().map(|e| e.place.0.as_str()).collect();
    let mut ran = 0;
    for document in documents {
        let folder = tempfile::tempdir().unwrap();
        prepare(document, folder.path());
        let here = |e: &&Example| e.place.0 == document;
        for example in all.iter().filter(here) {
            let (file, line) = &example.place;
            let place = format!("{file}:{line}: {}", example.command);
            match trial(example) {
                Some(Trial::Here) => {
                    let output = shell(folder.path(), &example.command);
                    assert!(output.status.success(), "{place}\n{output:?}");
                    let out = String::from_utf8(output.stdout).unwrap();
                    let (shown, out) = (without_stamps(&example.output), without_stamps(&out));
                    assert!(shown.is_empty() || out == shown, "{place}\n{out}");
                }
                Some(Trial::WithGateway) => {
                    with_gateway(folder.path(), &example.command, &place);
                }
                _ => continue,
            }
            ran += 1;
        }
    }
    assert!(ran > 20, "only {ran} examples ran");
    eprintln!("{ran} examples ran here");
}

/// Runs the gateway of `gateway.toml`, and the command while it runs.
fn with_gateway(folder: &Path, command: &str, place: &str) {
    let run = "cangate run gateway.toml";
    let mut gateway = start(folder, &format!("exec {run}"));
    let began = Instant::now();
    while !shell(folder, "cangate stats gateway.toml").status.success() {
        assert!(
            began.elapsed() < TEST_TIMEOUT,
            "{place}: the gateway does not answer"
        );
        assert!(
            gateway.try_wait().unwrap().is_none(),
            "{place}: it has ended"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    if command != run {
        let output = shell(folder, command);
        assert!(output.status.success(), "{place}\n{output:?}");
        assert!(!output.stdout.is_empty(), "{place} says nothing");
    }
    let stop = format!("kill -TERM {}", gateway.id());
    assert!(shell(folder, &stop).status.success());
    let output = gateway.wait_with_output().unwrap();
    assert!(output.status.success(), "{place}\n{output:?}");
}
