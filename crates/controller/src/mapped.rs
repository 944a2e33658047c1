//! The mapped controller of the bit-timed bus (`kmod/bitcan`, model `mapped`): three transmit
//! buffers and a receive FIFO of four frames, in a page of memory.
//!
//! Source: `kmod/bitcan/bitcan.h`, which documents the meaning and the writer of each register.

use crate::{
    BusError, Controller, ControllerEvent, ControllerGone, ControllerRefusal, ErrorState,
    ErrorStatus, ErrorType, Properties, StartError, StartMode, TimingLimits, Token,
    TransmitFailure,
};
use frame::{CanId, FrameRef, Header, Kind, flags};

const NAME: &str = "mapped controller of the bit-timed bus";
/// `BITCAN_VERSION`.
pub const VERSION: u32 = 1;

/// Byte offsets in `struct bitcan_registers`. Each is that of a 64-bit word, which has two
/// registers of 32 bits: the first in its first four bytes.
pub mod at {
    /// `version`, `changes`.
    pub const CHANGES: usize = 0;
    /// `rx_head`, `overruns`.
    pub const RX_HEAD: usize = 8;
    /// `state`, `tec`.
    pub const STATE: usize = 16;
    /// `rec`, `arbitration_lost`.
    pub const REC: usize = 24;
    /// `errors`.
    pub const ERRORS: usize = 32;
    /// `rx_tail`, `irq_enable`: written by the process.
    pub const RX_TAIL: usize = 64;
    /// `seen`: written by the process.
    pub const SEEN: usize = 72;
    /// `tx`; each buffer has: flags, frame, state, end.
    pub const TX: usize = 128;
    /// Distance between transmit buffers.
    pub const TX_SIZE: usize = 96;
    /// The frame within a transmit buffer.
    pub const TX_FRAME: usize = 8;
    /// `state`.
    pub const TX_STATE: usize = 80;
    /// `end`.
    pub const TX_END: usize = 88;
    /// `rx`; each entry has: end, flags, frame.
    pub const RX: usize = TX + TX_SIZE * super::BUFFERS;
    /// Distance between entries of the FIFO.
    pub const RX_SIZE: usize = 88;
    /// `flags` within an entry.
    pub const RX_FLAGS: usize = 8;
    /// The frame within an entry.
    pub const RX_FRAME: usize = 16;
}

/// Number of transmit buffers.
pub const BUFFERS: usize = 3;
/// Capacity of the receive FIFO, frames.
pub const FIFO: u32 = 4;
/// `BITCAN_FRAME_FD`.
pub const FRAME_FD: u64 = 1;
/// `BITCAN_IRQ_RX | BITCAN_IRQ_TX | BITCAN_IRQ_STATE`.
const IRQ_ALL: u32 = 7;
/// `BITCAN_TX_PENDING`: the controller has not decided the fate of the frame in a transmit buffer
/// yet.
pub const TX_PENDING: u32 = 1;
/// `BITCAN_TX_SENT`.
pub const TX_SENT: u32 = 2;
/// `BITCAN_TX_FAILED`: a one-shot controller gave the frame up.
pub const TX_FAILED: u32 = 3;
/// `BITCAN_TX_BUS_OFF`: the frame was dropped when the controller went bus-off.
pub const TX_BUS_OFF: u32 = 5;
/// The model's clock, Hz; bit times are derived from it in the same way as for the interfaces of
/// the module (`port.c`).
const CLOCK: u32 = 80_000_000;
const LIMITS: TimingLimits = TimingLimits {
    prescaler: (1, 1024),
    prescaler_step: 1,
    before_sample: (1, 256),
    after_sample: (1, 128),
    jump: 128,
};
/// Whether the first byte of a word is its lowest one.
const LITTLE: bool = cfg!(target_endian = "little");
/// The number of acceptance filters in `struct bitcan_control`.
pub const FILTERS: usize = 16;

/// The controller's participation in its bus: `struct bitcan_control`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusJoin<'a> {
    /// `BITCAN_VERSION`.
    pub version: u32,
    /// Bit rate, bit/s.
    pub bitrate: u32,
    /// Bit rate of the data phase, bit/s, if the controller uses FD.
    pub data_bitrate: Option<u32>,
    /// Send nothing.
    pub listen_only: bool,
    /// Try each frame only once.
    pub one_shot: bool,
    /// ID and mask of each acceptance filter, at most [`FILTERS`]; if empty, all frames are
    /// received.
    pub filters: &'a [(u32, u32)],
}

