//! The driver.

use super::filter::{self, AcceptanceFilter};
use super::frame::{PAYLOAD, read, write};
use super::numbers::{bus_error, bus_timing};
use super::registers::*;
use crate::{
    Controller, ControllerEvent, ControllerGone, ControllerRefusal, ErrorState, ErrorStatus,
    Properties, Registers, StartError, StartMode, TimingLimits, Token, TransmitFailure,
};
use frame::{FrameRef, Kind};

const NAME: &str = "SJA1000";

/// Data sheet, sections 6.5.1 to 6.5.3: BTR0 and BTR1.
const LIMITS: TimingLimits = TimingLimits {
    prescaler: (1, 64),
    prescaler_step: 1,
    before_sample: (1, 16),
    after_sample: (1, 8),
    jump: 4,
};

/// Maximum number of reads of a register until the chip has changed its mode. It does so within a
/// few clock periods, or at the end of the frame that it is sending; an access takes at least a
/// fraction of a microsecond.
const MAX_MODE_READS: u32 = 10_000;

/// The maximum number of frames in the receive FIFO: 64 bytes, with at least 3 per frame.
const MOST_FRAMES: u32 = 22;

/// The wiring of the chip on its board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChipWiring {
    /// The clock from which bit times are derived, Hz: half of the crystal's frequency.
    pub clock: u32,
    /// The output control register: driver stages and polarity. The driver adds the mode bits.
    pub output: u8,
    /// The clock divider register: comparator bypass and clock output. The driver adds the PeliCAN
    /// bit.
    pub clock_divider: u8,
}

/// An SJA1000 and its driver.
pub struct Sja1000<R> {
    registers: R,
    wiring: ChipWiring,
    properties: Properties,
    /// The frame in the transmit buffer.
    in_flight: Option<InFlight>,
    /// A frame whose fate the next service must report: it was in flight at a stop.
    pending: Option<(Token, Result<(), TransmitFailure>)>,
    status: ErrorStatus,
    mode: RunningMode,
    acceptance: AcceptanceFilter,
    interrupts: bool,
    aborting: bool,
}

/// The settings of the [`StartMode`] that are needed after the start.
#[derive(Clone, Copy, Default)]
struct RunningMode {
    listen_only: bool,
    one_shot: bool,
    diagnose: bool,
    /// Value of the mode register in operating mode.
    register: u8,
}

#[derive(Clone, Copy)]
struct InFlight {
    token: Token,
    /// Whether the chip has reported that the frame lost arbitration.
    lost: bool,
}

impl<R: Registers> Sja1000<R> {
    /// Creates the driver of a chip with these registers. It does not access the chip yet.
    pub const fn new(registers: R, wiring: ChipWiring) -> Self {
        Self {
            registers,
            wiring,
            properties: Properties {
                name: NAME,
                clock: wiring.clock,
                nominal: LIMITS,
                data: None,
                buffers: 1,
                stamps: false,
                listen_only: true,
                one_shot: true,
            },
            in_flight: None,
            pending: None,
            status: ErrorStatus {
                state: None,
                tec: 0,
                rec: 0,
            },
            mode: RunningMode {
                listen_only: false,
                one_shot: false,
                diagnose: false,
                register: 0,
            },
            acceptance: filter::ALL,
            interrupts: false,
            aborting: false,
        }
    }

    fn get(&mut self, register: u32) -> u8 {
        self.registers.read8(register)
    }

    fn set(&mut self, register: u32, value: u8) {
        self.registers.write8(register, value);
    }

    /// Writes the command register; returns false at bus-off. A command needs a period of the clock
    /// to settle (data sheet, section 6.4.4). Until then the status register shows the earlier
    /// state, so one read of it is discarded, as in Linux's `sja1000_write_cmdreg`. Of that read
    /// only bus-off is used, because it does not depend on the command.
    fn command(&mut self, bits: u8) -> bool {
        self.set(CMR, bits);
        self.get(SR) & SR_BUS_OFF == 0
    }

