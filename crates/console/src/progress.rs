//! The progress of a command, on one line of a terminal.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The shortest time between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);
/// Moves to the start of the line and clears it (ECMA-48 EL).
const CLEAR: &str = "\r\x1b[K";

/// A line on standard error that shows how much of the work is done. Nothing is written if standard
/// error is not a terminal.
pub struct ProgressLine {
    label: &'static str,
    is_shown: bool,
    began: Instant,
    /// Time of the last update of the line.
    written: Cell<Option<Instant>>,
}

impl ProgressLine {
    /// Returns a line that begins with `label`.
    #[must_use]
    pub fn new(label: &'static str) -> Self {
        Self {
            label,
            is_shown: std::io::stderr().is_terminal(),
            began: Instant::now(),
            written: Cell::new(None),
        }
    }

    /// Shows that `done` of `total` is done; a total of 0 means that it is not known.
    pub fn set(&self, done: u64, total: u64) {
        let now = Instant::now();
        let is_due = self
            .written
            .get()
            .is_none_or(|written| now.duration_since(written) >= INTERVAL);
        if !self.is_shown || !is_due {
            return;
        }
        self.written.set(Some(now));
        let text = text(self.label, done, total, self.began.elapsed());
        // A terminal that has gone is not an error of the work.
        let _ = write!(std::io::stderr(), "{CLEAR}{text}");
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.written.get().is_some() {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

/// Returns the text of the line.
fn text(label: &str, done: u64, total: u64, elapsed: Duration) -> String {
    if total == 0 {
        return format!("{label} …");
    }
    let share = (done as f64 / total as f64).clamp(0.0, 1.0);
    let percent = (100.0 * share) as u64;
    if share == 0.0 {
        return format!("{label} {percent} %");
    }
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    format!("{label} {percent} %, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_from_what_is_done() {
        let second = Duration::from_secs(1);
        assert_eq!(text("x", 0, 0, second), "x …");
        assert_eq!(text("x", 0, 10, second), "x 0 %");
        assert_eq!(text("x", 1, 4, second), "x 25 %, 3 s left");
        assert_eq!(text("x", 4, 4, second), "x 100 %, 0 s left");
        // A log that grew meanwhile.
        assert_eq!(text("x", 5, 4, second), "x 100 %, 0 s left");
    }
}
