//! Removal of what earlier processes left.

use super::attach::{Entrance, remove_clsact};
use super::leftovers::{Leftovers, Owner};
use super::{Error, pin};
use crate::instance::{Held, Hold, Instance};
use linux::link::Links;
use linux::netlink::Netlink;
use std::collections::BTreeSet;

/// Makes sure that no other process runs the instance.
pub(super) fn hold(instance: &Instance) -> Result<Hold, Error> {
    instance.hold("bpf").map_err(|held| match held {
        Held::By(pid) => Error::Busy {
            instance: instance.name().to_owned(),
            pid,
        },
        Held::Foreign(holder) => Error::Foreign(holder),
        Held::Failed(source) => Error::Socket {
            doing: "seeing to it that no other process runs the same gateway",
            source: source.into(),
        },
    })
}

/// Removes what an instance left in place, after a crash or on purpose. Returns the number of
/// interfaces concerned.
///
/// # Errors
/// A process runs the instance; errors of the kernel.
pub fn remove(instance: &Instance) -> Result<usize, Error> {
    let _hold = hold(instance)?;
    let mut netlink = Netlink::open()?;
    let links = Links::read(&mut netlink)?;
    let (count, clsact) = sweep(&mut netlink, instance, &links, &BTreeSet::new());
    for index in clsact {
        remove_clsact(&mut netlink, index)?;
    }
    Ok(count)
}

/// Removes what earlier processes of an instance left at other interfaces. Returns the number of
/// interfaces, and those that have clsact from these processes.
pub(super) fn sweep(
    netlink: &mut Netlink,
    instance: &Instance,
    links: &Links,
    keep: &BTreeSet<u32>,
) -> (usize, Vec<u32>) {
    for (index, path) in pin::all() {
        if links.at(index).is_none() {
            // Its interface no longer exists, and it has no effect any more.
            let _ = std::fs::remove_file(path);
        }
    }
    let mut leftovers = Leftovers::default();
    let mut count = 0;
    for link in links.all_can().filter(|link| !keep.contains(&link.index)) {
        // An interface that cannot be claimed belongs to another process.
        if let Ok(entrance) = Entrance::claim(netlink, link, instance, &mut leftovers)
            && (entrance.owner == Owner::Ours || entrance.is_idle())
        {
            count += usize::from(entrance.owner == Owner::Ours);
            entrance.leave(netlink);
        }
    }
    let clsact = leftovers.of(instance).flat_map(|left| left.about.clsact);
    (count, clsact.collect())
}
