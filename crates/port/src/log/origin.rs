//! The start of the time of logs that are replayed together.
//!
//! A recording of two buses can be replayed to two ports, and so can two recordings that were made
//! at the same time. A cause in the log must come before its effect then, so the ports
//! count time from one moment: the first frame of all of them. A log that is replayed alone counts
//! from the first frame that its port takes.

use crate::{AtStart, PortError};
use frame::Nanos;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Stamps from this value on are Unix time, and not times since a start (2001-09-09), ns.
const DATED: Nanos = 1_000_000_000 * 1_000_000_000;

/// Maximum time between the first frames of files that were recorded together, ns.
const TOGETHER: Nanos = 3600 * 1_000_000_000;

/// The start of the time of one or several logs.
#[derive(Debug)]
pub(super) struct TimeOrigin {
    /// The earliest first stamp.
    first: AtomicU64,
    /// The latest last stamp of the logs that are repeated.
    last: AtomicU64,
    /// Time at which the first of the ports began, on the gateway's clock, and the stamp of that
    /// moment.
    begun: OnceLock<(Nanos, Nanos)>,
    /// Set if more than one port counts from this origin.
    shared: OnceLock<()>,
}

impl TimeOrigin {
    fn new(first: Nanos) -> Self {
        Self {
            first: AtomicU64::new(first),
            last: AtomicU64::new(0),
            begun: OnceLock::new(),
            shared: OnceLock::new(),
        }
    }

    /// Returns whether more than one port counts from this origin.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.get().is_some()
    }

    /// Returns the time of the clock and the stamp from which a port counts whose first frame has
    /// this stamp.
    pub(super) fn begin(&self, now: Nanos, stamp: Nanos) -> (Nanos, Nanos) {
        if !self.is_shared() {
            return (now, stamp);
        }
        let first = self.first.load(Ordering::Relaxed);
        *self.begun.get_or_init(|| (now, first))
    }

    /// Notes the last stamp of a log that is repeated.
    pub(super) fn note_last(&self, last: Nanos) {
        self.last.fetch_max(last, Ordering::Relaxed);
    }

    /// Returns the latest last stamp of the logs that are repeated.
    pub(super) fn last(&self) -> Nanos {
        self.last.load(Ordering::Relaxed)
    }

    /// Returns the earliest first stamp of all logs.
    pub(super) fn first(&self) -> Nanos {
        self.first.load(Ordering::Relaxed)
    }
}

/// The origins of the ports that are opened together: at the start, or in one reload. A port that a
/// later reload adds begins at once, because the others are in the middle of their logs.
#[derive(Clone, Default)]
pub(super) struct OriginSet(Arc<Mutex<Vec<OriginGroup>>>);

struct OriginGroup {
    /// Device and inode of each file.
    files: Vec<(u64, u64)>,
    origin: Weak<TimeOrigin>,
}

impl OriginSet {
    /// Returns the origin of a regular file whose first frame has this stamp.
    pub(super) fn join(&self, file: &Metadata, first: Nanos) -> Arc<TimeOrigin> {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Drop the groups of a start that failed.
        groups.retain(|group| group.origin.strong_count() > 0);
        let id = (file.dev(), file.ino());
        for group in groups.iter_mut() {
            let Some(origin) = group.origin.upgrade() else {
                continue;
            };
            let near = first >= DATED
                && origin.first() >= DATED
                && first.abs_diff(origin.first()) <= TOGETHER;
            if near || group.files.contains(&id) {
                group.files.push(id);
                origin.first.fetch_min(first, Ordering::Relaxed);
                let _ = origin.shared.set(());
                return origin;
            }
        }
        let origin = Arc::new(TimeOrigin::new(first));
        groups.push(OriginGroup {
            files: vec![id],
            origin: Arc::downgrade(&origin),
        });
        origin
    }
}

/// Closes the origins when the start has succeeded: no further port joins them.
pub(super) struct OriginClose(pub(super) OriginSet);

impl AtStart for OriginClose {
    fn start(&mut self) -> Result<(), PortError> {
        let mut groups = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        groups.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_recording_share_an_origin() {
        let files: Vec<_> = (0..5).map(|_| tempfile::tempfile().unwrap()).collect();
        let meta = |at: usize| files[at].metadata().unwrap();
        let origins = OriginSet::default();
        // Times since a start: only the same file has the same clock.
        let first = origins.join(&meta(0), 10);
        assert!(!first.is_shared());
        assert_eq!(
            first.begin(700, 12),
            (700, 12),
            "a log that is replayed alone"
        );
        let other = origins.join(&meta(1), 10);
        assert!(!Arc::ptr_eq(&first, &other));
        let same = origins.join(&meta(0), 10);
        assert!(Arc::ptr_eq(&first, &same) && first.is_shared());
        assert_eq!(first.begin(800, 12), (800, 10));
        assert_eq!(
            first.begin(900, 5000),
            (800, 10),
            "the first one to begin decides"
        );
        // Unix time: within an hour, the earliest counts.
        let late = origins.join(&meta(2), DATED + TOGETHER);
        let early = origins.join(&meta(3), DATED);
        assert!(Arc::ptr_eq(&late, &early));
        assert_eq!(late.begin(1, DATED + TOGETHER), (1, DATED));
        let day = origins.join(&meta(4), DATED + TOGETHER + 1);
        assert!(!day.is_shared());
    }

    #[test]
    fn what_a_reload_adds_begins_anew() {
        let file = tempfile::tempfile().unwrap();
        let meta = file.metadata().unwrap();
        let origins = OriginSet::default();
        let first = origins.join(&meta, 10);
        OriginClose(origins.clone()).start().unwrap();
        let second = origins.join(&meta, 10);
        assert!(!Arc::ptr_eq(&first, &second));
        // A start that failed leaves nothing to join.
        drop(second);
        assert!(!origins.join(&meta, 10).is_shared());
    }
}
