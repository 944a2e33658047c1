//! The master: sends frames and measures the time to their answers.

use super::slave::{BUDGET, only, take};
use super::{NextCall, PingPlan, number};
use frame::{Frame, Nanos};
use port::{FrameInterest, OutgoingFrame, PortError, Receive, Transmit, TransmitRefusal};
use std::collections::VecDeque;

/// The number of last lost round trips that are remembered, to distinguish a late answer from a
/// strange one.
const REMEMBERED: usize = 64;

/// The time that a master waits before it retries a port that had no space or was down, ns.
const AGAIN: Nanos = 1_000_000;

/// One completed round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoundTrip {
    /// Its number, from 0.
    pub(crate) number: u64,
    /// The time at which the call that sent it began.
    pub(crate) sent: Nanos,
    /// The time at which the call that returned the answer had returned; `None`: no answer in time.
    pub(crate) answered: Option<Nanos>,
}

impl RoundTrip {
    /// Returns its duration, ns.
    #[must_use]
    pub(crate) fn duration(&self) -> Option<Nanos> {
        Some(self.answered?.saturating_sub(self.sent))
    }
}

/// The counters of a master. `sent = answered + lost`, and one more while it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MasterCounts {
    /// Frames sent.
    pub(crate) sent: u64,
    /// Round trips with an answer in time.
    pub(crate) answered: u64,
    /// Round trips without an answer in time.
    pub(crate) lost: u64,
    /// Lost round trips whose answer came too late.
    pub(crate) late: u64,
    /// Answers with an unexpected number: a second answer, or the frame of another node.
    pub(crate) strange: u64,
    /// Number of times that a frame could not be sent and was tried again: no space, or the
    /// interface down.
    pub(crate) stalled: u64,
    /// Round trips that were given up because their frame could not be sent within the timeout for
    /// an answer. They are not counted as sent.
    pub(crate) unsent: u64,
    /// Slots of the period that passed while the master waited for an answer.
    pub(crate) skipped: u64,
}

/// A master: sends a frame, waits for the answer, sends the next.
#[derive(Debug)]
pub(crate) struct PingMaster {
    /// The port's name, for errors.
    port: String,
    plan: PingPlan,
    number: u64,
    waiting: Option<WaitingAnswers>,
    /// The time at which the next frame is due.
    due: Option<Nanos>,
    /// The time since which the port has refused it.
    refused_since: Option<Nanos>,
    lost: VecDeque<u64>,
    frames: Vec<Frame>,
    counts: MasterCounts,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct WaitingAnswers {
    number: u64,
    sent: Nanos,
}

impl PingMaster {
    /// Creates a master on the port of this name; it starts at its first step.
    #[must_use]
    pub(crate) fn new(port: impl Into<String>, plan: PingPlan) -> Self {
        Self {
            port: port.into(),
            plan,
            number: 0,
            waiting: None,
            due: None,
            refused_since: None,
            lost: VecDeque::with_capacity(REMEMBERED),
            frames: Vec::with_capacity(BUDGET),
            counts: MasterCounts::default(),
            ended: false,
        }
    }

    /// Returns the frames that it wants to receive.
    #[must_use]
    pub(crate) fn interest(&self) -> FrameInterest {
        only(self.plan.answer)
    }

    /// Returns its counters so far.
    #[must_use]
    pub(crate) const fn counts(&self) -> MasterCounts {
        self.counts
    }

    /// Sends no more frames from now on; the answer that it waits for may still come.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Takes the frames that have come and sends the frame that is due. Each round trip that ends
    /// is passed to `sink`.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on, or cannot carry such frames.
    pub(crate) fn step(
        &mut self,
        receive: &mut dyn Receive,
        transmit: &mut dyn Transmit,
        clock: &mut dyn FnMut() -> Nanos,
        sink: &mut dyn FnMut(RoundTrip),
    ) -> Result<NextCall, PortError> {
        let report = take(receive, self.plan.answer, clock(), &mut self.frames)?;
        let now = clock();
        for index in 0..self.frames.len() {
            if let Some(frame) = self.frames.get(index).copied() {
                self.answer(&frame, now, sink);
            }
        }
        self.frames.clear();
        let timeout = self.plan.timeout;
        if let Some(waiting) = self.waiting
            && now >= waiting.sent.saturating_add(timeout)
        {
            self.waiting = None;
            self.counts.lost += 1;
            if self.lost.len() == REMEMBERED {
                self.lost.pop_front();
            }
            self.lost.push_back(waiting.number);
            self.skip(now);
            sink(RoundTrip {
                number: waiting.number,
                sent: waiting.sent,
                answered: None,
            });
        }
        if let Some(waiting) = self.waiting {
            // Frames that the port held at first may leave now.
            transmit.flush(now)?;
            let end = waiting.sent.saturating_add(timeout);
            return Ok(NextCall::At(Some(if report.more { 0 } else { end })));
        }
        if self.ended || self.plan.count.is_some_and(|count| self.number >= count) {
            return Ok(NextCall::Done);
        }
        let due = *self.due.get_or_insert(now);
        if now < due {
            return Ok(NextCall::At(Some(if report.more { 0 } else { due })));
        }
        self.send(due, transmit, clock, sink)
    }

