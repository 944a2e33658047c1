//! Registers and bits (data sheet, chapter 3). All accesses are 32 bits wide.

pub(super) const DEVICE_ID: u32 = 0x00;
/// Mode in the lower half, settings in the upper one.
pub(super) const MODE: u32 = 0x04;
pub(super) const STATUS: u32 = 0x08;
pub(super) const COMMAND: u32 = 0x0C;
/// Writing a 1 clears.
pub(super) const INT_STAT: u32 = 0x10;
pub(super) const INT_ENA_SET: u32 = 0x14;
pub(super) const INT_ENA_CLR: u32 = 0x18;
/// Masked interrupts do not even reach [`INT_STAT`].
pub(super) const INT_MASK_SET: u32 = 0x1C;
pub(super) const INT_MASK_CLR: u32 = 0x20;
pub(super) const BTR: u32 = 0x24;
pub(super) const BTR_FD: u32 = 0x28;
/// Warning limit, passive limit, fault state.
pub(super) const FAULT: u32 = 0x2C;
/// REC in the lower half, TEC in the upper one.
pub(super) const COUNTERS: u32 = 0x30;
/// Mask and value of filter A; those of B and C follow.
pub(super) const FILTER_A_MASK: u32 = 0x3C;
/// Frame types that each filter takes, and in the upper half the filters that the core has.
pub(super) const FILTER_CONTROL: u32 = 0x5C;
/// A read returns the next word of the oldest frame.
pub(super) const RX_DATA: u32 = 0x6C;
/// Four bits per transmit buffer.
pub(super) const TX_STATUS: u32 = 0x70;
/// Command in the lower half; when read, the number of transmit buffers in bits 16 to 19.
pub(super) const TX_COMMAND: u32 = 0x74;
/// Four bits per transmit buffer, of which three are used; 7 is the highest priority.
pub(super) const TX_PRIORITY: u32 = 0x78;
/// Error code capture in the lower half, arbitration lost capture in the upper one.
pub(super) const CAPTURE: u32 = 0x7C;
pub(super) const TRV_DELAY: u32 = 0x80;
/// Address of the first transmit buffer; the others follow at multiples of it.
pub(super) const BUFFER: u32 = 0x100;

/// [`DEVICE_ID`], lower half.
pub(super) const ID: u32 = 0xCAFD;

/// [`MODE`]: reset; clears itself.
pub(super) const MODE_RESET: u32 = 1;
/// [`MODE`]: bus monitoring, ISO 11898-1's name of listen-only.
pub(super) const MODE_LISTEN: u32 = 1 << 1;
/// [`MODE`]: acceptance filters.
pub(super) const MODE_FILTERS: u32 = 1 << 3;
/// [`MODE`]: FD.
pub(super) const MODE_FD: u32 = 1 << 4;
/// [`MODE`]: reading [`RX_DATA`] advances the FIFO automatically.
pub(super) const MODE_RX_AUTOMATIC: u32 = 1 << 9;
/// Settings: retransmissions are limited to the number in bits 17 to 20, which is 0 here.
pub(super) const MODE_LIMIT: u32 = 1 << 16;
/// Settings: the core takes part in the bus.
pub(super) const MODE_ENABLED: u32 = 1 << 22;
/// Settings: at bus-off, transmit buffers fail.
pub(super) const MODE_FAIL_AT_BUS_OFF: u32 = 1 << 25;

/// [`STATUS`]: the receive FIFO is not empty.
pub(super) const STATUS_RECEIVED: u32 = 1;
/// [`STATUS`]: data overrun.
pub(super) const STATUS_OVERRUN: u32 = 1 << 1;
/// [`STATUS`]: an error counter is at the warning limit.
pub(super) const STATUS_WARNING: u32 = 1 << 6;

/// [`COMMAND`]: clear data overrun.
pub(super) const COMMAND_CLEAR_OVERRUN: u32 = 1 << 3;
/// [`COMMAND`]: leave bus-off, after 128 times 11 recessive bits.
pub(super) const COMMAND_RESET_COUNTERS: u32 = 1 << 4;

/// [`INT_STAT`]: warning limit, overrun, fault state, arbitration lost, bus error, FIFO not empty,
/// transmit buffer finished.
pub(super) const I_WARNING: u32 = 1 << 2;
pub(super) const I_OVERRUN: u32 = 1 << 3;
pub(super) const I_FAULT: u32 = 1 << 4;
pub(super) const I_ARBITRATION: u32 = 1 << 5;
pub(super) const I_BUS_ERROR: u32 = 1 << 6;
pub(super) const I_RECEIVED: u32 = 1 << 10;
pub(super) const I_TRANSMITTED: u32 = 1 << 11;
/// All interrupts.
pub(super) const I_ALL: u32 = 0xFFF;
pub(super) const I_USUAL: u32 = I_WARNING | I_OVERRUN | I_FAULT | I_RECEIVED | I_TRANSMITTED;
pub(super) const I_DIAGNOSE: u32 = I_ARBITRATION | I_BUS_ERROR;

/// [`FAULT`]: error-passive, bus-off.
pub(super) const FAULT_PASSIVE: u32 = 1 << 17;
pub(super) const FAULT_BUS_OFF: u32 = 1 << 18;

/// [`TX_COMMAND`]: set empty, set ready, abort; and the first buffer's bit.
pub(super) const TX_EMPTY: u32 = 1;
pub(super) const TX_READY: u32 = 1 << 1;
pub(super) const TX_ABORT: u32 = 1 << 2;
pub(super) const TX_FIRST: u32 = 1 << 8;

/// [`TX_STATUS`]: sent.
pub(super) const TX_DONE: u32 = 4;
/// [`TX_STATUS`]: parity error; failed (too many retransmissions, or bus-off); aborted.
pub(super) const TX_PARITY: u32 = 5;
pub(super) const TX_FAILED: u32 = 6;
pub(super) const TX_ABORTED: u32 = 7;

/// [`TRV_DELAY`]: no secondary sample point. 0 in these bits: it is at the measured delay plus the
/// offset.
pub(super) const SSP_NONE: u32 = 1 << 24;
/// The largest offset, periods of the clock.
pub(super) const SSP_MOST: u32 = 0xFF;
