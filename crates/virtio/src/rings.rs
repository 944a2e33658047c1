//! The queues in the machine's memory.
//!
//! Everything here comes from the machine, which may change it at any time. Each value is read once
//! and then checked. A chain of descriptors is followed for at most [`PARTS`] parts; a queue whose
//! indices are invalid is not used until it is set up again.

use crate::counters::DeviceCounters;
use crate::message::{self, CONTROL, LONGEST, QUEUES, RX, TX};
use frame::{Frame, FrameRef};
use std::sync::atomic::Ordering;
use virtio_queue::{Queue, QueueOwnedT as _, QueueT as _};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

/// Maximum number of messages that one call answers without handing them over: a machine that
/// writes invalid messages as fast as it can must not block other users.
const AT_ONCE: usize = 64;
/// Maximum number of descriptors of a chain that are read. Linux's driver uses two.
const PARTS: usize = 8;
/// Maximum size of a queue, buffers.
pub(crate) const LARGEST: u16 = 1024;
/// `VIRTIO_F_EVENT_IDX`, virtio 1.4 §6.
pub(crate) const EVENT_IDX: u64 = 1 << 29;

/// Reason why a queue is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BrokenQueue {
    /// The driver's index indicates more buffers than the queue has, or a buffer that it does not
    /// have.
    #[error("its index is out of range")]
    Index,
    /// A buffer is in the queue although it has not been given back.
    #[error("a buffer is in it twice")]
    Twice,
    /// The queue is not in the machine's memory.
    #[error("it is not in the machine's memory")]
    Address,
}

/// Work that is already there when the driver is asked for notifications.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ArmedQueues {
    /// Frames of the machine.
    pub frames: bool,
    /// Commands of the machine.
    pub commands: bool,
    /// A buffer for a frame, after there was none.
    pub room: bool,
}

impl ArmedQueues {
    /// Returns whether the machine has requested any work.
    #[must_use]
    pub const fn work(&self) -> bool {
        self.frames || self.commands
    }
}

/// Identification of a machine's frame whose end must be reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameTicket {
    head: u16,
    generation: u32,
}

/// A frame that the machine sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TakenFrame {
    /// The frame.
    pub frame: Frame,
    /// The ticket for [`DeviceRings::finish`].
    pub ticket: FrameTicket,
}

#[derive(Clone, Copy, Default)]
struct ChainPart {
    at: GuestAddress,
    len: usize,
    writable: bool,
}

/// A chain of descriptors, as it was when it was read.
struct DescriptorChain {
    head: u16,
    parts: [ChainPart; PARTS],
    count: usize,
}

impl DescriptorChain {
    fn parts(&self, writable: bool) -> impl Iterator<Item = &ChainPart> {
        let parts = self.parts.iter().take(self.count);
        parts.filter(move |part| part.writable == writable)
    }

    /// Copies the bytes that the driver wrote, as far as they fit; returns their number.
    fn read(&self, memory: &GuestMemoryMmap, bytes: &mut [u8]) -> usize {
        let mut done = 0;
        for part in self.parts(false) {
            let Some(room) = bytes.get_mut(done..) else {
                break;
            };
            let len = part.len.min(room.len());
            let Some(room) = room.get_mut(..len) else {
                break;
            };
            if memory.read_slice(room, part.at).is_err() {
                break;
            }
            done += len;
        }
        done
    }

    /// Writes all of the bytes; returns false if there is not enough room.
    fn write(&self, memory: &GuestMemoryMmap, mut bytes: &[u8]) -> bool {
        let room: usize = self.parts(true).map(|part| part.len).sum();
        if room < bytes.len() {
            return false;
        }
        for part in self.parts(true) {
            let (now, rest) = bytes.split_at(part.len.min(bytes.len()));
            if memory.write_slice(now, part.at).is_err() {
                return false;
            }
            bytes = rest;
        }
        true
    }

    /// Returns the address at which the driver expects the result.
    fn result(&self) -> Option<GuestAddress> {
        let mut writable = self.parts(true).filter(|part| part.len > 0);
        writable.next().map(|part| part.at)
    }
}

struct DeviceRing {
    queue: Queue,
    enabled: bool,
    broken: Option<BrokenQueue>,
    /// A buffer was given back, and the driver may have to be notified.
    given_back: bool,
}

impl DeviceRing {
    fn is_usable(&self) -> bool {
        self.enabled && self.queue.ready() && self.broken.is_none()
    }