    /// Sends the next frame, and returns the time at which its answer will count as lost.
    fn send(
        &mut self,
        due: Nanos,
        transmit: &mut dyn Transmit,
        clock: &mut dyn FnMut() -> Nanos,
        sink: &mut dyn FnMut(RoundTrip),
    ) -> Result<NextCall, PortError> {
        let number = self.number;
        let frame = self.plan.frame(self.plan.id, number);
        let frame = frame.map_err(|error| self.error(error.to_string()))?;
        let sent = clock();
        let outgoing = OutgoingFrame {
            echo: self.plan.own,
            ..OutgoingFrame::new(frame.view(), 0)
        };
        match transmit.transmit(sent, outgoing) {
            Ok(_) => transmit.flush(sent)?,
            Err(TransmitRefusal::Unsupported) => {
                let kind = if self.plan.fd.is_some() {
                    "FD"
                } else {
                    "classic"
                };
                return Err(self.error(format!("it carries no {kind} frames")));
            }
            Err(TransmitRefusal::Full | TransmitRefusal::Down) => {
                self.counts.stalled += 1;
                transmit.flush(sent)?;
                let since = *self.refused_since.get_or_insert(sent);
                if sent >= since.saturating_add(self.plan.timeout) {
                    // An interface may stay down for ever, and its user must be notified.
                    self.refused_since = None;
                    self.counts.unsent += 1;
                    self.number += 1;
                    self.due = Some(self.next_place(due, sent));
                    self.skip(sent);
                    sink(RoundTrip {
                        number,
                        sent: since,
                        answered: None,
                    });
                }
                return Ok(NextCall::At(Some(sent.saturating_add(AGAIN))));
            }
        };
        self.refused_since = None;
        self.counts.sent += 1;
        self.number += 1;
        self.waiting = Some(WaitingAnswers { number, sent });
        self.due = Some(self.next_place(due, sent));
        Ok(NextCall::At(Some(sent.saturating_add(self.plan.timeout))))
    }

    fn error(&self, what: String) -> PortError {
        PortError {
            port: self.port.clone(),
            what,
            source: None,
        }
    }

    /// Returns the first slot of the period after this frame. Slots that passed during the wait for
    /// an answer are skipped when it has come: see [`Self::answer`].
    fn next_place(&self, due: Nanos, sent: Nanos) -> Nanos {
        if self.plan.period == 0 {
            sent
        } else {
            due.saturating_add(self.plan.period)
        }
    }

    /// Handles an answer that has come.
    fn answer(&mut self, frame: &Frame, now: Nanos, sink: &mut dyn FnMut(RoundTrip)) {
        let data = frame.data();
        if let Some(waiting) = self.waiting
            && number::is(waiting.number, data)
        {
            self.waiting = None;
            self.counts.answered += 1;
            sink(RoundTrip {
                number: waiting.number,
                sent: waiting.sent,
                answered: Some(now),
            });
            self.skip(now);
        } else if let Some(place) = self.lost.iter().position(|&lost| number::is(lost, data)) {
            self.lost.remove(place);
            self.counts.late += 1;
        } else {
            self.counts.strange += 1;
        }
    }

