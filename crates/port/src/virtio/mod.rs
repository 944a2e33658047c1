//! Virtual machines: the virtio CAN device, over vhost-user.
//!
//! * One port is one machine. Its monitor (QEMU) connects to the port's socket and hands over the
//!   machine's memory; the machine's own driver (Linux: `virtio_can`) makes a CAN interface of it.
//! * A frame that the machine sends is received by the port, and acknowledged when it has been
//!   handed over. A frame for the machine waits in the port, up to `queue` frames, until the
//!   machine has a buffer for it.
//! * `taken = sent + lost + held`: `sent` is counted when the frame is in the machine's buffer;
//!   frames that wait are lost when the machine stops its controller, is reset or goes.
//! * A machine that names a controller (`controller = "NAME"`) is a virtual function of it
//!   ([`crate::controllers`]): its frames go to the controller's bus, and come in at this port at
//!   their end of frame.
//! * Machines come and go, as does this process: each finds the other again ([`::virtio::Device`]).

mod function;
mod halves;
mod settings;

pub use settings::{Shares, Virtio, VirtioSettings};
