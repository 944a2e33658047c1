//! All commands report errors in the same form: `error: …`, and warnings `warning: …`.

use crate::{cangate, stderr, text};
use std::collections::BTreeSet;
use std::path::Path;

/// Commands with an error, and the exit status. `DIR` is a folder with the files of
/// [`write_files`].
const WRONG: &[(&str, i32)] = &[
    ("nonsense", 2),
    ("demo --log DIR/missing.log", 2),
    ("demo --config DIR/broken.toml", 2),
    ("demo --seconds 1 --out DIR/file/below", 1),
    ("run DIR/missing.toml", 2),
    ("run DIR/broken.toml", 2),
    ("run DIR/binary.toml", 2),
    ("run --until-end DIR/no_interface.toml", 1),
    ("check DIR/missing.toml", 2),
    ("check DIR/broken.toml", 2),
    ("stats --socket DIR/missing.sock", 1),
    ("stats DIR/broken.toml", 2),
    ("top --socket DIR/missing.sock", 2),
    ("routes --socket DIR/missing.sock", 1),
    ("routes DIR/missing.toml", 2),
    ("reload --socket DIR/missing.sock", 1),
    ("reload DIR/broken.toml", 2),
    ("image DIR/missing.toml", 2),
    ("image DIR/logs.toml", 2),
    ("timing nonsense", 2),
    ("timing --bitrate 0 123#", 2),
    ("bound DIR/missing.toml", 2),
    ("bound DIR/broken.toml", 2),
    ("bound DIR/overload.toml", 3),
    ("bound --witness 7FF DIR/overload.toml", 2),
    ("bound --gateway DIR/missing.toml DIR/overload.toml", 2),
    ("bound --from-log DIR/missing.log", 2),
    ("bound --from-log DIR/file", 2),
    ("bound --check DIR/missing.parquet DIR/overload.toml", 2),
    ("bound --gateway DIR/logs.toml DIR/overload.toml", 2),
    ("import DIR/missing.txt", 2),
    ("import DIR/broken.toml", 2),
    ("export --cangw DIR/missing.toml", 2),
    ("export --cangw DIR/logs.toml", 2),
    ("bench --send no0 --receive no1", 2),
    ("bench syscalls no0 --frames 0", 2),
    ("ping --config DIR/logs.toml nobody", 2),
    ("ping --id 100 --answer 100 no0", 2),
    ("shm DIR/missing/link", 2),
    ("shm DIR/file", 2),
    ("capture no0 --out DIR/recording.xyz", 2),
    ("capture /dev/ --out DIR/recording.log", 2),
    ("capture /dev/null --out DIR/recording.log", 2),
    ("capture /dev/nothing,123:7FF --out DIR/recording.log", 2),
    ("capture /dev/can0,12 --out DIR/recording.log", 2),
    ("capture /dev/can0 /dev/can0 --out DIR/recording.log", 2),
    ("bench --send no0 --receive no1 --log DIR/missing.log", 2),
    ("report DIR/missing", 2),
    ("list no0", 2),
    ("watch --filter zz no0", 2),
    ("send no0 12345#1", 2),
    ("demo --config DIR/missing.toml --as-bus 500k", 2),
    ("run --simulate DIR/missing.toml", 2),
    ("completions nonsense", 2),
    ("man DIR/file/below", 1),
    ("help nonsense", 2),
    ("convert DIR/file DIR/x.log", 2),
    ("decode DIR/missing.log --database DIR/file", 2),
    ("schema nonsense", 2),
    ("lab setup --kernels 2.6", 2),
    ("lab exec --cpu fast -- true", 2),
    ("lab exec --boot panic=0 -- true", 2),
    ("lab exec --file DIR/missing -- true", 2),
    ("lab shell --kernel 2.6", 2),
    ("lab shell --bench lin", 2),
    ("lab measure --traffic fluod", 2),
    ("lab measure --out DIR/file/below.parquet", 1),
    ("lab rate --gateway iptables", 2),
    ("lab rate --out DIR/file", 1),
    ("lab run DIR/missing.toml", 2),
    ("lab run DIR/broken.toml", 2),
    ("lab list DIR/missing.toml", 2),
    ("lab machines DIR/missing.toml", 2),
    ("lab machines DIR/machines.toml --match a", 2),
    ("lab reproduce --claims G99", 2),
    ("lab reproduce --jobs 0", 2),
    ("lab completions nonsense", 2),
    ("lab man DIR/file/below", 1),
];

