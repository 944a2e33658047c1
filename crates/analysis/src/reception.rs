//! The longest distance between two receptions of a message, which a receiver's timeout must
//! exceed.
//!
//! # The argument
//! Let e(n) be the time of event n of a message, and R(n) the time from this event to the end of
//! its frame on the bus of the receiver, over all buses before. So the receiver has the frame at
//! t(n) = e(n) + R(n). Three limits are known:
//!
//! * e(n + 1) − e(n) ≤ P. P is the longest time between two events: the period of a periodic
//!   message. A message that is sent on events alone has no such limit, and no bound follows.
//! * R(n) ≤ R⁺, the bound ([`NetworkFound::response`]). It is counted from the event, so it
//!   includes the jitter, once, and the gateways' time, on each hop.
//! * R(n) ≥ R⁻, the sum of the shortest lengths of its frames, on this bus and on all before
//!   ([`NetworkFound::earliest_end`]): a frame that is released with its event, finds each bus
//!   free, and is passed on in no time.
//!
//! At most k frames in a row do not arrive. Let m be the last event whose frame was received up to
//! some reception at the time t; then t ≥ t(m) ≥ e(m) + R⁻. Of the events m + 1 to m + k + 1, one
//! is received, later than t by the choice of m, and not after
//!
//! > e(m + k + 1) + R⁺ ≤ e(m) + (k + 1) · P + R⁺.
//!
//! So the distance to the next reception is at most
//!
//! > D = (k + 1) · P + R⁺ − R⁻.
//!
//! With R⁺ = J + (the bound from the release), this is (k + 1) · period + jitter + (bound −
//! shortest frame), over all hops. The argument does not need frames to arrive in their order.
//!
//! **It is reached** where R⁺ is: a frame that finds free buses, then k that are lost, then one in
//! its critical instant. If the critical instant needs earlier frames of the same message
//! ([`crate::LatencyBound::instance`]), the two cannot always be neighbours, and D is only safe.
//!
//! A timeout T cannot expire if T > D: at T = D, frame and timeout come at one time.

use crate::{MessagePlace, NetworkFound, NoBound};
use frame::Nanos;

/// The longest time between two consecutive receptions of a message, in its parts, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceptionDistance {
    /// The longest time between the events of the two frames: (k + 1) · P.
    pub events: Nanos,
    /// The bound from an event to the end of its frame, over all buses, with the jitter: R⁺.
    pub response: Nanos,
    /// The shortest frames, on all buses: R⁻.
    pub shortest: Nanos,
}

impl NetworkFound {
    /// Returns the least time from the event of a message to its end of frame on this bus, over all
    /// previous buses, ns; `None` if there is no such message.
    #[must_use]
    pub fn earliest_end(&self, place: MessagePlace) -> Option<Nanos> {
        let sent = self.compiled.get(place.bus)?.messages.get(place.message)?;
        let base = self.base.get(place.bus)?.get(place.message)?;
        Some(base.saturating_add(sent.shortest))
    }

    /// Returns the longest time between two consecutive receptions of a message at this place. Its
    /// events are at most `longest_period` ns apart, and at most `losses` frames in a row are lost.
    ///
    /// # Errors
    /// [`NoBound`] if the message has no bound, or does not exist.
    pub fn reception_distance(
        &self,
        place: MessagePlace,
        longest_period: Nanos,
        losses: u32,
    ) -> Result<ReceptionDistance, NoBound> {
        Ok(ReceptionDistance {
            events: longest_period.saturating_mul(u64::from(losses) + 1),
            response: self.response(place)?,
            shortest: self.earliest_end(place).ok_or(NoBound::TooLong)?,
        })
    }
}

impl ReceptionDistance {
    /// Returns the longest time between the two receptions, ns.
    #[must_use]
    pub const fn longest(&self) -> Nanos {
        let varies = self.response.saturating_sub(self.shortest);
        self.events.saturating_add(varies)
    }

    /// Returns the distance at a receiver that gets each frame `least` to `most` ns later.
    #[must_use]
    pub const fn delayed(self, least: Nanos, most: Nanos) -> Self {
        Self {
            response: self.response.saturating_add(most),
            shortest: self.shortest.saturating_add(least),
            ..self
        }
    }
}
