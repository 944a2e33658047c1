//! Frames of a log, sent at the log's times.

use super::{TrafficRelease, TrafficSource};
use frame::{CanId, Frame, Nanos};
use std::collections::HashMap;

/// Replays stamped frames: the first at `start`, each next one at the distance that the log gives.
///
/// A log has no nodes. Frames with the same identifier come from the same node, and identifiers are
/// distributed over the nodes in the order in which they appear, because on a bus every identifier
/// has one sender.
pub struct ReplayTraffic<I> {
    frames: I,
    start: Nanos,
    first: Option<Nanos>,
    last: Nanos,
    nodes: u16,
    node_of: HashMap<CanId, u16>,
    tag: u64,
    backwards: u64,
}

impl<I: Iterator<Item = (Nanos, Frame)>> ReplayTraffic<I> {
    /// Creates a replay of frames with the stamps of their log, distributed over `nodes` nodes (0
    /// counts as 1).
    pub fn new(frames: I, start: Nanos, nodes: u16) -> Self {
        Self {
            frames,
            start,
            first: None,
            last: start,
            nodes: nodes.max(1),
            node_of: HashMap::new(),
            tag: 0,
            backwards: 0,
        }
    }

    /// Returns the number of stamps that were before the stamp of the previous frame. Those frames
    /// were released together with the previous one.
    #[must_use]
    pub fn backwards(&self) -> u64 {
        self.backwards
    }
}

impl<I: Iterator<Item = (Nanos, Frame)>> TrafficSource for ReplayTraffic<I> {
    fn next(&mut self) -> Option<TrafficRelease> {
        let (stamp, frame) = self.frames.next()?;
        let first = *self.first.get_or_insert(stamp);
        let at = stamp
            .checked_sub(first)
            .map(|gone| self.start.saturating_add(gone));
        self.last = match at {
            Some(at) if at >= self.last => at,
            _ => {
                self.backwards += 1;
                self.last
            }
        };
        let next_node = (self.node_of.len() % usize::from(self.nodes)) as u16;
        let node = *self.node_of.entry(frame.id()).or_insert(next_node);
        let tag = self.tag;
        self.tag += 1;
        Some(TrafficRelease {
            at: self.last,
            node,
            frame,
            tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_distances_and_never_goes_back() {
        let stamps = [
            1_000_000_500,
            1_000_000_700,
            1_000_000_600,
            999,
            1_000_001_500,
        ];
        let frames = stamps.iter().enumerate().map(|(i, &stamp)| {
            let id = CanId::from_raw([0x10, 0x20, 0x10, 0x30, 0x20][i]);
            (stamp, Frame::classic(id, &[]).unwrap())
        });
        let mut replay = ReplayTraffic::new(frames, 50, 2);
        let all: Vec<TrafficRelease> = std::iter::from_fn(|| replay.next()).collect();
        let times: Vec<_> = all.iter().map(|r| r.at).collect();
        assert_eq!(times, [50, 250, 250, 250, 1_050]);
        let nodes: Vec<_> = all.iter().map(|r| r.node).collect();
        assert_eq!(nodes, [0, 1, 0, 0, 1]);
        assert_eq!(replay.backwards(), 2);
    }
}
