//! The queue of lines to standard error. A thread that logs a line never waits for the reader: a
//! pipe that is full, or a terminal that was stopped, must not stop the gateway.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

/// The maximum number of lines that wait for a slow reader; more are counted and left out.
const MOST: usize = 1024;

/// The time, at the end, for which the reader may take no line before the remaining lines are given
/// up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(10);

pub(super) struct LineWriter {
    /// The queue; `None` if there is no standard error.
    lines: Option<SyncSender<String>>,
    /// A channel that is closed when the thread has written everything.
    done: Receiver<()>,
    /// The number of lines that are written.
    written: Arc<AtomicU64>,
    dropped: AtomicU64,
}

impl LineWriter {
    pub(super) fn new(stderr: Option<File>) -> Self {
        let (lines, queue) = sync_channel::<String>(MOST);
        let (at_end, done) = sync_channel(0);
        let written = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&written);
        let write = move |mut stderr: File| {
            for line in queue {
                // A reader that has gone does not come back, and no other reader could get the
                // error.
                let _ = stderr.write_all(line.as_bytes());
                count.fetch_add(1, Ordering::Relaxed);
            }
            drop(at_end);
        };
        let thread = stderr.and_then(|stderr| {
            let thread = std::thread::Builder::new().name("cangate log".into());
            thread.spawn(move || write(stderr)).ok()
        });
        Self {
            lines: thread.map(|_| lines),
            done,
            written,
            dropped: AtomicU64::new(0),
        }
    }

    /// Queues a line. If the queue is full, the line is counted. If lines were left out before, a
    /// line with their number comes first.
    pub(super) fn send(&self, loss: impl FnOnce(u64) -> String, line: String) {
        let Some(lines) = &self.lines else { return };
        let left_out = self.left_out();
        if left_out > 0 && lines.try_send(loss(left_out)).is_ok() {
            self.dropped.fetch_sub(left_out, Ordering::Relaxed);
        }
        if lines.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of lines that were left out and not yet reported.
    pub(super) fn left_out(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Queues a line of the beginning or the end, when no gateway runs: waits for space as long as
    /// the reader takes lines.
    pub(super) fn send_patiently(&self, mut line: String) {
        let Some(lines) = &self.lines else { return };
        let mut patience = WriteTimeout::new(&self.written);
        loop {
            match lines.try_send(line) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => return,
                Err(TrySendError::Full(back)) => line = back,
            }
            if patience.is_over() {
                return;
            }
            std::thread::sleep(NAP);
        }
    }

    /// Waits until everything is written, as long as the reader takes lines.
    pub(super) fn finish(self) {
        if self.lines.is_none() {
            return;
        }
        drop(self.lines);
        let mut patience = WriteTimeout::new(&self.written);
        while self.done.recv_timeout(NAP) == Err(RecvTimeoutError::Timeout) {
            if patience.is_over() {
                return;
            }
        }
    }
}

/// A time limit that is over when no line was written for [`WRITE_TIMEOUT`].
struct WriteTimeout<'w> {
    written: &'w AtomicU64,
    last: u64,
    since: Instant,
}

impl<'w> WriteTimeout<'w> {
    fn new(written: &'w AtomicU64) -> Self {
        Self {
            written,
            last: written.load(Ordering::Relaxed),
            since: Instant::now(),
        }
    }

    fn is_over(&mut self) -> bool {
        let now = self.written.load(Ordering::Relaxed);
        if now != self.last {
            (self.last, self.since) = (now, Instant::now());
        }
        self.since.elapsed() >= WRITE_TIMEOUT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;

    /// Returns both ends of a pipe.
    fn pipe() -> (File, File) {
        let (reader, writer) = std::io::pipe().unwrap();
        (
            File::from(OwnedFd::from(reader)),
            File::from(OwnedFd::from(writer)),
        )
    }

    #[test]
    fn a_reader_that_does_not_read_stops_no_other_and_is_reported_what_it_missed() {
        let (mut reader, stderr) = pipe();
        let writer = LineWriter::new(Some(stderr));
        let line = "x".repeat(1000) + "\n";
        let left_out = |n: u64| format!("{n} left out\n");
        // More than the pipe and the queue hold.
        let all = 4 * MOST as u64;
        for _ in 0..all {
            writer.send(left_out, line.clone());
        }
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            text
        });
        // Once there is space, the number of lines left out is reported.
        let mut more = 0;
        while writer.left_out() > 0 {
            std::thread::sleep(NAP);
            writer.send(left_out, "more\n".into());
            more += 1;
        }
        writer.finish();
        let text = read.join().unwrap();
        let count = |line: &str| -> u64 {
            let reported = line.strip_suffix(" left out").map(|n| n.parse().unwrap());
            reported.unwrap_or(1)
        };
        assert!(text.contains(" left out\n"));
        let reported: u64 = text.lines().map(count).sum();
        assert_eq!(reported, all + more, "each line is written or counted");
    }

    #[test]
    fn a_reader_that_has_gone_stops_no_other() {
        let (reader, stderr) = pipe();
        drop(reader);
        let writer = LineWriter::new(Some(stderr));
        for _ in 0..10_000 {
            writer.send(|_| String::new(), "x\n".into());
        }
        writer.send_patiently("end\n".into());
        writer.finish();
        LineWriter::new(None).finish();
    }

    #[test]
    fn the_end_does_not_wait_for_ever() {
        let (_reader, stderr) = pipe();
        let writer = LineWriter::new(Some(stderr));
        writer.send(|_| String::new(), "x".repeat(1 << 20));
        writer.finish();
    }
}
