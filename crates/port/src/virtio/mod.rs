//! Virtual machines: the virtio CAN device, over vhost-user.
//!
//! * One port is one machine. Its monitor (QEMU) connects to the port's socket and hands over the
//!   machine's memory; the machine's own driver (Linux: `virtio_can`) makes a CAN interface of it.
//! * The port receives a frame that the machine sends, and acknowledges it when it has handed it
//!   over. A frame for the machine waits in the port, up to `queue` frames, until the
//!   machine has a buffer for it.
//! * `taken = sent + lost + held`: `sent` is counted when the frame is in the machine's buffer;
//!   frames that wait are lost when the machine stops its controller, is reset or disconnects.
//! * A machine that names a controller (`controller = "NAME"`) is a virtual function of it
//!   ([`crate::controllers`]): its frames go to the controller's bus, and come in at this port at
//!   their end of frame.
//! * Machines can stop and start again, and so can this process: each finds the other again
//!   ([`::virtio::VirtioDevice`]).

mod function;
mod halves;
mod settings;

pub use settings::{ControllerShare, VirtioPorts, VirtioSettings};
