//! A gateway's node on an embedded bus.

use super::index::BusIndex;
use super::world::{ArrivedFrame, BusWorld, GateAddress, WorldError};
use crate::{
    Accepted, FlushReport, OutgoingFrame, PollReceive, PollTransmit, PortError, PortWait, Receive,
    ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit, TransmitRefusal,
    TxCounters,
};
use bus::{ErrorState, NodeConfig, NodeId, SendError};
use frame::{Frame, FrameRef, Kind, Nanos};

impl BusWorld {
    /// Adds a gateway's node: it receives every frame of its bus except those it sent itself.
    ///
    /// # Errors
    /// [`WorldError::NoSuchBus`], or the error of [`bus::Bus::attach`].
    pub fn attach(
        &self,
        bus: BusIndex,
        node: NodeConfig,
    ) -> Result<(BusReceive, BusTransmit), WorldError> {
        self.attach_with_fifo(bus, node, Self::RECEIVE_FIFO)
    }

    /// Adds a node as [`BusWorld::attach`] does, with a receive FIFO of `depth` frames; a frame
    /// that comes when the FIFO is full is lost and counted.
    ///
    /// # Errors
    /// As [`BusWorld::attach`].
    pub fn attach_with_fifo(
        &self,
        bus: BusIndex,
        node: NodeConfig,
        depth: usize,
    ) -> Result<(BusReceive, BusTransmit), WorldError> {
        let (can_send, node_fd) = (!node.listen_only, node.fd);
        let (address, bus_fd, room) = self.attach_gate(bus, node, depth)?;
        let fd = bus_fd && node_fd && can_send;
        Ok((
            BusReceive::new(address.clone(), depth),
            BusTransmit::new(address, fd, can_send, room),
        ))
    }
}

/// The receiving half of a gateway's node. Stamps are ends of frame in bus time, tokens are the
/// senders' tags.
pub struct BusReceive {
    address: GateAddress,
    batch: Vec<ArrivedFrame>,
}

impl BusReceive {
    fn new(address: GateAddress, depth: usize) -> Self {
        Self {
            address,
            batch: Vec::with_capacity(depth),
        }
    }

    /// Returns the number of the node, as in [`bus::NodeEvent`].
    #[must_use]
    pub const fn node(&self) -> NodeId {
        self.address.node
    }
}

/// Returns the halves of a port that passes classic frames only. Its node tolerates FD frames on
/// its bus.
#[must_use]
pub fn classic_only((rx, mut tx): (BusReceive, BusTransmit)) -> (BusReceive, BusTransmit) {
    tx.fd = false;
    if let Some(gate) = rx.address.world.lock().gate(&rx.address) {
        gate.fd = false;
    }
    (rx, tx)
}

impl Receive for BusReceive {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut more = false;
        let ended;
        {
            // Frames are copied out under the lock, because `take` transmits and so takes the lock,
            // too.
            let mut inner = self.address.world.lock();
            if let Some(pace) = inner.pace {
                inner.run_until(pace.to_source(now), &mut |_, _| {});
            }
            if let Some(gate) = inner.gate(&self.address) {
                let n = budget.min(gate.fifo.len());
                self.batch.extend(gate.fifo.drain(..n));
                more = !gate.fifo.is_empty();
            }
            ended = inner.has_ended();
        }
        let frames = self.batch.len();
        for arrived in self.batch.drain(..) {
            take(ReceivedFrame {
                frame: arrived.frame.view(),
                stamp: ReceiveStamp {
                    ns: arrived.end,
                    source: StampSource::Bus,
                },
                hops: 0,
                token: arrived.tag,
            });
        }
        Ok(RxReport {
            frames,
            more,
            finished: !more && ended,
            ..RxReport::default()
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let mut inner = self.address.world.lock();
        let waiting = inner
            .gate(&self.address)
            .is_some_and(|gate| !gate.fifo.is_empty());
        if waiting { Some(0) } else { inner.deadline() }
    }

    fn counters(&self) -> RxCounters {
        let mut inner = self.address.world.lock();
        inner
            .gate(&self.address)
            .map_or_else(RxCounters::default, |gate| RxCounters {
                overrun: gate.overrun,
                error_frames: gate.error_frames,
                ..RxCounters::default()
            })
    }
}

/// A bus inside the process delivers frames by time alone.
impl PollReceive for BusReceive {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

/// A bus inside the process makes room by time alone.
impl PollTransmit for BusTransmit {
    fn wait(&self) -> PortWait {
        PortWait::default()
    }
}

/// The transmitting half of a gateway's node.
///
/// Frames are collected and handed to the bus by [`Transmit::flush`], which locks the world once
/// for all of them. Only this half sends for its node, so the number of free places, which it reads
/// at the start of a batch, can only grow until then.
pub struct BusTransmit {
    address: GateAddress,
    fd: bool,
    can_send: bool,
    batch: Vec<ReadyMember>,
    free: usize,
    taken: u64,
    lost: u64,
    stalled: u64,
    /// True if frames that it gave to the bus may not have been sent yet.
    flying: bool,
}

struct ReadyMember {
    at: Nanos,
    frame: Frame,
    tag: u64,
}

impl BusTransmit {
    fn new(address: GateAddress, fd: bool, can_send: bool, room: usize) -> Self {
        Self {
            address,
            fd,
            can_send,
            batch: Vec::with_capacity(room),
            free: 0,
            taken: 0,
            lost: 0,
            stalled: 0,
            flying: false,
        }
    }