/// Reason why a device did not perform an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceTrap {
    /// The device is not on the bus, or bus-off.
    Down,
    /// The device does not accept the argument.
    Invalid,
    /// Any other reason, in words that continue "the controller does not execute a command".
    Other(&'static str),
}

/// The device of a mapped controller: its page of registers, and its operations that are not
/// registers.
pub trait MappedDevice {
    /// Reads a word of the page; `at` is a multiple of 8. Whatever the other side wrote before the
    /// word that is read is visible (acquire). Beyond the page, it returns all ones.
    fn get(&self, at: usize) -> u64;
    /// Writes a word; a reader of it sees everything that was written before it (release).
    fn set(&mut self, at: usize, word: u64);
    /// Orders all earlier writes before all later reads.
    fn fence(&mut self);
    /// Rings the doorbell for these transmit buffers, one bit each.
    ///
    /// # Errors
    /// [`DeviceTrap`]; nothing is sent then.
    fn ring(&mut self, buffers: u32) -> Result<(), DeviceTrap>;
    /// Joins the bus; all registers are reset.
    ///
    /// # Errors
    /// [`DeviceTrap`].
    fn join(&mut self, join: &BusJoin<'_>) -> Result<(), DeviceTrap>;
    /// Leaves the bus.
    fn leave(&mut self);
    /// Aborts the frames in these buffers that are not on the wire.
    fn abort(&mut self, buffers: u32);
    /// Starts the recovery from bus-off.
    ///
    /// # Errors
    /// [`DeviceTrap`].
    fn recover(&mut self) -> Result<(), DeviceTrap>;
}

/// The driver.
pub struct MappedController<D> {
    device: D,
    properties: Properties,
    /// Transmit buffers whose fate has not been reported yet, one bit each.
    busy: u32,
    tokens: [Token; BUFFERS],
    /// Final states of buffers that were in use before a start or a stop.
    old: [Option<(Token, u32)>; BUFFERS],
    changes: u32,
    tail: u32,
    overruns: u32,
    arbitration_lost: u32,
    errors: u32,
    status: ErrorStatus,
    diagnose: bool,
    fd: bool,
    listen_only: bool,
    interrupts: bool,
    /// The page contains values that no controller can write: nothing in it is trusted any more.
    broken: bool,
    /// There is something to report that `changes` does not show.
    look: bool,
}

// Shifts instead of byte arrays, for which the compiler generates many instructions.

/// Returns the register in a word's first four bytes.
#[inline]
const fn first(word: u64) -> u32 {
    (word >> if LITTLE { 0 } else { 32 }) as u32
}

/// Returns the register in a word's last four bytes.
#[inline]
const fn second(word: u64) -> u32 {
    (word >> if LITTLE { 32 } else { 0 }) as u32
}

/// Returns the word of two registers.
#[inline]
const fn both(one: u32, two: u32) -> u64 {
    let (low, high) = if LITTLE { (one, two) } else { (two, one) };
    (high as u64) << 32 | low as u64
}

const fn buffer(i: usize) -> usize {
    at::TX + at::TX_SIZE * i
}

impl<D: MappedDevice> MappedController<D> {
    /// Creates the driver of this device.
    pub const fn new(device: D) -> Self {
        Self {
            device,
            properties: Properties {
                name: NAME,
                clock: CLOCK,
                nominal: LIMITS,
                data: Some(LIMITS),
                buffers: BUFFERS,
                stamps: true,
                listen_only: true,
                one_shot: true,
            },
            busy: 0,
            tokens: [0; BUFFERS],
            old: [None; BUFFERS],
            changes: 0,
            tail: 0,
            overruns: 0,
            arbitration_lost: 0,
            errors: 0,
            status: ErrorStatus {
                state: None,
                tec: 0,
                rec: 0,
            },
            diagnose: false,
            fd: false,
            listen_only: false,
            interrupts: false,
            broken: false,
            look: false,
        }
    }

    /// Returns the device.
    pub const fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Takes the controller off the bus and records the states of the frames in flight.
    fn end(&mut self) {
        self.device.leave();
        for (i, (old, token)) in self.old.iter_mut().zip(self.tokens).enumerate() {
            // An entry of an earlier end has not been reported yet.
            if self.busy & 1 << i != 0 && old.is_none() {
                *old = Some((token, first(self.device.get(buffer(i) + at::TX_STATE))));
            }
        }
        // The buffers stay taken until their fate is reported.
        self.look = true;
    }

