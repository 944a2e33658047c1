//! Registers and bits (data sheet, tables 10 to 24; PeliCAN mode).

/// Mode register.
pub(super) const MOD: u32 = 0;
/// Command register; write only.
pub(super) const CMR: u32 = 1;
/// Status register; read only.
pub(super) const SR: u32 = 2;
/// Interrupt register; read only, and reading clears all but RI.
pub(super) const IR: u32 = 3;
/// Interrupt enable register. A bit of [`IR`] is only set where its bit here is.
pub(super) const IER: u32 = 4;
/// Bus timing; writable in reset mode.
pub(super) const BTR0: u32 = 6;
pub(super) const BTR1: u32 = 7;
/// Output control; writable in reset mode.
pub(super) const OCR: u32 = 8;
/// Arbitration lost capture; reading it arms it again.
pub(super) const ALC: u32 = 11;
/// Error code capture; reading it arms it again.
pub(super) const ECC: u32 = 12;
/// Receive and transmit error counter; writable in reset mode.
pub(super) const RXERR: u32 = 14;
pub(super) const TXERR: u32 = 15;
/// In reset mode: four bytes of acceptance code, then four of acceptance mask (1: do not care).
pub(super) const ACR0: u32 = 16;
pub(super) const AMR0: u32 = 20;
/// In operating mode: frame information. Read, it is the oldest received frame's; written, the
/// transmit buffer's.
pub(super) const FRAME: u32 = 16;
/// Clock divider; PeliCAN bit writable in reset mode.
pub(super) const CDR: u32 = 31;

/// [`MOD`]: reset mode.
pub(super) const MOD_RESET: u8 = 0x01;
/// [`MOD`]: listen only.
pub(super) const MOD_LISTEN: u8 = 0x02;
/// [`MOD`]: one acceptance filter of 32 bits instead of two of 16.
pub(super) const MOD_SINGLE_FILTER: u8 = 0x08;

/// [`CMR`]: transmission request.
pub(super) const CMR_TRANSMIT: u8 = 0x01;
/// [`CMR`]: abort transmission. Together with the request: one-shot.
pub(super) const CMR_ABORT: u8 = 0x02;
/// [`CMR`]: release receive buffer.
pub(super) const CMR_RELEASE: u8 = 0x04;
/// [`CMR`]: clear data overrun.
pub(super) const CMR_CLEAR_OVERRUN: u8 = 0x08;

/// [`SR`]: a frame is in the receive FIFO.
pub(super) const SR_RECEIVED: u8 = 0x01;
/// [`SR`]: data overrun.
pub(super) const SR_OVERRUN: u8 = 0x02;
/// [`SR`]: the transmit buffer is released (free).
pub(super) const SR_BUFFER_FREE: u8 = 0x04;
/// [`SR`]: the last requested transmission was completed.
pub(super) const SR_COMPLETE: u8 = 0x08;
/// [`SR`]: an error counter is at the warning limit.
pub(super) const SR_ERROR: u8 = 0x40;
/// [`SR`]: bus-off.
pub(super) const SR_BUS_OFF: u8 = 0x80;

/// [`IR`] and [`IER`]: receive, transmit, error warning, data overrun, error passive, arbitration
/// lost, bus error.
pub(super) const I_ARBITRATION: u8 = 0x40;
pub(super) const I_BUS_ERROR: u8 = 0x80;
/// All interrupts but wake-up and the two above.
pub(super) const I_USUAL: u8 = 0x01 | 0x02 | 0x04 | 0x08 | 0x20;

/// [`CDR`]: PeliCAN mode.
pub(super) const CDR_PELICAN: u8 = 0x80;
/// [`OCR`]: normal output mode.
pub(super) const OCR_NORMAL: u8 = 0x02;

/// Frame information: EFF.
pub(super) const INFO_EFF: u8 = 0x80;
/// Frame information: remote frame.
pub(super) const INFO_RTR: u8 = 0x40;
