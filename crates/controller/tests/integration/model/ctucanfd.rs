//! The CTU CAN FD core as its data sheet describes it, with four transmit buffers.

use super::{Arrival, Chip, Outcome};
use controller::Registers;
use frame::{CanId, Frame, Kind, dlc, flags};
use std::collections::VecDeque;

const BUFFERS: usize = 4;
/// Size of the receive FIFO, words.
const FIFO: usize = 64;

const EMPTY: u32 = 8;
const READY: u32 = 1;
const DONE: u32 = 4;
const FAILED: u32 = 6;
const ABORTED: u32 = 7;

pub(crate) struct CtuCanFdChip {
    gone: bool,
    mode: u32,
    interrupts: u32,
    enabled: u32,
    masked: u32,
    overrun: bool,
    pub(crate) btr: [u32; 2],
    pub(crate) delay: u32,
    bus_off: bool,
    recovering: bool,
    tec: u16,
    rec: u16,
    states: [u32; BUFFERS],
    priorities: u32,
    buffers: [[u32; 20]; BUFFERS],
    fifo: VecDeque<u32>,
    /// Remaining words of the frame that is being read.
    rest: u32,
    filters: [(u32, u32); 3],
    control: u32,
    capture: u32,
    /// Time in ticks of 10 ns.
    pub(crate) time: u64,
}

impl CtuCanFdChip {
    fn is_enabled(&self) -> bool {
        self.mode & 1 << 22 != 0
    }

    fn raise(&mut self, bit: u32) {
        self.interrupts |= bit & !self.masked;
    }

    /// The buffer that is sent next.
    fn next(&self) -> Option<usize> {
        let ready = (0..BUFFERS).filter(|&n| self.states[n] == READY);
        ready.max_by_key(|n| self.priorities >> (4 * n) & 7)
    }

    fn reset(&mut self) {
        let (gone, time) = (self.gone, self.time);
        *self = Self::new();
        (self.gone, self.time) = (gone, time);
    }

    fn status(&self) -> u32 {
        let warning = self.tec >= 96 || self.rec >= 96 || self.bus_off;
        u32::from(!self.fifo.is_empty()) | u32::from(self.overrun) << 1 | u32::from(warning) << 6
    }

    fn fault(&self) -> u32 {
        let state = if self.bus_off {
            1 << 18
        } else if self.tec >= 128 || self.rec >= 128 {
            1 << 17
        } else {
            1 << 16
        };
        state | 128 << 8 | 96
    }

    fn level(&mut self) {
        if !self.fifo.is_empty() {
            self.raise(1 << 10);
        }
    }

    fn accepts(&self, frame: &Frame) -> bool {
        if self.mode & 1 << 3 == 0 {
            return true;
        }
        let (id, eff) = (frame.id(), frame.id().is_eff());
        let number = if eff { id.number() } else { id.number() << 18 };
        let sort = u32::from(eff) + if frame.kind() == Kind::Fd { 2 } else { 0 };
        self.filters.iter().enumerate().any(|(n, (mask, value))| {
            self.control >> (4 * n) >> sort & 1 != 0 && (number ^ value) & mask == 0
        })
    }

    fn words(&self, frame: &Frame) -> Vec<u32> {
        let (id, header) = (frame.id(), frame.header());
        let payload = frame.data().chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        });
        let payload: Vec<u32> = payload.collect();
        let fd = frame.kind() == Kind::Fd;
        let format = u32::from(header.dlc())
            | u32::from(id.is_rtr()) << 5
            | u32::from(id.is_eff()) << 6
            | u32::from(fd) << 7
            | u32::from(header.is_brs()) << 9
            | u32::from(header.is_esi()) << 10
            | (payload.len() as u32 + 3) << 11;
        let shift = if id.is_eff() { 0 } else { 18 };
        let mut words = vec![
            format,
            id.number() << shift,
            self.time as u32,
            (self.time >> 32) as u32,
        ];
        words.extend(payload);
        words
    }

    fn command(&mut self, value: u32) {
        assert!(
            self.is_enabled() || value & 2 == 0,
            "a buffer is made ready while the core is off"
        );
        for n in (0..BUFFERS).filter(|n| value >> (8 + n) & 1 != 0) {
            let state = &mut self.states[n];
            match value & 7 {
                1 if *state & 4 != 0 => *state = EMPTY,
                2 => {
                    assert!(*state == EMPTY, "a buffer is made ready that is not empty");
                    *state = if self.bus_off { FAILED } else { READY };
                }
                4 if *state == READY => {
                    *state = ABORTED;
                    self.raise(1 << 11);
                }
                _ => {}
            }
        }
    }
}

