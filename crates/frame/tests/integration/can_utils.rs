//! Comparison with can-utils' own code: the printed text goes through its `log2asc` and `asc2log`,
//! which read and write frames with the same code as cansend and candump, and must come back byte
//! for byte.
//!
//! Needs the package can-utils; without it the test is skipped with a message.

use frame::{CanId, Frame, text};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn through(program: &str, args: &[&str], input: String) -> String {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}; install the package can-utils"));
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Frames that Vector's ASC format, which is used between the two programs, can represent: no raw
/// DLC, no error frames. Remote frames come back without their length before can-utils 2023.
fn frames() -> Vec<Frame> {
    let mut x: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    let lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
    (0..4000)
        .map(|i| {
            let number = next() as u32 & CanId::EFF_MASK;
            let id = if next() & 1 == 0 {
                CanId::sff(number & CanId::SFF_MASK).unwrap()
            } else {
                CanId::eff(number).unwrap()
            };
            let mut data = [0; 64];
            for chunk in data.chunks_mut(8) {
                chunk.copy_from_slice(&next().to_le_bytes());
            }
            match i % 5 {
                0 => Frame::remote(id, 0).unwrap(),
                1 | 2 => Frame::classic(id, &data[..(next() % 9) as usize]).unwrap(),
                _ => {
                    let len = lengths[(next() % 16) as usize];
                    Frame::fd(id, (next() & 3) as u8, &data[..len]).unwrap()
                }
            }
        })
        .collect()
}

#[test]
fn frames_come_back_from_can_utils_byte_for_byte() {
    for program in ["log2asc", "asc2log"] {
        if !is_there(program) {
            eprintln!("SKIPPED because {program} of the package can-utils is not on the path");
            return;
        }
    }
    let frames = frames();
    let mut log = String::new();
    for (i, frame) in frames.iter().enumerate() {
        let line = text::LogLine {
            stamp: (1_398_128_223_000 + i as u64) * 1_000_000,
            interface: "can0",
            frame: frame.view(),
            direction: None,
        };
        writeln!(log, "{line}").unwrap();
    }
    let asc = through("log2asc", &["can0"], log);
    let back = through("asc2log", &[], asc);
    let lines: Vec<&str> = back.lines().collect();
    assert_eq!(lines.len(), frames.len());
    let mut buf = frame::FrameBuf::new();
    for (line, frame) in lines.iter().zip(&frames) {
        // With or without FDF, depending on the version of can-utils.
        let word = line.split_whitespace().nth(2).unwrap();
        let ours = [format!("{frame}"), format!("{frame:#}")];
        assert!(ours.iter().any(|o| o == word), "{line}: {ours:?}");
        text::parse_line(line.as_bytes(), &mut buf)
            .unwrap()
            .unwrap();
        assert_eq!(buf.view(), frame.view(), "{line}");
    }
}
