//! The two halves of the port.

use crate::driven::backend::Lost;
use crate::driven::shared::{DrivenPort, SendRefusal};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;
use engine::{
    Accepted, FlushReport, FrameInterest, LinkState, OutgoingFrame, PortError, Receive,
    ReceivedFrame, RxCounters, RxReport, Transmit, TransmitRefusal, TxCounters,
};
use frame::{Frame, FrameRef, Kind, Nanos};

/// The receiving half.
pub struct DrivenReceiver {
    shared: Arc<DrivenPort>,
    error_frames: bool,
}

impl DrivenReceiver {
    /// Creates the receiving half of this port.
    #[must_use]
    pub const fn new(shared: Arc<DrivenPort>) -> Self {
        Self {
            shared,
            error_frames: false,
        }
    }

    /// Returns whether it is certain that there is nothing to do and nothing to report.
    #[inline]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.shared.is_quiet()
    }

    fn fail(&self, source: Lost) -> PortError {
        PortError {
            port: String::from(self.shared.name()),
            what: String::from("lost its controller"),
            source: Some(source),
        }
    }
}

impl Receive for DrivenReceiver {
    #[inline]
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let shared = &*self.shared;
        if shared.is_quiet() {
            return Ok(RxReport::default());
        }
        let mut inner = shared.lock();
        let mut frames = 0;
        let before = inner.held();
        let waits = shared.rules.interrupts;
        if !waits || inner.has_work(now).map_err(|e| self.fail(e))? {
            frames = inner
                .service(now, budget, self.error_frames, shared, take)
                .map_err(|e| self.fail(Box::new(GoneError(e))))?;
            if waits && !inner.more {
                inner.arm().map_err(|e| self.fail(e))?;
            }
        }
        let report = RxReport {
            frames,
            more: inner.more,
            finished: false,
            news: core::mem::take(&mut inner.news),
            ended: inner.held() < before,
        };
        shared.set_calm(inner.is_calm());
        Ok(report)
    }

    #[inline]
    fn deadline(&self) -> Option<Nanos> {
        if self.shared.is_calm() {
            return None;
        }
        self.shared.lock().restart_at()
    }

    fn counters(&self) -> RxCounters {
        let inner = self.shared.lock();
        RxCounters {
            overrun: inner.overrun,
            error_frames: inner.error_frames,
            reopened: inner.restarts,
            ..RxCounters::default()
        }
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.shared.lock().passes()
    }

    fn link(&self) -> LinkState {
        self.shared.lock().link()
    }
}

/// [`crate::ControllerGone`] as a source of a [`PortError`].
#[derive(thiserror::Error, Debug)]
#[error("{0}")]
struct GoneError(crate::ControllerGone);

/// The transmitting half.
pub struct DrivenTransmitter {
    shared: Arc<DrivenPort>,
    /// Frames that arrived while the receiving half of this port was handing over one: a route back
    /// to the port from which the frame came.
    aside: VecDeque<Frame>,
    taken: u64,
}

impl DrivenTransmitter {
    /// Creates the transmitting half of this port.
    #[must_use]
    pub fn new(shared: Arc<DrivenPort>) -> Self {
        let aside = VecDeque::with_capacity(shared.rules.queue);
        Self {
            shared,
            aside,
            taken: 0,
        }
    }

    #[inline]
    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        let rules = &self.shared.rules;
        let kind = match frame.kind() {
            Kind::Classic => true,
            Kind::Fd => rules.fd && !frame.id().is_rtr(),
            Kind::Xl => false,
        };
        // An error frame describes a controller's state; it never goes on the bus.
        kind && !frame.id().is_err() && !rules.listen_only
    }

    /// Appends the frames that were put aside to the queue.
    #[inline]
    fn bring_in(&mut self) {
        if !self.aside.is_empty() {
            self.bring_in_some();
        }
    }

    #[cold]
    fn bring_in_some(&mut self) {
        if let Some(mut inner) = self.shared.try_lock() {
            for frame in self.aside.drain(..) {
                inner.push(frame, &self.shared);
            }
            inner.move_on(&self.shared);
        }
    }

    #[inline]
    fn put_aside(&mut self, frame: FrameRef<'_>) -> Result<(), SendRefusal> {
        if self.shared.waiting.load(Relaxed) >= self.shared.rules.queue {
            return Err(SendRefusal::Full);
        }
        let frame = Frame::from_view(frame).ok_or(SendRefusal::Unsupported)?;
        self.aside.push_back(frame);
        self.shared.waiting.fetch_add(1, Relaxed);
        Ok(())
    }
}

impl Transmit for DrivenTransmitter {
    #[inline]
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if !self.carries(&outgoing.frame) {
            return Err(TransmitRefusal::Unsupported);
        }
        self.bring_in();
        let lock = self.shared.try_lock();
        let answer = match lock {
            Some(mut inner) => inner.offer(outgoing.frame, &self.shared),
            None => {
                drop(lock);
                self.put_aside(outgoing.frame)
            }
        };
        match answer {
            Ok(()) => {
                self.taken += 1;
                Ok(Accepted)
            }
            Err(SendRefusal::Full) => Err(TransmitRefusal::Full),
            Err(SendRefusal::Down) => Err(TransmitRefusal::Down),
            Err(SendRefusal::Unsupported) => Err(TransmitRefusal::Unsupported),
        }
    }

    #[inline]
    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.bring_in();
        let mut inner = self.shared.lock();
        let before = inner.sent;
        inner.service_forgotten(now, &self.shared);
        inner.move_on(&self.shared);
        Ok(FlushReport {
            sent: (inner.sent - before) as usize,
            held: inner.held() as usize,
        })
    }

    #[inline]
    fn deadline(&self) -> Option<Nanos> {
        // The interrupt that frees a buffer wakes the receiving half, which moves frames on.
        self.shared.lock().can_move().then_some(0)
    }

    fn counters(&self) -> TxCounters {
        let inner = self.shared.lock();
        TxCounters {
            taken: self.taken,
            sent: inner.sent,
            lost: inner.lost,
            held: inner.held() + self.aside.len() as u64,
            stalled: inner.stalled,
            ..TxCounters::default()
        }
    }

    #[inline]
    fn room(&self) -> usize {
        let shared = &self.shared;
        let free = shared
            .rules
            .queue
            .saturating_sub(shared.waiting.load(Relaxed));
        match shared.try_lock() {
            Some(inner) if !inner.passes() => usize::MAX,
            _ => free,
        }
    }
}
