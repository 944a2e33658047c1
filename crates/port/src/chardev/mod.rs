//! CAN controllers as character devices: the driver `kmod/canchar`.
//!
//! * Both queues of the device's file are mapped into this process. The port receives a frame by
//!   reading it there, and sends one by writing it there; one system call per batch notifies the
//!   driver.
//! * The port starts the controller if `bitrate` is given; several ports and programs
//!   may have the same device open. It stays on the bus when they end.
//! * `taken = sent + lost + held`: held frames are those in the queue and in the controller; `sent`
//!   is counted when the frame was acknowledged on the bus.
//! * The port looks for a device that vanishes (unplugged, unbound), and uses it again when it is
//!   back.

mod line;
mod receive;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod transmit;

pub use line::DeviceLine;
pub use settings::{CharDev, CharDevSettings};
pub use shared::Open;
pub use transmit::TransmitRules;

use crate::Halves;
use std::sync::Arc;

/// Returns the halves of a port over an open device, for [`CharDevSettings`] and for tests that
/// have one in memory. `again` opens it anew when it is gone.
///
/// # Errors
/// The device does not accept the filters.
pub fn halves(
    port: &str,
    device: &str,
    line: Arc<dyn DeviceLine>,
    again: Open,
    rules: TransmitRules,
) -> Result<Halves, linux::Errno> {
    let shared = Arc::new(shared::SharedDevice::new(port, device, line, again)?);
    let receive = receive::CharDevReceive::new(Arc::clone(&shared));
    Ok((
        Box::new(receive),
        Box::new(transmit::CharDevTransmit::new(shared, rules)),
    ))
}
