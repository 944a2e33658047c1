//! Both halves of a port in shared memory.

use super::attached::{AttachedMemory, MemoryAttachment};
use crate::{
    Accepted, FlushReport, Halves, LinkState, OutgoingFrame, PollReceive, PollTransmit, PortError,
    PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use ::shm::{NotSent, PeerLink, RingCounters, ShmRings};
use frame::{Frame, Nanos};
use linux::shared::SharedMapping as Memory;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Interval at which the port checks whether the other side has read the held frames, ns.
const CHECK_INTERVAL: Nanos = 20_000_000;

/// Number of the lives that this process has begun. It counts over all ports: a port that is opened
/// again at the time at which its predecessor began must not continue the session of that
/// predecessor, because it would receive frames of that session a second time.
static LIVES: AtomicU32 = AtomicU32::new(0);

/// Returns another number at each call, from the time, the number of this process, and [`LIVES`].
fn another_life(now: Nanos) -> u32 {
    let lives = LIVES.fetch_add(1, Ordering::Relaxed);
    (now as u32).rotate_left(13) ^ std::process::id() ^ lives.rotate_left(24)
}

struct ShmState {
    attached: Box<dyn MemoryAttachment>,
    rings: Option<ShmRings<Memory>>,
    link: LinkState,
    /// Counters of memory that is no longer in use.
    before: RingCounters,
    stalled: u64,
    /// Number of frames that had left at the last report.
    reported: u64,
    remarks: Vec<String>,
}

impl ShmState {
    fn counters(&self) -> RingCounters {
        let now = self
            .rings
            .as_ref()
            .map(ShmRings::counters)
            .unwrap_or_default();
        let before = &self.before;
        RingCounters {
            taken: before.taken + now.taken,
            sent: before.sent + now.sent,
            lost: before.lost + now.lost,
            received: before.received + now.received,
            malformed: before.malformed + now.malformed,
            broken: before.broken + now.broken,
            sessions: before.sessions + now.sessions,
        }
    }

    fn held(&self) -> u32 {
        self.rings.as_ref().map_or(0, ShmRings::held)
    }

    fn link_of(&self) -> LinkState {
        match self.rings.as_ref().map(ShmRings::link) {
            Some(PeerLink::Up) => LinkState::Up,
            Some(PeerLink::Foreign) => LinkState::Down,
            Some(PeerLink::Absent | PeerLink::Silent) | None => LinkState::Gone,
        }
    }

    /// Checks the memory, the doorbell, and the state of the other side.
    fn watch_peer(&mut self, now: Nanos) {
        let in_use = self.link_of() == LinkState::Up;
        if let Some(got) = self.attached.take(now, in_use) {
            self.begin(got, now);
        }
        self.remarks.extend(self.attached.remarks());
        let Some(rings) = &mut self.rings else {
            return;
        };
        let foreign = rings.link() == PeerLink::Foreign;
        // A side that has just come may not have noticed this one yet.
        if rings.watch_peer(now) {
            self.attached.ring();
        }
        if !foreign && rings.link() == PeerLink::Foreign {
            self.remarks.push(
                "the other side of the memory is not cangate, or has another version: use the same version on \
                 both sides"
                    .to_owned(),
            );
        }
    }

    fn begin(&mut self, got: AttachedMemory, now: Nanos) {
        if let Some(old) = &mut self.rings {
            // The frames in the old memory will not be read.
            old.leave();
            let mut counters = self.counters();
            counters.lost += u64::from(self.held());
            self.before = counters;
        }
        self.rings = None;
        match ShmRings::new(got.memory, got.side, another_life(now), now) {
            Ok(rings) => {
                self.rings = Some(rings);
                self.attached.ring();
            }
            Err(error) => self.remarks.push(error.to_string()),
        }
    }

    /// Publishes the sent frames to the other side, and rings its doorbell if it waits.
    fn publish(&mut self) -> usize {
        let Some(rings) = &mut self.rings else {
            return 0;
        };
        let (frames, ring) = rings.publish();
        if ring {
            self.attached.ring();
        }
        frames as usize
    }
}

/// Notifies the other side at once that this one leaves.
impl Drop for ShmState {
    fn drop(&mut self) {
        if self.rings.as_mut().is_some_and(ShmRings::leave) {
            self.attached.ring();
        }
    }
}

struct SharedState(Mutex<ShmState>);

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, ShmState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn halves(attached: Box<dyn MemoryAttachment>) -> Halves {
    let fd = attached.fd();
    let shared = Arc::new(SharedState(Mutex::new(ShmState {
        attached,
        rings: None,
        link: LinkState::Gone,
        before: RingCounters::default(),
        stalled: 0,
        reported: 0,
        remarks: Vec::new(),
    })));
    let receive = ShmReceive {
        shared: Arc::clone(&shared),
        wait: PortWait {
            fd,
            readable: true,
            writable: false,
        },
        batch: Vec::new(),
    };
    (
        Box::new(receive),
        Box::new(ShmTransmit { shared, look: None }),
    )
}

struct ShmReceive {
    shared: Arc<SharedState>,
    wait: PortWait,
    batch: Vec<Frame>,
}

impl Receive for ShmReceive {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let (more, news, ended) = {
            // Frames are copied out under the lock, because `take` may transmit to this very port.
            let mut inner = self.shared.lock();
            inner.watch_peer(now);
            let batch = &mut self.batch;
            let more = inner
                .rings
                .as_mut()
                .is_some_and(|rings| rings.receive(budget, &mut |frame| batch.push(frame)));
            let link = inner.link_of();
            let news = std::mem::replace(&mut inner.link, link) != link;
            let counters = inner.counters();
            let left = counters.sent + counters.lost;
            let ended = std::mem::replace(&mut inner.reported, left) != left;
            (more, news, ended)
        };
        for frame in &self.batch {
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Gateway,
                },
                hops: 0,
                token: 0,
            });
        }
        let frames = self.batch.len();
        self.batch.clear();
        let mut inner = self.shared.lock();
        let ShmState {
            rings, attached, ..
        } = &mut *inner;
        let mut armed = more;
        if let Some(rings) = rings {
            if rings.release() {
                attached.ring();
            }
            if !more {
                // With less than half of the slots free, ask the other side to ring when it has
                // made room.
                let room = rings.room() < rings.slots() / 2;
                let there = rings.arm(room);
                armed = there.frames || there.room;
            }
        }
        Ok(RxReport {
            frames,
            more: armed,
            news,
            ended,
            finished: false,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let inner = self.shared.lock();
        let beat = inner.rings.as_ref().map(ShmRings::deadline);
        beat.into_iter().chain(inner.attached.deadline()).min()
    }

    fn counters(&self) -> RxCounters {
        let counters = self.shared.lock().counters();
        RxCounters {
            malformed: counters.malformed + counters.broken,
            reopened: counters.sessions.saturating_sub(1),
            ..RxCounters::default()
        }
    }

    fn is_up(&self) -> bool {
        self.link() == LinkState::Up
    }

    fn link(&self) -> LinkState {
        self.shared.lock().link_of()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.lock().remarks.clone()
    }
}

