//! Releases that reach a bound, and their outcomes on a simulated bus.

use crate::model::BusSpec;
use crate::offset::{behind, led};
use crate::simulated::{ReplayError, simulated};
use crate::stream::RivalStream;
use crate::{Assessment, CompiledBus, LatencyBound, LengthSearch, QueueService};
use alloc::vec;
use alloc::vec::Vec;
use bus::NodeEvent;
use frame::{Frame, LengthError, Nanos};

/// A frame that becomes ready to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameRelease {
    /// The time, ns.
    pub at: Nanos,
    /// The message: an index into [`BusSpec::messages`].
    pub message: usize,
    /// The frame.
    pub frame: Frame,
}

/// The outcome of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReleaseOutcome {
    /// The index of the release.
    pub release: usize,
    /// The index of the message.
    pub message: usize,
    /// The time of the release, ns.
    pub released: Nanos,
    /// End of frame, ns.
    pub end: Nanos,
}

impl ReleaseOutcome {
    /// Returns the time from the release to the end of the frame, ns.
    #[must_use]
    pub const fn latency(&self) -> Nanos {
        self.end.saturating_sub(self.released)
    }
}

/// Returns releases that make a message's frame wait as long as its bound, or nearly so: its
/// critical instant. The first release is at `start`.
///
/// The longest frame that can block is released first. One nanosecond later, when it is on the bus,
/// everything else that can precede the frame is released together, and again as early as
/// possible, until the frame that waits longest has been sent. (Davis et al. 2007, §3.1.) For a
/// node with a queue, the message comes last of its node. Without a bound, there are no releases.
///
/// For messages in order of priority, among others in order of priority, this is the worst case.
/// Where queues are involved, it need not be. Where messages have offsets, it begins in the phase
/// of each clock in which the bound is greatest; then it need not be, either. Earlier frames of a
/// node have ended by then, and are left out.
///
/// # Errors
/// Never in practice: frames were checked when their shapes were made.
pub fn critical_instant(
    compiled: &CompiledBus,
    bus: &BusSpec,
    found: &Assessment,
    lengths: &mut LengthSearch,
    message: usize,
    start: Nanos,
) -> Result<Vec<FrameRelease>, LengthError> {
    let mut releases = Vec::new();
    let Some(Ok(bound)) = found.messages.get(message).map(|m| m.bound) else {
        return Ok(releases);
    };
    let own = compiled.messages[message];
    let queued = found.nodes[own.node].service == QueueService::Queue;
    let mates = |i: &usize| queued && compiled.messages[*i].node == own.node;
    let all = || 0..compiled.messages.len();
    let lowest = all().filter(mates).map(|i| compiled.messages[i].key).max();
    let lowest = lowest.unwrap_or(own.key);
    let key = |i: usize| compiled.messages[i].key;
    let mut frame = |i: usize| lengths.longest_frame(&bus.messages[i].shape);

    let before = |i: &usize| key(*i) < lowest || mates(i) || *i == message;
    let phased = PhasedMessages::new(compiled, bus, found, message, before);
    let bound = phased.bound.unwrap_or(bound);
    // The least time by which a lower frame is released earlier, and what is then left of it.
    let blocking = all().filter(|i| !before(i)).map(|i| {
        let earlier = phased.earlier(i);
        let left = compiled.messages[i].occupied.saturating_sub(earlier - 1);
        (left, earlier, i)
    });
    let blocking = blocking.max_by_key(|&(left, _, _)| left);
    let mut zero = start;
    if let Some((1.., earlier, i)) = blocking {
        let frame = frame(i)?;
        let (at, message) = (zero, i);
        releases.push(FrameRelease { at, message, frame });
        zero += earlier;
    }
    // The message's own releases come after the others of the same instant.
    let others = all().filter(|&i| i != message && before(&i));
    let last = phased.stream(message).earliest(bound.latency_instance);
    let until = last.saturating_add(bound.waiting);
    for i in others.chain([message]) {
        let frame = frame(i)?;
        let stream = phased.stream(i);
        let times = (0..).map(|n| stream.earliest(n));
        for at in times.take_while(|&at| at <= until) {
            releases.push(FrameRelease {
                at: zero.saturating_add(at),
                message: i,
                frame,
            });
        }
    }
    releases.sort_by_key(|release| release.at);
    Ok(releases)
}