impl Chip for CtuCanFdChip {
    fn new() -> Self {
        Self {
            gone: false,
            mode: 1 << 4 | 1 << 9,
            interrupts: 0,
            enabled: 0,
            masked: 0,
            overrun: false,
            btr: [0; 2],
            delay: 0,
            bus_off: false,
            recovering: false,
            tec: 0,
            rec: 0,
            states: [EMPTY; BUFFERS],
            priorities: 1,
            buffers: [[0; 20]; BUFFERS],
            fifo: VecDeque::new(),
            rest: 0,
            filters: [(0, 0); 3],
            control: 0,
            capture: 0,
            time: 1,
        }
    }

    fn arrive(&mut self, frame: &Frame) -> Arrival {
        if !self.is_enabled() || self.bus_off || self.gone {
            return Arrival::Off;
        }
        if !self.accepts(frame) {
            return Arrival::Filtered;
        }
        self.time += 1000;
        let words = self.words(frame);
        if self.fifo.len() + words.len() > FIFO {
            self.overrun = true;
            self.raise(1 << 3);
            return Arrival::Lost;
        }
        self.fifo.extend(words);
        self.level();
        Arrival::Stored
    }

    fn sending(&self) -> Option<Frame> {
        if !self.is_enabled() || self.bus_off || self.gone {
            return None;
        }
        let [format, identifier, _, _, payload @ ..] = self.buffers[self.next()?];
        let (rtr, eff, fd) = (
            format & 1 << 5 != 0,
            format & 1 << 6 != 0,
            format & 1 << 7 != 0,
        );
        let id = if eff {
            identifier | CanId::EFF_FLAG
        } else {
            assert!(identifier & 0x3_FFFF == 0);
            identifier >> 18
        };
        let id = CanId::from_raw(id);
        let code = (format & 0xF) as u8;
        let bytes: Vec<u8> = payload.iter().flat_map(|word| word.to_le_bytes()).collect();
        let frame = if fd {
            let bits = [(9, flags::BRS), (10, flags::ESI)];
            let bits = bits.iter().filter(|(bit, _)| format >> bit & 1 != 0);
            let bits = bits.fold(0, |all, (_, flag)| all | flag);
            Frame::fd(id, bits, &bytes[..dlc::fd_len(code).into()])
        } else if rtr {
            Frame::remote(id, code.min(8).into())
        } else {
            Frame::classic(id, &bytes[..code.min(8).into()])
        };
        Some(frame.unwrap().with_len8_dlc(code))
    }

    fn finish(&mut self, outcome: Outcome) {
        let Some(buffer) = self.next() else { return };
        let one_shot = self.mode & 1 << 16 != 0;
        assert!(!one_shot || self.mode >> 17 & 0xF == 0);
        match outcome {
            Outcome::Acknowledged => self.states[buffer] = DONE,
            Outcome::ArbitrationLost => {
                // In the sixth bit of the base ID.
                self.capture = 1 << 21 | 6 << 16;
                self.raise(1 << 5);
            }
            Outcome::Error => {
                // No acknowledgement.
                self.capture = 3 << 5 | 5;
                self.raise(1 << 6);
            }
        }
        if one_shot && outcome != Outcome::Acknowledged {
            self.states[buffer] = FAILED;
        }
        if self.states[buffer] != READY {
            self.raise(1 << 11);
        }
    }

