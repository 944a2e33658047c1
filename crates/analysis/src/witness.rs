//! Releases that reach a bound, and what they come to on a simulated bus.

use crate::model::BusSpec;
use crate::offset::{behind, led};
use crate::search::simulated;
use crate::window::Stream;
use crate::{Assessment, Bound, Compiled, Lengths, Service};
use alloc::vec;
use alloc::vec::Vec;
use bus::{ConfigError, Event, SendError};
use frame::{Frame, LengthError, Nanos};

/// A frame that becomes ready to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// When, ns.
    pub at: Nanos,
    /// Of which message: an index into [`BusSpec::messages`].
    pub message: usize,
    /// The frame.
    pub frame: Frame,
}

/// What became of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Which release: its index.
    pub release: usize,
    /// Of which message.
    pub message: usize,
    /// When it was released, ns.
    pub released: Nanos,
    /// End of frame, ns.
    pub end: Nanos,
}

impl Outcome {
    /// From the release to the end of the frame, ns.
    #[must_use]
    pub const fn latency(&self) -> Nanos {
        self.end.saturating_sub(self.released)
    }
}

/// Why releases cannot be replayed.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum ReplayError {
    /// The simulated bus does not take the bus or a node.
    #[error("the simulated bus refuses it: {0}")]
    Bus(#[from] ConfigError),
    /// It does not take a frame.
    #[error("the simulated bus refuses a frame: {0}")]
    Send(#[from] SendError),
    /// A message, or a node, that is not there.
    #[error("there is no message {0}, or no node of it")]
    NoMessage(usize),
}

/// Releases that make a message's frame wait as long as the bound says, or nearly so: its critical
/// instant. The first release is at `start`.
///
/// The longest frame that can block is released first. One nanosecond later, when it is on the bus,
/// everything else that can go before the frame is released together, and again as early as it can
/// be, until the frame that waits longest has been sent. (Davis et al. 2007, §3.1.) For a node with
/// a queue the message comes last of its node. It sends nothing without a bound.
///
/// For messages in order of priority, among others in order of priority, this is the worst case.
/// Where queues are involved, it need not be. Where messages have offsets, it begins in the phase
/// of each clock that the bound says most of; then it need not be, either. What a node sent before
/// has ended by then, and is left out.
///
/// # Errors
/// None in fact: frames were checked when their shapes were made.
pub fn critical_instant(
    compiled: &Compiled,
    bus: &BusSpec,
    found: &Assessment,
    lengths: &mut Lengths,
    message: usize,
    start: Nanos,
) -> Result<Vec<Release>, LengthError> {
    let mut releases = Vec::new();
    let Some(Ok(bound)) = found.messages.get(message).map(|m| m.bound) else {
        return Ok(releases);
    };
    let own = compiled.messages[message];
    let queued = found.nodes[own.node].service == Service::Queue;
    let mates = |i: &usize| queued && compiled.messages[*i].node == own.node;
    let all = || 0..compiled.messages.len();
    let lowest = all().filter(mates).map(|i| compiled.messages[i].key).max();
    let lowest = lowest.unwrap_or(own.key);
    let key = |i: usize| compiled.messages[i].key;
    let mut frame = |i: usize| lengths.longest_frame(&bus.messages[i].shape);

    let before = |i: &usize| key(*i) < lowest || mates(i) || *i == message;
    let phased = Phased::new(compiled, bus, found, message, before);
    let bound = phased.bound.unwrap_or(bound);
    // How much earlier a lower frame is released at least, and what is then left of it.
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
        releases.push(Release { at, message, frame });
        zero += earlier;
    }
    // What the message itself releases comes after the others of the same instant.
    let others = all().filter(|&i| i != message && before(&i));
    let last = phased.stream(message).earliest(bound.latency_instance);
    let until = last.saturating_add(bound.waiting);
    for i in others.chain([message]) {
        let frame = frame(i)?;
        let stream = phased.stream(i);
        let times = (0..).map(|n| stream.earliest(n));
        for at in times.take_while(|&at| at <= until) {
            releases.push(Release {
                at: zero.saturating_add(at),
                message: i,
                frame,
            });
        }
    }
    releases.sort_by_key(|release| release.at);
    Ok(releases)
}

/// Messages in the phases of their clocks with which a bound's busy period begins.
struct Phased<'b> {
    compiled: &'b Compiled,
    bus: &'b BusSpec,
    /// For each node when that is on its clock; `None` where it has none, or where it is open.
    clocks: Vec<Option<Nanos>>,
    /// The bound there; `None` if no message has an offset.
    bound: Option<Bound>,
}

impl<'b> Phased<'b> {
    fn new(
        compiled: &'b Compiled,
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

    /// One of its last instants on its clock, and the time to the next one of its message; `None`
    /// without an offset.
    fn last_instant(&self, i: usize) -> Option<(Nanos, Nanos)> {
        let message = self.bus.messages.get(i)?;
        let last = message.offset?.saturating_add(message.arrival.jitter());
        Some((last, message.arrival.period()))
    }

    /// How long after the beginning its next last instant is; `None` for any phase.
    fn shift(&self, i: usize) -> Option<Nanos> {
        let (last, period) = self.last_instant(i)?;
        let clock = self.clocks.get(self.bus.messages.get(i)?.node)?;
        Some(behind(last, (*clock)?, period))
    }

    /// Its releases after the beginning.
    fn stream(&self, i: usize) -> Stream {
        let sent = &self.compiled.messages[i];
        let stream = Stream {
            arrival: sent.arrival,
            occupied: sent.occupied,
            train: None,
            lead: 0,
        };
        self.shift(i).map_or(stream, |shift| led(stream, shift))
    }

    /// How long before the beginning it is released at least, if before it, ns.
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
pub fn replay(bus: &BusSpec, releases: &[Release]) -> Result<Vec<Outcome>, ReplayError> {
    let (mut simulated, nodes) = simulated(bus)?;
    let mut outcomes = Vec::with_capacity(releases.len());
    let mut see = |event: &Event<'_>| {
        if let Event::Frame { end, tag, .. } = *event
            && let Ok(index) = usize::try_from(tag)
            && let Some(release) = releases.get(index)
        {
            outcomes.push(Outcome {
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
