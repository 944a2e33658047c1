//! The other half of a port that works in one direction only.

use crate::error::PortError;
use crate::half::{Receive, Transmit};
use crate::passing::{OutgoingFrame, ReceivedFrame};
use crate::report::{Accepted, FlushReport, RxCounters, RxReport, TransmitRefusal, TxCounters};
use frame::Nanos;

/// A receiving half that never has frames: of a log that is only written.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullReceiver;

impl Receive for NullReceiver {
    fn receive(
        &mut self,
        _now: Nanos,
        _budget: usize,
        _take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        Ok(RxReport {
            finished: true,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

/// A transmitting half that carries no frames: of a log that is only read.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullTransmitter;

impl Transmit for NullTransmitter {
    fn transmit(
        &mut self,
        _now: Nanos,
        _outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        Err(TransmitRefusal::Unsupported)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}