    /// Skips the slots of the period that are past: frames that were held back would come in a
    /// burst, which the plan does not ask for.
    fn skip(&mut self, now: Nanos) {
        if let (Some(due), 1..) = (self.due, self.plan.period)
            && let Some(behind) = now.checked_sub(due)
        {
            let places = behind / self.plan.period;
            self.counts.skipped += places;
            self.due = Some(due + places * self.plan.period);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::test_port::PortPair;
    use super::*;

    /// A master on a port, with the round trips that it reported.
    struct MasterBench {
        master: PingMaster,
        port: PortPair,
        now: Nanos,
        trips: Vec<RoundTrip>,
    }

    impl MasterBench {
        fn new(plan: PingPlan) -> Self {
            Self {
                master: PingMaster::new("a", plan),
                port: PortPair::default(),
                now: 1_000,
                trips: Vec::new(),
            }
        }

        fn step(&mut self, now: Nanos) -> NextCall {
            self.now = now;
            let (receive, transmit) = self.port.halves();
            let trips = &mut self.trips;
            let mut sink = |trip| trips.push(trip);
            let step = self.master.step(receive, transmit, &mut || now, &mut sink);
            step.unwrap()
        }

        fn answer(&mut self, number: u64) {
            let plan = self.master.plan;
            let frame = plan.frame(plan.answer, number).unwrap();
            self.port.incoming.push_back(frame);
        }

        fn durations(&self) -> Vec<Option<Nanos>> {
            self.trips.iter().map(RoundTrip::duration).collect()
        }
    }

    #[test]
    fn one_after_the_other() {
        let mut bench = MasterBench::new(plan());
        assert_eq!(bench.step(1_000), NextCall::At(Some(1_001_000)));
        bench.answer(0);
        // The answer has come, and the next frame leaves at once.
        assert_eq!(bench.step(3_000), NextCall::At(Some(1_003_000)));
        bench.answer(1);
        bench.step(4_000);
        bench.answer(2);
        assert_eq!(bench.step(9_000), NextCall::Done);
        assert_eq!(bench.durations(), [Some(2_000), Some(1_000), Some(5_000)]);
        let counts = bench.master.counts();
        assert_eq!((counts.sent, counts.answered, counts.lost), (3, 3, 0));
        assert_eq!(bench.port.outgoing().len(), 3);
    }

    #[test]
    fn a_frame_that_comes_back_is_its_own_answer() {
        let mut bench = MasterBench::new(PingPlan {
            answer: plan().id,
            own: true,
            ..plan()
        });
        bench.step(1_000);
        assert!(bench.port.asked_for_echo());
        bench.answer(0);
        bench.step(3_000);
        assert_eq!(bench.durations(), [Some(2_000)]);
        let mut bench = MasterBench::new(plan());
        bench.step(1_000);
        assert!(!bench.port.asked_for_echo());
    }

    #[test]
    fn at_the_places_of_a_period() {
        let mut bench = MasterBench::new(PingPlan {
            period: 10_000,
            ..plan()
        });
        bench.step(1_000);
        bench.answer(0);
        assert_eq!(bench.step(3_000), NextCall::At(Some(11_000)));
        assert_eq!(bench.step(10_999), NextCall::At(Some(11_000)));
        bench.step(11_000);
        bench.answer(1);
        // Two slots have passed: the third is used, late, and the next is again in the period.
        bench.step(35_000);
        assert_eq!(bench.master.counts().skipped, 1);
        bench.answer(2);
        assert_eq!(bench.step(36_000), NextCall::Done);
        assert_eq!(bench.trips[2].sent, 35_000);
    }

    #[test]
    fn what_does_not_come_is_lost_and_may_be_late() {
        let mut bench = MasterBench::new(plan());
        bench.step(0);
        // The answer is lost, and the next frame leaves in the same step.
        assert_eq!(bench.step(1_000_000), NextCall::At(Some(2_000_000)));
        bench.answer(0);
        bench.answer(0);
        bench.answer(1);
        bench.step(1_500_000);
        assert_eq!(bench.durations(), [None, Some(500_000)]);
        let counts = bench.master.counts();
        assert_eq!((counts.lost, counts.late, counts.strange), (1, 1, 1));
    }

    #[test]
    fn no_room_is_tried_again() {
        let mut bench = MasterBench::new(plan());
        bench.port.refuse(Some(TransmitRefusal::Full));
        assert_eq!(bench.step(5), NextCall::At(Some(5 + AGAIN)));
        bench.port.refuse(None);
        bench.step(5 + AGAIN);
        let counts = bench.master.counts();
        assert_eq!((counts.sent, counts.stalled), (1, 1));
    }

    /// An interface that stays down does not end a run on its own, but a run with a count ends.
    #[test]
    fn what_cannot_be_sent_in_time_is_given_up_and_counted() {
        let mut bench = MasterBench::new(plan());
        bench.port.refuse(Some(TransmitRefusal::Down));
        for now in [0, 999_999, 1_000_000, 1_000_001, 2_000_001, 2_000_002] {
            assert_ne!(bench.step(now), NextCall::Done);
        }
        assert_eq!(bench.durations(), [None, None]);
        bench.port.refuse(None);
        bench.step(2_500_000);
        bench.answer(2);
        assert_eq!(bench.step(2_600_000), NextCall::Done);
        let counts = bench.master.counts();
        assert_eq!((counts.sent, counts.answered), (1, 1));
        assert_eq!((counts.lost, counts.unsent), (0, 2));
    }

    #[test]
    fn a_port_that_cannot_is_named() {
        let mut bench = MasterBench::new(plan());
        bench.port.refuse(Some(TransmitRefusal::Unsupported));
        let (receive, transmit) = bench.port.halves();
        let step = bench.master.step(receive, transmit, &mut || 0, &mut |_| ());
        assert_eq!(
            step.unwrap_err().to_string(),
            "a: it carries no classic frames"
        );
    }

    #[test]
    fn it_ends_on_request() {
        let mut bench = MasterBench::new(PingPlan {
            count: None,
            ..plan()
        });
        bench.step(0);
        bench.master.end();
        assert_eq!(bench.step(10), NextCall::At(Some(1_000_000)));
        bench.answer(0);
        assert_eq!(bench.step(20), NextCall::Done);
    }
}