    fn pop(&mut self, memory: &GuestMemoryMmap) -> Result<Option<DescriptorChain>, BrokenQueue> {
        let mut iterator = self.queue.iter(memory).map_err(|_| BrokenQueue::Index)?;
        let Some(found) = iterator.next() else {
            return Ok(None);
        };
        if found.head_index() >= self.queue.size() {
            return Err(BrokenQueue::Index);
        }
        let mut chain = DescriptorChain {
            head: found.head_index(),
            parts: [ChainPart::default(); PARTS],
            count: 0,
        };
        for (part, found) in chain.parts.iter_mut().zip(found) {
            *part = ChainPart {
                at: found.addr(),
                len: found.len() as usize,
                writable: found.is_write_only(),
            };
            chain.count += 1;
        }
        Ok(Some(chain))
    }
}

/// The three queues of a machine. They are set up by vhost-user's messages; see
/// [`crate::VirtioDevice`].
pub struct DeviceRings {
    memory: GuestMemoryMmap,
    rings: [DeviceRing; QUEUES],
    features: u64,
    brs: bool,
    started: bool,
    bus_off: bool,
    /// For each transmit buffer that is under way: the address of its result, if it has one.
    under_way: Box<[Option<Option<GuestAddress>>]>,
    generation: u32,
    counters: DeviceCounters,
    /// A queue had no buffer for a frame: the driver must notify when there is one.
    hungry: bool,
}

impl Default for DeviceRings {
    fn default() -> Self {
        Self::new(GuestMemoryMmap::new(), 0, false)
    }
}

impl DeviceRings {
    /// Creates queues that are not set up. `features`: the negotiated features; `brs`: FD frames of
    /// the machine get BRS.
    #[must_use]
    pub fn new(memory: GuestMemoryMmap, features: u64, brs: bool) -> Self {
        let ring = || DeviceRing {
            queue: Queue::new(LARGEST).unwrap_or_default(),
            enabled: false,
            broken: None,
            given_back: false,
        };
        Self {
            memory,
            rings: [ring(), ring(), ring()],
            features,
            brs,
            started: false,
            bus_off: false,
            under_way: vec![None; usize::from(LARGEST)].into(),
            generation: 0,
            counters: DeviceCounters::default(),
            hungry: false,
        }
    }

    /// Replaces the machine's memory.
    pub(crate) fn set_memory(&mut self, memory: GuestMemoryMmap) {
        self.memory = memory;
    }

    pub(crate) fn set_features(&mut self, features: u64) {
        self.features = features;
        for ring in &mut self.rings {
            ring.queue.set_event_idx(features & EVENT_IDX != 0);
        }
    }

    /// Returns the features that were negotiated with the driver.
    #[must_use]
    pub const fn features(&self) -> u64 {
        self.features
    }

    /// Sets the size of a queue, in buffers; returns false if it is not valid.
    pub fn set_size(&mut self, index: usize, size: u32) -> bool {
        let ring = self.rings.get_mut(index).zip(u16::try_from(size).ok());
        ring.is_some_and(|(ring, size)| ring.queue.try_set_size(size).is_ok())
    }

    /// Sets the addresses of a queue in the machine's memory; returns false if they are not valid.
    pub fn set_addresses(&mut self, index: usize, table: u64, available: u64, used: u64) -> bool {
        let Some(DeviceRing { queue, .. }) = self.rings.get_mut(index) else {
            return false;
        };
        queue
            .try_set_desc_table_address(GuestAddress(table))
            .is_ok()
            && queue
                .try_set_avail_ring_address(GuestAddress(available))
                .is_ok()
            && queue.try_set_used_ring_address(GuestAddress(used)).is_ok()
    }

    /// Starts a queue, or resumes it where another process has left it: at the first buffer that
    /// was not given back.
    pub fn start(&mut self, index: usize) {
        let Some(ring) = self.rings.get_mut(index) else {
            return;
        };
        ring.broken = None;
        ring.queue.set_event_idx(self.features & EVENT_IDX != 0);
        ring.queue.set_ready(true);
        let used = ring.queue.used_idx(&self.memory, Ordering::Acquire);
        match used.ok().filter(|_| ring.queue.is_valid(&self.memory)) {
            Some(used) => {
                ring.queue.set_next_used(used.0);
                ring.queue.set_next_avail(used.0);
                if index == CONTROL {
                    self.started = used.0 != 0 && self.was_started(used.0);
                }
            }
            None => self.give_up(index, BrokenQueue::Address),
        }
    }

