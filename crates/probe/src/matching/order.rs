//! Which frames were overtaken.

use std::collections::HashMap;
use std::hash::Hash;

/// Counts as RFC 4737 §3.3 does: a frame is reordered when a frame of its stream that went in later
/// came out before it.
#[derive(Debug)]
pub struct Order<S> {
    /// The highest place that came out, for each stream.
    highest: HashMap<S, u64>,
}

impl<S> Default for Order<S> {
    fn default() -> Self {
        Self {
            highest: HashMap::new(),
        }
    }
}

impl<S: Eq + Hash> Order<S> {
    /// The next frame of a stream came out; `place` says when it went in (a number or a stamp that
    /// only grows). Was it overtaken?
    pub fn overtaken(&mut self, stream: S, place: u64) -> bool {
        let highest = self.highest.entry(stream).or_insert(place);
        let overtaken = place < *highest;
        *highest = place.max(*highest);
        overtaken
    }
}
