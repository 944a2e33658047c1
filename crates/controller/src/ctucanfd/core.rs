//! The driver.

use super::filter;
use super::frame::{FifoRead, read, write};
use super::numbers::{
    DATA_PHASE_1, NOMINAL_PHASE_1, bit_time, bus_error, first_priorities, lost_bit, nanoseconds,
    secondary_sample_point, turned,
};
use super::registers::*;
use crate::{
    Controller, ControllerEvent, ControllerGone, ControllerRefusal, ErrorState, ErrorStatus,
    Properties, Registers, StartError, StartMode, TimingLimits, Token, TransmitFailure,
};
use frame::{FrameRef, Kind, dlc};

const NAME: &str = "CTU CAN FD";

/// Data sheet, BTR and BTR_FD; the minimum lengths as in Linux's `ctucanfd_base.c`.
const NOMINAL: TimingLimits = TimingLimits {
    prescaler: (1, 255),
    prescaler_step: 1,
    before_sample: (2, 190),
    after_sample: (1, 63),
    jump: 31,
};
const DATA: TimingLimits = TimingLimits {
    prescaler: (1, 255),
    prescaler_step: 1,
    before_sample: (2, 94),
    after_sample: (1, 31),
    jump: 31,
};
/// Number of transmit buffers if the core does not report it: before version 2.3, all had four.
const BUFFERS: usize = 4;
/// The maximum number of transmit buffers.
const MAX_BUFFERS: usize = 8;

/// Maximum number of reads of the device ID until the core has come out of reset.
const MAX_RESET_READS: u32 = 10_000;

/// A core and its driver.
pub struct CtuCanFd<R> {
    registers: R,
    properties: Properties,
    /// Frames in transmit buffers, oldest first, from buffer `tail` on.
    tokens: [Token; MAX_BUFFERS],
    tail: usize,
    in_flight: usize,
    /// Current value of the priority register.
    priorities: u32,
    /// Frames whose fate the next service must report: they were in flight at a stop.
    pending: [Option<(Token, Result<(), TransmitFailure>)>; MAX_BUFFERS],
    status: ErrorStatus,
    listen_only: bool,
    fd: bool,
    diagnose: bool,
    interrupts: bool,
}

impl<R: Registers> CtuCanFd<R> {
    /// Creates the driver of a core with these registers and this clock, Hz. Reads the number of
    /// the core's transmit buffers.
    pub fn new(mut registers: R, clock: u32) -> Self {
        let reported = (registers.read32(TX_COMMAND) >> 16 & 0xF) as usize;
        let buffers = match reported {
            2..=MAX_BUFFERS => reported,
            _ => BUFFERS,
        };
        Self {
            registers,
            properties: properties(clock, buffers),
            tokens: [0; MAX_BUFFERS],
            tail: 0,
            in_flight: 0,
            priorities: first_priorities(buffers),
            pending: [None; MAX_BUFFERS],
            status: ErrorStatus::default(),
            listen_only: false,
            fd: false,
            diagnose: false,
            interrupts: false,
        }
    }

    fn get(&mut self, register: u32) -> u32 {
        self.registers.read32(register)
    }

    fn set(&mut self, register: u32, value: u32) {
        self.registers.write32(register, value);
    }

    fn is_there(&mut self) -> bool {
        self.get(DEVICE_ID) & 0xFFFF == ID
    }

    fn reset(&mut self) -> bool {
        self.set(MODE, MODE_RESET);
        (0..MAX_RESET_READS).any(|_| self.is_there())
    }

    /// Returns the state of the oldest frame's buffer.
    fn oldest(&mut self) -> u32 {
        self.get(TX_STATUS) >> (4 * self.tail) & 0xF
    }

