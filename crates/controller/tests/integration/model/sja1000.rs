//! The SJA1000 as its data sheet describes it (PeliCAN mode). A command takes effect after the
//! access that follows it, so that a driver that trusts the status register too early is detected.

use super::{Arrival, Chip, Outcome};
use controller::Registers;
use frame::{CanId, Frame};
use std::collections::VecDeque;

const FIFO: usize = 64;

pub(crate) struct Sja1000Chip {
    gone: bool,
    mode: u8,
    divider: u8,
    enabled: u8,
    /// Pending interrupts except RI.
    interrupts: u8,
    overrun: bool,
    free: bool,
    complete: bool,
    bus_off: bool,
    /// The chip waits for 128 times 11 recessive bits.
    recovering: bool,
    tec: u8,
    rec: u8,
    lost: u8,
    code: u8,
    pub(crate) timing: [u8; 2],
    pub(crate) output: u8,
    filter: [u8; 8],
    buffer: [u8; 13],
    fifo: VecDeque<Vec<u8>>,
    one_shot: bool,
    command: Option<u8>,
}

impl Sja1000Chip {
    fn reset_mode(&self) -> bool {
        self.mode & 1 != 0
    }

    fn raise(&mut self, bit: u8) {
        self.interrupts |= bit & self.enabled;
    }

    fn status(&self) -> u8 {
        let errors = self.tec >= 96 || self.rec >= 96 || self.bus_off;
        u8::from(!self.fifo.is_empty())
            | u8::from(self.overrun) << 1
            | u8::from(self.free) << 2
            | u8::from(self.complete) << 3
            | u8::from(errors) << 6
            | u8::from(self.bus_off) << 7
    }

    fn pending(&self) -> u8 {
        self.interrupts | u8::from(!self.fifo.is_empty()) & self.enabled
    }

    fn release(&mut self) {
        if !self.free {
            self.free = true;
            self.raise(0x02);
        }
    }

    fn enter_reset(&mut self) {
        self.mode |= 1;
        self.free = true;
        self.fifo.clear();
        self.overrun = false;
    }

    fn apply(&mut self, command: u8) {
        if command & 0x04 != 0 {
            self.fifo.pop_front();
        }
        if command & 0x08 != 0 {
            self.overrun = false;
        }
        if self.reset_mode() {
            return;
        }
        if command & 0x01 != 0 {
            assert!(self.free, "a request while the buffer is in use");
            self.free = false;
            self.complete = false;
            self.one_shot = command & 0x02 != 0;
        } else if command & 0x02 != 0 {
            self.release();
        }
    }

    /// Applies the command of the previous access at the end of this one.
    fn settle(&mut self, before: Option<u8>) {
        if let Some(command) = before {
            self.apply(command);
        }
    }

    fn bytes(frame: &Frame) -> Vec<u8> {
        let (id, header) = (frame.id(), frame.header());
        let info = header.dlc() as u8 | u8::from(id.is_rtr()) << 6 | u8::from(id.is_eff()) << 7;
        let rtr = u8::from(id.is_rtr());
        let mut bytes = vec![info];
        if id.is_eff() {
            let id = id.number() << 3;
            bytes.extend(id.to_be_bytes());
            bytes[4] |= rtr << 2;
        } else {
            let id = (id.number() << 5) as u16;
            bytes.extend(id.to_be_bytes());
            bytes[2] |= rtr << 4;
        }
        bytes.extend(frame.data());
        bytes
    }

    fn accepts(&self, frame: &Frame) -> bool {
        assert!(self.mode & 0x08 != 0, "the model knows the single filter");
        let bytes = Self::bytes(frame);
        let (code, mask) = self.filter.split_at(4);
        let compared = if frame.id().is_eff() {
            vec![bytes[1], bytes[2], bytes[3], bytes[4]]
        } else {
            bytes[1..]
                .iter()
                .copied()
                .take(2)
                .chain(frame.data().iter().copied().take(2))
                .collect()
        };
        let unused = if frame.id().is_eff() {
            [0, 0, 0, 3]
        } else {
            [0, 0x0F, 0, 0]
        };
        compared
            .iter()
            .zip(code)
            .zip(mask)
            .zip(unused)
            .all(|(((byte, code), mask), unused)| (byte ^ code) & !mask & !unused == 0)
    }
}

impl Chip for Sja1000Chip {
    fn new() -> Self {
        Self {
            gone: false,
            mode: 1,
            divider: 0,
            enabled: 0,
            interrupts: 0,
            overrun: false,
            free: true,
            complete: true,
            bus_off: false,
            recovering: false,
            tec: 0,
            rec: 0,
            lost: 0,
            code: 0,
            timing: [0; 2],
            output: 0,
            filter: [0; 8],
            buffer: [0; 13],
            fifo: VecDeque::new(),
            one_shot: false,
            command: None,
        }
    }

    fn arrive(&mut self, frame: &Frame) -> Arrival {
        if self.reset_mode() || self.bus_off || self.gone {
            return Arrival::Off;
        }
        if !self.accepts(frame) {
            return Arrival::Filtered;
        }
        let bytes = Self::bytes(frame);
        let used: usize = self.fifo.iter().map(Vec::len).sum();
        if used + bytes.len() > FIFO {
            self.overrun = true;
            self.raise(0x08);
            return Arrival::Lost;
        }
        self.fifo.push_back(bytes);
        Arrival::Stored
    }