    /// Returns the number of the node, as in [`bus::NodeEvent`].
    #[must_use]
    pub const fn node(&self) -> NodeId {
        self.address.node
    }

    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        let id = frame.id();
        let carried = match frame.kind() {
            Kind::Classic => !id.is_err(),
            Kind::Fd => self.fd && !id.is_rtr() && !id.is_err(),
            Kind::Xl => false,
        };
        carried && self.can_send
    }

    /// Reads from the bus how many frames the node has room for.
    fn ask(&mut self) -> Result<(), TransmitRefusal> {
        let (node, room) = (self.address.node, self.batch.capacity());
        let mut inner = self.address.world.lock();
        let bus = inner.bus_of(&self.address).ok_or(TransmitRefusal::Down)?;
        let off = |state: bus::NodeState| state.state == ErrorState::BusOff;
        if bus.node_state(node).is_none_or(off) {
            return Err(TransmitRefusal::Down);
        }
        self.free = bus.free(node).min(room);
        Ok(())
    }
}

impl Transmit for BusTransmit {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let carried = self.carries(&outgoing.frame);
        let frame = Frame::from_view(outgoing.frame).filter(|_| carried);
        let Some(frame) = frame else {
            return Err(TransmitRefusal::Unsupported);
        };
        if self.batch.is_empty() || self.batch.len() >= self.free {
            self.ask()?;
        }
        if self.batch.len() >= self.free {
            return Err(TransmitRefusal::Full);
        }
        self.batch.push(ReadyMember {
            at: now,
            frame,
            tag: outgoing.token,
        });
        self.taken += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        if self.batch.is_empty() && !self.flying {
            return Ok(FlushReport::default());
        }
        let mut inner = self.address.world.lock();
        let pace = inner.pace;
        if let Some(pace) = pace {
            // So that the bus's time is not behind: a frame for the future would not count as
            // waiting yet.
            inner.run_until(pace.to_source(now), &mut |_, _| {});
        }
        let (mut sent, mut gone) = (0, 0);
        if let Some(bus) = inner.bus_of(&self.address) {
            for ready in &self.batch {
                let at = pace.map_or(ready.at, |pace| pace.to_source(ready.at));
                match bus.send(
                    self.address.node,
                    at.max(bus.now()),
                    &ready.frame,
                    ready.tag,
                ) {
                    Ok(()) => {
                        sent += 1;
                        self.flying = true;
                    }
                    Err(SendError::Full) => {
                        self.stalled += 1;
                        break;
                    }
                    // The node went bus-off between taking and sending.
                    Err(_) => self.lost += 1,
                }
                gone += 1;
            }
        }
        let waiting = self.batch.len().saturating_sub(gone);
        let ended = inner
            .gate(&self.address)
            .map_or(0, |gate| gate.sent + gate.lost)
            + self.lost;
        self.flying = self.taken - waiting as u64 > ended;
        self.batch.drain(..gone.min(self.batch.len()));
        Ok(FlushReport {
            sent,
            held: self.batch.len(),
        })
    }

    fn room(&self) -> usize {
        let node = self.address.node;
        let mut inner = self.address.world.lock();
        let Some(bus) = inner.bus_of(&self.address) else {
            return usize::MAX;
        };
        let off = |state: bus::NodeState| state.state == ErrorState::BusOff;
        if bus.node_state(node).is_none_or(off) {
            return usize::MAX;
        }
        let free = bus.free(node).min(self.batch.capacity());
        free.saturating_sub(self.batch.len())
    }

    fn deadline(&self) -> Option<Nanos> {
        if self.batch.is_empty() && !self.flying {
            return None;
        }
        self.address.world.lock().deadline()
    }

    fn refuses(&mut self, _now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        if !self.carries(&outgoing.frame) {
            return Some(TransmitRefusal::Unsupported);
        }
        self.ask().err()
    }

    fn counters(&self) -> TxCounters {
        let mut inner = self.address.world.lock();
        let gate = inner.gate(&self.address);
        let (sent, lost) = gate.map_or((0, 0), |gate| (gate.sent, gate.lost));
        let lost = lost + self.lost;
        TxCounters {
            taken: self.taken,
            sent,
            lost,
            held: self.taken.saturating_sub(sent + lost),
            stalled: self.stalled,
            ..TxCounters::default()
        }
    }
}
