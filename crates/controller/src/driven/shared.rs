//! The state that both halves of a port share: the controller, the queue in front of it, the
//! counters.

use crate::driven::backend::{ControllerBackend, ControllerWatch, Lost};
use crate::driven::error_frame;
use crate::{ControllerEvent, ControllerGone, ErrorState, TransmitFailure};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use engine::{LinkState, ReceiveStamp, ReceivedFrame, StampSource};
use frame::{Frame, FrameRef, Nanos};
use spin::{Mutex, MutexGuard, Once};

/// Settings with which a port is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrivenRules {
    /// Length of the queue in front of the transmit buffers, frames.
    pub queue: usize,
    /// Send nothing.
    pub listen_only: bool,
    /// Carry FD frames, too.
    pub fd: bool,
    /// Time from bus-off to the restart, ns; `None`: never restart.
    pub restart: Option<Nanos>,
    /// Wait for the controller's interrupt; otherwise, the controller is polled.
    pub interrupts: bool,
}

/// The state that both halves of a port share.
pub struct DrivenPort {
    name: String,
    pub(crate) rules: DrivenRules,
    inner: Mutex<DrivenState>,
    /// Present from the start on, if the backend has one.
    watch: Once<Box<dyn ControllerWatch>>,
    /// Nothing is left to be done or reported unless the controller has something new.
    calm: AtomicBool,
    /// Number of waiting frames: in the queue and in the transmitting half.
    pub(crate) waiting: AtomicUsize,
}

pub(crate) struct DrivenState {
    /// `None` until the start.
    backend: Option<Box<dyn ControllerBackend>>,
    queue: VecDeque<Frame>,
    state: Option<ErrorState>,
    /// Frames in transmit buffers.
    in_flight: u64,
    token: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Frames that found no free transmit buffer.
    pub(crate) stalled: u64,
    pub(crate) overrun: u64,
    pub(crate) restarts: u64,
    pub(crate) error_frames: u64,
    restart_at: Option<Nanos>,
    pub(crate) news: bool,
    /// The controller has more events than the last call took.
    pub(crate) more: bool,
    last_service: Nanos,
    /// Error frames that were found in a call that could not hand them over.
    pending: VecDeque<Frame>,
}

/// Capacity of `pending`, which keeps error frames until a call can hand them over; others are only
/// counted.
const MAX_PENDING: usize = 16;

/// Time after which the transmitting half services frames in flight, because the receiving half was
/// not called (at the end of a run), ns.
const TRANSMIT_POLL_INTERVAL: Nanos = 1_000_000;

/// Reason why a frame is not taken.
pub(crate) enum SendRefusal {
    Full,
    Down,
    Unsupported,
}

impl DrivenPort {
    /// Creates a port whose controller has not been started.
    #[must_use]
    pub fn new(name: &str, rules: DrivenRules) -> Self {
        Self {
            name: String::from(name),
            rules,
            inner: Mutex::new(DrivenState {
                backend: None,
                queue: VecDeque::with_capacity(rules.queue),
                state: None,
                in_flight: 0,
                token: 0,
                sent: 0,
                lost: 0,
                stalled: 0,
                overrun: 0,
                restarts: 0,
                error_frames: 0,
                restart_at: None,
                news: true,
                more: false,
                last_service: 0,
                pending: VecDeque::with_capacity(MAX_PENDING),
            }),
            waiting: AtomicUsize::new(0),
            watch: Once::new(),
            calm: AtomicBool::new(false),
        }
    }

    /// Attaches the controller, which has been started.
    pub fn begin(&self, backend: Box<dyn ControllerBackend>) {
        if let Some(watch) = backend.watch() {
            // There is only one start.
            self.watch.call_once(|| watch);
        }
        self.lock().begin(backend);
    }

    /// Returns whether it is certain that there is nothing to do and nothing to report.
    #[inline]
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.is_calm() && self.watch.get().is_some_and(|watch| watch.is_quiet())
    }

    /// Returns whether the controller is seen to have something new.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.watch.get().is_some_and(|watch| !watch.is_quiet())
    }

    /// Returns whether there is nothing to do unless the controller has something new.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Relaxed)
    }

    /// Returns the port's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the value that `is_calm` returns.
    #[inline]
    pub(crate) fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Relaxed);
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, DrivenState> {
        self.inner.lock()
    }

    /// Returns `None` while the receiving half hands over a frame of this same port.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, DrivenState>> {
        self.inner.try_lock()
    }
}

impl DrivenState {
    /// Attaches the controller, which has been started.
    fn begin(&mut self, mut backend: Box<dyn ControllerBackend>) {
        self.state = backend.controller().status().state;
        self.backend = Some(backend);
        self.news = true;
    }

