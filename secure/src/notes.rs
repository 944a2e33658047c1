//! Messages to the person who runs the program, not more than a person reads.

use std::time::{Duration, Instant};

/// The number of messages that may follow one another at once.
const BURST: u32 = 10;

/// The time after which one more may follow.
const EVERY: Duration = Duration::from_secs(5);

/// A bound for messages: what a peer does must not fill a disk.
#[derive(Debug)]
pub struct NoteLimit {
    left: u32,
    refilled: Instant,
    omitted: u64,
}

impl NoteLimit {
    /// Returns a bound that has let nothing pass yet.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            refilled: now,
            omitted: 0,
        }
    }

    /// Returns the number of messages that were left out before this one, if it may pass.
    pub fn pass(&mut self, now: Instant) -> Option<u64> {
        let time = now.saturating_duration_since(self.refilled);
        let more = (time.as_millis() / EVERY.as_millis()) as u32;
        if more > 0 {
            self.left = self.left.saturating_add(more).min(BURST);
            self.refilled = now;
        }
        if self.left == 0 {
            self.omitted += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

/// Writes a message of a link to standard error, within its bound.
pub(crate) fn note(limit: &mut NoteLimit, link: &str, text: &str, now: Instant) {
    match limit.pass(now) {
        Some(0) => console::say(&format!("{link}: {text}")),
        Some(omitted) => console::say(&format!(
            "{link}: {text} ({omitted} messages before it are left out)"
        )),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded_and_counted() {
        let begun = Instant::now();
        let mut limit = NoteLimit::new(begun);
        for _ in 0..BURST {
            assert_eq!(limit.pass(begun), Some(0));
        }
        assert_eq!(limit.pass(begun), None);
        assert_eq!(limit.pass(begun), None);
        assert_eq!(limit.pass(begun + EVERY), Some(2));
        assert_eq!(limit.pass(begun + EVERY), None);
        let later = begun + EVERY * 1000;
        let passed = (0..100).filter(|_| limit.pass(later).is_some()).count();
        assert_eq!(passed, BURST as usize);
    }
}
