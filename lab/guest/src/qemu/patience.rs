//! Timeouts for operations of unknown length: they may take as long as they make progress.

use std::time::{Duration, Instant};

/// A timeout for an operation that makes progress. The caller passes the time in.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgressTimeout {
    stands_still: Duration,
    seen: Option<u64>,
    since: Instant,
}

impl ProgressTimeout {
    /// Creates a timeout for an operation that may make no progress for this long.
    pub(super) const fn new(stands_still: Duration, now: Instant) -> Self {
        Self {
            stands_still,
            seen: None,
            since: now,
        }
    }

    /// Returns whether there was no progress for too long. `done` is the progress so far, in any
    /// unit; `None` if it is not known.
    pub(super) fn is_over(&mut self, done: Option<u64>, now: Instant) -> bool {
        if done.is_some() && done != self.seen {
            self.seen = done;
            self.since = now;
        }
        now.saturating_duration_since(self.since) >= self.stands_still
    }
}

/// Ticks per second of the times in `/proc` (`USER_HZ`, 100 on every processor that this runs on).
const TICKS: u64 = 100;

/// Returns the processor time that a process has used so far, in its own threads: user and system
/// time of `/proc/PID/stat` (proc_pid_stat(5), fields 14 and 15).
pub(super) fn processor_time(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    parse(&text)
}

fn parse(stat: &str) -> Option<Duration> {
    // The name, field 2, can contain blanks and brackets.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let used = ticks()?.checked_add(ticks()?)?;
    Some(Duration::from_millis(used * (1000 / TICKS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_waited_for_however_long_it_takes() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut patience = ProgressTimeout::new(Duration::from_secs(300), start);
        // An hour, with some progress every four minutes.
        for minute in (0..60).step_by(4) {
            assert!(!patience.is_over(Some(minute), at(minute * 60)));
        }
        assert!(!patience.is_over(Some(56), at(56 * 60 + 299)));
        assert!(patience.is_over(Some(56), at(56 * 60 + 300)));
        let mut unknown = ProgressTimeout::new(Duration::from_secs(300), start);
        assert!(!unknown.is_over(None, at(299)));
        assert!(unknown.is_over(None, at(300)));
    }

    #[test]
    fn the_time_of_a_process_is_read() {
        let stat = "12 (qemu (x) 1) S 1 12 12 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 4 0 100 1 1";
        assert_eq!(parse(stat), Some(Duration::from_secs(3)));
        assert_eq!(parse("12 (x) S 1"), None);
        assert!(processor_time(std::process::id()).is_some());
        assert_eq!(processor_time(0), None);
    }
}
