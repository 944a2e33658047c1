//! The properties of CAN interfaces that matter to BPF.

use super::Error;
use linux::link::{NetLink, NetLinks};

/// Returns whether frames that BPF sends into the interface are lost. vcan returns only frames that
/// are marked for an echo (`PACKET_LOOPBACK`), and a frame that BPF redirects is not marked, even
/// with `modprobe vcan echo=1`.
#[cfg(feature = "bpf")]
pub(super) fn swallows(link: &NetLink) -> bool {
    link.kind == "vcan"
}

/// For tests: returns all interfaces as virtual CAN interfaces.
#[cfg(feature = "bpf")]
pub(super) fn pretend(links: NetLinks) -> NetLinks {
    let virtual_can = |link: NetLink| NetLink {
        can: true,
        kind: "vxcan".to_owned(),
        ..link
    };
    links.into_iter().map(virtual_can).collect()
}

/// Returns all CAN interfaces of this network namespace.
///
/// # Errors
/// Errors of the kernel.
pub fn interfaces() -> Result<Vec<NetLink>, Error> {
    Ok(NetLinks::now()?.all_can().cloned().collect())
}
