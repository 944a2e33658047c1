//! What the operating system adds to a controller, and where it can be.

use super::{bitcan, pci};
use crate::Opener;
use controller::driven::Backend;
use std::os::fd::RawFd;

/// A controller that is taken.
pub(super) struct Taken {
    pub(super) backend: Box<dyn Backend>,
    /// What to poll for reading, to wait for the controller's interrupt; `None` where it was opened
    /// without.
    pub(super) interrupt: Option<RawFd>,
}

/// What a port wants of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'a> {
    /// `device` of the gateway file.
    pub device: &'a str,
    /// `channel` of the gateway file.
    pub channel: Option<u8>,
    /// Is it to wait for interrupts?
    pub interrupts: bool,
}

/// Why there is no backend: a sentence for the user, and the cause.
#[derive(Debug)]
pub struct Trouble {
    /// What is wrong and what to do.
    pub what: String,
    /// The cause, where there is one besides.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl<E: std::error::Error> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self {
            what: error.to_string(),
            source: None,
        }
    }
}

/// Something that was found and is not taken yet: nothing has changed so far.
pub(super) trait Found: Send {
    /// What can be said of the controller before it is taken: its clock and limits are those of its
    /// [`controller::Properties`].
    fn properties(&self) -> controller::Properties;

    /// Takes it.
    fn take(self: Box<Self>) -> Result<Taken, Trouble>;
}

/// Finds the backend of a device: each kind of device has its line here.
pub(super) fn find(wanted: &Wanted<'_>, opener: &mut Opener) -> Result<Box<dyn Found>, Trouble> {
    if wanted.device.starts_with(bitcan::PREFIX) {
        return bitcan::find(wanted);
    }
    if wanted.device.starts_with("/dev/") {
        return Err(Trouble {
            what: format!(
                "{}: no character device has a controller that cangate can drive; `device` is an \
                 interface such as \"can0\", a PCI address such as \"0000:03:00.0\" or a mapped \
                 controller of kmod/bitcan, /dev/bitcan-NAME",
                wanted.device
            ),
            source: None,
        });
    }
    pci::find(wanted, opener)
}