    /// Reports the frames in flight as failed, because the device does not answer any more or its
    /// page is invalid.
    #[cold]
    fn gone(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) -> ControllerGone {
        let why = TransmitFailure::Gone;
        for (i, (old, token)) in self.old.iter_mut().zip(self.tokens).enumerate() {
            if self.busy & 1 << i != 0 {
                *old = None;
                report(ControllerEvent::Failed { token, why });
            }
        }
        self.busy = 0;
        ControllerGone
    }

    fn report_sent(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        // After a start or a stop, `look` is set anyway.
        if self.busy == 0 && !self.look {
            return;
        }
        if self.look {
            for (i, old) in self.old.iter_mut().enumerate() {
                if let Some((token, state)) = old.take() {
                    self.busy &= !(1 << i);
                    report(fate(token, state, None));
                }
            }
        }
        let mut left = self.busy;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(&token) = self.tokens.get(i) else {
                return;
            };
            let state = first(self.device.get(buffer(i) + at::TX_STATE));
            if state != TX_PENDING {
                self.busy &= !(1 << i);
                let end = self.device.get(buffer(i) + at::TX_END);
                report(fate(token, state, Some(end)));
            }
        }
    }

    /// Takes up to `budget` frames; returns whether there are more.
    fn report_received(
        &mut self,
        budget: usize,
        report: &mut dyn FnMut(ControllerEvent<'_>),
    ) -> bool {
        let head = first(self.device.get(at::RX_HEAD));
        if head.wrapping_sub(self.tail) > FIFO {
            self.broken = true;
            return false;
        }
        let mut left = budget;
        while self.tail != head {
            if left == 0 {
                return true;
            }
            left -= 1;
            let entry = at::RX + at::RX_SIZE * (self.tail % FIFO) as usize;
            let fd = self.device.get(entry + at::RX_FLAGS) & both(1, 0) != 0;
            let end = self.device.get(entry);
            let start = self.device.get(entry + at::RX_FRAME);
            let word = |i| self.device.get(entry + at::RX_FRAME + 8 + 8 * i);
            let (mut long, short);
            let data: &[u8] = if fd {
                long = [0; 64];
                for (i, to) in long.as_chunks_mut().0.iter_mut().enumerate() {
                    *to = word(i).to_ne_bytes();
                }
                &long
            } else {
                short = word(0).to_ne_bytes();
                &short
            };
            self.tail = self.tail.wrapping_add(1);
            if let Some(frame) = view(start, fd, data) {
                let stamp = Some(end);
                report(ControllerEvent::Received { frame, stamp });
            } else {
                self.broken = true;
            }
            // The entry is free now. It is only reported now so that the frame does not wait for
            // this write.
            self.write_tail();
        }
        false
    }

    fn write_tail(&mut self) {
        let enable = if self.interrupts { IRQ_ALL } else { 0 };
        self.device.set(at::RX_TAIL, both(self.tail, enable));
    }

    /// Writes an FD frame's data to a transmit buffer.
    fn write_data(&mut self, mut place: usize, data: &[u8]) {
        let (words, rest) = data.as_chunks();
        for bytes in words {
            self.device.set(place, u64::from_ne_bytes(*bytes));
            place += 8;
        }
        if !rest.is_empty() {
            self.device.set(place, partial(rest));
        }
    }

    fn report_changes(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        let overruns = second(self.device.get(at::RX_HEAD));
        let lost = overruns.wrapping_sub(self.overruns);
        self.overruns = overruns;
        if lost > 0 {
            report(ControllerEvent::Overrun {
                frames: lost,
                exact: true,
            });
        }
        let (state, rec) = (self.device.get(at::STATE), self.device.get(at::REC));
        let (lost, errors) = (second(rec), first(self.device.get(at::ERRORS)));
        if self.diagnose {
            if lost != self.arbitration_lost {
                report(ControllerEvent::ArbitrationLost { bit: None });
            }
            if errors != self.errors {
                report(ControllerEvent::BusError(BusError {
                    trouble: ErrorType::Other,
                    place: None,
                    transmitting: self.busy != 0,
                }));
            }
        }
        (self.arbitration_lost, self.errors) = (lost, errors);
        let before = self.status.state;
        if before.is_none() {
            return;
        }
        self.status = ErrorStatus {
            state: ErrorState::from_number(first(state)).or(Some(ErrorState::BusOff)),
            tec: u16::try_from(second(state)).unwrap_or(u16::MAX),
            rec: u16::try_from(first(rec)).unwrap_or(u16::MAX),
        };
        if self.status.state == Some(ErrorState::BusOff) {
            // The model has one byte for the counter, as the chips have.
            self.status.tec = 256;
        }
        if self.status.state != before {
            report(ControllerEvent::Status(self.status));
        }
    }
}

/// Returns a word that begins with these bytes, fewer than eight, and ends with zeros.
#[inline]
fn partial(bytes: &[u8]) -> u64 {
    let (low, rest, shift) = match bytes.split_first_chunk() {
        Some((low, rest)) => (u64::from(u32::from_le_bytes(*low)), rest, 32),
        None => (0, bytes, 0),
    };
    let high = (rest.iter().rev()).fold(0, |word, byte| word << 8 | u64::from(*byte));
    // The first byte is the lowest one up to here.
    u64::from_le(high << shift | low)
}

/// Returns the event for a buffer's final state.
const fn fate(token: Token, state: u32, stamp: Option<u64>) -> ControllerEvent<'static> {
    let why = match state {
        TX_SENT => return ControllerEvent::Sent { token, stamp },
        TX_FAILED => TransmitFailure::Error,
        TX_BUS_OFF => TransmitFailure::BusOff,
        _ => TransmitFailure::Aborted,
    };
    ControllerEvent::Failed { token, why }
}

