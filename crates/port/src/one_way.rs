//! The other half of a port that goes one way only.

use crate::{
    Accepted, FlushReport, Outgoing, PortError, Receive, Received, Refused, RxCounters, RxReport,
    Transmit, TxCounters, Wait,
};
use frame::Nanos;

/// A receiving half from which nothing ever comes: of a log that is only written.
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

    fn wait(&self) -> Wait {
        Wait::default()
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

/// A transmitting half that carries nothing: of a log that is only read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Transmit for Nowhere {
    fn transmit(&mut self, _now: Nanos, _outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        Err(Refused::Unsupported)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn wait(&self) -> Wait {
        Wait::default()
    }

    fn counters(&self) -> TxCounters {
        TxCounters::default()
    }
}
