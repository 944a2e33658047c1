//! Written files survive failed starts, failed reloads and kill -9.

use crate::gateway::frames;
use crate::place::{IN, Place, log, signal, until};
use std::process::Stdio;

const OUT: &str = "[ports.out]\nkind = 'log'\nwrite = 'out.log'\n";
const OLD: &str = "(1.000000) can0 7FF#0123\n";

#[test]
fn a_failed_start_leaves_the_old_log_byte_for_byte() {
    let other =
        "[ports.other]\nkind = 'log'\nwrite = 'other.log'\n[[routes]]\nfrom = 'in'\nto = 'other'\n";
    let cases = [
        ("an input that is not there", format!("{OUT}{IN}"), 1),
        (
            "an interface that is not there",
            format!(
                "{OUT}[ports.in]\nkind = 'socketcan'\ninterface = 'nosuch0'\n\
                 [[routes]]\nfrom = 'in'\nto = 'out'\n"
            ),
            1,
        ),
        ("a mistake in the file", format!("{OUT}{IN}id = 'x'\n"), 2),
        (
            "another output that cannot be written",
            format!("{OUT}{IN}{other}").replace("other.log", "no/such/folder.log"),
            1,
        ),
        (
            "two outputs that are one file behind a link",
            format!("{OUT}{IN}{other}").replace("other.log", "link.log"),
            1,
        ),
    ];
    for (what, text, status) in cases {
        let place = Place::new(&text);
        if what.contains("output") {
            place.write("in.log", &log(10));
        }
        place.write("out.log", OLD);
        std::os::unix::fs::symlink("out.log", place.path("link.log")).unwrap();
        let before = place.names();
        let output = place
            .command(&["run", "--until-end", "gateway.toml"])
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{what}: {err}");
        assert_eq!(place.read("out.log"), OLD, "{what}: {err}");
        // The control socket's lock may stay.
        let mut after = place.names();
        after.retain(|name| !name.starts_with("control.sock"));
        assert_eq!(after, before, "{what}: {err}");
    }
}

/// A limit on file sizes, and a full disk, affect only one port, and only for as long as they last.
#[test]
fn a_log_that_cannot_be_written_is_written_again_later() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::Stdio;
    let place = Place::new(
        "[ports.in]\nkind = 'log'\nread = '-'\npace = 'fast'\n[ports.out]\nkind = 'log'\nwrite = 'out.log'\n\
         [[routes]]\nfrom = 'in'\nto = 'out'\n",
    );
    let mut child = std::process::Command::new(crate::program())
        .args(["run", "gateway.toml"])
        .current_dir(place.path("."))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut hear = |what: &str| {
        let found = message.find(|line| line.as_ref().is_ok_and(|line| line.contains(what)));
        found
            .unwrap_or_else(|| panic!("it has ended without {what}"))
            .unwrap()
    };
    hear("ready: ");
    let pid = Pid::from_child(&child);
    let old = rustix::process::getrlimit(Resource::Fsize);
    let limit = |current| {
        let limit = Rlimit { current, ..old };
        prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    };
    limit(Some(4096));
    let mut input = child.stdin.take().unwrap();
    input.write_all(log(1000).as_bytes()).unwrap();
    let why = hear("port out: ");
    assert!(
        why.contains("frames are lost, and it is tried again in 1 s"),
        "{why}"
    );
    limit(old.current);
    hear("it is tried again: frames go there as before");
    input.write_all(b"(2.000000) can0 456#\n").unwrap();
    drop(input);
    while !place.read("out.log").contains("456#") {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let written = place.read("out.log");
    assert!(written.lines().count() > 10, "{written}");
    assert!(
        written
            .lines()
            .all(|line| line.starts_with("(0") || line.starts_with("(1")),
        "{written}"
    );
}

#[test]
fn two_names_of_a_file_that_was_not_there_are_refused() {
    let other = "[ports.other]\nkind = 'log'\nwrite = 'link.log'\n\
                 [[routes]]\nfrom = 'in'\nto = 'other'\n";
    let place = Place::new(&format!("{OUT}{IN}{other}"));
    place.write("in.log", &log(10));
    std::os::unix::fs::symlink("out.log", place.path("link.log")).unwrap();
    let output = place
        .command(&["run", "--until-end", "gateway.toml"])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("is the file that is written by port"), "{err}");
    assert!(!place.path("out.log").exists());
}