/// Returns a classic frame's data, at most eight bytes, as a word that ends with zeros.
#[inline]
fn word_of(data: &[u8]) -> u64 {
    match (data.first_chunk(), data.last_chunk()) {
        // The last four bytes overlap the first ones, and are identical where they do.
        (Some(first), Some(last)) => {
            let at = 8 * (data.len() - 4).min(4);
            let low = u64::from(u32::from_le_bytes(*first));
            u64::from_le(low | u64::from(u32::from_le_bytes(*last)) << at)
        }
        _ => partial(data),
    }
}

/// Returns a frame of the FIFO: `struct canfd_frame`'s first eight bytes and its data.
#[inline]
fn view(start: u64, fd: bool, data: &[u8]) -> Option<FrameRef<'_>> {
    let [len, extra, _, _] = second(start).to_ne_bytes();
    let kind = if fd { Kind::Fd } else { Kind::Classic };
    let id = CanId::from_raw(first(start));
    if id.is_err() {
        return None;
    }
    let header = Header::new(kind, id, usize::from(len)).ok()?;
    let header = if fd { header.with_flags(extra) } else { header };
    FrameRef::new(header, data).ok()
}

impl<D: MappedDevice> Controller for MappedController<D> {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn start(&mut self, mode: &StartMode<'_>) -> Result<(), StartError> {
        self.end();
        self.status = ErrorStatus::default();
        let unsupported = |what| StartError::Unsupported { name: NAME, what };
        for (timing, data) in [(Some(mode.nominal), false), (mode.data, true)] {
            if timing.is_some_and(|timing| !timing.fits(&LIMITS)) {
                return Err(StartError::Timing { name: NAME, data });
            }
        }
        let mut filters = [(0, 0); FILTERS];
        // With more filters than there is room for, all frames are received, which is allowed.
        let count = if mode.filters.len() > FILTERS {
            0
        } else {
            mode.filters.len()
        };
        for (to, from) in filters.iter_mut().zip(mode.filters) {
            *to = (from.id, from.mask);
        }
        let join = BusJoin {
            version: VERSION,
            bitrate: mode.nominal.rate(CLOCK),
            data_bitrate: mode.data.map(|data| data.rate(CLOCK)),
            listen_only: mode.listen_only,
            one_shot: mode.one_shot,
            filters: filters.get(..count).unwrap_or_default(),
        };
        self.device.join(&join).map_err(|trap| match trap {
            DeviceTrap::Invalid => unsupported(
                "this: all controllers of a bus have the same bit rates; the kernel's log gives the cause",
            ),
            DeviceTrap::Down => unsupported("anything: it is down"),
            DeviceTrap::Other(what) => StartError::NoAnswer { name: NAME, what },
        })?;
        if first(self.device.get(at::CHANGES)) != VERSION {
            self.device.leave();
            let what = "its page has another version";
            return Err(StartError::NoAnswer { name: NAME, what });
        }
        self.changes = 0;
        self.tail = 0;
        self.broken = false;
        self.overruns = 0;
        self.arbitration_lost = 0;
        self.errors = 0;
        self.interrupts = false;
        self.diagnose = mode.diagnose;
        self.fd = mode.data.is_some();
        self.listen_only = mode.listen_only;
        self.status.state = Some(ErrorState::Active);
        self.look = true;
        Ok(())
    }

