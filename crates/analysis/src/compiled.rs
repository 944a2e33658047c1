//! A bus with the lengths of its frames in nanoseconds.

use crate::model::{BusSpec, ModelError, SendOrder};
use crate::offset::{OffsetUse, limit};
use crate::refill::{NodePauses, PauseDelay};
use crate::sent::SentMessage;
use crate::stream::RivalStream;
use crate::train::trains;
use crate::window::{BusyWindow, ErrorCost};
use crate::{Arrival, FrameBits, LengthRule, LengthSearch, by_formula};
use alloc::vec::Vec;
use frame::wire::{self, ERROR_DELIMITER_BITS, ERROR_FLAGS_MAX_BITS, INTERMISSION_BITS};
use frame::{Header, Kind, Nanos};

/// Number of the lowest bits of [`wire::arbitration_key`], which follow the arbitration field.
const FORMAT_BITS: u32 = 2;

/// Returns the field that decides between two frames: the lower one wins.
pub(crate) const fn field(header: &Header) -> u64 {
    wire::arbitration_key(header) >> FORMAT_BITS
}

/// The traffic that frames meet: the higher-priority messages, with their arrivals and the time
/// that they wait in queues, and the lower-priority ones.
#[derive(Clone, Debug)]
pub(crate) struct RivalFrames {
    pub(crate) rivals: Vec<(usize, Arrival, Nanos)>,
    pub(crate) lower: Vec<usize>,
    /// Whether the time that rivals wait in queues is not counted; then the pauses of their nodes
    /// are ([`mod@crate::refill`]).
    pub(crate) together: bool,
}

/// A bus that is ready to be assessed: [`CompiledBus::assess`].
#[derive(Clone, Debug)]
pub struct CompiledBus {
    pub(crate) messages: Vec<SentMessage>,
    pub(crate) orders: Vec<SendOrder>,
    /// The pauses of each node.
    pub(crate) pauses: Vec<Option<NodePauses>>,
    /// For each node, the use of its offsets.
    pub(crate) offsets: Vec<OffsetUse>,
    joins: Nanos,
    errors: Option<Nanos>,
    pub(crate) random_errors: Option<Nanos>,
    /// The cost of an error in addition to the frame that it hits and its intermission, ns.
    error_frame: Nanos,
    /// Time from the first bit of an error flag to the end of the intermission, ns.
    error_rest: Nanos,
}

impl CompiledBus {
    /// Finds the lengths of all frames.
    ///
    /// # Errors
    /// [`ModelError`]
    pub fn new(bus: &BusSpec, lengths: &mut LengthSearch) -> Result<Self, ModelError> {
        let mut messages: Vec<SentMessage> = Vec::with_capacity(bus.messages.len());
        let intermission = bus.rate.time(INTERMISSION_BITS, 0);
        for (index, message) in bus.messages.iter().enumerate() {
            let header = message.shape.header();
            if message.node >= bus.nodes.len() {
                return Err(ModelError::NoNode { message: index });
            }
            if header.kind() == Kind::Fd && bus.rate.data().is_none() {
                return Err(ModelError::NoFd { message: index });
            }
            let period = message.arrival.period();
            let periodic = message.arrival.distances().is_none();
            if message
                .offset
                .is_some_and(|offset| !periodic || offset >= period)
            {
                return Err(ModelError::Offset { message: index });
            }
            let key = field(header);
            if let Some(first) = messages.iter().position(|m| m.key == key) {
                return Err(ModelError::SameField {
                    first,
                    second: index,
                });
            }
            let bits = match bus.lengths {
                LengthRule::Formula => by_formula(&message.shape),
                LengthRule::Greatest if bus.errors.or(bus.random_errors).is_some() => {
                    lengths.greatest_with_errors(&message.shape)
                }
                LengthRule::Greatest => lengths.greatest(&message.shape),
            };
            let frame = bits.duration(bus.rate);
            messages.push(SentMessage {
                node: message.node,
                key,
                bits,
                frame,
                occupied: frame + intermission,
                shortest: FrameBits::least(&message.shape).duration(bus.rate),
                arrival: message.arrival,
                offset: message.offset,
                source: None,
            });
        }
        let flags = ERROR_FLAGS_MAX_BITS + ERROR_DELIMITER_BITS;
        let offsets = limit(&mut messages, bus.nodes.len());
        Ok(Self {
            messages,
            offsets,
            orders: bus.nodes.iter().map(|node| node.order).collect(),
            pauses: bus
                .nodes
                .iter()
                .map(|node| match node.order {
                    SendOrder::Priority => None,
                    SendOrder::Mailboxes(_) => NodePauses::new(node.refill?, intermission),
                })
                .collect(),
            joins: bus.joins,
            errors: bus.errors,
            random_errors: bus.random_errors,
            // Two values are rounded instead of one.
            error_frame: bus.rate.time(flags, 0) + 1,
            error_rest: bus.rate.time(flags + INTERMISSION_BITS, 0) + 1,
        })
    }