    fn count_errors(&mut self, tec: u16, rec: u16) {
        if !self.is_enabled() || self.bus_off {
            return;
        }
        let before = (self.status() & 1 << 6, self.fault());
        (self.tec, self.rec) = (tec.min(511), rec.min(511));
        if tec > 255 {
            self.bus_off = true;
            assert!(self.mode & 1 << 25 != 0);
            for state in &mut self.states {
                if *state == READY {
                    *state = FAILED;
                }
            }
            self.raise(1 << 11);
        }
        if self.status() & 1 << 6 != before.0 {
            self.raise(1 << 2);
        }
        if self.fault() != before.1 {
            self.raise(1 << 4);
        }
    }

    fn recover(&mut self) {
        if self.recovering {
            (self.recovering, self.bus_off) = (false, false);
            (self.tec, self.rec) = (0, 0);
            self.raise(1 << 4 | 1 << 2);
        }
    }

    fn line(&self) -> bool {
        self.interrupts & self.enabled != 0
    }

    fn unplug(&mut self) {
        self.gone = true;
    }
}

impl Registers for CtuCanFdChip {
    fn read8(&mut self, _: u32) -> u8 {
        panic!("the driver uses accesses of 32 bits")
    }

    fn write8(&mut self, _: u32, _: u8) {
        panic!("the driver uses accesses of 32 bits")
    }

    fn read32(&mut self, offset: u32) -> u32 {
        if self.gone {
            return u32::MAX;
        }
        match offset {
            0x00 => 0x0203_CAFD,
            0x04 => self.mode,
            0x08 => self.status(),
            0x10 => self.interrupts,
            0x2C => self.fault(),
            0x30 => u32::from(self.tec) << 16 | u32::from(self.rec),
            0x5C => self.control & 0xFFFF | 0xF << 16,
            0x6C => {
                let word = self.fifo.pop_front().unwrap_or(0);
                self.rest = match self.rest {
                    0 => word >> 11 & 0x1F,
                    rest => rest - 1,
                };
                word
            }
            0x70 => (0..BUFFERS).fold(0, |all, n| all | self.states[n] << (4 * n)),
            0x74 => (BUFFERS as u32) << 16,
            0x7C => self.capture,
            _ => 0,
        }
    }

    fn write32(&mut self, offset: u32, value: u32) {
        if self.gone {
            return;
        }
        match offset {
            0x04 if value & 1 != 0 => self.reset(),
            0x04 => self.mode = value,
            0x0C => {
                if value & 1 << 3 != 0 {
                    self.overrun = false;
                }
                if value & 1 << 4 != 0 && self.bus_off {
                    self.recovering = true;
                }
            }
            0x10 => {
                self.interrupts &= !value;
                self.level();
            }
            0x14 => self.enabled |= value,
            0x18 => self.enabled &= !value,
            0x1C => self.masked |= value,
            0x20 => {
                self.masked &= !value;
                self.level();
            }
            0x24 | 0x28 => {
                assert!(
                    !self.is_enabled(),
                    "the bit timing is changed while the core is on"
                );
                self.btr[(offset - 0x24) as usize / 4] = value;
            }
            0x3C..=0x53 => {
                let n = (offset - 0x3C) as usize / 8;
                if offset & 4 != 0 {
                    self.filters[n].0 = value;
                } else {
                    self.filters[n].1 = value;
                }
            }
            0x5C => self.control = value,
            0x74 => self.command(value),
            0x78 => self.priorities = value,
            0x80 => self.delay = value,
            0x100..0x500 => {
                let (n, word) = ((offset >> 8) as usize - 1, (offset & 0xFF) as usize / 4);
                let state = self.states[n];
                assert!(state == EMPTY, "a buffer is written in state {state}");
                self.buffers[n][word] = value;
            }
            _ => {}
        }
    }
}
