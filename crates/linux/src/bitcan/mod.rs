//! The tester of `kmod/bitcan`: a node on every bit-timed bus, that plays a schedule and stamps
//! ends of frame in interrupt context. One process at a time.
//!
//! All times are ns of CLOCK_MONOTONIC. What is read from the mapping is checked: a stamp that is
//! none is counted, and no offset is believed.

mod ioctl;
mod layout;
mod mapped;
mod napi;
mod tester;
mod types;

pub use mapped::{Controller, REGISTERS, Wanted};
pub use napi::tell_napi;
pub use tester::Tester;
pub use types::{BUSES, ControllerError, DEVICE, Error, Event, Mode, Progress, Stamp, Timed};
