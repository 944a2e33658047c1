//! The ports that are not up, as they were reported last.

use std::time::{Duration, Instant};

/// The shortest time between two looks at the ports, however often their interfaces change.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The last report on the ports that are not up.
#[derive(Default)]
pub(super) struct PortReadiness {
    /// The ports that were not up when the gateway was ready, until all ports are up.
    awaited: Vec<String>,
    /// The ports that were not up at the last report.
    told: Vec<String>,
    /// The time of the last look.
    last: Option<Instant>,
    /// The time of the next look; `None` if no interface has changed since the last one.
    next: Option<Instant>,
}

impl PortReadiness {
    /// Begins anew: the gateway is ready, without these ports.
    pub(super) fn start(&mut self, not_up: Vec<String>) {
        *self = Self {
            awaited: not_up.clone(),
            told: not_up,
            ..Self::default()
        };
    }

    /// Returns whether some ports were not up when the gateway was ready, and not all are up yet.
    pub(super) const fn is_awaiting(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Notes that interfaces may have changed.
    pub(super) fn plan_look(&mut self) {
        let now = Instant::now();
        let earliest = self.last.map_or(now, |last| now.max(last + LOOK_INTERVAL));
        self.next.get_or_insert(earliest);
    }

    /// Returns the time of the next look.
    pub(super) const fn next_look(&self) -> Option<Instant> {
        self.next
    }

    /// Returns whether it is time for a look, which the caller then does.
    pub(super) fn begin_look(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.next.is_some_and(|at| at <= now);
        if is_due {
            self.next = None;
            self.last = Some(now);
        }
        is_due
    }

    /// Notes the ports that are not up now. Returns `None` if they are those of the last report;
    /// else the ports that were awaited, if all ports are up now.
    pub(super) fn note(&mut self, not_up: Vec<String>) -> Option<Vec<String>> {
        if not_up == self.told {
            return None;
        }
        let all_are_up = not_up.is_empty();
        self.told = not_up;
        Some(match all_are_up {
            true => std::mem::take(&mut self.awaited),
            false => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_wait_is_reported_once() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let mut readiness = PortReadiness::default();
        readiness.start(names(&["a", "b"]));
        assert!(readiness.is_awaiting());
        assert_eq!(readiness.note(names(&["a", "b"])), None);
        assert_eq!(readiness.note(names(&["b"])), Some(vec![]));
        // Another port goes down before the last one is up.
        assert_eq!(readiness.note(names(&["c"])), Some(vec![]));
        assert_eq!(readiness.note(vec![]), Some(names(&["a", "b"])));
        assert!(!readiness.is_awaiting());
        assert_eq!(readiness.note(names(&["c"])), Some(vec![]));
        assert_eq!(readiness.note(vec![]), Some(vec![]));
    }

    #[test]
    fn looks_are_a_while_apart() {
        let mut readiness = PortReadiness::default();
        assert!(!readiness.begin_look());
        readiness.plan_look();
        assert!(readiness.begin_look());
        assert_eq!(readiness.next_look(), None);
        readiness.plan_look();
        let next = readiness.next_look().unwrap();
        assert_eq!(next, readiness.last.unwrap() + LOOK_INTERVAL);
        readiness.plan_look();
        assert_eq!(readiness.next_look(), Some(next));
    }
}