    /// Returns the part of the bus that all messages occupy together; 1 is all of it.
    #[must_use]
    pub fn load(&self) -> f64 {
        let each = self.messages.iter();
        // The sum of no numbers is -0.0.
        each.fold(0.0, |sum, m| sum + m.occupied as f64 * m.arrival.rate())
    }

    /// Returns the cost of an error in addition to the frame that it hits, ns.
    pub(crate) const fn error_frame(&self) -> Nanos {
        self.error_frame
    }

    /// Returns the least time that a frame of this message occupies the bus, with its intermission,
    /// ns; `None` if there is no such message.
    #[must_use]
    pub fn least_occupied(&self, message: usize) -> Option<Nanos> {
        let sent = self.messages.get(message)?;
        Some(sent.shortest + (sent.occupied - sent.frame))
    }

    /// Returns the longest time that a frame of this message waits, ns, if this bus carries nothing
    /// else and the frames come unchanged from a bus of the same bit rate, at most `delay` ns after
    /// their ends of frame there, in their order: however often they come. Where its node has
    /// pauses ([`mod@crate::refill`]), a bus that is full does not make up for them: the bound
    /// applies to the last one of `frames` frames, and to those before. `None` if there is no such
    /// message.
    #[must_use]
    pub fn passing(&self, message: usize, delay: Nanos, frames: u64) -> Option<Nanos> {
        let sent = self.messages.get(message)?;
        let differ = sent.occupied.saturating_sub(self.least_occupied(message)?);
        let pauses = self.pauses.get(sent.node).copied().flatten();
        let pauses = pauses.map_or(0, |pauses| pauses.before(frames));
        Some(differ.saturating_add(delay).saturating_add(pauses))
    }

    /// Returns the time that the pauses of this node add, if a frame of this length can begin in
    /// them.
    pub(crate) fn added(&self, node: usize, longest: Nanos) -> PauseDelay {
        let pauses = self.pauses.get(node).copied().flatten();
        pauses.map_or_else(PauseDelay::default, |pauses| pauses.added(longest))
    }

    /// Returns the window in which the traffic of `against` delays frames of `own`: the rivals with
    /// their arrivals, which include the time that they wait in queues.
    pub(crate) fn window(&self, against: RivalFrames, own: &[usize]) -> BusyWindow {
        let RivalFrames {
            rivals,
            lower,
            together,
        } = against;
        let occupied = |i: &usize| self.messages.get(*i).map_or(0, |m| m.occupied);
        let mut blocking = lower.iter().map(occupied).max().unwrap_or(0);
        if blocking > 0 && self.errors.or(self.random_errors).is_some() {
            blocking = blocking.max(self.error_rest);
        }
        let longest = rivals
            .iter()
            .map(|(i, _, _)| i)
            .chain(own)
            .map(occupied)
            .max();
        let errors = self.errors.map(|distance| ErrorCost {
            distance: distance.max(1),
            cost: longest.unwrap_or(0) + self.error_frame,
        });
        let source = |i: usize| self.messages.get(i).and_then(|m| m.source);
        let node = |i: usize| self.messages.get(i).map(|m| m.node);
        let paused =
            |i: usize| node(i).map_or_else(PauseDelay::default, |node| self.added(node, blocking));
        // The time that rivals of other nodes wait in pauses is in their jitter, except where no
        // waiting is counted.
        let each = |i: usize| if together { paused(i).each } else { 0 };
        let of_own = own.first().map_or_else(PauseDelay::default, |&i| paused(i));
        let mut once = of_own.once;
        if together {
            let mut nodes: Vec<usize> = rivals.iter().filter_map(|&(i, _, _)| node(i)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.retain(|&n| own.first().is_none_or(|&i| node(i) != Some(n)));
            for node in nodes {
                once = once.saturating_add(self.added(node, blocking).once);
            }
        }
        let pause = of_own.each;
        let come = rivals
            .iter()
            .map(|&(i, _, later)| (source(i), later, each(i)));
        let (of_rivals, places) = trains(come);
        let (of_own, _) = trains(own.iter().map(|&i| (source(i), 0, pause)));
        let stream =
            |((i, arrival, _), train): ((usize, Arrival, Nanos), Option<usize>)| RivalStream {
                arrival,
                occupied: occupied(&i).saturating_add(each(i)),
                train,
                lead: 0,
            };
        BusyWindow {
            blocking: blocking.saturating_add(once),
            once,
            pause,
            rivals: rivals.into_iter().zip(places).map(stream).collect(),
            joint: Vec::new(),
            trains: of_rivals,
            own: of_own,
            errors,
            joins: self.joins,
        }
    }

    /// Returns the streams of these messages for [`BusyWindow::own`], each frame with the time that
    /// a [`BusyWindow::pause`] adds to it.
    pub(crate) fn streams(
        &self,
        own: &[usize],
        arrivals: &[Arrival],
        pause: Nanos,
    ) -> Vec<RivalStream> {
        let (_, places) = trains(own.iter().map(|&i| (self.messages[i].source, 0, pause)));
        let each = own.iter().zip(places);
        each.map(|(&i, train)| RivalStream {
            arrival: arrivals[i],
            occupied: self.messages[i].occupied.saturating_add(pause),
            train,
            lead: 0,
        })
        .collect()
    }
}
