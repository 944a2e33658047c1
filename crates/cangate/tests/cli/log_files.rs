//! Logs of other programs, and files that are not logs.

use crate::{cangate, root, stdout};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Returns the arguments of each command that reads a log, and its exit status if the file is not
/// one.
fn readers(log: &Path) -> Vec<(Vec<String>, i32)> {
    let folder = log.parent().unwrap();
    let gateway = folder.join("gateway.toml");
    let log = log.display().to_string();
    // A control socket of its own: another test's gateway may run at the usual place.
    let text = format!(
        "[gateway]\ncontrol = \"{}\"\n[ports.in]\nkind = \"log\"\nread = \"{log}\"\npace = \"fast\"\n\
         [ports.out]\nkind = \"log\"\nwrite = \"{}\"\n\
         [[routes]]\nfrom = \"in\"\nto = \"out\"\n",
        folder.join("control.sock").display(),
        folder.join("out.log").display()
    );
    std::fs::write(&gateway, text).unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let out = folder.join("converted.asc").display().to_string();
    vec![
        (words(&["convert", "--force", &log, &out]), 2),
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
    type Make<'a> = &'a dyn Fn(File);
    let write = |bytes: &'static [u8]| move |mut file: File| file.write_all(bytes).unwrap();
    let program = std::fs::read(env!("CARGO_BIN_EXE_cangate")).unwrap();
    let junk: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let cases: [(Make<'_>, &str); 7] = [
        // Two gigabytes of zeros take no space on the disk.
        (
            &|file| file.set_len(2 << 30).unwrap(),
            "it begins with nothing but zero",
        ),
        (
            &|mut file| file.write_all(&program[..100_000]).unwrap(),
            "a program (ELF)",
        ),
        (&|mut file| file.write_all(&junk).unwrap(), "binary data"),
        (&write(b"Dear diary,\ntoday\n"), "it looks like text"),
        (&|_| (), "it is empty"),
        (
            &write(b"  can0  123   [2]  11 22\n"),
            "what candump shows without time stamps",
        ),
        (&write(b"LOGG\x90\0\0\0"), "Vector BLF"),
    ];
    for (make, looks) in cases {
        make(File::create(&log).unwrap());
        for (args, status) in readers(&log) {
            let output = cangate().args(&args).output().unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
            assert!(output.stdout.is_empty(), "{args:?}");
            let begin = format!("drive.log: not a log file: {looks}");
            let looks_like = format!("drive.log: not a log file: it looks like {looks}");
            assert!(
                message.contains(&begin) || message.contains(&looks_like),
                "{args:?}: {message}"
            );
            assert!(!message.contains("frames received"), "{message}");
        }
        for made in ["converted.asc", "out.log"] {
            let made = std::fs::metadata(folder.path().join(made));
            assert!(
                made.is_err() || made.unwrap().len() == 0,
                "{looks}: a file was made"
            );
        }
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