    /// Returns whether the last command that was given back had started the controller: Linux's
    /// driver keeps one buffer for all commands, so it is still there. If it is not, a machine that
    /// has given commands is taken to be started.
    fn was_started(&self, used: u16) -> bool {
        let queue = &self.rings[CONTROL].queue;
        let slot = u64::from(used.wrapping_sub(1) % queue.size());
        // `struct virtq_used`: flags, index, then elements of id and length; `struct virtq_desc`
        // has 16 bytes.
        let id = self
            .memory
            .read_obj::<u32>(GuestAddress(queue.used_ring().wrapping_add(4 + 8 * slot)));
        let id = id.map_or(u64::MAX, |id| u64::from(u32::from_le(id)));
        if id >= u64::from(queue.size()) {
            return true;
        }
        let at = GuestAddress(queue.desc_table().wrapping_add(16 * id));
        let at = self.memory.read_obj::<u64>(at).map(u64::from_le);
        let kind = at.and_then(|at| self.memory.read_obj::<u16>(GuestAddress(at)));
        kind.map_or(true, |kind| u16::from_le(kind) != message::MESSAGE_STOP)
    }

    /// Enables or disables a queue.
    pub fn enable(&mut self, index: usize, enabled: bool) {
        if let Some(ring) = self.rings.get_mut(index) {
            ring.enabled = enabled;
        }
    }

    /// Lets the frames that are under way fail.
    pub(crate) fn abandon(&mut self) {
        for head in 0..LARGEST {
            if self.end(head, false) {
                self.counters.abandoned += 1;
            }
        }
        self.generation = self.generation.wrapping_add(1);
    }

    /// Stops a queue; returns the index of its next buffer. Frames that are under way fail.
    pub fn stop(&mut self, index: usize) -> u16 {
        if index == TX {
            self.abandon();
        }
        let Some(ring) = self.rings.get_mut(index) else {
            return 0;
        };
        let next = ring.queue.next_avail();
        ring.queue.reset();
        if index == CONTROL {
            self.started = false;
        }
        next
    }

    /// Stops all queues.
    pub fn stop_all(&mut self) {
        (0..QUEUES).for_each(|index| {
            self.stop(index);
            self.enable(index, false);
        });
    }

    #[cold]
    fn give_up(&mut self, index: usize, why: BrokenQueue) {
        self.rings[index].broken = Some(why);
        self.counters.broken += 1;
    }

    /// Returns the first queue that is not used because it is invalid, and the reason.
    #[must_use]
    pub fn broken(&self) -> Option<(usize, BrokenQueue)> {
        let mut rings = self.rings.iter().enumerate();
        rings.find_map(|(index, ring)| Some((index, ring.broken?)))
    }

    /// Returns whether the machine takes part in the bus, so that frames pass.
    #[must_use]
    pub fn is_started(&self) -> bool {
        let usable = [TX, RX].iter().all(|i| self.rings[*i].is_usable());
        self.started && !self.bus_off && usable
    }

    /// Sets whether the controller that the machine shares is off the bus. Returns true if the
    /// machine must be notified.
    pub const fn set_bus_off(&mut self, bus_off: bool) -> bool {
        let before = self.bus_off;
        self.bus_off = bus_off;
        before != bus_off
    }

