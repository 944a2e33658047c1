//! Frames that are read while they are sent: lines of a file, or of another program.

use super::{FrameSource, NextFrame};
use console::Failure;
use frame::text::{parse_frame, parse_line};
use frame::{FrameBuf, Nanos};
use port::log::{ONLY_A_SIMULATION_WAITS, asks_to_wait};
use rustix::event::{EventfdFlags, eventfd};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// The most lines that are read ahead.
const AHEAD: usize = 256;
/// The longest line in bytes: an XL frame has 4096 digits.
const MAX_LINE: u64 = 8192;
/// The most bad lines that are reported one by one.
const MAX_REPORTED: u64 = 5;

/// A message of the reading thread.
enum LineItem {
    /// A frame, with its time if the line is one of a log.
    Frame(Option<Nanos>, Box<FrameBuf>),
    /// A line that is not a frame: its number, and the mistake.
    Bad(u64, String),
    /// The file cannot be read any further.
    Broken(io::Error),
}

/// The lines that are not frames.
#[derive(Debug, Default)]
pub(crate) struct LineReport {
    /// Number of such lines.
    pub(crate) bad: u64,
    /// Why the file could not be read to its end.
    pub(crate) broken: Option<String>,
}

/// The frames of a file, one for each line: as cansend takes it, or a line of candump's log. Lines
/// that are empty or begin with `#` are comments.
pub(crate) struct LineFrames {
    name: String,
    items: Receiver<LineItem>,
    /// Is readable when the thread has added something.
    bell: OwnedFd,
    keeps_timing: bool,
    /// The time of the clock and of the log at the first frame.
    origin: Option<(Nanos, Nanos)>,
    last_due: Nanos,
    report: LineReport,
}

impl LineFrames {
    /// Opens a file; `-` is standard input. With `keeps_timing`, each frame of a log is due as long
    /// after the first one as in the log; otherwise, and for lines without a time, at once.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(path: &Path, keeps_timing: bool) -> Result<Self, Failure> {
        let (name, input): (String, Box<dyn Read + Send>) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
            (path.display().to_string(), Box::new(file))
        };
        Self::read(name, input, keeps_timing)
    }

    fn read(
        name: String,
        input: Box<dyn Read + Send>,
        keeps_timing: bool,
    ) -> Result<Self, Failure> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = bell.map_err(|error| Failure::run(io::Error::from(error)))?;
        let ring = bell.try_clone().map_err(Failure::run)?;
        let (to, items) = sync_channel(AHEAD);
        // The thread ends with its input, with the process, or when the receiver is dropped.
        std::thread::spawn(move || {
            read_lines(&mut BufReader::new(input), &to, &ring);
            drop(to);
            // The end is news, too.
            let _ = rustix::io::write(&ring, &1_u64.to_ne_bytes());
        });
        Ok(Self {
            name,
            items,
            bell,
            keeps_timing,
            origin: None,
            last_due: 0,
            report: LineReport::default(),
        })
    }

    /// Returns the lines so far that are not frames.
    pub(crate) const fn report(&self) -> &LineReport {
        &self.report
    }

    fn due(&mut self, now: Nanos, stamp: Option<Nanos>) -> NextFrame {
        let Some(stamp) = stamp.filter(|_| self.keeps_timing) else {
            return NextFrame::Now;
        };
        let (start, first) = *self.origin.get_or_insert((now, stamp));
        // A step back in the log does not bring frames forward that are before it.
        let due = start.saturating_add(stamp.saturating_sub(first));
        self.last_due = self.last_due.max(due);
        NextFrame::Due(self.last_due)
    }

    fn bad(&mut self, line: u64, error: &str) {
        self.report.bad += 1;
        match self.report.bad {
            ..=MAX_REPORTED => console::say(&format!("{}:{line}: {error}", self.name)),
            n if n == MAX_REPORTED + 1 => {
                console::say(&format!(
                    "{}: further bad lines are only counted",
                    self.name
                ));
            }
            _ => {}
        }
    }
}

impl FrameSource for LineFrames {
    fn next(&mut self, now: Nanos, frame: &mut FrameBuf) -> NextFrame {
        loop {
            let item = match self.items.try_recv() {
                Err(TryRecvError::Empty) => {
                    // Cleared before the second look, so that what comes after it rings again.
                    let _ = rustix::io::read(self.bell.as_fd(), &mut [0_u8; 8]);
                    self.items.try_recv()
                }
                found => found,
            };
            match item {
                Ok(LineItem::Frame(stamp, found)) => {
                    frame.set(found.view());
                    return self.due(now, stamp);
                }
                Ok(LineItem::Bad(line, error)) => self.bad(line, &error),
                Ok(LineItem::Broken(error)) => self.report.broken = Some(error.to_string()),
                Err(TryRecvError::Empty) => return NextFrame::Later,
                Err(TryRecvError::Disconnected) => return NextFrame::End,
            }
        }
    }

    fn wait(&self) -> Option<RawFd> {
        Some(self.bell.as_raw_fd())
    }
}

