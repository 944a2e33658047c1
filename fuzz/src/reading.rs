//! Reading of a log at once and in pieces: both must give the same result. Writing of what was
//! read: a writer leaves out a frame if, and only if, its format's limits say so.

use frame::FrameBuf;
use logs::{FileFormat, FormatLimits, FrameEntry, LogReader, LogScanner, ScanStep, WriteOptions};
use std::io::Read;

/// A reader that returns at most this many bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(into.len());
        into[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

/// Returns every frame and every error, as text.
fn all(input: &[u8], format: Option<FileFormat>, step: usize) -> Vec<String> {
    let mut pieces = Pieces(input, step);
    let mut scanner = LogScanner::new(format);
    let (mut frame, mut last, mut out) = (FrameBuf::new(), false, Vec::new());
    loop {
        match scanner.step(&mut frame, last) {
            ScanStep::Frame(logged) => {
                // A frame that was read can be written: its length and its kind agree.
                assert!(frame.header().len() <= frame.header().kind().max_len());
                assert!(!logged.interface.as_str().is_empty());
                out.push(format!("{logged:?} {}", frame.view()));
            }
            ScanStep::Bad(bad) => out.push(bad.to_string()),
            ScanStep::Other => {}
            // The scanner is not restricted to one interface.
            ScanStep::Elsewhere(_) => unreachable!(),
            ScanStep::Starved if last => break,
            ScanStep::Starved => last = scanner.fill(&mut pieces).is_ok_and(|n| n == 0),
            ScanStep::Unknown(looks) => {
                out.push(looks.to_string());
                break;
            }
            ScanStep::Lost(bad) => {
                out.push(format!("lost: {bad}"));
                break;
            }
        }
    }
    out
}

/// Reads the input in this format, or the one that its beginning indicates.
pub fn both_ways(input: &[u8], format: Option<FileFormat>) {
    let step = 1 + input.len() % 97;
    assert_eq!(all(input, format, usize::MAX), all(input, format, step));
}

/// Writes what is read in all formats of this build.
pub fn written(input: &[u8]) {
    let options = WriteOptions::default();
    let mut outputs: Vec<_> = FileFormat::written()
        .filter_map(|format| {
            Some((
                format.writer(options).ok()?,
                FormatLimits::new(format, options),
            ))
        })
        .collect();
    let mut out = Vec::new();
    for (writer, _) in &mut outputs {
        writer.begin(&mut out);
    }
    for entry in LogReader::new(input, "input").filter_map(Result::ok) {
        let name = entry.logged.interface;
        let entry = FrameEntry {
            stamp: entry.logged.ns,
            interface: name.as_str().len() as u16,
            name: name.as_str(),
            direction: entry.logged.direction,
            frame: entry.frame.view(),
        };
        for (writer, limits) in &mut outputs {
            let is_left_out = limits
                .shortfalls(&entry)
                .iter()
                .any(|one| one.is_left_out());
            assert_eq!(writer.frame(&entry, &mut out), !is_left_out);
        }
        out.clear();
    }
    for (writer, _) in &mut outputs {
        writer.end(&mut out);
    }
}
