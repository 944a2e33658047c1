//! The gates of the gateway: the node of each of its ports on a bus.
//!
//! The engine's halves of a port do not reach the bus: they share a [`GateState`] with the world,
//! which moves frames between it and the bus before and after each step of the engine.

use bus::{Bus, ErrorState, NodeConfig, NodeId};
use engine::{
    Accepted, FlushReport, OutgoingFrame, PortError, Receive, ReceiveStamp, ReceivedFrame,
    RxCounters, RxReport, StampSource, Transmit, TransmitRefusal, TxCounters,
};
use frame::{Frame, Kind, Nanos};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of frames that a gate keeps until the engine takes them: about the capacity of a raw
/// socket's default receive buffer.
const RECEIVE_FIFO: usize = 277;

/// A frame in a gate.
struct GateFrame {
    frame: Frame,
    at: Nanos,
    tag: u64,
}

/// The state that the halves of a gate and the world share.
#[derive(Default)]
struct GateState {
    arrived: VecDeque<GateFrame>,
    leaving: Vec<GateFrame>,
    /// Number of frames that the node takes.
    room: usize,
    is_off: bool,
    /// Whether the node sends FD frames.
    fd: bool,
    /// Whether the node only listens, and sends nothing.
    listen_only: bool,
    overrun: u64,
    taken: u64,
    sent: u64,
    lost: u64,
}

/// A handle to the state of a gate.
#[derive(Clone)]
struct SharedGate(Arc<Mutex<GateState>>);

impl SharedGate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gate: the node of a port on its bus.
pub(crate) struct PortGate {
    /// The index of the bus.
    pub(super) slot: usize,
    node: NodeId,
    state: SharedGate,
}

impl PortGate {
    /// Creates the gate of a node, and its two halves for the engine.
    pub(super) fn new(
        slot: usize,
        node: NodeId,
        config: &NodeConfig,
    ) -> (Self, GateReceiver, GateSender) {
        let state = SharedGate(Arc::default());
        {
            let mut state = state.lock();
            state.fd = config.fd;
            state.listen_only = config.listen_only;
        }
        let (rx, tx) = (GateReceiver(state.clone()), GateSender(state.clone()));
        (Self { slot, node, state }, rx, tx)
    }

    /// Notes how many frames the node takes.
    pub(super) fn note_room(&self, bus: &Bus) {
        let state = bus.node_state(self.node);
        let mut shared = self.state.lock();
        shared.room = bus.free(self.node);
        shared.is_off = state.is_none_or(|s| s.state == ErrorState::BusOff);
    }

    /// Hands the frames that the engine sends to the bus, for now.
    pub(super) fn pass_on(&self, bus: &mut Bus, now: Nanos) {
        let mut shared = self.state.lock();
        let leaving = std::mem::take(&mut shared.leaving);
        for frame in leaving {
            let taken = bus.send(self.node, now, &frame.frame, frame.tag);
            shared.lost += u64::from(taken.is_err());
        }
    }

    pub(super) fn hear(&self, at: Nanos, frame: &Frame, tag: u64) {
        let mut state = self.state.lock();
        if state.arrived.len() >= RECEIVE_FIFO {
            state.overrun += 1;
            return;
        }
        let frame = *frame;
        state.arrived.push_back(GateFrame { frame, at, tag });
    }

    pub(super) fn sent(&self) {
        self.state.lock().sent += 1;
    }

    pub(super) fn lost(&self) {
        self.state.lock().lost += 1;
    }
}

/// The receiving half of a gate.
pub(crate) struct GateReceiver(SharedGate);

impl Receive for GateReceiver {
    fn receive(
        &mut self,
        _now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut frames = 0;
        while frames < budget {
            // `take` transmits, and locks the gates for that.
            let Some(next) = self.0.lock().arrived.pop_front() else {
                break;
            };
            frames += 1;
            let stamp = ReceiveStamp {
                ns: next.at,
                source: StampSource::Bus,
            };
            take(ReceivedFrame {
                frame: next.frame.view(),
                stamp,
                hops: 0,
                token: next.tag,
            });
        }
        Ok(RxReport {
            frames,
            more: !self.0.lock().arrived.is_empty(),
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            overrun: self.0.lock().overrun,
            ..RxCounters::default()
        }
    }
}

/// The transmitting half of a gate.
pub(crate) struct GateSender(SharedGate);

/// Returns whether the node sends such a frame at all: a node that only listens sends none.
fn carries(state: &GateState, outgoing: &OutgoingFrame<'_>) -> bool {
    let id = outgoing.frame.id();
    match outgoing.frame.kind() {
        _ if state.listen_only => false,
        Kind::Classic => !id.is_err(),
        Kind::Fd => state.fd && !id.is_rtr() && !id.is_err(),
        Kind::Xl => false,
    }
}

impl Transmit for GateSender {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut state = self.0.lock();
        let frame = Frame::from_view(outgoing.frame).filter(|_| carries(&state, &outgoing));
        let frame = frame.ok_or(TransmitRefusal::Unsupported)?;
        if state.is_off {
            return Err(TransmitRefusal::Down);
        }
        if state.leaving.len() >= state.room {
            return Err(TransmitRefusal::Full);
        }
        state.taken += 1;
        let tag = outgoing.token;
        state.leaving.push(GateFrame {
            frame,
            at: now,
            tag,
        });
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        Ok(FlushReport::default())
    }

    fn room(&self) -> usize {
        let state = self.0.lock();
        match state.is_off {
            true => usize::MAX,
            false => state.room.saturating_sub(state.leaving.len()),
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn refuses(&mut self, _now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        let state = self.0.lock();
        if !carries(&state, outgoing) {
            return Some(TransmitRefusal::Unsupported);
        }
        state.is_off.then_some(TransmitRefusal::Down)
    }

    fn counters(&self) -> TxCounters {
        let state = self.0.lock();
        TxCounters {
            taken: state.taken,
            sent: state.sent,
            lost: state.lost,
            held: state.taken.saturating_sub(state.sent + state.lost),
            ..TxCounters::default()
        }
    }
}