#[test]
fn standard_input_and_output_are_files_like_others() {
    let text = "[ports.in]\nkind = 'log'\nread = 'READ'\npace = 'fast'\n\
                [ports.out]\nkind = 'log'\nwrite = 'WRITE'\n[[routes]]\nfrom = 'in'\nto = 'out'\n";
    for (read, write) in [("-", "in.log"), ("in.log", "-"), ("in.log", "/dev/stdout")] {
        let place = Place::new(&text.replace("READ", read).replace("WRITE", write));
        let log = log(10);
        place.write("in.log", &log);
        let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
        if read == "-" {
            command.stdin(std::fs::File::open(place.path("in.log")).unwrap());
        } else {
            let mut append = std::fs::File::options();
            command.stdout(append.append(true).open(place.path("in.log")).unwrap());
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{read} {write}: {output:?}");
        assert_eq!(place.read("in.log"), log, "{read} {write}");
    }
    // The contents that the shell's >> keeps are kept.
    let place = Place::new(
        &text
            .replace("READ", "in.log")
            .replace("WRITE", "/dev/stdout"),
    );
    place.write("in.log", &log(3));
    place.write("out.log", OLD);
    let mut append = std::fs::File::options();
    let mut command = place.command(&["run", "--until-end", "gateway.toml"]);
    command.stdout(append.append(true).open(place.path("out.log")).unwrap());
    assert!(command.output().unwrap().status.success());
    let written = place.read("out.log");
    assert!(written.starts_with(OLD), "{written}");
    assert_eq!(frames(&written).len(), 4);
}

#[test]
fn a_failed_reload_harms_no_file_and_a_good_one_begins_it() {
    let live = "[ports.in]\nkind = 'log'\nread = '-'\npace = 'fast'\n\
                [[routes]]\nfrom = 'in'\nto = 'out'\n";
    let place = Place::new(&format!("{OUT}{live}"));
    let mut command = place.command(&["run", "gateway.toml"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut feed = |line: &str| {
        use std::io::Write;
        writeln!(input, "{line}").unwrap();
    };
    feed("(1.0) can0 123#01");
    until("the first frame is written", || {
        std::fs::read_to_string(place.path("out.log")).is_ok_and(|text| text.contains("123#01"))
    });
    let reload = |status| {
        let output = place.command(&["reload", "gateway.toml"]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    };
    // An output that exists, and an input that does not.
    place.write("other.log", OLD);
    let other = "[ports.other]\nkind = 'log'\nwrite = 'other.log'\n\
                 [[routes]]\nfrom = 'in'\nto = 'other'\n";
    let missing = "[ports.more]\nkind = 'log'\nread = 'missing.log'\n\
                   [[routes]]\nfrom = 'more'\nto = 'other'\n";
    place.gateway(&format!("{OUT}{live}{other}{missing}"));
    reload(2);
    assert_eq!(place.read("other.log"), OLD);
    // The settings of a port whose log is continued have changed: its log is continued, too.
    let continued = OUT.replace("'out.log'", "'out.log'\ninterface = 'can9'");
    place.gateway(&format!("{continued}{live}{other}"));
    reload(0);
    assert_eq!(place.read("other.log"), "");
    feed("(1.0) can0 123#02");
    until("the second frame is written", || {
        place.read("other.log").contains("123#02") && place.read("out.log").contains("can9 123#02")
    });
    assert_eq!(frames(&place.read("out.log")), ["123#01", "123#02"]);
    signal(&child, "TERM");
    assert!(child.wait().unwrap().success());
}

/// Kills at random moments of a run that starts a log anew, or rotates it. The moments are those of
/// a machine under load: the assertions hold for each.
#[test]
fn a_kill_leaves_whole_frames_in_order_and_nothing_else() {
    let divided = "[ports.out]\nkind = 'log'\nwrite = 'out.log'\nrotate = { size = 4096 }\n";
    let place = Place::new("");
    place.write("in.log", &log(60_000));
    for round in 0..24_u32 {
        let rotates = round % 2 == 1;
        place.gateway(&format!("{}{IN}", if rotates { divided } else { OUT }));
        for name in place.names() {
            if name.starts_with("out.log") {
                std::fs::remove_file(place.path(&name)).unwrap();
            }
        }
        place.write("out.log", OLD);
        let mut child = place
            .command(&["run", "--until-end", "gateway.toml"])
            .spawn()
            .unwrap();
        // From before the start to some time into the run.
        std::thread::sleep(std::time::Duration::from_micros(
            u64::from(round * round) * 300,
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        let names = place.names();
        let files = names.iter().filter(|name| name.starts_with("out.log"));
        let mut files: Vec<&String> = files.collect();
        // The current file is the last.
        files.sort_by_key(|name| (*name == "out.log", (*name).clone()));
        let mut text: String = files.iter().map(|name| place.read(name)).collect();
        if let Some(end) = text.rfind('\n') {
            // The kill may come in the middle of a write.
            text.truncate(end + 1);
        }
        let mut lines = frames(&text);
        if rotates || text == OLD {
            assert_eq!(lines.remove(0), "7FF#0123", "round {round}");
        }
        for (number, frame) in (0_u32..).zip(lines) {
            assert_eq!(frame, format!("123#{number:08X}"), "round {round}");
        }
        let strange = |name: &&String| name.contains("out") && !name.starts_with("out.log");
        assert_eq!(names.iter().find(strange), None);
    }
}
