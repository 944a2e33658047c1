//! Messages that are sent in order of priority.

use crate::stream::RivalStream;
use crate::window::{BusyWindow, NoBound};
use frame::Nanos;

/// The parts of a bound, ns. The response is the sum of all but `since`, less `since`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BoundParts {
    /// Time from the event to the release.
    pub jitter: Nanos,
    /// A frame of lower priority that is on the bus already.
    pub blocking: Nanos,
    /// Frames of the same message, and of the same queue, that are ahead.
    pub ahead: Nanos,
    /// Pauses of its own node, and frames of lower priority that begin in them
    /// ([`mod@crate::refill`]). Those behind frames that overtake it in other buffers are among
    /// [`BoundParts::interference`].
    pub pauses: Nanos,
    /// Frames of higher priority.
    pub interference: Nanos,
    /// Errors.
    pub errors: Nanos,
    /// The frame itself, to its end of frame.
    pub frame: Nanos,
    /// The time after the beginning of the busy period at which its event can be, with the jitter;
    /// 0 for the first frame of a message.
    pub since: Nanos,
}

/// A bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatencyBound {
    /// Time from the event to the end of the frame, jitter included, ns: the time that a deadline
    /// limits.
    pub response: Nanos,
    /// Time from the release to the end of the frame, ns: the time that can be observed from
    /// outside.
    pub latency: Nanos,
    /// The parts of the response.
    pub parts: BoundParts,
    /// Number of frames of the message that come before it in the worst case.
    pub instance: u64,
    /// The same for the latency.
    pub latency_instance: u64,
    /// Time from the release to the start of the frame, ns.
    pub waiting: Nanos,
}

/// Returns the exact bound for a message that is sent in order of priority.
///
/// Davis, Burns, Bril, Lukkien, *Controller Area Network (CAN) schedulability analysis: Refuted,
/// revisited and revised*, Real-Time Systems 35, 2007, §3.2 (equations 6 to 12): every frame that
/// the message can release in the longest busy period is considered, not only the first one,
/// because the frames that the first one pushes back can delay a later one more. Frame q (from 0)
/// follows q others of its own message; it is released at q · period − jitter at the earliest, and
/// its event is at that time if the first frame was released as late as it can be. (By a list of
/// distances, the event of frame q is at least [`crate::Arrival::due`] (q) after that of the first;
/// see [`mod@crate::curve`].)
///
/// Where its phase to others is known ([`RivalStream::lead`]), none of its frames may be in the
/// busy period: then there is nothing to bound.
pub(crate) fn bound(
    window: &BusyWindow,
    own: RivalStream,
    frame: Nanos,
) -> Result<Option<LatencyBound>, NoBound> {
    let busy = window.busy(&[own])?;
    let frames = own.before(busy);
    let jitter = own.arrival.jitter();
    let mut worst: Option<LatencyBound> = None;
    let mut from = 0;
    for q in 0..frames {
        let ahead = q.saturating_mul(own.occupied);
        let start = window.start(ahead, frame, from, |_| 0)?;
        from = start.at;
        let since = own.arrival.due(q).saturating_add(own.lead);
        let end = start.at.saturating_add(frame);
        let response = end.saturating_add(jitter).saturating_sub(since);
        let latency = end.saturating_sub(own.earliest(q));
        let waiting = latency.saturating_sub(frame);
        let new = LatencyBound {
            response,
            latency,
            parts: BoundParts {
                jitter,
                blocking: window.blocking - window.once,
                ahead,
                pauses: window.once,
                interference: start.interference,
                errors: start.errors,
                frame,
                since,
            },
            instance: q,
            latency_instance: q,
            waiting,
        };
        worst = Some(worst.map_or(new, |old| old.worse_of(new)));
    }
    Ok(worst)
}

impl LatencyBound {
    /// Returns the lower value of each field, of two bounds for the same message.
    pub(crate) fn lower_of(self, other: Self) -> Self {
        let mut lower = if other.response < self.response {
            other
        } else {
            self
        };
        let soonest = if other.latency < self.latency {
            other
        } else {
            self
        };
        lower.latency = soonest.latency;
        lower.latency_instance = soonest.latency_instance;
        lower.waiting = self.waiting.min(other.waiting);
        lower
    }

    /// Lengthens the bound by `more` ns.
    pub(crate) fn lengthen(&mut self, more: Nanos) {
        self.response = self.response.saturating_add(more);
        self.latency = self.latency.saturating_add(more);
        self.waiting = self.waiting.saturating_add(more);
        self.parts.since = self.parts.since.saturating_sub(more);
    }

    /// Returns the greater value of each field, for two frames.
    pub(crate) fn worse_of(self, new: Self) -> Self {
        let mut worse = if new.response > self.response {
            new
        } else {
            self
        };
        let latest = if new.latency > self.latency {
            new
        } else {
            self
        };
        worse.latency = latest.latency;
        worse.latency_instance = latest.latency_instance;
        worse.waiting = self.waiting.max(new.waiting);
        worse
    }
}
