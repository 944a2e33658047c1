//! Releases that reach a bound, and what they come to on a simulated bus.

use crate::model::BusSpec;
use crate::search::simulated;
use crate::{Assessment, Compiled, Lengths, Service};
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
/// everything else that can go before the frame is released together, and again as early as it can be,
/// until the frame that waits longest has been sent. (Davis et al. 2007, §3.1.) For a node with a queue
/// the message comes last of its node. It sends nothing without a bound.
///
/// For messages in order of priority, among others in order of priority, this is the worst case. Where
/// queues are involved, it need not be.
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

    let blocking = all().filter(|i| key(*i) > lowest);
    let blocking = blocking.max_by_key(|&i| compiled.messages[i].occupied);
    let mut zero = start;
    if let Some(i) = blocking {
        let frame = frame(i)?;
        let (at, message) = (zero, i);
        releases.push(Release { at, message, frame });
        zero += 1;
    }
    // What the message itself releases comes after the others of the same instant.
    let before = all().filter(|&i| i != message && (key(i) < lowest || mates(&i)));
    let last = own.arrival.earliest(bound.latency_instance);
    let until = last.saturating_add(bound.waiting);
    for i in before.chain([message]) {
        let frame = frame(i)?;
        let arrival = compiled.messages[i].arrival;
        let times = (0..).map(|n| arrival.earliest(n));
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
