//! FD frames through a bus without FD: one gateway splits them, another one joins them.

use crate::{cangate, stderr};
use std::fs;
use std::path::Path;

/// Runs a gateway from one log to another, with a port that splits and joins between them; returns
/// its summary. `status`: 3 if frames were lost.
fn run(folder: &Path, from: &str, to: &str, status: i32) -> String {
    let place = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "[gateway]\ncontrol = \"{}\"\n\
         [ports.in]\nkind = \"log\"\npace = \"fast\"\nread = \"{}\"\n\
         [ports.out]\nkind = \"log\"\nwrite = \"{}\"\n\
         [ports.parts]\nkind = \"split\"\nparts = {{ \"300\" = \"700\", \"18FF5000\" = \"18FF5001\" }}\n\
         [[routes]]\nname = \"to the port\"\nfrom = \"in\"\nto = \"parts\"\n\
         [[routes]]\nname = \"from the port\"\nfrom = \"parts\"\nto = \"out\"\n",
        place("control.sock"),
        place(from),
        place(to),
    );
    fs::write(folder.join("gateway.toml"), text).unwrap();
    let gateway = place("gateway.toml");
    stderr(cangate().args(["run", "--until-end", &gateway]), status)
}

/// Returns the frames of a log, without time and interface.
fn frames(folder: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let lines = text.lines();
    lines
        .map(|line| line.split_whitespace().nth(2).unwrap().to_owned())
        .collect()
}

fn write(folder: &Path, name: &str, frames: &[String]) {
    let line = |(number, frame): (usize, &String)| format!("(1.{number:06}) can0 {frame}\n");
    let lines: String = frames.iter().enumerate().map(line).collect();
    fs::write(folder.join(name), lines).unwrap();
}

fn sent() -> Vec<String> {
    let hex = |count: u8| -> String { (1..=count).map(|byte| format!("{byte:02X}")).collect() };
    vec![
        format!("300##5{}", hex(12)),
        format!("18FF5000##4{}", hex(64)),
        format!("300##7{}", hex(5)),
        "300##4".to_owned(),
        format!("300##5{}", hex(24)),
    ]
}

/// The parts of the first frame are those of the document.
#[test]
fn frames_that_are_split_and_joined_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "in.log", &sent());
    let summary = run(folder, "in.log", "parts.log", 0);
    assert!(
        summary.contains("5 FD frames split into 18 parts"),
        "{summary}"
    );
    let parts = frames(folder, "parts.log");
    assert_eq!(parts[..2], ["700#0019010203040506", "700#010708090A0B0C"]);
    assert_eq!(parts.len(), 18);
    assert!(parts.iter().all(|part| !part.contains("##")));
    let summary = run(folder, "parts.log", "out.log", 0);
    assert!(
        summary.contains("18 parts joined to 5 FD frames"),
        "{summary}"
    );
    assert_eq!(frames(folder, "out.log"), sent());
}

#[test]
fn a_frame_with_a_missing_part_is_dropped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "in.log", &sent());
    run(folder, "in.log", "parts.log", 0);
    let mut parts = frames(folder, "parts.log");
    // Of the second frame's ten parts.
    parts.remove(6);
    write(folder, "fewer.log", &parts);
    let summary = run(folder, "fewer.log", "out.log", 3);
    for words in [
        "8 parts joined to 4 FD frames",
        "1 FD frame dropped: a part was missing",
        "9 parts dropped, which the losses count",
    ] {
        assert!(summary.contains(words), "{words} in {summary}");
    }
    let mut expected = sent();
    expected.remove(1);
    assert_eq!(frames(folder, "out.log"), expected);
}
