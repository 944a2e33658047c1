//! The slave: answers frames.

use super::{NextCall, PingPlan};
use frame::{CanId, Frame, FrameRef, Nanos};
use port::{
    FrameInterest, InterestIds, OutgoingFrame, PortError, RawFilter, Receive, Transmit,
    TransmitRefusal,
};

/// The maximum number of frames that are taken at once.
pub(crate) const BUDGET: usize = 16;

/// All bits of an ID and the flags EFF and RTR; the error flag has no place in a filter
/// (`uapi/linux/can.h`).
const EXACTLY: u32 = 0xDFFF_FFFF;

/// A slave: answers every frame of one ID with a frame with the same payload and another ID.
#[derive(Debug)]
pub(crate) struct PingSlave {
    id: CanId,
    answer: CanId,
    frames: Vec<Frame>,
    counts: SlaveCounts,
}

/// The counters of a slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlaveCounts {
    /// Frames answered.
    pub(crate) answered: u64,
    /// Frames whose answer met a full queue of the port, or an interface that is down.
    pub(crate) unanswered: u64,
}

impl PingSlave {
    /// Creates the slave of a master with this plan.
    #[must_use]
    pub(crate) fn new(plan: &PingPlan) -> Self {
        Self {
            id: plan.id,
            answer: plan.answer,
            frames: Vec::with_capacity(BUDGET),
            counts: SlaveCounts::default(),
        }
    }

    /// Returns the frames that it wants to receive.
    #[must_use]
    pub(crate) fn interest(&self) -> FrameInterest {
        only(self.id)
    }

    /// Returns its counters so far.
    #[must_use]
    pub(crate) const fn counts(&self) -> SlaveCounts {
        self.counts
    }

    /// Answers the frames that have come.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on.
    pub(crate) fn step(
        &mut self,
        receive: &mut dyn Receive,
        transmit: &mut dyn Transmit,
        clock: &mut dyn FnMut() -> Nanos,
    ) -> Result<NextCall, PortError> {
        let report = take(receive, self.id, clock(), &mut self.frames)?;
        for frame in self.frames.drain(..) {
            let header = frame.header().with_id(self.answer);
            let Ok(answer) = FrameRef::new(header, frame.data()) else {
                self.counts.unanswered += 1;
                continue;
            };
            match transmit.transmit(clock(), OutgoingFrame::new(answer, 0)) {
                Ok(_) => self.counts.answered += 1,
                Err(
                    TransmitRefusal::Full | TransmitRefusal::Down | TransmitRefusal::Unsupported,
                ) => {
                    self.counts.unanswered += 1;
                }
            }
        }
        transmit.flush(clock())?;
        Ok(if report.more {
            NextCall::At(Some(0))
        } else {
            NextCall::At(None)
        })
    }
}

/// Returns the interest in frames of one ID, whatever their kind.
pub(crate) fn only(id: CanId) -> FrameInterest {
    FrameInterest {
        ids: InterestIds::Filters(vec![RawFilter {
            id: id.raw(),
            mask: EXACTLY,
        }]),
        xl: false,
        ..FrameInterest::default()
    }
}

/// Takes the data frames of this ID.
pub(crate) fn take(
    receive: &mut dyn Receive,
    id: CanId,
    now: Nanos,
    frames: &mut Vec<Frame>,
) -> Result<port::RxReport, PortError> {
    receive.receive(now, BUDGET, &mut |received| {
        // A port may deliver more than was asked for.
        if received.frame.id() == id
            && let Some(frame) = Frame::from_view(received.frame)
        {
            frames.push(frame);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::test_port::PortPair;
    use super::*;

    #[test]
    fn it_answers_what_is_asked_and_nothing_else() {
        let plan = plan();
        let mut slave = PingSlave::new(&plan);
        let mut port = PortPair::default();
        let asked = plan.frame(plan.id, 7).unwrap();
        port.incoming
            .extend([asked, plan.frame(plan.answer, 7).unwrap(), asked]);
        let (receive, transmit) = port.halves();
        let next = slave.step(receive, transmit, &mut || 5).unwrap();
        assert_eq!(next, NextCall::At(None));
        let answer = plan.frame(plan.answer, 7).unwrap();
        assert_eq!(port.outgoing(), [answer, answer]);
        assert_eq!(slave.counts().answered, 2);
    }

    #[test]
    fn what_cannot_be_answered_is_counted() {
        let plan = plan();
        let mut slave = PingSlave::new(&plan);
        let mut port = PortPair::default();
        port.refuse(Some(TransmitRefusal::Full));
        port.incoming.push_back(plan.frame(plan.id, 7).unwrap());
        let (receive, transmit) = port.halves();
        slave.step(receive, transmit, &mut || 5).unwrap();
        assert_eq!(
            slave.counts(),
            SlaveCounts {
                answered: 0,
                unanswered: 1
            }
        );
    }

    #[test]
    fn the_interest_is_one_id() {
        let InterestIds::Filters(filters) = PingSlave::new(&plan()).interest().ids else {
            panic!("no filters");
        };
        let pass = |raw| filters.iter().any(|f| f.passes(raw));
        assert!(pass(0x100) && !pass(0x101) && !pass(0x8000_0100) && !pass(0x4000_0100));
    }
}