    fn sending(&self) -> Option<Frame> {
        if self.free || self.reset_mode() || self.bus_off || self.gone {
            return None;
        }
        assert!(self.mode & 0x02 == 0, "it sends in listen-only mode");
        let [info, b @ ..] = self.buffer;
        let rtr = if info & 0x40 != 0 { CanId::RTR_FLAG } else { 0 };
        let (id, data) = if info & 0x80 != 0 {
            let id = u32::from_be_bytes([b[0], b[1], b[2], b[3]]) >> 3;
            (id | CanId::EFF_FLAG, &b[4..])
        } else {
            (u32::from(u16::from_be_bytes([b[0], b[1]])) >> 5, &b[2..])
        };
        let (id, dlc) = (CanId::from_raw(id | rtr), info & 0x0F);
        let len = usize::from(dlc.min(8));
        let frame = if rtr != 0 {
            Frame::remote(id, len)
        } else {
            Frame::classic(id, &data[..len])
        };
        Some(frame.unwrap().with_len8_dlc(dlc))
    }

    fn finish(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Acknowledged => self.complete = true,
            Outcome::ArbitrationLost => {
                self.lost = 5;
                self.raise(0x40);
            }
            Outcome::Error => {
                // An acknowledgement error while transmitting.
                self.code = 0xD9 & !0x20;
                self.raise(0x80);
            }
        }
        if outcome == Outcome::Acknowledged || self.one_shot {
            self.release();
        }
    }

    fn count_errors(&mut self, tec: u16, rec: u16) {
        if self.reset_mode() || self.bus_off {
            return;
        }
        let warned = |chip: &Self| chip.tec >= 96 || chip.rec >= 96;
        let passive = |chip: &Self| chip.tec >= 128 || chip.rec >= 128;
        let before = (warned(self), passive(self));
        if tec > 255 {
            self.bus_off = true;
            self.tec = 127;
            self.rec = 0;
            self.enter_reset();
            self.raise(0x04);
            return;
        }
        (self.tec, self.rec) = (tec as u8, rec.min(255) as u8);
        if warned(self) != before.0 {
            self.raise(0x04);
        }
        if passive(self) != before.1 {
            self.raise(0x20);
        }
    }

    fn recover(&mut self) {
        if self.recovering {
            self.recovering = false;
            self.bus_off = false;
            self.tec = 0;
            self.raise(0x04);
        }
    }

    fn line(&self) -> bool {
        self.pending() != 0
    }

    fn unplug(&mut self) {
        self.gone = true;
    }
}

impl Registers for Sja1000Chip {
    fn read8(&mut self, offset: u32) -> u8 {
        if self.gone {
            return 0xFF;
        }
        let before = self.command.take();
        let value = match (offset, self.reset_mode()) {
            (0, _) => self.mode,
            (2, _) => self.status(),
            (3, _) => {
                let all = self.pending();
                self.interrupts = 0;
                all
            }
            (4, _) => self.enabled,
            (6, true) => self.timing[0],
            (7, true) => self.timing[1],
            (11, _) => std::mem::take(&mut self.lost),
            (12, _) => std::mem::take(&mut self.code),
            (14, _) => self.rec,
            (15, _) => self.tec,
            (16..=23, true) => self.filter[offset as usize - 16],
            (16..=28, false) => {
                let frame = self
                    .fifo
                    .front()
                    .expect("a frame is read that is not there");
                // Bits 0 to 4 of the second ID byte are not 0.
                let byte = frame.get(offset as usize - 16).copied();
                byte.unwrap_or(0xAA)
            }
            (31, _) => self.divider,
            _ => 0,
        };
        self.settle(before);
        value
    }

    fn write8(&mut self, offset: u32, value: u8) {
        if self.gone {
            return;
        }
        let before = self.command.take();
        assert!(
            before.is_none() || offset != 1,
            "two commands without a pause"
        );
        match (offset, self.reset_mode()) {
            (0, false) if value & 1 != 0 => self.enter_reset(),
            (0, false) => {}
            (0, true) => {
                self.mode = value & 0x1F;
                if value & 1 == 0 {
                    assert!(self.divider & 0x80 != 0, "not in PeliCAN mode");
                    self.recovering = self.bus_off;
                }
            }
            (1, _) => self.command = Some(value),
            (4, _) => self.enabled = value,
            (6, true) => self.timing[0] = value,
            (7, true) => self.timing[1] = value,
            (8, true) => self.output = value,
            (14, true) => self.rec = value,
            (15, true) => {
                self.tec = value;
                if value < 255 {
                    self.bus_off = false;
                }
            }
            (16..=23, true) => self.filter[offset as usize - 16] = value,
            (16..=28, false) => {
                assert!(
                    self.free,
                    "the transmit buffer is written while it is in use"
                );
                self.buffer[offset as usize - 16] = value;
            }
            (31, _) => self.divider = value,
            _ => {}
        }
        self.settle(before);
    }

    fn read32(&mut self, _: u32) -> u32 {
        panic!("the chip has registers of 8 bits")
    }

    fn write32(&mut self, _: u32, _: u32) {
        panic!("the chip has registers of 8 bits")
    }
}
