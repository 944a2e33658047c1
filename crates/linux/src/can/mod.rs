//! Raw CAN sockets (`AF_CAN`, `CAN_RAW`; `uapi/linux/can/raw.h`).
//!
//! [`CanSocket`] is the socket with its options, filters and interface; the buffers for many
//! datagrams a call, and the kernel's ancillary data of a frame, are in [`crate::mmsg`]. [`layout`]
//! converts the kernel's frames to those of this project and back. [`FrameSocket`] combines these
//! for callers that need frames and not datagrams.

mod error;
mod frames;
pub mod layout;
mod socket;

use frame::{ErrorState, FrameRef};

pub use error::{OpenError, SocketObstacle};
pub use frames::{ArrivedFrame, FrameOptions, FrameSocket, MOST_ARRIVALS};
pub use socket::{
    CanFilter, CanOptions, CanSocket, InterfaceState, MOST_FILTERS, StampOptions, is_in_kernel,
};

/// Meanings of an error frame, as bits of its ID (`uapi/linux/can/error.h`).
pub mod error_class {
    /// A problem of the controller: its FIFO overflowed, or its error state changed.
    pub const CONTROLLER: u32 = libc::CAN_ERR_CRTL;
    /// The controller went bus-off.
    pub const BUS_OFF: u32 = libc::CAN_ERR_BUSOFF;
    /// The controller takes part in the communication again.
    pub const RESTARTED: u32 = libc::CAN_ERR_RESTARTED;
}

/// Returns the error state that an error frame reports with [`error_class::CONTROLLER`], if it
/// reports one. Bus-off is a class of its own.
#[must_use]
pub fn reported_state(error_frame: FrameRef<'_>) -> Option<ErrorState> {
    if error_frame.id().raw() & error_class::CONTROLLER == 0 {
        return None;
    }
    // The worst first: a frame can report both counters.
    let trouble = error_frame.data().get(1).copied().unwrap_or(0);
    [
        (controller_trouble::PASSIVE, ErrorState::Passive),
        (controller_trouble::WARNING, ErrorState::Warning),
        (controller_trouble::ACTIVE, ErrorState::Active),
    ]
    .into_iter()
    .find_map(|(bits, state)| (trouble & bits != 0).then_some(state))
}

/// Meanings of byte 1 of an error frame, as bits, where its ID has [`error_class::CONTROLLER`]
/// (`CAN_ERR_CRTL_…` of `uapi/linux/can/error.h`).
pub mod controller_trouble {
    /// Its receive FIFO overflowed: at least one frame is lost.
    pub const RX_OVERFLOW: u8 = 0x01;
    /// An error counter reached 96.
    pub const WARNING: u8 = 0x04 | 0x08;
    /// An error counter reached 128.
    pub const PASSIVE: u8 = 0x10 | 0x20;
    /// Both counters are below 96 again.
    pub const ACTIVE: u8 = 0x40;
}
