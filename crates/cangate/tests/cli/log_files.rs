//! Logs of other programs, and what is no log.

use crate::{cangate, root, stdout};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// The arguments of each command that reads a log, and its exit status where it is none.
fn readers(log: &Path) -> Vec<(Vec<String>, i32)> {
    let folder = log.parent().unwrap();
    let gateway = folder.join("gateway.toml");
    let log = log.display().to_string();
    let text = format!(
        "[ports.in]\nkind = \"log\"\nread = \"{log}\"\npace = \"fast\"\n\
         [ports.out]\nkind = \"log\"\nwrite = \"{}\"\n\
         [[routes]]\nfrom = \"in\"\nto = \"out\"\n",
        folder.join("out.log").display()
    );
    std::fs::write(&gateway, text).unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        (words(&["demo", "--log", &log]), 2),
        (words(&["bound", "--from-log", &log]), 2),
        (
            words(&[
                "run",
                "--until-end",
                "--quiet",
                &gateway.display().to_string(),
            ]),
            1,
        ),
    ]
}

#[test]
fn what_is_no_log_fails_before_anything_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("drive.log");
    // Two gigabytes of zeros take no room on the disk.
    File::create(&log).unwrap().set_len(2 << 30).unwrap();
    for (args, status) in readers(&log) {
        let output = cangate().args(&args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(
            said.contains("drive.log: this is no log: it begins with nothing but zero"),
            "{said}"
        );
        assert!(!said.contains("frames received"), "{said}");
    }
    std::fs::write(&log, b"  can0  123   [2]  11 22\n").unwrap();
    for (args, status) in readers(&log) {
        let output = cangate().args(&args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains("without time stamps"), "{said}");
    }
}

#[test]
fn a_packed_log_of_another_program_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("drive.asc.gz");
    let mut text = String::from("base hex timestamps absolute\n");
    for n in 0..200 {
        text += &format!(
            "{}.{:06} 1 123 Rx d 2 11 {n:02X}\n",
            n / 100,
            n % 100 * 10_000
        );
    }
    let mut packed = GzEncoder::new(File::create(&log).unwrap(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
    for (args, _) in readers(&log) {
        stdout(cangate().args(&args).current_dir(root()), 0);
    }
    let routed = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
    assert_eq!(routed.lines().count(), 200);
    assert!(
        routed.lines().last().unwrap().ends_with(" out 123#11C7"),
        "{routed}"
    );
}