    fn stop(&mut self) {
        self.interrupts(false);
        self.end();
        self.status.state = None;
    }

    #[inline]
    fn room(&self) -> usize {
        BUFFERS - self.busy.count_ones() as usize
    }

    #[inline]
    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), ControllerRefusal> {
        let header = frame.header();
        let fd = header.kind() == Kind::Fd;
        let known = match header.kind() {
            Kind::Classic => true,
            Kind::Fd => self.fd && !header.is_rtr(),
            Kind::Xl => false,
        };
        if !self.status.is_on_bus() {
            return Err(ControllerRefusal::Down);
        }
        if !known || header.id().is_err() || self.listen_only {
            return Err(ControllerRefusal::Unsupported);
        }
        let i = (!self.busy).trailing_zeros() as usize;
        let Some(to) = self.tokens.get_mut(i) else {
            return Err(ControllerRefusal::Full);
        };
        *to = token;
        let at = buffer(i);
        let extra = header.flags() & (flags::BRS | flags::ESI);
        let len = u8::try_from(header.len()).unwrap_or(0);
        let rest = u32::from_ne_bytes([len, if fd { extra } else { 0 }, 0, 0]);
        let start = both(header.id().raw(), rest);
        self.device
            .set(at, if fd { both(FRAME_FD as u32, 0) } else { 0 });
        self.device.set(at + at::TX_FRAME, start);
        let place = at + at::TX_FRAME + 8;
        if fd {
            self.write_data(place, frame.data());
        } else {
            self.device.set(place, word_of(frame.data()));
        }
        match self.device.ring(1 << i) {
            Ok(()) => {
                self.busy |= 1 << i;
                Ok(())
            }
            Err(DeviceTrap::Invalid) => Err(ControllerRefusal::Unsupported),
            Err(DeviceTrap::Down | DeviceTrap::Other(_)) => Err(ControllerRefusal::Down),
        }
    }

    #[inline]
    fn service(
        &mut self,
        budget: usize,
        report: &mut dyn FnMut(ControllerEvent<'_>),
    ) -> Result<bool, ControllerGone> {
        let word = self.device.get(at::CHANGES);
        let changes = second(word);
        if changes == self.changes && !self.look {
            return Ok(false);
        }
        if word == u64::MAX {
            return Err(self.gone(report));
        }
        self.report_sent(report);
        let more = self.status.state.is_some() && self.report_received(budget, report);
        if self.broken {
            return Err(self.gone(report));
        }
        self.report_changes(report);
        // If there are more frames, the next call looks again.
        self.look = more;
        self.changes = changes;
        if more {
            return Ok(true);
        }
        // Also in polling mode: a reader of these two words sees whether there is anything new.
        self.device.set(at::SEEN, both(changes, 0));
        if self.interrupts {
            self.device.fence();
            // Changes before this write became visible did not raise the interrupt line.
            return Ok(second(self.device.get(at::CHANGES)) != changes);
        }
        Ok(more)
    }

    fn abort(&mut self) {
        if self.busy != 0 {
            self.device.abort(self.busy);
        }
    }

    fn interrupts(&mut self, on: bool) {
        self.interrupts = on;
        self.write_tail();
    }

    fn restart(&mut self) -> Result<(), StartError> {
        if self.status.state != Some(ErrorState::BusOff) {
            return Ok(());
        }
        self.device.recover().map_err(|_| StartError::NoAnswer {
            name: NAME,
            what: "it does not recover from bus-off",
        })
    }

    fn status(&self) -> ErrorStatus {
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first byte of a frame is the lowest in memory, and zeros follow the last one.
    #[test]
    fn a_frames_data_is_a_word() {
        let data = [1, 2, 3, 4, 5, 6, 7, 0xF8];
        for len in 0..=8 {
            let mut expected = [0; 8];
            expected[..len].copy_from_slice(&data[..len]);
            assert_eq!(word_of(&data[..len]).to_ne_bytes(), expected, "{len} bytes");
        }
    }
}