    /// Removes the oldest frame; its buffer can be filled again, as the last one in the order of
    /// sending.
    fn retire(&mut self) -> Token {
        let token = self.tokens.get(self.tail).copied().unwrap_or(0);
        let count = self.properties.buffers;
        // This happens before the buffer is ready again: no other frame ever has its priority.
        self.priorities = turned(self.priorities, count);
        self.set(TX_PRIORITY, self.priorities);
        self.set(TX_COMMAND, TX_EMPTY | TX_FIRST << self.tail);
        self.tail = (self.tail + 1) % count;
        self.in_flight -= 1;
        token
    }

    fn fate(&self, state: u32) -> Option<Result<(), TransmitFailure>> {
        match state {
            TX_DONE => Some(Ok(())),
            TX_FAILED if self.status.state == Some(ErrorState::BusOff) => {
                Some(Err(TransmitFailure::BusOff))
            }
            TX_FAILED | TX_PARITY => Some(Err(TransmitFailure::Error)),
            TX_ABORTED => Some(Err(TransmitFailure::Aborted)),
            _ => None,
        }
    }

    fn transmitted(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        while self.in_flight > 0 {
            let state = self.oldest();
            let Some(fate) = self.fate(state) else {
                return;
            };
            let token = self.retire();
            report(ControllerEvent::end(token, fate));
        }
    }

    /// Gives up the frames in flight; the next service reports their fate.
    fn give_up(&mut self, why: TransmitFailure) {
        let mut slot = 0;
        while self.in_flight > 0 {
            let state = self.oldest();
            let fate = self.fate(state).unwrap_or(Err(why));
            let token = self.retire();
            while self.pending.get(slot).is_some_and(Option::is_some) {
                slot += 1;
            }
            if let Some(free) = self.pending.get_mut(slot) {
                *free = Some((token, fate));
            }
        }
    }

    fn report_pending(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        for slot in &mut self.pending {
            if let Some((token, fate)) = slot.take() {
                report(ControllerEvent::end(token, fate));
            }
        }
    }

    /// Takes one frame; returns false if there was none.
    fn receive(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) -> bool {
        let mut payload = [0; dlc::FD_MAX];
        match read(&mut self.registers, &mut payload) {
            FifoRead::Nothing => return false,
            FifoRead::Garbage => report(ControllerEvent::Overrun {
                frames: 1,
                exact: false,
            }),
            FifoRead::Frame(header, ticks) => {
                // A core whose time base input is not connected stamps with 0.
                let stamp = (ticks > 0).then(|| nanoseconds(ticks, self.properties.clock));
                if let Ok(frame) = FrameRef::new(header, &payload) {
                    report(ControllerEvent::Received { frame, stamp });
                }
            }
        }
        true
    }

    fn look_at_errors(&mut self, status: u32, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        let quiet = status & STATUS_WARNING == 0;
        if quiet && self.status.state == Some(ErrorState::Active) {
            return;
        }
        let fault = self.get(FAULT);
        let counters = self.get(COUNTERS);
        let state = if fault & FAULT_BUS_OFF != 0 {
            ErrorState::BusOff
        } else if fault & FAULT_PASSIVE != 0 {
            ErrorState::Passive
        } else if quiet {
            ErrorState::Active
        } else {
            ErrorState::Warning
        };
        let now = ErrorStatus {
            state: Some(state),
            tec: (counters >> 16 & 0x1FF) as u16,
            rec: (counters & 0x1FF) as u16,
        };
        let changed = now.state != self.status.state;
        self.status = now;
        if changed {
            report(ControllerEvent::Status(now));
        }
    }

    fn report_captured(&mut self, interrupts: u32, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        if interrupts & I_DIAGNOSE == 0 {
            return;
        }
        let captured = self.get(CAPTURE);
        if interrupts & I_ARBITRATION != 0 {
            report(ControllerEvent::ArbitrationLost {
                bit: lost_bit(captured),
            });
        }
        if interrupts & I_BUS_ERROR != 0 {
            report(ControllerEvent::BusError(bus_error(captured)));
        }
    }

