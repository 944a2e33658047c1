//! The receiving half.

pub(super) mod mmsg;
pub(super) mod read;
pub(super) mod ring;
pub(super) mod uring;

use super::filter::filters;
use super::shared::{SharedSockets, SocketState};
use super::way::{DatagramArrival, ReceiveWay};
use crate::{
    FrameInterest, InterestIds, LinkState, PollReceive, PortError, PortWait, Receive, ReceiveStamp,
    ReceivedFrame, RxCounters, RxReport, StampSource,
};
use frame::{FrameRef, Nanos, wire};
use linux::Errno;
use linux::can::layout::decode;
use linux::can::{controller_trouble, error_class, reported_state};
use std::sync::Arc;

/// Interval at which the worker calls a port for which it never waits, and from which no route
/// takes frames, ns: a call may make a system call, and would come before each frame of the other
/// ports. The call detects changes of the interface, which the watch over all interfaces reports,
/// too.
const ASK_INTERVAL: Nanos = 1_000_000;

/// The receiving half, with any way to receive.
pub(super) struct RawReceive<W> {
    shared: Arc<SharedSockets>,
    way: W,
    inspector: FrameInspector,
    /// True if some route takes frames from this port.
    wanted: bool,
    /// Time of the next call of the way if none does.
    next: Nanos,
}

/// The processing of each received datagram.
struct FrameInspector {
    /// Whether error frames are handed over.
    error_frames: bool,
    hardware_stamps: bool,
    /// The last known value of the kernel's drop counter.
    dropped: u32,
    counters: RxCounters,
}

impl<W: ReceiveWay + 'static> RawReceive<W> {
    pub(super) fn new(shared: Arc<SharedSockets>, way: W, hardware_stamps: bool) -> Self {
        Self {
            shared,
            way,
            inspector: FrameInspector {
                error_frames: false,
                hardware_stamps,
                dropped: 0,
                counters: RxCounters::default(),
            },
            wanted: true,
            next: 0,
        }
    }

    /// Returns whether to skip the call of the way now.
    #[inline]
    fn is_resting(&mut self, now: Nanos) -> bool {
        if self.wanted || !self.is_busy() {
            return false;
        }
        if now < self.next {
            return true;
        }
        self.next = now.saturating_add(ASK_INTERVAL);
        false
    }
}

impl FrameInspector {
    /// Hands over one datagram, if it is a wanted frame. Returns whether it was handed over.
    #[inline]
    fn hand_over(
        &mut self,
        shared: &SharedSockets,
        now: Nanos,
        arrival: &DatagramArrival<'_>,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> bool {
        if let Some(dropped) = arrival.lost {
            self.counters.overrun += u64::from(dropped.wrapping_sub(self.dropped));
            self.dropped = dropped;
        }
        let Some(frame) = decode(arrival.bytes) else {
            self.counters.malformed += 1;
            return false;
        };
        if frame.id().is_err() {
            // The controller's own error frames are not local; but any process can send a frame
            // that looks like one.
            if !arrival.local {
                update_state(shared, frame, now);
                self.counters.overrun += u64::from(is_overflow(frame));
            }
            if !self.error_frames {
                self.counters.error_frames += 1;
                return false;
            }
        } else if shared.state() == SocketState::Down {
            shared.resume();
        }
        self.counters.local += u64::from(arrival.local);
        let bits = wire::unstuffed(frame.header());
        self.counters.bits += u64::from(bits.nominal);
        self.counters.data_bits += u64::from(bits.data);
        let stamp = |ns, source| ReceiveStamp { ns, source };
        let hardware = arrival.hardware.filter(|_| self.hardware_stamps);
        take(ReceivedFrame {
            frame,
            stamp: match (hardware, arrival.software) {
                (Some(ns), _) => stamp(ns, StampSource::Hardware),
                (None, Some(ns)) => stamp(ns, StampSource::Kernel),
                (None, None) => stamp(now, StampSource::Gateway),
            },
            hops: 0,
            token: 0,
        });
        true
    }
}

