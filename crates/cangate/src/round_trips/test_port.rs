//! A port for tests: frames to receive, and frames that were sent.

use frame::{Frame, Nanos};
use port::{
    Accepted, FlushReport, OutgoingFrame, PortError, Receive, ReceiveStamp, ReceivedFrame,
    RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
};
use std::collections::VecDeque;

/// Both halves and their frames.
#[derive(Default)]
pub(crate) struct PortPair {
    pub(crate) incoming: WaitingFrames,
    transmit: SentFrames,
}

#[derive(Default)]
pub(crate) struct SentFrames {
    frames: Vec<Frame>,
    echo: bool,
    refuse: Option<TransmitRefusal>,
}

impl PortPair {
    pub(crate) fn halves(&mut self) -> (&mut WaitingFrames, &mut SentFrames) {
        (&mut self.incoming, &mut self.transmit)
    }

    pub(crate) fn outgoing(&self) -> &[Frame] {
        &self.transmit.frames
    }

    /// Returns whether each frame was sent with a request to appear on its own interface.
    pub(crate) fn asked_for_echo(&self) -> bool {
        self.transmit.echo
    }

    pub(crate) fn refuse(&mut self, why: Option<TransmitRefusal>) {
        self.transmit.refuse = why;
    }
}

/// Frames to receive.
#[derive(Default)]
pub(crate) struct WaitingFrames(VecDeque<Frame>);

impl WaitingFrames {
    pub(crate) fn push_back(&mut self, frame: Frame) {
        self.0.push_back(frame);
    }

    pub(crate) fn extend(&mut self, frames: impl IntoIterator<Item = Frame>) {
        self.0.extend(frames);
    }
}

impl Receive for WaitingFrames {
    fn receive(
        &mut self,
        _: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut report = RxReport::default();
        while report.frames < budget
            && let Some(frame) = self.0.pop_front()
        {
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp::default(),
                hops: 0,
                token: 0,
            });
            report.frames += 1;
        }
        report.more = !self.0.is_empty();
        Ok(report)
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl Transmit for SentFrames {
    fn transmit(
        &mut self,
        _: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if let Some(why) = self.refuse {
            return Err(why);
        }
        self.echo = outgoing.echo;
        self.frames.extend(Frame::from_view(outgoing.frame));
        Ok(Accepted)
    }

    fn flush(&mut self, _: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}
