//! A half that writes down what passes.

use crate::error::PortError;
use crate::half::{Receive, Transmit};
use crate::passing::{Outgoing, Received};
use crate::report::{Accepted, FlushReport, Refused, RxCounters, RxReport, TxCounters};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;
use route::Interest;

/// Copies each frame that passes through a half to a transmitting half, most often one that
/// writes a log: received frames with their stamps, sent ones when they are taken.
///
/// Tracing never gets in the way: what the trace refuses is counted, and where it fails it ends,
/// with a remark.
pub struct Traced<H, T> {
    half: H,
    trace: T,
    untraced: u64,
    failed: Option<String>,
}

impl<H, T: Transmit> Traced<H, T> {
    /// `half`, with copies to `trace`.
    pub fn new(half: H, trace: T) -> Self {
        Self {
            half,
            trace,
            untraced: 0,
            failed: None,
        }
    }

    /// Frames that passed without a copy.
    #[must_use]
    pub const fn untraced(&self) -> u64 {
        self.untraced
    }

    /// The half whose frames are traced.
    #[must_use]
    pub const fn half(&self) -> &H {
        &self.half
    }

    /// The half and its trace.
    #[must_use]
    pub fn into_parts(self) -> (H, T) {
        (self.half, self.trace)
    }

    fn copy(trace: &mut T, untraced: &mut u64, now: Nanos, outgoing: Outgoing<'_>) {
        if trace.transmit(now, outgoing).is_err() {
            *untraced += 1;
        }
    }

    fn flush_trace(&mut self, now: Nanos) {
        if self.failed.is_none()
            && let Err(error) = self.trace.flush(now)
        {
            self.failed = Some(format!("tracing ended: {error}"));
        }
    }

    fn add_remarks(&self, mut remarks: Vec<String>) -> Vec<String> {
        remarks.extend(self.failed.clone());
        if self.untraced > 0 {
            remarks.push(format!("{} frames were not traced", self.untraced));
        }
        remarks
    }
}

impl<H: Receive, T: Transmit> Receive for Traced<H, T> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        let (trace, untraced) = (&mut self.trace, &mut self.untraced);
        let result = self.half.receive(now, budget, &mut |received| {
            let copy = Outgoing {
                stamp: Some(received.stamp),
                hops: received.hops,
                ..Outgoing::new(received.frame, received.token)
            };
            Self::copy(trace, untraced, now, copy);
            take(received);
        });
        self.flush_trace(now);
        result
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> RxCounters {
        self.half.counters()
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.half.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        self.half.is_up()
    }

    fn remarks(&self) -> Vec<String> {
        self.add_remarks(self.half.remarks())
    }
}

impl<H: Transmit, T: Transmit> Transmit for Traced<H, T> {
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        let accepted = self.half.transmit(now, outgoing)?;
        Self::copy(&mut self.trace, &mut self.untraced, now, outgoing);
        Ok(accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.flush_trace(now);
        self.half.flush(now)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> TxCounters {
        self.half.counters()
    }

    fn remarks(&self) -> Vec<String> {
        self.add_remarks(self.half.remarks())
    }
}