/// Returns whether an error frame reports that the controller's receive FIFO overflowed. It does
/// not report how many frames were lost; it was at least one.
fn is_overflow(frame: FrameRef<'_>) -> bool {
    let trouble = frame.data().get(1).copied().unwrap_or(0);
    frame.id().raw() & error_class::CONTROLLER != 0
        && trouble & controller_trouble::RX_OVERFLOW != 0
}

/// Updates the state of the interface from an error frame (`uapi/linux/can/error.h`).
fn update_state(shared: &SharedSockets, frame: FrameRef<'_>, now: Nanos) {
    let id = frame.id();
    if id.raw() & error_class::BUS_OFF != 0 && shared.may_be_bus_off() {
        shared.suspend(SocketState::BusOff, now);
    }
    if id.raw() & error_class::RESTARTED != 0 && shared.state() != SocketState::Up {
        shared.check_now();
    }
    if let Some(state) = reported_state(frame) {
        shared.set_errors(state);
    }
}

impl<W: ReceiveWay + 'static> Receive for RawReceive<W> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        self.shared.retry(now);
        let (mut frames, mut looked, mut more) = (0, 0, false);
        if self.is_resting(now) {
            return Ok(RxReport {
                news: self.shared.take_news(),
                ..RxReport::default()
            });
        }
        while looked < budget && self.shared.state() != SocketState::Gone {
            let (shared, inspector) = (&*self.shared, &mut self.inspector);
            let mut inspect = |arrival: DatagramArrival<'_>| {
                frames += usize::from(inspector.hand_over(shared, now, &arrival, take));
            };
            match self.way.receive(budget - looked, &mut inspect) {
                Ok(brought) => {
                    looked += brought.count;
                    more = brought.more;
                    if !more {
                        break;
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {
                    more = false;
                    break;
                }
                // The kernel reports it once; the socket stays bound.
                Err(Errno::NETDOWN) => {
                    self.shared.suspend(SocketState::Down, now);
                    more = true;
                    break;
                }
                Err(Errno::NODEV | Errno::NXIO) => {
                    self.shared.suspend(SocketState::Gone, now);
                    more = false;
                }
                Err(Errno::NOBUFS | Errno::NOMEM) => {
                    self.shared.remark(format!(
                        "no memory to receive from {}",
                        self.shared.interface()
                    ));
                    more = false;
                    break;
                }
                Err(e) => return Err(self.shared.fail("cannot receive from", e)),
            }
        }
        Ok(RxReport {
            frames,
            more,
            finished: false,
            news: self.shared.take_news(),
            ended: false,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let due = self.way.is_due() && self.shared.state() != SocketState::Gone;
        due.then_some(0).or_else(|| self.shared.next_check())
    }

    fn counters(&self) -> RxCounters {
        // Include frames that were lost after the last received frame: they must not count as
        // frames that the port did not request.
        let lost = self.way.lost();
        let since = lost.map_or(0, |lost| lost.wrapping_sub(self.inspector.dropped));
        RxCounters {
            reopened: self.shared.reopened(),
            overrun: self.inspector.counters.overrun + u64::from(since),
            ..self.inspector.counters
        }
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.inspector.error_frames = interest.error_frames;
        self.wanted = interest.error_frames || !matches!(interest.ids, InterestIds::Nothing);
        self.shared.set_filters(filters(interest))
    }

    fn is_up(&self) -> bool {
        self.shared.state() == SocketState::Up
    }

    fn link(&self) -> LinkState {
        self.shared.link()
    }

    fn take_alarm(&mut self) -> Option<String> {
        self.shared.take_alarm()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.remarks()
    }
}

impl<W: ReceiveWay + 'static> PollReceive for RawReceive<W> {
    fn wait(&self) -> PortWait {
        let bound = self.shared.state() != SocketState::Gone;
        PortWait {
            fd: bound.then(|| self.way.fd()),
            readable: bound,
            writable: false,
        }
    }

    fn is_busy(&self) -> bool {
        self.way.is_busy() && self.shared.state() == SocketState::Up
    }
}