    fn set_filters(&mut self, mode: &StartMode<'_>) -> u32 {
        let Some(slots) = filter::compute(mode.filters) else {
            return 0;
        };
        // The upper half shows which of the filters A, B and C were synthesized.
        if self.get(FILTER_CONTROL) >> 16 & 0b111 != 0b111 {
            return 0;
        }
        let mut control = 0;
        for (slot, n) in slots.into_iter().zip(0..) {
            self.set(FILTER_A_MASK + 8 * n, slot.mask);
            self.set(FILTER_A_MASK + 8 * n + 4, slot.value);
            control |= slot.sorts << (4 * n);
        }
        self.set(FILTER_CONTROL, control);
        MODE_FILTERS
    }

    fn wanted(&self) -> u32 {
        I_USUAL | if self.diagnose { I_DIAGNOSE } else { 0 }
    }
}

impl<R: Registers> Controller for CtuCanFd<R> {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn start(&mut self, mode: &StartMode<'_>) -> Result<(), StartError> {
        let no_answer = |what| StartError::NoAnswer { name: NAME, what };
        self.stop();
        for (timing, limits, data) in [
            (Some(mode.nominal), &NOMINAL, false),
            (mode.data, &DATA, true),
        ] {
            if timing.is_some_and(|timing| !timing.fits(limits)) {
                return Err(StartError::Timing { name: NAME, data });
            }
        }
        if !self.is_there() {
            return Err(no_answer("report its ID"));
        }
        if !self.reset() {
            return Err(no_answer("come out of reset"));
        }
        self.set(BTR, bit_time(&mode.nominal, NOMINAL_PHASE_1));
        let data = mode.data.unwrap_or(mode.nominal);
        if let Some(data) = &mode.data {
            self.set(BTR_FD, bit_time(data, DATA_PHASE_1));
        }
        self.set(
            TRV_DELAY,
            secondary_sample_point(&data, self.properties.clock),
        );
        self.tail = 0;
        self.priorities = first_priorities(self.properties.buffers);
        self.set(TX_PRIORITY, self.priorities);
        self.listen_only = mode.listen_only;
        self.fd = mode.data.is_some();
        self.diagnose = mode.diagnose;
        self.interrupts = false;
        let mut bits = MODE_RX_AUTOMATIC | MODE_FAIL_AT_BUS_OFF | self.set_filters(mode);
        for (asked, bit) in [
            (mode.listen_only, MODE_LISTEN),
            (self.fd, MODE_FD),
            (mode.one_shot, MODE_LIMIT),
        ] {
            bits |= if asked { bit } else { 0 };
        }
        let wanted = self.wanted();
        self.set(INT_ENA_CLR, I_ALL);
        self.set(INT_MASK_SET, I_ALL & !wanted);
        self.set(INT_MASK_CLR, wanted);
        self.set(INT_STAT, I_ALL);
        self.set(MODE, bits);
        self.set(MODE, bits | MODE_ENABLED);
        if self.get(MODE) & MODE_ENABLED == 0 {
            return Err(no_answer("take part in the bus"));
        }
        self.status = ErrorStatus {
            state: Some(ErrorState::Active),
            ..ErrorStatus::default()
        };
        Ok(())
    }

    fn stop(&mut self) {
        self.set(INT_ENA_CLR, I_ALL);
        // Frames that are already on the bus may be sent or not; the buffers' states show the
        // outcome.
        self.abort();
        self.give_up(TransmitFailure::Aborted);
        self.reset();
        self.status.state = None;
        self.interrupts = false;
    }