fn write_files(folder: &Path) {
    let files: [(&str, &[u8]); 7] = [
        ("overload.toml", b"[buses.a]\nbitrate = '10k'\n[[messages]]\nid = '100'\nperiod = '1ms'\nlen = 8\n"),
        ("broken.toml", b"[port.a]\nkind = 'bus'\n"),
        ("binary.toml", b"[ports.\xFF]\n"),
        ("machines.toml", b"[machines.a]\ncommand = 'x'\n[machines.b]\ncommand = 'x'\n[links.a]\nkind = 'can'\n"),
        ("file", b""),
        ("no_interface.toml", b"[ports.no0]\nkind = 'socketcan'\n[ports.no1]\nkind = 'socketcan'\n[[routes]]\nfrom = 'no0'\nto = 'no1'\n"),
        ("logs.toml", b"[ports.a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n[[routes]]\nfrom = 'a'\nto = 'b'\n"),
    ];
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

#[test]
fn every_error_begins_with_the_same_word() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let name = folder.path().to_str().unwrap();
    for (line, status) in WRONG {
        let line = line.replace("DIR", name);
        let mut command = cangate();
        command
            .args(line.split(' '))
            .env("CANGATE_LAB", folder.path().join("cache"));
        // Nothing can be fetched from here.
        command.env("CANGATE_MIRROR", "http://127.0.0.1:1");
        let output = command.output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{line}: {message}");
        let first = message.lines().next().unwrap_or_default();
        let is_error = |line: &str| line.starts_with("error: ");
        assert!(
            is_error(first) || first.starts_with("warning: "),
            "{line}: {message}"
        );
        assert!(message.lines().any(is_error), "{line}: {message}");
        for line in message.lines() {
            assert!(!line.starts_with("cangate:"), "{message}");
            assert!(!line.starts_with("error: error"), "{message}");
        }
    }
}

/// Returns all commands that the help names, without those that only contain subcommands.
fn commands(above: &[&str]) -> BTreeSet<String> {
    let mut help = cangate();
    let output = help.args(above).arg("--help").output().unwrap();
    let help = text(&output.stdout);
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return BTreeSet::from([above.join(" ")]);
    };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .flat_map(|name| commands(&[above, &[name]].concat()))
        .collect()
}

#[test]
fn each_command_has_such_an_error() {
    let all = commands(&[]);
    assert!(
        all.contains("lab measure") && all.contains("run"),
        "{all:?}"
    );
    for command in &all {
        // `cangate bench` is a short form of `cangate lab bench`; `cangate list` is another command
        // than `cangate lab list`.
        let short = command
            .strip_prefix("lab ")
            .filter(|short| all.contains(*short) && *short != "list");
        let start = format!("{} ", short.unwrap_or(command));
        let tried = WRONG.iter().any(|(line, _)| line.starts_with(&start));
        assert!(tried, "no wrong use of `cangate {command}` is tried");
    }
}

#[test]
fn warnings_begin_with_the_same_word() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("x.log");
    std::fs::write(&log, "(1.0) can0 123#00\nnonsense\n").unwrap();
    let mut bench = cangate();
    bench.args(["bench", "--send", "no0", "--receive", "no1", "--log"]);
    let message = stderr(bench.arg(&log), 2);
    assert!(message.starts_with("warning: "), "{message}");
    // Messages of a gateway begin with the time.
    let file = folder.path().join("gateway.toml");
    std::fs::write(
        &file,
        "[gateway]\nrealtime = false\nlock_memory = false\n\
         [ports.a]\nkind = 'log'\nread = 'x.log'\npace = 'fast'\n\
         [ports.b]\nkind = 'log'\nwrite = 'y.log'\n[[routes]]\nfrom = 'a'\nto = 'b'\n",
    )
    .unwrap();
    let mut run = cangate();
    run.args(["run", "--until-end"]).arg(&file);
    // There is no place for a control socket, which was not requested.
    run.current_dir(folder.path());
    run.env("XDG_RUNTIME_DIR", "/proc/none");
    // Bad lines are losses: docs/guide.md has the exit statuses.
    let message = stderr(&mut run, 3);
    assert!(
        message.lines().any(|line| line.contains("Z warning: ")),
        "{message}"
    );
    assert!(!message.contains("WARN"), "{message}");
}
