//! What CAN interfaces are to BPF.

use super::Error;
use linux::link::{Link, Links};

/// Frames that BPF puts into it vanish: vcan gives back only what it is told to echo
/// (`PACKET_LOOPBACK`), and a frame that BPF redirects is none of these, even with
/// `modprobe vcan echo=1`.
#[cfg(feature = "bpf")]
pub(super) fn swallows(link: &Link) -> bool {
    link.kind == "vcan"
}

/// For tests: all are taken for virtual ones of CAN.
#[cfg(feature = "bpf")]
pub(super) fn pretend(links: Links) -> Links {
    let virtual_can = |link: Link| Link {
        can: true,
        kind: "vxcan".to_owned(),
        ..link
    };
    links.into_iter().map(virtual_can).collect()
}

/// All CAN interfaces of this network namespace.
///
/// # Errors
/// What the kernel says.
pub fn interfaces() -> Result<Vec<Link>, Error> {
    Ok(Links::now()?.all_can().cloned().collect())
}
