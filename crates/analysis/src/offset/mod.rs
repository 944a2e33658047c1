//! Messages of a node whose events share its clock.
//!
//! # The model
//! The messages of a node that have an [offset](crate::Message::offset) have their events at *S* +
//! offset + k · period, for one *S* of the node and all whole numbers k. *S* is any time, and nodes
//! do not know each other's: so the phases between nodes are arbitrary, and may drift. A frame is
//! released at most its jitter after its event, as ever; an event may also release nothing (before
//! the node was started, or because there was nothing to send). A node's clock is assumed to run
//! exactly as the periods specify: its deviation in a busy period must be included in the jitter.
//! Messages of the node without an offset have any phase.
//!
//! # The contents of a window
//! For an *s* on the node's clock, a message can release a frame in [*s*, *s* + w] for each event
//! from *s* − jitter to *s* + w, and no more than keep their distance. Let the *last instant* of an
//! event be the event plus the jitter. Let *s* grow, with w as it is: the number of a message
//! decreases only after a last instant of it, and can increase everywhere else. So any sum of such
//! numbers, with weights that are not negative, is greatest at an *s* that is a last instant of one
//! of the messages. There are as many of these *phases* as frames in a common multiple of the
//! periods. In one phase, a message behaves like one of any phase, but later: with its next last
//! instant at *s* + σ, its events are at *s* + σ − jitter + n · period. So it has its jitter less
//! σ, or, if σ is greater, none and a *lead* of σ − jitter (`RivalStream` of
//! [`mod@crate::window`]).
//!
//! # The node's messages among the rivals of another node's frame
//! The derivations of [`mod@crate::window`] count what rivals release from *s* to *s* + w. For all
//! rivals of one clock together that is at most `JointMessages::within`, the greatest sum of all
//! phases. In the recurrences it takes the place of the sum of the single numbers. The phase may be
//! different for each w, so the bound is safe, but not always reached. (The same step is known for
//! transactions: Palencia, González Harbour, *Schedulability analysis for tasks with static and
//! dynamic offsets*, RTSS 1998; Mäki-Turja, Nolin, *Efficient implementation of tight
//! response-times for tasks with offsets*, Real-Time Systems 40, 2008. For CAN: Szakály, 2003;
//! Grenier, Havet, Navet, *Pushing the limits of CAN*, ERTS 2008; Meumeu Yomsi, Bertrand, Navet,
//! Davis, *Controller Area Network (CAN): response time analysis with offsets*, WFCS 2012. The
//! derivation here is our own.)
//!
//! # A frame of the node, in order of priority
//! Let *s* begin the busy period of a frame with an offset, and let it follow q frames of its own
//! message that can be released from *s* on. Its wait w from *s* on depends on *s* by the numbers
//! of the node's own rivals and by q; all other rivals have any phase, which can be kept to *s*.
//! Let *s* grow. Until after the next last instant of one of these rivals or of the message itself,
//! no number decreases, so w does not; the event and the release of the frame come nearer to *s*,
//! so response and latency grow. The frame is released before its own last instant ends. So it is
//! enough to consider the phases of the message and its own rivals, and in each all frames of
//! the busy period. A phase in which the next last instant of each message is as late as in another
//! phase, or later, has no greater number for any w, and no event nearer to *s*: it need not be
//! considered.
//!
//! # A frame of the node, in a queue in order of arrival
//! [`mod@crate::queue`] counts what is released from *s* up to the release, *s* + a. Let all
//! messages of the node have an offset, and none a distance. Let *s* grow and the release stay:
//! until after the next last instant of one of them, the frames released up to the release remain,
//! later frames that overtake only increase in number, and the start, seen from the release,
//! becomes no earlier. If *s* meets the release, let both grow together up to the next last
//! instant, which is not after that of the frame. So the phases are enough. In each, a must be a
//! time at which an event of the message allows a release. (A message of any phase, or one with a
//! distance, can have fewer frames in a shorter time: where the node has one, its own frames are
//! counted with any phase.)
//!
//! # The number of waiting frames
//! At a time t, the waiting frames are those that were released less than their latency before.
//! Seen backward from t, this is the same sum, with events in place of last instants.
//!
//! # Limits
//! More than [`MOST_PHASES`] phases of a node are not considered. Messages are then selected,
//! beginning with each of its periods, in order of their load as long as their common multiple
//! allows, and the selection with the greatest load is kept; the others have any phase, which is
//! safe: all *S* are among any phases. [`OffsetUse`] reports the number of each. A table of a joint
//! sum ends at the busy period that follows without offsets, at a common multiple after which it
//! repeats itself, or where it becomes too long. A longer window is then cut into pieces: it holds
//! no more than all of them.

mod busy;
mod critical;
mod joint;
mod limit;
mod phases;

pub(crate) use busy::BusyPeriod;
pub(crate) use joint::JointMessages;
pub(crate) use limit::limit;
pub(crate) use phases::{behind, led};

/// Maximum number of phases of a node that are considered.
pub const MOST_PHASES: u64 = 2_000;

/// The use that the analysis made of a node's offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OffsetUse {
    /// Number of messages of the node with an offset.
    pub given: usize,
    /// Number of these that were considered in all phases to each other. The others have any phase:
    /// together they would have more than [`MOST_PHASES`].
    pub used: usize,
    /// Whether the node's own frames are considered in these phases. Frames in a queue are not, if
    /// one of the node's messages has any phase, or a distance.
    pub own: bool,
}

#[cfg(test)]
mod tests;
