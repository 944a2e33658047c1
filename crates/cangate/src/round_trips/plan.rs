//! The plan of a master.

use frame::wire::{self, BitRate};
use frame::{CanId, Frame, LengthError, Nanos};

/// The longest timeout for an answer, and the longest period, ns: an hour.
pub(crate) const LONGEST_TIMEOUT: Nanos = 3_600_000_000_000;

/// The frames that a master sends and its slave answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PingPlan {
    /// The ID of the frames that the master sends.
    pub(crate) id: CanId,
    /// The ID of the slave's answers. It differs from `id`, unless `own` is set.
    pub(crate) answer: CanId,
    /// Set if there is no slave: the master's port returns the frame that it sends, at the end of
    /// frame. `answer` is equal to `id` then.
    pub(crate) own: bool,
    /// The number of payload bytes of both frames, 0 to 8, or to 64 with `fd`. The first four are
    /// the number of the round trip, as far as there is space for it.
    pub(crate) len: usize,
    /// The flags of FD frames (`flags::BRS`); `None` for classic frames.
    pub(crate) fd: Option<u8>,
    /// The time from one frame to the next, ns; 0: the next one is sent when the answer has come.
    pub(crate) period: Nanos,
    /// The number of round trips; `None`: until the run is ended.
    pub(crate) count: Option<u64>,
    /// The time after which a missing answer counts as lost, ns, 1 to [`LONGEST_TIMEOUT`].
    pub(crate) timeout: Nanos,
}

/// The reason why a plan is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlanError {
    /// An answer would be mistaken for a question.
    #[error("question and answer have the same ID, {0}: a slave could not distinguish them")]
    SameId(CanId),
    /// The frame that comes back would not be the frame that was sent.
    #[error("without a slave, the answer has the ID of the question, {0}")]
    OtherId(CanId),
    /// There is no such payload length.
    #[error("{len} bytes of payload: {source}")]
    Length {
        /// The requested payload length, bytes.
        len: usize,
        /// The error with the lengths that are possible.
        source: LengthError,
    },
    /// The timeout is out of range.
    #[error("the timeout must be 1 ns to 1 h")]
    Timeout,
    /// The period is out of range.
    #[error("the period must be at most 1 h")]
    Period,
}

impl PingPlan {
    /// Checks the plan.
    ///
    /// # Errors
    /// [`PlanError`] for a plan that is not possible.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match (self.own, self.id == self.answer) {
            (false, true) => return Err(PlanError::SameId(self.id)),
            (true, false) => return Err(PlanError::OtherId(self.id)),
            (false, false) | (true, true) => {}
        }
        if !(1..=LONGEST_TIMEOUT).contains(&self.timeout) {
            return Err(PlanError::Timeout);
        }
        if self.period > LONGEST_TIMEOUT {
            return Err(PlanError::Period);
        }
        let len = self.len;
        let length = |source| PlanError::Length { len, source };
        self.frame(self.id, 0).map(|_| ()).map_err(length)
    }

    /// Returns the frame of this round trip with one of the two IDs.
    pub(crate) fn frame(&self, id: CanId, number: u64) -> Result<Frame, LengthError> {
        let mut data = [0; 64];
        // An impossible length is refused by the frame's constructor.
        let data = data.get_mut(..self.len).unwrap_or_default();
        super::number::write(number, data);
        if self.len > data.len() {
            return Frame::classic(id, &[0; 65]);
        }
        match self.fd {
            Some(flags) => Frame::fd(id, flags, data),
            None => Frame::classic(id, data),
        }
    }
}

/// Returns the minimum time of a round trip on a bus, ns: both frames from start of frame to end of
/// frame, and the intermission between them; for a frame that comes back on its own, the one frame.
/// Returns `None` for a bus on which frames take no time.
///
/// drivers-2009 §3.1 has 241 µs for 8 bytes at 1 Mbit/s, with the stuff bits of one payload; this
/// result is exact for the first round trip, whose number is 0.
#[must_use]
pub(crate) fn bus_time(plan: &PingPlan, rate: Option<BitRate>) -> Option<Nanos> {
    let rate = rate?;
    let of = |id, intermission| on_the_bus(plan, id, 0, rate, intermission);
    if plan.own {
        return of(plan.id, false);
    }
    Some(of(plan.id, true)? + of(plan.answer, false)?)
}

/// Returns the time that one frame of a round trip is on the bus, ns, with the intermission after
/// it if `intermission` is set.
pub(crate) fn on_the_bus(
    plan: &PingPlan,
    id: CanId,
    number: u64,
    rate: BitRate,
    intermission: bool,
) -> Option<Nanos> {
    let frame = plan.frame(id, number).ok()?;
    Some(wire::length(frame.view())?.duration(rate, intermission))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn plan() -> PingPlan {
        PingPlan {
            id: CanId::sff(0x100).unwrap(),
            answer: CanId::sff(0x101).unwrap(),
            own: false,
            len: 8,
            fd: None,
            period: 0,
            count: Some(3),
            timeout: 1_000_000,
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = plan();
        assert_eq!(good.check(), Ok(()));
        let same = PingPlan {
            answer: good.id,
            ..good
        };
        assert_eq!(same.check(), Err(PlanError::SameId(good.id)));
        let own = PingPlan { own: true, ..same };
        assert_eq!(own.check(), Ok(()));
        let other = PingPlan { own: true, ..good };
        assert_eq!(other.check(), Err(PlanError::OtherId(good.id)));
        for len in [9, 64, 65, usize::MAX] {
            let long = PingPlan { len, ..good };
            assert!(
                matches!(long.check(), Err(PlanError::Length { .. })),
                "{len}"
            );
        }
        let fd = PingPlan {
            len: 64,
            fd: Some(0),
            ..good
        };
        assert_eq!(fd.check(), Ok(()));
        let hasty = PingPlan { timeout: 0, ..good };
        assert_eq!(hasty.check(), Err(PlanError::Timeout));
        let slow = PingPlan {
            period: LONGEST_TIMEOUT + 1,
            ..good
        };
        assert_eq!(slow.check(), Err(PlanError::Period));
    }

    #[test]
    fn the_papers_bus_time() {
        // 8 bytes at 1 Mbit/s: 108 bits and stuff bits; the paper's two frames have 119 bits each
        // with end of frame.
        let rate = BitRate::new(1_000_000, None).unwrap();
        let time = bus_time(&plan(), Some(rate)).unwrap();
        assert!(
            (2 * 108_000 + 3_000..=2 * 132_000 + 3_000).contains(&time),
            "{time}"
        );
        assert_eq!(bus_time(&plan(), None), None);
        // One frame, without the intermission behind it.
        let own = PingPlan {
            answer: plan().id,
            own: true,
            ..plan()
        };
        let one = bus_time(&own, Some(rate)).unwrap();
        assert!((108_000..=132_000).contains(&one), "{one}");
    }
}