    /// Enters or leaves reset mode.
    fn turn(&mut self, register: u8) -> bool {
        for _ in 0..MAX_MODE_READS {
            self.set(MOD, register);
            // The upper bits are reserved.
            if self.get(MOD) & 0x1F == register {
                return true;
            }
        }
        false
    }

    /// Gives up the frame in flight; the next service reports its fate.
    fn give_up(&mut self, why: TransmitFailure) {
        if let Some(frame) = self.in_flight.take() {
            // In reset mode the bits keep the result of the last transmission (data sheet, table
            // 12, notes): complete or not.
            let sent = self.get(SR) & (SR_COMPLETE | SR_BUFFER_FREE);
            let fate = if sent == SR_COMPLETE | SR_BUFFER_FREE {
                Ok(())
            } else {
                Err(why)
            };
            self.pending = Some((frame.token, fate));
        }
        self.aborting = false;
    }

    fn enabled(&self) -> u8 {
        match (self.interrupts, self.mode.diagnose) {
            (false, false) => 0,
            // The bits are needed to find out what happened; the line is masked elsewhere.
            (true, false) => I_USUAL,
            (_, true) => I_USUAL | I_ARBITRATION | I_BUS_ERROR,
        }
    }

    fn report_pending(&mut self, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        if let Some((token, fate)) = self.pending.take() {
            report(ControllerEvent::end(token, fate));
        }
    }

    /// Reports the fate of the frame in the transmit buffer, which is free again.
    fn transmitted(&mut self, status: u8, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        let Some(frame) = self.in_flight.take() else {
            return;
        };
        let aborted = core::mem::take(&mut self.aborting);
        let fate = if status & SR_COMPLETE != 0 {
            Ok(())
        } else if status & SR_BUS_OFF != 0 {
            Err(TransmitFailure::BusOff)
        } else if aborted {
            Err(TransmitFailure::Aborted)
        } else if frame.lost {
            Err(TransmitFailure::ArbitrationLost)
        } else {
            Err(TransmitFailure::Error)
        };
        report(ControllerEvent::end(frame.token, fate));
    }

