//! Traffic of testers that a world of buses moves by itself: a replay in a running gateway.
//!
//! A caller that steps a [`BusWorld`](super::BusWorld) from event to event sends its testers'
//! frames itself. In a running gateway, the ports move the world, so the traffic has to be part of
//! it.

use super::index::BusIndex;
use bus::{BusConfig, NodeConfig, NodeEvent, NodeId};
use frame::{Frame, Nanos};
use std::collections::HashMap;

/// Frames that testers send on the buses of a world, by a plan that can depend on the frames there.
/// It must not call the world: it is locked.
pub trait BusTraffic: Send {
    /// Begins at time `now`, on these buses: their names and configurations, by [`BusIndex`].
    fn begin(&mut self, buses: &[(String, BusConfig)], now: Nanos);

    /// Returns the time at which [`BusTraffic::take`] has something to do; `None` while only an
    /// event on a bus can change that, and at the end.
    fn due(&self) -> Option<Nanos>;

    /// Returns the frame that is due; `None` if none is, such as at the end of a wait.
    fn take(&mut self) -> Option<TesterFrame>;

    /// Notes an event on a bus. `by_tester`: the node is one of this traffic's testers; otherwise,
    /// it is the gateway's.
    fn see(&mut self, bus: BusIndex, event: &NodeEvent<'_>, by_tester: bool);

    /// Notes that the queue of a tester had no room for a frame, which is not sent.
    fn refused(&mut self, frame: &TesterFrame);

    /// Returns whether no frame will follow.
    fn is_finished(&self) -> bool;
}

/// A frame for a tester.
#[derive(Clone, Copy, Debug)]
pub struct TesterFrame {
    /// The bus.
    pub bus: BusIndex,
    /// The number of the tester on this bus, which is attached for its first frame.
    pub tester: u16,
    /// Time at which the frame becomes ready for transmission, ns.
    pub at: Nanos,
    /// The frame.
    pub frame: Frame,
    /// The tag that comes back with its events.
    pub tag: u64,
}

/// Number of frames that wait in a tester: more than a plan should need, so that a bus that is too
/// slow for its traffic shows losses.
pub const TESTER_QUEUE: usize = 1_000;

/// Time for which all buses must be quiet after the last frame until the replay counts as ended,
/// ns: a frame that still waits in the gateway's own queues follows within it.
const QUIET: Nanos = 100_000_000;

/// Time after the last frame at which the replay counts as ended although a bus is still busy, ns:
/// frames that go round, or a port that sends all the time. Longer than any queue lasts.
const BUSY: Nanos = 60_000_000_000;

/// The traffic of a world, and its testers.
pub(super) struct WorldTraffic {
    traffic: Box<dyn BusTraffic>,
    testers: HashMap<(BusIndex, u16), NodeId>,
    begun: bool,
    /// Time since which all buses are quiet and no frame will follow.
    quiet_since: Option<Nanos>,
    /// Time since which no frame will follow.
    finished_since: Option<Nanos>,
}

impl WorldTraffic {
    pub(super) fn new(traffic: Box<dyn BusTraffic>) -> Self {
        Self {
            traffic,
            testers: HashMap::new(),
            begun: false,
            quiet_since: None,
            finished_since: None,
        }
    }

    /// Returns the time of the next action, of a world whose time is `now`.
    pub(super) fn due(&self, now: Nanos) -> Option<Nanos> {
        if !self.begun {
            return Some(now);
        }
        self.traffic
            .due()
            .or(self.quiet_since.map(|since| since + QUIET))
    }

    /// Returns the time at which [`WorldTraffic::take`] has something to do, up to `until`.
    pub(super) fn next_release(&self, until: Nanos) -> Option<Nanos> {
        self.traffic.due().filter(|due| *due <= until)
    }

    /// Begins, once.
    pub(super) fn begin(&mut self, buses: impl Iterator<Item = (String, BusConfig)>, now: Nanos) {
        if !self.begun {
            self.begun = true;
            self.traffic.begin(&buses.collect::<Vec<_>>(), now);
        }
    }

    /// Returns the frame that is due.
    pub(super) fn take(&mut self) -> Option<TesterFrame> {
        self.traffic.take()
    }

    /// Returns the node of a tester, which `attach` attaches for its first frame.
    pub(super) fn tester(
        &mut self,
        bus: BusIndex,
        number: u16,
        attach: impl FnOnce(NodeConfig) -> Option<NodeId>,
    ) -> Option<NodeId> {
        if let Some(known) = self.testers.get(&(bus, number)) {
            return Some(*known);
        }
        let node = attach(NodeConfig {
            queue: TESTER_QUEUE,
            ..NodeConfig::new(format!("tester {number}"))
        })?;
        self.testers.insert((bus, number), node);
        Some(node)
    }

    /// Notes that a frame was not taken.
    pub(super) fn refuse(&mut self, frame: &TesterFrame) {
        self.traffic.refused(frame);
    }

    /// Notes an event on a bus.
    pub(super) fn see(&mut self, bus: BusIndex, event: &NodeEvent<'_>) {
        let (NodeEvent::Frame { node, .. }
        | NodeEvent::Error { node, .. }
        | NodeEvent::State { node, .. }
        | NodeEvent::Dropped { node, .. }) = event;
        let is_tester = |(on, tester): (&(BusIndex, u16), &NodeId)| on.0 == bus && tester == node;
        let by_tester = self.testers.iter().any(is_tester);
        self.traffic.see(bus, event, by_tester);
    }

    /// Notes whether frames are still on their way at time `now`: on a bus, or to the gateway.
    pub(super) fn note_quiet(&mut self, is_quiet: bool, now: Nanos) {
        let is_finished = self.traffic.is_finished();
        if is_finished {
            self.finished_since.get_or_insert(now);
        }
        if is_quiet && is_finished {
            self.quiet_since.get_or_insert(now);
        } else {
            self.quiet_since = None;
        }
    }

    /// Returns whether the replay and its consequences have ended at time `now`.
    pub(super) fn has_ended(&self, now: Nanos) -> bool {
        let is_over = |since: Option<Nanos>, time| since.is_some_and(|since| now >= since + time);
        is_over(self.quiet_since, QUIET) || is_over(self.finished_since, BUSY)
    }
}