    pub(crate) fn link(&self) -> LinkState {
        self.state.map_or(LinkState::Down, LinkState::from)
    }

    #[inline]
    pub(crate) fn passes(&self) -> bool {
        self.state.is_some_and(ErrorState::is_on_bus)
    }

    /// Returns the number of frames in the queue and in transmit buffers.
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.queue.len() as u64 + self.in_flight
    }

    /// Returns whether nothing is left to be done or reported, unless the controller has something
    /// new.
    pub(crate) fn is_calm(&self) -> bool {
        !self.more && !self.news && self.restart_at.is_none() && self.pending.is_empty()
    }

    #[inline]
    pub(crate) const fn restart_at(&self) -> Option<Nanos> {
        self.restart_at
    }

    /// Returns whether a waiting frame can leave.
    #[inline]
    pub(crate) fn can_move(&mut self) -> bool {
        !self.queue.is_empty() && self.room() > 0
    }

    #[inline]
    fn room(&mut self) -> usize {
        self.backend
            .as_mut()
            .map_or(0, |backend| backend.controller().room())
    }

    /// Takes a frame for the bus: into a transmit buffer if one is free, otherwise into the queue.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        frame: FrameRef<'_>,
        shared: &DrivenPort,
    ) -> Result<(), SendRefusal> {
        if !self.passes() {
            return Err(SendRefusal::Down);
        }
        if self.queue.is_empty() {
            match self.put(frame) {
                Err(SendRefusal::Full) => {}
                answer => return answer,
            }
        }
        if shared.waiting.load(Relaxed) >= shared.rules.queue {
            return Err(SendRefusal::Full);
        }
        let frame = Frame::from_view(frame).ok_or(SendRefusal::Unsupported)?;
        self.push(frame, shared);
        shared.waiting.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Appends a frame to the queue; the caller has already counted it in [`DrivenPort::waiting`].
    pub(crate) fn push(&mut self, frame: Frame, shared: &DrivenPort) {
        if self.passes() {
            self.stalled += u64::from(self.room() == 0);
            self.queue.push_back(frame);
        } else {
            shared.waiting.fetch_sub(1, Relaxed);
            self.lost += 1;
        }
    }

    #[inline]
    fn put(&mut self, frame: FrameRef<'_>) -> Result<(), SendRefusal> {
        let Some(backend) = &mut self.backend else {
            return Err(SendRefusal::Down);
        };
        self.token += 1;
        match backend.controller().transmit(frame, self.token) {
            Ok(()) => {
                self.in_flight += 1;
                Ok(())
            }
            Err(crate::ControllerRefusal::Full) => Err(SendRefusal::Full),
            Err(crate::ControllerRefusal::Down) => Err(SendRefusal::Down),
            Err(crate::ControllerRefusal::Unsupported) => Err(SendRefusal::Unsupported),
        }
    }

    /// Moves frames from the queue to the transmit buffers, as far as these have room.
    #[inline]
    pub(crate) fn move_on(&mut self, shared: &DrivenPort) {
        if !self.queue.is_empty() {
            self.move_some(shared);
        }
    }

    fn move_some(&mut self, shared: &DrivenPort) {
        while !self.queue.is_empty() && self.room() > 0 {
            let Some(frame) = self.queue.pop_front() else {
                return;
            };
            shared.waiting.fetch_sub(1, Relaxed);
            if self.put(frame.view()).is_err() {
                self.lost += 1;
            }
        }
    }

    /// Services frames in flight from the transmitting half, if the receiving half has not done so
    /// for [`TRANSMIT_POLL_INTERVAL`]. Nothing is received.
    #[inline]
    pub(crate) fn service_forgotten(&mut self, now: Nanos, shared: &DrivenPort) {
        let forgotten = now.saturating_sub(self.last_service) >= TRANSMIT_POLL_INTERVAL;
        if self.in_flight > 0 && forgotten && !shared.is_quiet() {
            shared.set_calm(false);
            // The receiving half reports errors.
            let _ = self.service(now, 0, false, shared, &mut |_| {});
        }
    }

    /// Services the controller and processes its events. Returns the number of frames that were
    /// handed over.
    #[inline]
    pub(crate) fn service(
        &mut self,
        now: Nanos,
        budget: usize,
        errors: bool,
        shared: &DrivenPort,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<usize, ControllerGone> {
        let Some(mut backend) = self.backend.take() else {
            return Ok(0);
        };
        self.last_service = now;
        if self.restart_at.is_some_and(|at| at <= now) {
            self.restart_at = None;
            self.restarts += 1;
            // A controller that does not restart stays bus-off, and reports this state.
            let _ = backend.controller().restart();
        }
        let mut frames = 0;
        if budget > 0 {
            while let Some(frame) = self.pending.pop_front() {
                self.hand_over_error(&frame, now, errors, take, &mut frames);
            }
        }
        let serviced = backend.controller().service(budget, &mut |event| {
            // First, because a frame is waiting.
            if let ControllerEvent::Received { frame, stamp } = event {
                frames += 1;
                take(received(frame, stamp, now));
                return;
            }
            self.report(
                &event,
                now,
                (budget > 0).then_some(errors),
                shared,
                take,
                &mut frames,
            );
        });
        self.backend = Some(backend);
        match serviced {
            Ok(more) => {
                self.more = more;
                self.move_on(shared);
                Ok(frames)
            }
            Err(gone) => {
                self.become_state(None, shared);
                Err(gone)
            }
        }
    }

    fn hand_over_error(
        &mut self,
        frame: &Frame,
        now: Nanos,
        wanted: bool,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
        frames: &mut usize,
    ) {
        if !wanted {
            self.error_frames += 1;
            return;
        }
        *frames += 1;
        take(ReceivedFrame {
            frame: frame.view(),
            stamp: gateways(now),
            hops: 0,
            token: 0,
        });
    }

    /// Processes an event of the controller other than a received frame. `errors`: whether error
    /// frames are wanted; `None` if this call cannot hand over any.
    fn report(
        &mut self,
        event: &ControllerEvent<'_>,
        now: Nanos,
        errors: Option<bool>,
        shared: &DrivenPort,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
        frames: &mut usize,
    ) {
        match *event {
            // `service` has already handed it over.
            ControllerEvent::Received { .. } => return,
            ControllerEvent::Sent { .. } => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.sent += 1;
                return;
            }
            ControllerEvent::Failed { why, .. } => {
                self.in_flight = self.in_flight.saturating_sub(1);
                self.lost += 1;
                if why == TransmitFailure::Gone {
                    self.become_state(None, shared);
                }
            }
            ControllerEvent::Overrun { frames, .. } => self.overrun += u64::from(frames),
            ControllerEvent::Status(status) => {
                self.become_state(status.state, shared);
                if status.state == Some(ErrorState::BusOff) {
                    let pause = shared.rules.restart;
                    self.restart_at = pause.map(|pause| now.saturating_add(pause));
                }
            }
            ControllerEvent::ArbitrationLost { .. } | ControllerEvent::BusError(_) => {}
        }
        let Some(frame) = error_frame::from_event(event) else {
            return;
        };
        match errors {
            Some(wanted) => self.hand_over_error(&frame, now, wanted, take, frames),
            None if self.pending.len() < MAX_PENDING => self.pending.push_back(frame),
            None => self.error_frames += 1,
        }
    }

    fn become_state(&mut self, state: Option<ErrorState>, shared: &DrivenPort) {
        if self.state == state {
            return;
        }
        self.state = state;
        self.news = true;
        if !state.is_some_and(ErrorState::is_on_bus) {
            // The waiting frames cannot leave any more.
            self.lost += self.queue.len() as u64;
            shared.waiting.fetch_sub(self.queue.len(), Relaxed);
            self.queue.clear();
        }
    }

    /// Consumes interrupts and returns whether there is work to do.
    #[inline]
    pub(crate) fn has_work(&mut self, now: Nanos) -> Result<bool, Lost> {
        let woken = match &mut self.backend {
            Some(backend) if backend.waits() => backend.take_interrupt()?,
            _ => true,
        };
        let due = self.restart_at.is_some_and(|at| at <= now);
        Ok(woken || due || self.more)
    }

    /// Enables the next interrupt.
    #[inline]
    pub(crate) fn arm(&mut self) -> Result<(), Lost> {
        match &mut self.backend {
            Some(backend) if backend.waits() => backend.arm(),
            _ => Ok(()),
        }
    }
}

/// Returns a received frame with the controller's stamp, if there is one, otherwise with the
/// gateway's.
#[inline]
fn received(frame: FrameRef<'_>, stamp: Option<Nanos>, now: Nanos) -> ReceivedFrame<'_> {
    ReceivedFrame {
        frame,
        stamp: stamp.map_or(gateways(now), |ns| ReceiveStamp {
            ns,
            source: StampSource::Hardware,
        }),
        hops: 0,
        token: 0,
    }
}

/// Returns the gateway's own stamp, for frames that were not stamped earlier.
const fn gateways(now: Nanos) -> ReceiveStamp {
    ReceiveStamp {
        ns: now,
        source: StampSource::Gateway,
    }
}