    fn room(&self) -> usize {
        if !self.status.is_on_bus() {
            return 0;
        }
        // Each frame that is still to be reported occupies a buffer, too.
        let pending = self.pending.iter().flatten().count();
        self.properties
            .buffers
            .saturating_sub(self.in_flight + pending)
    }

    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), ControllerRefusal> {
        let carries = match frame.kind() {
            Kind::Classic => !frame.id().is_err(),
            Kind::Fd => self.fd && !frame.id().is_err() && !frame.id().is_rtr(),
            Kind::Xl => false,
        };
        if !carries || self.listen_only {
            return Err(ControllerRefusal::Unsupported);
        }
        if !self.status.is_on_bus() {
            return Err(ControllerRefusal::Down);
        }
        if self.room() == 0 {
            return Err(ControllerRefusal::Full);
        }
        let index = (self.tail + self.in_flight) % self.properties.buffers;
        let Some(place) = self.tokens.get_mut(index) else {
            return Err(ControllerRefusal::Full);
        };
        *place = token;
        self.in_flight += 1;
        write(&mut self.registers, BUFFER * (index as u32 + 1), frame);
        self.set(TX_COMMAND, TX_READY | TX_FIRST << index);
        Ok(())
    }

    fn service(
        &mut self,
        budget: usize,
        report: &mut dyn FnMut(ControllerEvent<'_>),
    ) -> Result<bool, ControllerGone> {
        self.report_pending(report);
        if self.status.state.is_none() {
            return Ok(false);
        }
        if self.interrupts || self.diagnose {
            let interrupts = self.get(INT_STAT);
            if self.interrupts && interrupts == 0 {
                return Ok(false);
            }
            if interrupts != u32::MAX && interrupts != 0 {
                // Cleared before the events are read: later events set the bits again.
                self.set(INT_STAT, interrupts);
                self.report_captured(interrupts, report);
            }
        }
        let mut status = self.get(STATUS);
        if status == u32::MAX {
            self.status.state = None;
            while self.in_flight > 0 {
                let token = self.retire();
                report(ControllerEvent::end(token, Err(TransmitFailure::Gone)));
            }
            return Err(ControllerGone);
        }
        self.look_at_errors(status, report);
        let mut frames = 0;
        let more = loop {
            self.transmitted(report);
            if status & STATUS_OVERRUN != 0 {
                report(ControllerEvent::Overrun {
                    frames: 1,
                    exact: false,
                });
                self.set(COMMAND, COMMAND_CLEAR_OVERRUN);
            }
            if status & STATUS_RECEIVED == 0 {
                break false;
            }
            if frames >= budget {
                break true;
            }
            if !self.receive(report) {
                break false;
            }
            frames += 1;
            status = self.get(STATUS);
        };
        if self.interrupts && !more {
            // The bit stays set while the FIFO is not empty, and is still set from this call's
            // frames.
            self.set(INT_STAT, I_RECEIVED);
        }
        Ok(more)
    }

    fn abort(&mut self) {
        let count = self.properties.buffers;
        for n in 0..self.in_flight {
            let index = (self.tail + n) % count;
            self.set(TX_COMMAND, TX_ABORT | TX_FIRST << index);
        }
    }

    fn interrupts(&mut self, on: bool) {
        self.interrupts = on && self.status.state.is_some();
        let wanted = self.wanted();
        if self.interrupts {
            self.set(INT_ENA_SET, wanted);
        } else {
            self.set(INT_ENA_CLR, I_ALL);
        }
    }

    fn restart(&mut self) -> Result<(), StartError> {
        if self.status.state == Some(ErrorState::BusOff) {
            self.abort();
            self.give_up(TransmitFailure::BusOff);
            self.set(COMMAND, COMMAND_RESET_COUNTERS);
        }
        Ok(())
    }

    fn status(&self) -> ErrorStatus {
        self.status
    }
}

/// Returns the properties of a core with this clock and this number of transmit buffers.
const fn properties(clock: u32, buffers: usize) -> Properties {
    Properties {
        name: NAME,
        clock,
        nominal: NOMINAL,
        data: Some(DATA),
        buffers,
        stamps: true,
        listen_only: true,
        one_shot: true,
    }
}

impl CtuCanFd<()> {
    /// Returns the properties of a core with this clock that are known without accessing it.
    #[must_use]
    pub const fn usual_properties(clock: u32) -> Properties {
        properties(clock, BUFFERS)
    }
}
