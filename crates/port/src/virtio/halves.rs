//! Both halves of a machine's port.

use super::function::{FunctionState as SharedFunction, TurnResult};
use crate::{
    Accepted, FlushReport, Halves, LinkState, OutgoingFrame, PollReceive, PollTransmit, PortError,
    PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use ::virtio::{DeviceLink, TakenFrame, VirtioDevice};
use frame::{Frame, Nanos};
use linux::events::SetMember;
use std::collections::VecDeque;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of times that a flush looks for buffers: a machine that adds them as fast as they
/// are used must not hold up the other ports.
const TRIES: usize = 4;
/// Maximum number of remarks that are kept for the user.
const REMARKS: usize = 16;

/// The state that both halves share.
struct VirtioState {
    device: VirtioDevice,
    /// Frames that wait because the machine has no buffer for them yet.
    held: VecDeque<Frame>,
    link: DeviceLink,
    /// The machine's part of a controller.
    function: Option<SharedFunction>,
    remarks: Vec<String>,
    /// Messages that the user should get at once; the oldest first.
    alarms: VecDeque<String>,
    taken: u64,
    sent: u64,
    lost: u64,
    stalled: u64,
}

impl VirtioState {
    /// Gives the waiting frames to the machine. Returns the number of frames given, and the number
    /// of frames that have left the queue, given or lost.
    fn give(&mut self) -> (usize, usize) {
        let before = self.held.len();
        if self.device.link() != DeviceLink::Up {
            self.lost += before as u64;
            self.held.clear();
            return (0, before);
        }
        let mut given = 0;
        while let Some(frame) = self.held.front() {
            // A machine that was reset may have negotiated fewer features.
            if self.device.carries(&frame.view()) {
                if !self.device.give(&frame.view()) {
                    self.stalled += 1;
                    break;
                }
                self.sent += 1;
                given += 1;
            } else {
                self.lost += 1;
            }
            self.held.pop_front();
        }
        (given, before - self.held.len())
    }
}

struct SharedState(Mutex<VirtioState>);

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, VirtioState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the halves of a port; up to `queue` frames wait for the machine.
pub(super) fn halves(
    device: VirtioDevice,
    queue: usize,
    function: Option<SharedFunction>,
) -> Halves {
    let events = Arc::clone(device.events());
    let shared = Arc::new(SharedState(Mutex::new(VirtioState {
        link: device.link(),
        device,
        held: VecDeque::with_capacity(queue),
        function,
        remarks: Vec::new(),
        alarms: VecDeque::new(),
        taken: 0,
        sent: 0,
        lost: 0,
        stalled: 0,
    })));
    let receive = VirtioReceive {
        shared: Arc::clone(&shared),
        events,
        batch: Vec::new(),
        turn: TurnResult::default(),
    };
    (
        Box::new(receive),
        Box::new(VirtioTransmit { shared, queue }),
    )
}

struct VirtioReceive {
    shared: Arc<SharedState>,
    events: Arc<SetMember>,
    batch: Vec<TakenFrame>,
    turn: TurnResult,
}

impl Receive for VirtioReceive {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let (more, news, gone) = {
            // Frames are copied out under the lock, because `take` may transmit to this very port.
            let mut inner = self.shared.lock();
            inner.device.work(now);
            let room = REMARKS.saturating_sub(inner.remarks.len());
            let remarks = inner.device.remarks();
            inner.remarks.extend(remarks.into_iter().take(room));
            let room = REMARKS.saturating_sub(inner.alarms.len());
            let alarms = inner.device.alarms();
            inner.alarms.extend(alarms.into_iter().take(room));
            let VirtioState {
                device, function, ..
            } = &mut *inner;
            let more = match function {
                Some(function) => {
                    function.turn(device, now, &mut self.turn);
                    self.turn.more || self.turn.sent.len() > budget
                }
                None => {
                    let batch = &mut self.batch;
                    device.take(budget, &mut |taken| batch.push(taken))
                }
            };
            let link = inner.device.link();
            let news = link != inner.link || !inner.alarms.is_empty();
            inner.link = link;
            let (_, gone) = inner.give();
            (more, news, gone > 0)
        };
        for taken in &self.batch {
            take(ReceivedFrame {
                frame: taken.frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Gateway,
                },
                hops: 0,
                token: 0,
            });
        }
        let ended = self.turn.sent.len().min(budget);
        for (frame, ns) in self.turn.sent.drain(..ended) {
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns,
                    source: StampSource::Bus,
                },
                hops: 0,
                token: 0,
            });
        }
        let frames = self.batch.len() + ended;
        let mut inner = self.shared.lock();
        for taken in self.batch.drain(..) {
            inner.device.finish(taken.ticket, true);
        }
        let armed = inner.device.notify_and_arm();
        let waits =
            !inner.held.is_empty() || inner.function.as_ref().is_some_and(SharedFunction::holds);
        Ok(RxReport {
            frames,
            more: more || armed.work() || armed.room && waits,
            news,
            ended: gone,
            finished: false,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        if !self.turn.sent.is_empty() {
            return Some(0);
        }
        let inner = self.shared.lock();
        let bus = inner.function.as_ref().and_then(SharedFunction::deadline);
        bus.into_iter().chain(inner.device.deadline()).min()
    }

    fn counters(&self) -> RxCounters {
        let inner = self.shared.lock();
        let counters = inner.device.counters();
        RxCounters {
            malformed: counters.malformed + counters.broken,
            reopened: counters.connections.saturating_sub(1),
            ..RxCounters::default()
        }
    }

    fn is_up(&self) -> bool {
        self.shared.lock().device.link() == DeviceLink::Up
    }

    fn link(&self) -> LinkState {
        match self.shared.lock().device.link() {
            DeviceLink::Up => LinkState::Up,
            DeviceLink::BusOff => LinkState::BusOff,
            DeviceLink::Stopped | DeviceLink::Broken => LinkState::Down,
            DeviceLink::Absent => LinkState::Gone,
        }
    }

    fn take_alarm(&mut self) -> Option<String> {
        self.shared.lock().alarms.pop_front()
    }

    fn remarks(&self) -> Vec<String> {
        let inner = self.shared.lock();
        let function = inner.function.as_ref().and_then(SharedFunction::remark);
        inner.remarks.iter().cloned().chain(function).collect()
    }
}

