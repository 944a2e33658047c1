//! The other half of a port that works in one direction only.

use crate::error::PortError;
use crate::half::{Receive, Transmit};
use crate::passing::{Outgoing, Received};
use crate::report::{Accepted, FlushReport, Refused, RxCounters, RxReport, TxCounters};
use frame::Nanos;

/// A receiving half that never has frames: of a log that is only written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Receive for Nothing {
    fn receive(
        &mut self,
        _now: Nanos,
        _budget: usize,
        _take: &mut dyn FnMut(Received<'_>),
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
pub struct Nowhere;

impl Transmit for Nowhere {
    fn transmit(&mut self, _now: Nanos, _outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        Err(Refused::Unsupported)
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