impl PollReceive for ShmReceive {
    fn wait(&self) -> PortWait {
        self.wait
    }
}

struct ShmTransmit {
    shared: Arc<SharedState>,
    /// Time of the next check whether held frames were read.
    look: Option<Nanos>,
}

impl Transmit for ShmTransmit {
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut inner = self.shared.lock();
        let sent = inner
            .rings
            .as_mut()
            .map_or(Err(NotSent::Down), |rings| rings.send(&outgoing.frame));
        match sent {
            Ok(()) => Ok(Accepted),
            Err(NotSent::Down) => Err(TransmitRefusal::Down),
            Err(NotSent::Unsupported) => Err(TransmitRefusal::Unsupported),
            Err(NotSent::Full) => {
                inner.stalled += 1;
                // The other side must see the frames that are there.
                inner.publish();
                Err(TransmitRefusal::Full)
            }
        }
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        let mut inner = self.shared.lock();
        let sent = inner.publish();
        if let Some(rings) = &mut inner.rings {
            rings.progress();
        }
        let held = inner.held() as usize;
        self.look = (held > 0).then_some(now.saturating_add(CHECK_INTERVAL));
        Ok(FlushReport { sent, held })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.look
    }

    fn counters(&self) -> TxCounters {
        let inner = self.shared.lock();
        let counters = inner.counters();
        TxCounters {
            taken: counters.taken,
            sent: counters.sent,
            lost: counters.lost,
            held: u64::from(inner.held()),
            stalled: inner.stalled,
            ..TxCounters::default()
        }
    }

    fn room(&self) -> usize {
        let mut inner = self.shared.lock();
        match &mut inner.rings {
            Some(rings) if rings.link() == PeerLink::Up => {
                rings.progress();
                rings.room() as usize
            }
            // The half refuses frames for another reason.
            _ => usize::MAX,
        }
    }
}

/// The receiving half waits, and reports when held frames have left.
impl PollTransmit for ShmTransmit {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}
