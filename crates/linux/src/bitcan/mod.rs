//! The tester of `kmod/bitcan`: a node on every bit-timed bus that plays a schedule and stamps ends
//! of frame in interrupt context. Only one process at a time can use it.
//!
//! All times are ns of CLOCK_MONOTONIC. Data from the mapping are checked: an invalid stamp is
//! counted, and offsets are validated.

mod ioctl;
mod layout;
mod mapped;
mod napi;
mod tester;
mod types;

pub use layout::MappedOptions;
pub use mapped::{MappedController, REGISTERS};
pub use napi::set_napi;
pub use tester::BitcanTester;
pub use types::{
    BUSES, BitcanEvent, BitcanStamp, ControllerError, DEVICE, Error, SendMode, TesterProgress,
    TimedFrame,
};
