//! CAN controllers as character devices: the driver `kmod/canchar`.
//!
//! * Both queues of the device's file are memory of this process. A frame is received by reading
//!   it there, and sent by writing it there; one system call a batch tells the driver to look.
//! * The controller is started by the port, where `bitrate` says how; several ports and programs
//!   may have the same device open. It stays on the bus when they end.
//! * `taken = sent + lost + held`: held are frames in the queue and in the controller; `sent` is
//!   counted when the frame was acknowledged on the bus.
//! * A device that vanishes (unplugged, unbound) is looked for again, and taken up when it is back.

mod line;
mod receive;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod transmit;

pub use line::Line;
pub use settings::{CharDev, CharDevSettings};
pub use shared::Open;
pub use transmit::Rules;

use crate::Halves;
use std::sync::Arc;

/// The halves of a port over an open device, for [`CharDevSettings`] and for tests that have one in
/// memory. `again` opens it anew when it is gone.
///
/// # Errors
/// The device takes no filters.
pub fn halves(
    port: &str,
    device: &str,
    line: Arc<dyn Line>,
    again: Open,
    rules: Rules,
) -> Result<Halves, linux::Errno> {
    let shared = Arc::new(shared::Shared::new(port, device, line, again)?);
    let receive = receive::CharDevReceive::new(Arc::clone(&shared));
    Ok((
        Box::new(receive),
        Box::new(transmit::CharDevTransmit::new(shared, rules)),
    ))
}