    /// Takes a frame; `status` is the status register's value before. Returns its value afterwards.
    fn receive(&mut self, status: u8, report: &mut dyn FnMut(ControllerEvent<'_>)) -> u8 {
        let mut payload = [0; PAYLOAD];
        let header = read(&mut self.registers, &mut payload);
        // At bus-off other registers appear at the FIFO's addresses, at any moment. The error
        // counters pass the warning limit before, and that takes far longer than reading a frame.
        if status & SR_ERROR == 0 || self.get(SR) & SR_BUS_OFF == 0 {
            if let Ok(frame) = FrameRef::new(header, &payload) {
                report(ControllerEvent::Received { frame, stamp: None });
            }
            self.command(CMR_RELEASE);
        }
        self.get(SR)
    }

    /// Reads the error counters if they can have changed, and reports a changed error state.
    fn look_at_errors(&mut self, status: u8, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        let quiet = status & (SR_ERROR | SR_BUS_OFF) == 0;
        if quiet && self.status.state == Some(ErrorState::Active) {
            return;
        }
        let now = self.read_status(status);
        if now.state != self.status.state {
            report(ControllerEvent::Status(now));
        }
        self.status = now;
    }

    fn read_status(&mut self, status: u8) -> ErrorStatus {
        let tec = u16::from(self.get(TXERR));
        let rec = u16::from(self.get(RXERR));
        let state = if status & SR_BUS_OFF != 0 {
            ErrorState::BusOff
        } else if tec.max(rec) >= ErrorState::PASSIVE_LIMIT {
            ErrorState::Passive
        } else if status & SR_ERROR != 0 {
            ErrorState::Warning
        } else {
            ErrorState::Active
        };
        ErrorStatus {
            state: Some(state),
            tec,
            rec,
        }
    }

    /// Reports the events that only the interrupt register shows.
    fn diagnose(&mut self, interrupts: u8, report: &mut dyn FnMut(ControllerEvent<'_>)) {
        if interrupts & I_ARBITRATION != 0 {
            // Bits 0 to 4: 0 is the first bit of the ID (data sheet, table 17).
            let bit = self.get(ALC) & 0x1F;
            if let Some(frame) = &mut self.in_flight {
                frame.lost = true;
            }
            report(ControllerEvent::ArbitrationLost { bit: Some(bit) });
        }
        if interrupts & I_BUS_ERROR != 0 {
            let code = self.get(ECC);
            report(ControllerEvent::BusError(bus_error(code)));
        }
    }

    /// Writes the acceptance filter; the chip must be in reset mode.
    fn set_filter(&mut self) {
        let AcceptanceFilter { code, mask } = self.acceptance;
        for (byte, at) in code.into_iter().zip(ACR0..) {
            self.set(at, byte);
        }
        for (byte, at) in mask.into_iter().zip(AMR0..) {
            self.set(at, byte);
        }
    }

    /// Sets up everything but the mode itself; the chip must be in reset mode.
    fn set_up(&mut self, mode: &StartMode<'_>) -> bool {
        self.set(IER, 0);
        self.set(CDR, self.wiring.clock_divider | CDR_PELICAN);
        self.acceptance = filter::compute(mode.filters);
        self.set_filter();
        let (btr0, btr1) = bus_timing(&mode.nominal);
        self.set(BTR0, btr0);
        self.set(BTR1, btr1);
        self.set(OCR, self.wiring.output | OCR_NORMAL);
        self.set(TXERR, 0);
        self.set(RXERR, 0);
        // Clears what another driver left: captured errors, interrupts, frames, an overrun.
        // Entering reset mode clears the last two on the chip, but not on all of its copies.
        self.get(ECC);
        self.get(ALC);
        self.command(CMR_ABORT | CMR_CLEAR_OVERRUN);
        for _ in 0..MOST_FRAMES {
            if self.get(SR) & SR_RECEIVED == 0 {
                break;
            }
            self.command(CMR_RELEASE);
        }
        self.get(IR);
        self.get(CDR) & CDR_PELICAN != 0
    }
}

impl<R: Registers> Controller for Sja1000<R> {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn start(&mut self, mode: &StartMode<'_>) -> Result<(), StartError> {
        let unsupported = |what| StartError::Unsupported { name: NAME, what };
        self.stop();
        if mode.data.is_some() {
            return Err(unsupported("FD frames: leave the data bit rate out"));
        }
        if !mode.nominal.fits(&LIMITS) {
            return Err(StartError::Timing {
                name: NAME,
                data: false,
            });
        }
        let no_answer = |what| StartError::NoAnswer { name: NAME, what };
        let stopped = self.get(MOD);
        if stopped & MOD_RESET == 0 || stopped == 0xFF {
            return Err(no_answer("enter reset mode"));
        }
        if !self.set_up(mode) {
            return Err(no_answer("enter PeliCAN mode"));
        }
        let mut register = MOD_SINGLE_FILTER;
        if mode.listen_only {
            register |= MOD_LISTEN;
        }
        self.mode = RunningMode {
            listen_only: mode.listen_only,
            one_shot: mode.one_shot,
            diagnose: mode.diagnose,
            register,
        };
        self.interrupts = false;
        // Listen-only can be selected in reset mode only; so the two bits are written one after the
        // other.
        if !self.turn(register | MOD_RESET) || !self.turn(register) {
            self.stop();
            return Err(no_answer("enter operating mode"));
        }
        self.set(IER, self.enabled());
        self.status = ErrorStatus {
            state: Some(ErrorState::Active),
            ..ErrorStatus::default()
        };
        Ok(())
    }

    fn stop(&mut self) {
        self.set(IER, 0);
        self.turn(MOD_RESET);
        // A bit that is already set keeps the line raised until the register is read.
        self.get(IR);
        self.give_up(TransmitFailure::Aborted);
        self.status.state = None;
        self.interrupts = false;
    }

    fn room(&self) -> usize {
        // A frame that is still to be reported occupies the buffer, too.
        let free = self.in_flight.is_none() && self.pending.is_none();
        usize::from(free && self.status.is_on_bus())
    }

    fn transmit(&mut self, frame: FrameRef<'_>, token: Token) -> Result<(), ControllerRefusal> {
        if frame.kind() != Kind::Classic || frame.id().is_err() || self.mode.listen_only {
            return Err(ControllerRefusal::Unsupported);
        }
        if !self.status.is_on_bus() {
            return Err(ControllerRefusal::Down);
        }
        if self.room() == 0 {
            return Err(ControllerRefusal::Full);
        }
        write(&mut self.registers, frame);
        // Both bits in one command: the frame is transmitted only once (data sheet, table 11, note
        // 2).
        let on_bus = self.command(if self.mode.one_shot {
            CMR_TRANSMIT | CMR_ABORT
        } else {
            CMR_TRANSMIT
        });
        if !on_bus {
            // The chip is in reset mode: the frame was written to the acceptance filter's
            // registers, and the command had no effect. A restart writes the filter again.
            return Err(ControllerRefusal::Down);
        }
        self.in_flight = Some(InFlight { token, lost: false });
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
        if self.enabled() != 0 {
            let interrupts = self.get(IR);
            if interrupts == 0 {
                return Ok(false);
            }
            if interrupts != 0xFF {
                self.diagnose(interrupts, report);
            }
        }
        let mut status = self.get(SR);
        // All bits cannot be set at once: at bus-off the chip is in reset mode, where nothing is
        // received.
        if status == 0xFF && self.get(MOD) == 0xFF {
            self.status.state = None;
            if let Some(frame) = self.in_flight.take() {
                report(ControllerEvent::end(
                    frame.token,
                    Err(TransmitFailure::Gone),
                ));
            }
            return Err(ControllerGone);
        }
        let mut frames = 0;
        let mut overrun = false;
        let more = loop {
            // Also during continuous reception, transmitted frames must be reported.
            if status & (SR_BUFFER_FREE | SR_BUS_OFF) != 0 {
                self.transmitted(status, report);
            }
            // Only once per call: a broken chip must not block the caller.
            if status & SR_OVERRUN != 0 && !core::mem::replace(&mut overrun, true) {
                report(ControllerEvent::Overrun {
                    frames: 1,
                    exact: false,
                });
                self.command(CMR_CLEAR_OVERRUN);
                status = self.get(SR);
                continue;
            }
            if status & SR_RECEIVED == 0 {
                break false;
            }
            if frames >= budget {
                break true;
            }
            status = self.receive(status, report);
            frames += 1;
        };
        self.look_at_errors(status, report);
        Ok(more)
    }

    fn abort(&mut self) {
        if self.in_flight.is_some() {
            self.aborting = true;
            self.command(CMR_ABORT);
        }
    }

    fn interrupts(&mut self, on: bool) {
        self.interrupts = on;
        if self.status.state.is_some() {
            let enabled = self.enabled();
            self.set(IER, enabled);
        }
    }

    fn restart(&mut self) -> Result<(), StartError> {
        if self.status.state != Some(ErrorState::BusOff) {
            return Ok(());
        }
        self.give_up(TransmitFailure::BusOff);
        self.set_filter();
        let register = self.mode.register;
        // Bus-off has put the chip into reset mode; leaving it starts the recovery (data sheet,
        // section 6.4.10). Until it is complete, the status register shows bus-off.
        if self.turn(register) {
            return Ok(());
        }
        Err(StartError::NoAnswer {
            name: NAME,
            what: "leave reset mode after bus-off",
        })
    }

    fn status(&self) -> ErrorStatus {
        self.status
    }
}
