//! The bit rate of the bus that round trips are measured on.

use frame::wire::BitRate;
use linux::chardev::CharDevice;
use linux::link::NetLink;

/// The prefix of the paths of character devices; other names are interfaces.
const DEVICES: &str = "/dev/";

/// Returns the bit rates of an interface or a character device, as the kernel reports them.
///
/// Returns `None` if frames take no time (a virtual interface), if the kernel does not know the
/// rate, or if `brs` asks for a data bit rate and there is none.
#[must_use]
pub(crate) fn bit_rate(name: &str, brs: bool) -> Option<BitRate> {
    let rate = if name.starts_with(DEVICES) {
        CharDevice::open(name).ok()?.bit_rate().ok().flatten()
    } else {
        NetLink::find(name).ok()?.bit_rate
    };
    rate.filter(|rate| !brs || rate.data().is_some())
}
