//! Removal of what earlier processes left.

use super::attach::{InterfaceEntrance, remove_clsact};
use super::leftovers::{LeftTables, ProgramOwner};
use super::{Error, pin};
use crate::instance::{GatewayInstance, InstanceHeld, InstanceHold};
use linux::link::NetLinks;
use linux::netlink::NetlinkSocket;
use std::collections::BTreeSet;

/// Makes sure that no other process runs the instance.
pub(super) fn hold(instance: &GatewayInstance) -> Result<InstanceHold, Error> {
    instance.hold("bpf").map_err(|held| match held {
        InstanceHeld::By(pid) => Error::Busy {
            instance: instance.name().to_owned(),
            pid,
        },
        InstanceHeld::Foreign(holder) => Error::Foreign(holder),
        InstanceHeld::Failed(source) => Error::Socket {
            doing: "ensuring that no other process runs the same gateway",
            source: source.into(),
        },
    })
}

/// Removes what an instance left in place, after a crash or on purpose. Returns the number of
/// interfaces concerned.
///
/// # Errors
/// A process runs the instance; errors of the kernel.
pub fn remove(instance: &GatewayInstance) -> Result<usize, Error> {
    let _hold = hold(instance)?;
    let mut netlink = NetlinkSocket::open()?;
    let links = NetLinks::read(&mut netlink)?;
    let (count, clsact) = sweep(&mut netlink, instance, &links, &BTreeSet::new());
    for index in clsact {
        remove_clsact(&mut netlink, index)?;
    }
    Ok(count)
}

/// Removes what earlier processes of an instance left at other interfaces. Returns the number of
/// interfaces, and those that have clsact from these processes.
pub(super) fn sweep(
    netlink: &mut NetlinkSocket,
    instance: &GatewayInstance,
    links: &NetLinks,
    keep: &BTreeSet<u32>,
) -> (usize, Vec<u32>) {
    for (index, path) in pin::all() {
        if links.at(index).is_none() {
            // Its interface no longer exists, and it has no effect any more.
            let _ = std::fs::remove_file(path);
        }
    }
    let mut leftovers = LeftTables::default();
    let mut count = 0;
    for link in links.all_can().filter(|link| !keep.contains(&link.index)) {
        // An interface that cannot be claimed belongs to another process.
        if let Ok(entrance) = InterfaceEntrance::claim(netlink, link, instance, &mut leftovers)
            && (entrance.owner == ProgramOwner::Ours || entrance.is_idle())
        {
            count += usize::from(entrance.owner == ProgramOwner::Ours);
            entrance.leave(netlink);
        }
    }
    let clsact = leftovers
        .filter_instance(instance)
        .flat_map(|left| left.about.clsact);
    (count, clsact.collect())
}
