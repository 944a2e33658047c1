//! Inputs as they occur in practice, one of each dialect, and the expected results.
//!
//! The files of `tests/field` have words and values of this project, in the forms that other
//! programs write; those in `tests/field/made` were written by the programs that `made/README.md`
//! names. The expected result of each is in `expected.txt` in the same folder: a line `== NAME`,
//! the format, the frames as lines of `candump -L`, the frames that are missing according to the
//! log, and the mistakes.
use logs::{LogError, LogReader};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn field() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field")
}

/// Returns the result of reading a log, in the format of `expected.txt`.
fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let mut reader = LogReader::new(bytes.as_slice(), "log");
    let mut text = match reader.recognise() {
        Ok(format) => format!("{format}\n"),
        Err(LogError::Unknown { looks, .. }) => return format!("no log: {looks}\n"),
        Err(error) => return format!("{error}\n"),
    };
    let mut frame = frame::FrameBuf::new();
    loop {
        let read = reader.read(&mut frame);
        for missing in reader.take_missing() {
            let name = missing.interface.map(|name| name.to_string());
            let name = name.unwrap_or("any interface".to_owned());
            writeln!(text, "missing: {} of {name}", missing.frames).unwrap();
        }
        match read {
            Ok(None) => return text,
            Ok(Some(logged)) => {
                let line = frame::text::LogLine {
                    stamp: logged.ns,
                    interface: logged.interface.as_str(),
                    frame: frame.view(),
                    direction: logged.direction,
                };
                match logged.ns % 1000 {
                    0 => write!(text, "{line}").unwrap(),
                    _ => write!(text, "{line:.9}").unwrap(),
                }
                match logged.comments {
                    0 => text.push('\n'),
                    n => writeln!(text, "  // {n} comments").unwrap(),
                }
            }
            Err(error) => {
                let error = error.to_string();
                writeln!(
                    text,
                    "bad: {}",
                    error.strip_prefix("log: ").unwrap_or(&error)
                )
                .unwrap();
            }
        }
    }
}

/// Returns the entries of a folder's `expected.txt`, by name.
fn expected(folder: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder.join("expected.txt")).unwrap();
    let sections = text.split("== ").skip(1);
    let sections = sections.map(|section| {
        let (name, rest) = section.split_once('\n').unwrap();
        (name.to_owned(), format!("{}\n", rest.trim_end()))
    });
    sections.collect()
}

/// Logs of thousands of frames are not written out in `expected.txt`.
const LONG: [(&str, &str); 2] = [("files", "k5-cut.log.gz"), ("made", "zstd-cut.log.zst")];

#[test]
fn each_input_is_read_as_expected() {
    let mut different = String::new();
    for folder in ["files", "logs", "made", "pcap"] {
        let folder = field().join(folder);
        let mut expected = expected(&folder);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let long = LONG.iter().any(|(_, long)| *long == name);
            if long || ["expected.txt", "README.md", "binary.py"].contains(&&*name) {
                continue;
            }
            let found = read(&path);
            let wanted = expected.remove(&name).unwrap_or_default();
            if found != wanted {
                writeln!(different, "== {name}\n{found}-- expected\n{wanted}").unwrap();
            }
        }
        assert!(expected.is_empty(), "no such inputs: {expected:?}");
    }
    assert!(different.is_empty(), "\n{different}");
}

/// All complete lines of the unpacked part are returned, and the last, torn one is counted.
#[test]
fn a_log_whose_packing_breaks_off_is_read_up_to_there() {
    for (folder, name) in LONG {
        let text = read(&field().join(folder).join(name));
        let lines: Vec<&str> = text.lines().collect();
        let frames = lines.iter().filter(|line| line.starts_with('(')).count();
        assert!(frames >= 2000, "{name}: {frames}");
        assert_eq!(
            lines.len(),
            frames + 2,
            "{name}: a format, frames, a mistake"
        );
        let last = lines.last().unwrap();
        assert!(last.contains(&format!("line {}", frames + 1)), "{last}");
        assert!(last.contains("breaks off"), "{last}");
    }
}