impl PollReceive for VirtioReceive {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: Some(self.events.set().as_fd().as_raw_fd()),
            readable: true,
            writable: false,
        }
    }

    fn events(&self) -> Option<&SetMember> {
        Some(&self.events)
    }
}

struct VirtioTransmit {
    shared: Arc<SharedState>,
    queue: usize,
}

impl Transmit for VirtioTransmit {
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut inner = self.shared.lock();
        if inner.device.link() != DeviceLink::Up {
            return Err(TransmitRefusal::Down);
        }
        let frame = Frame::from_view(outgoing.frame);
        let carried = |_: &Frame| inner.device.carries(&outgoing.frame);
        let frame = frame.filter(carried).ok_or(TransmitRefusal::Unsupported)?;
        if inner.held.len() >= self.queue {
            return Err(TransmitRefusal::Full);
        }
        inner.taken += 1;
        if inner.held.is_empty() && inner.device.give(&outgoing.frame) {
            inner.sent += 1;
        } else {
            inner.held.push_back(frame);
        }
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        let mut inner = self.shared.lock();
        let mut sent = 0;
        for _ in 0..TRIES {
            sent += inner.give().0;
            // Continue only if buffers came while the driver was asked to notify of them.
            if !inner.device.notify_driver() || inner.held.is_empty() {
                break;
            }
        }
        Ok(FlushReport {
            sent,
            held: inner.held.len(),
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        let inner = self.shared.lock();
        TxCounters {
            taken: inner.taken,
            sent: inner.sent,
            lost: inner.lost,
            held: inner.held.len() as u64,
            stalled: inner.stalled,
            ..TxCounters::default()
        }
    }

    fn room(&self) -> usize {
        let inner = self.shared.lock();
        if inner.device.link() != DeviceLink::Up {
            // The half refuses frames for another reason.
            return usize::MAX;
        }
        self.queue - inner.held.len()
    }
}

/// The receiving half waits for the machine, and reports when held frames have left.
impl PollTransmit for VirtioTransmit {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}
