//! The number of datagrams that a call of the receiving half takes.

/// Number of calls that take the frames of one datagram and leave others in the socket, before one
/// that takes all.
const MOST_SINGLE: u32 = 15;

/// Decides how many datagrams a call takes. If datagrams come one by one, the frames of each leave
/// before the socket is asked for another one: a call that finds nothing takes longer than it
/// gains. The worker calls again after they have left. If datagrams come faster, all that are there
/// are a batch.
#[derive(Default)]
pub(super) struct BatchRule {
    /// Number of calls in a row that took one datagram.
    single: u32,
    /// Whether the last call that took all datagrams found several.
    is_behind: bool,
}

impl BatchRule {
    /// Returns whether this call takes all datagrams. Now and then one does, which shows whether
    /// some wait.
    pub(super) const fn takes_all(&self) -> bool {
        self.is_behind || self.single == MOST_SINGLE
    }

    /// Records a call that took one datagram.
    pub(super) const fn record_single(&mut self) {
        self.single += 1;
    }

    /// Records a call that left nothing in the socket, or as much as it may take.
    pub(super) const fn record_all(&mut self, datagrams: usize) {
        self.single = 0;
        self.is_behind = datagrams > 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls the rule's owner once, with this number of datagrams in the socket; returns the number
    /// of datagrams that it takes.
    fn call(rule: &mut BatchRule, waiting: usize) -> usize {
        if waiting > 0 && !rule.takes_all() {
            rule.record_single();
            return 1;
        }
        rule.record_all(waiting);
        waiting
    }

    #[test]
    fn datagrams_that_come_one_by_one_are_taken_one_by_one() {
        let mut rule = BatchRule::default();
        for _ in 0..100 {
            assert_eq!(call(&mut rule, 1), 1);
        }
        // The sixteenth call asks for more than one, and finds none.
        assert!(!rule.is_behind);
    }

    #[test]
    fn datagrams_that_come_faster_are_batches() {
        let mut rule = BatchRule::default();
        let mut waiting = 0;
        let mut most = 0;
        for round in 0..1000 {
            waiting += 3;
            waiting -= call(&mut rule, waiting);
            most = most.max(waiting);
            assert!(round < 16 || waiting == 0, "it is behind for good");
        }
        assert_eq!(most, 2 * MOST_SINGLE as usize);
        // They come one by one again.
        assert_eq!(call(&mut rule, 1), 1);
        assert!(!rule.takes_all());
    }
}