    /// Returns the configuration's status field.
    #[must_use]
    pub const fn status(&self) -> u16 {
        if self.bus_off {
            message::STATUS_BUS_OFF
        } else {
            0
        }
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> DeviceCounters {
        self.counters
    }

    pub(crate) const fn count_connection(&mut self) {
        self.counters.connections += 1;
    }

    fn pop(&mut self, index: usize) -> Option<DescriptorChain> {
        let ring = &mut self.rings[index];
        if !ring.is_usable() {
            return None;
        }
        match ring.pop(&self.memory) {
            Ok(chain) => chain,
            Err(why) => {
                self.give_up(index, why);
                None
            }
        }
    }

    fn push(&mut self, index: usize, head: u16, written: usize) {
        let ring = &mut self.rings[index];
        ring.given_back = true;
        if ring
            .queue
            .add_used(&self.memory, head, written as u32)
            .is_err()
        {
            self.give_up(index, BrokenQueue::Address);
        }
    }

    /// Writes a result and gives the buffer back.
    fn answer(&mut self, index: usize, head: u16, at: Option<GuestAddress>, ok: bool) {
        let result = if ok {
            message::RESULT_OK
        } else {
            message::RESULT_NOT_OK
        };
        let written = at.is_some_and(|at| self.memory.write_obj(result, at).is_ok());
        self.push(index, head, usize::from(written));
    }

    /// Executes the commands of the control queue. Returns true if the machine has started or
    /// stopped.
    pub fn obey(&mut self) -> bool {
        let before = self.started;
        for _ in 0..AT_ONCE {
            let Some(chain) = self.pop(CONTROL) else {
                break;
            };
            let mut bytes = [0; 2];
            let read = chain.read(&self.memory, &mut bytes);
            let ok = match message::kind(&bytes[..read]) {
                // Only the owner of the controller brings it back from bus-off.
                message::MESSAGE_START if !self.bus_off => {
                    self.started = true;
                    true
                }
                message::MESSAGE_STOP => {
                    self.started = false;
                    true
                }
                _ => false,
            };
            self.answer(CONTROL, chain.head, chain.result(), ok);
        }
        before != self.started
    }

    /// Takes the next frame that the machine sends. Messages that are not a valid frame, or that
    /// are sent while the controller is stopped, are answered and counted, and the next one is
    /// taken. After a limited number of those it returns: [`DeviceRings::arm`] reports whether
    /// there are more.
    pub fn take(&mut self) -> Option<TakenFrame> {
        for _ in 0..AT_ONCE {
            let chain = self.pop(TX)?;
            let at = chain.result();
            if self.under_way[usize::from(chain.head)].is_some() {
                self.give_up(TX, BrokenQueue::Twice);
                return None;
            }
            let mut bytes = [0; LONGEST];
            let read = chain.read(&self.memory, &mut bytes);
            let frame = message::decode(&bytes[..read], self.features, self.brs);
            match frame {
                Ok(frame) if self.started && !self.bus_off => {
                    self.under_way[usize::from(chain.head)] = Some(at);
                    self.counters.taken += 1;
                    let ticket = FrameTicket {
                        head: chain.head,
                        generation: self.generation,
                    };
                    return Some(TakenFrame { frame, ticket });
                }
                Ok(_) => self.counters.not_started += 1,
                Err(_) => self.counters.malformed += 1,
            }
            self.answer(TX, chain.head, at, false);
        }
        None
    }

    fn end(&mut self, head: u16, ok: bool) -> bool {
        let place = self.under_way.get_mut(usize::from(head));
        let Some(at) = place.and_then(Option::take) else {
            return false;
        };
        self.answer(TX, head, at, ok);
        true
    }

    /// Reports the end of a frame. Nothing is reported to a machine that has gone since.
    pub fn finish(&mut self, ticket: FrameTicket, ok: bool) {
        if ticket.generation != self.generation || !self.end(ticket.head, ok) {
            return;
        }
        if ok {
            self.counters.acknowledged += 1;
        } else {
            self.counters.refused += 1;
        }
    }

    /// Returns the number of frames under way.
    #[must_use]
    pub const fn under_way(&self) -> u64 {
        self.counters.taken - self.ended()
    }

    /// Returns the number of frames that were taken and are no longer under way.
    pub(crate) const fn ended(&self) -> u64 {
        let c = &self.counters;
        c.acknowledged + c.refused + c.abandoned
    }

    /// Passes a frame to the machine; returns false if the machine has no buffer for it. The frame
    /// must be of a kind that [`message::carries`], and the machine must be
    /// [started](DeviceRings::is_started).
    pub fn give(&mut self, frame: &FrameRef<'_>) -> bool {
        let mut bytes = [0; LONGEST];
        let size = message::encode(frame, &mut bytes);
        for _ in 0..LARGEST {
            let Some(chain) = self.pop(RX) else { break };
            let fits = chain.write(&self.memory, &bytes[..size]);
            self.push(RX, chain.head, if fits { size } else { 0 });
            if fits {
                self.counters.given += 1;
                self.hungry = false;
                return true;
            }
            self.counters.too_small += 1;
        }
        self.hungry = true;
        false
    }

    /// Asks the driver for notifications, and checks whether there is work already.
    pub fn arm(&mut self) -> ArmedQueues {
        self.arm_these([true; QUEUES])
    }

    /// Does the same for some of the queues in which the driver places requests; the queue of
    /// buffers for frames is always included.
    pub(crate) fn arm_these(&mut self, which: [bool; QUEUES]) -> ArmedQueues {
        let mut armed = ArmedQueues::default();
        for index in [TX, CONTROL, RX] {
            if index != RX && !which[index] {
                continue;
            }
            let ring = &mut self.rings[index];
            if !ring.is_usable() {
                continue;
            }
            if index == RX && !self.hungry {
                // The driver may add buffers without notification.
                let _ = ring.queue.disable_notification(&self.memory);
                continue;
            }
            let there = ring.queue.enable_notification(&self.memory);
            let there = there.unwrap_or(false);
            match index {
                RX => armed.room = there,
                TX => armed.frames = there,
                _ => armed.commands = there,
            }
        }
        armed
    }

    /// The driver has notified that there are new buffers for frames.
    pub(crate) const fn fed(&mut self) {
        self.hungry = false;
    }

    /// Returns whether the driver wants an interrupt for the buffers that were given back.
    pub fn wants_interrupt(&mut self, index: usize) -> bool {
        let ring = &mut self.rings[index];
        std::mem::take(&mut ring.given_back)
            && ring.is_usable()
            && ring.queue.needs_notification(&self.memory).unwrap_or(false)
    }
}
