//! The controller of a port, by the kind of its device.

use super::backend::{BackendError, BackendOptions, FoundBackend};
use super::{bitcan, pci};
use crate::PortOpener;

/// Finds the backend of a device: each kind of device has its branch here.
pub(super) fn find(
    wanted: &BackendOptions<'_>,
    opener: &mut PortOpener,
) -> Result<Box<dyn FoundBackend>, BackendError> {
    if wanted.device.starts_with(bitcan::PREFIX) {
        return bitcan::find(wanted);
    }
    if wanted.device.starts_with("/dev/") {
        return Err(BackendError {
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