/// Messages in the phases of their clocks in which a bound's busy period begins.
struct PhasedMessages<'b> {
    compiled: &'b CompiledBus,
    bus: &'b BusSpec,
    /// For each node, the time of that beginning on its clock; `None` where it has no clock, or
    /// where the time is open.
    clocks: Vec<Option<Nanos>>,
    /// The bound in these phases; `None` if no message has an offset.
    bound: Option<LatencyBound>,
}

impl<'b> PhasedMessages<'b> {
    fn new(
        compiled: &'b CompiledBus,
        bus: &'b BusSpec,
        found: &Assessment,
        message: usize,
        before: impl Fn(&usize) -> bool,
    ) -> Self {
        let mut new = Self {
            compiled,
            bus,
            clocks: vec![None; bus.nodes.len()],
            bound: None,
        };
        if bus.messages.iter().all(|m| m.offset.is_none()) {
            return new;
        }
        if let Some(critical) = compiled.critical(found, message) {
            new.clocks = critical.clocks;
            new.bound = Some(critical.bound);
        }
        for i in (0..bus.messages.len()).filter(before) {
            if let Some((last, _)) = new.last_instant(i)
                && let Some(clock) = new.clocks.get_mut(bus.messages[i].node)
            {
                clock.get_or_insert(last);
            }
        }
        new
    }

    /// Returns one of its last instants on its clock, and the time to the next one of its message;
    /// `None` without an offset.
    fn last_instant(&self, i: usize) -> Option<(Nanos, Nanos)> {
        let message = self.bus.messages.get(i)?;
        let last = message.offset?.saturating_add(message.arrival.jitter());
        Some((last, message.arrival.period()))
    }

    /// Returns the time from the beginning to its next last instant; `None` for any phase.
    fn shift(&self, i: usize) -> Option<Nanos> {
        let (last, period) = self.last_instant(i)?;
        let clock = self.clocks.get(self.bus.messages.get(i)?.node)?;
        Some(behind(last, (*clock)?, period))
    }

    /// Returns its releases after the beginning.
    fn stream(&self, i: usize) -> RivalStream {
        let sent = &self.compiled.messages[i];
        let stream = RivalStream {
            arrival: sent.arrival,
            occupied: sent.occupied,
            train: None,
            lead: 0,
        };
        self.shift(i).map_or(stream, |shift| led(stream, shift))
    }

    /// Returns the least time before the beginning at which it is released, if it is released
    /// before it, ns.
    fn earlier(&self, i: usize) -> Nanos {
        let arrival = &self.compiled.messages[i].arrival;
        match self.shift(i) {
            Some(shift) if shift >= arrival.jitter() => arrival.period() - shift,
            _ => 1,
        }
    }
}

/// Sends these releases, in order of time, over a simulated bus with the nodes of `bus`.
///
/// # Errors
/// [`ReplayError`]
pub fn replay(
    bus: &BusSpec,
    releases: &[FrameRelease],
) -> Result<Vec<ReleaseOutcome>, ReplayError> {
    let (mut simulated, nodes) = simulated(bus)?;
    let mut outcomes = Vec::with_capacity(releases.len());
    let mut see = |event: &NodeEvent<'_>| {
        if let NodeEvent::Frame { end, tag, .. } = *event
            && let Ok(index) = usize::try_from(tag)
            && let Some(release) = releases.get(index)
        {
            outcomes.push(ReleaseOutcome {
                release: index,
                message: release.message,
                released: release.at,
                end,
            });
        }
    };
    for (tag, release) in (0_u64..).zip(releases) {
        simulated.run_until(release.at, &mut see);
        let message = bus.messages.get(release.message);
        let node = message.and_then(|m| nodes.get(m.node));
        let node = node.ok_or(ReplayError::NoMessage(release.message))?;
        simulated.send(*node, release.at, &release.frame, tag)?;
    }
    while let Some(next) = simulated.next() {
        simulated.run_until(next, &mut see);
    }
    Ok(outcomes)
}