/// Reads lines until the end; each item rings the bell.
fn read_lines(input: &mut dyn BufRead, to: &SyncSender<LineItem>, bell: &OwnedFd) {
    let mut line = Vec::new();
    for number in 1.. {
        let item = match read_line(input, &mut line) {
            Ok(LineLength::None) => return,
            Ok(LineLength::Fits) => parse(&line).map_or_else(
                |error| Some(LineItem::Bad(number, error)),
                |found| found.map(|(stamp, frame)| LineItem::Frame(stamp, frame)),
            ),
            Ok(LineLength::TooLong) => {
                let error = format!("longer than {MAX_LINE} bytes, which no line with a frame is");
                Some(LineItem::Bad(number, error))
            }
            Err(error) => Some(LineItem::Broken(error)),
        };
        let is_last = matches!(item, Some(LineItem::Broken(_)));
        if let Some(item) = item {
            if to.send(item).is_err() {
                return;
            }
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
        if is_last {
            return;
        }
    }
}

/// The length of a line.
enum LineLength {
    /// There are no more lines.
    None,
    /// At most [`MAX_LINE`] bytes.
    Fits,
    /// More; its end was passed over.
    TooLong,
}

/// Reads a line to its end, and keeps at most one byte more than [`MAX_LINE`].
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<LineLength> {
    line.clear();
    (&mut *input).take(MAX_LINE + 1).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(LineLength::None);
    }
    if line.len() as u64 <= MAX_LINE || line.ends_with(b"\n") {
        return Ok(LineLength::Fits);
    }
    input.skip_until(b'\n')?;
    Ok(LineLength::TooLong)
}

/// The time and the frame of a line.
type LineFrame = (Option<Nanos>, Box<FrameBuf>);

/// Parses a line; `None` for a comment.
fn parse(line: &[u8]) -> Result<Option<LineFrame>, String> {
    let line = line.trim_ascii();
    let mut frame = Box::<FrameBuf>::default();
    match line.first() {
        None | Some(b'#') => Ok(None),
        Some(_) if asks_to_wait(line) => Err(ONLY_A_SIMULATION_WAITS.to_owned()),
        Some(b'(') => {
            let details = parse_line(line, &mut frame).map_err(|error| error.to_string())?;
            Ok(details.map(|details| (Some(details.stamp), frame)))
        }
        Some(_) => {
            parse_frame(line, &mut frame).map_err(|error| {
                let hint = match line.contains(&b'[') {
                    true => " (this is what candump prints for people: use `candump -L`)",
                    false => "",
                };
                format!("{error}{hint}")
            })?;
            Ok(Some((None, frame)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &'static str, keeps_timing: bool) -> (Vec<(Nanos, String)>, LineReport) {
        let input = Box::new(text.as_bytes());
        let mut lines = LineFrames::read("t".to_owned(), input, keeps_timing).unwrap();
        let mut found = Vec::new();
        let mut frame = FrameBuf::new();
        loop {
            match lines.next(1_000, &mut frame) {
                NextFrame::Due(due) => found.push((due, frame.to_string())),
                NextFrame::Now => found.push((1_000, frame.to_string())),
                NextFrame::End => return (found, lines.report),
                NextFrame::Later => {
                    let mut poll = linux::PollSet::default();
                    poll.add_fd(lines.wait().unwrap(), true, false);
                    poll.wait(None).unwrap();
                }
            }
        }
    }

    const LOG: &str = "# a comment\n(10.000000) can0 123#11\n\n(10.000500) can1 18DAF110##1AABB T\r\n\
        123#22\n(9.000000) can0 124#\n  can0  123   [2]  11 22\nnothing\n(10.002) can0 125#R\n";

    #[test]
    fn lines_of_a_log_and_plain_frames() {
        let (found, report) = frames(LOG, false);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            ["123#11", "18DAF110##1AABB", "123#22", "124#", "125#R"]
        );
        assert!(found.iter().all(|(due, _)| *due == 1_000));
        assert_eq!((report.bad, report.broken), (2, None));
    }

    #[test]
    fn the_timing_of_a_log_is_kept() {
        let (found, _) = frames(LOG, true);
        let dues: Vec<Nanos> = found.iter().map(|(due, _)| *due).collect();
        // The fourth frame is earlier in the log than the first one: it follows at once.
        assert_eq!(dues, [1_000, 501_000, 1_000, 501_000, 2_001_000]);
    }

    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        // What follows the limit would be a frame.
        let longest = usize::try_from(MAX_LINE).unwrap();
        let text = format!("{}124#\n125#\n{}", "x".repeat(longest), "#".repeat(longest));
        let (found, report) = frames(text.leak(), false);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!((texts, report.bad), (vec!["125#"], 1));
    }

    #[test]
    fn a_line_to_wait_at_is_refused_with_the_cure() {
        let error = parse(b"wait can0 7E8 500ms").unwrap_err();
        assert!(error.contains("cangate demo --log"), "{error}");
    }

    #[test]
    fn what_candump_prints_for_people_is_named() {
        let error = parse(b"  can0  123   [2]  11 22").unwrap_err();
        assert!(error.contains("candump -L"), "{error}");
    }
}
