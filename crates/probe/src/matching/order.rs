//! Detection of frames that were overtaken.

use std::collections::HashMap;
use std::hash::Hash;

/// Counts according to RFC 4737 §3.3: a frame is reordered when a frame of its stream that went in
/// later came out before it.
#[derive(Debug)]
pub struct ReorderCount<S> {
    /// For each stream, the highest place that came out.
    highest: HashMap<S, u64>,
}

impl<S> Default for ReorderCount<S> {
    fn default() -> Self {
        Self {
            highest: HashMap::new(),
        }
    }
}

impl<S: Eq + Hash> ReorderCount<S> {
    /// Adds the next frame of a stream that came out; `place` gives the order in which it went in
    /// (a number or a stamp that only grows). Returns whether it was overtaken.
    pub fn overtaken(&mut self, stream: S, place: u64) -> bool {
        let highest = self.highest.entry(stream).or_insert(place);
        let overtaken = place < *highest;
        *highest = place.max(*highest);
        overtaken
    }
}
