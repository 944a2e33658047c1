//! What earlier processes left, and how it goes.

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

/// Takes away what an instance left in place, by a crash or on purpose; at how many interfaces.
///
/// # Errors
/// A process runs it; what the kernel says.
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

/// Takes away what earlier processes of an instance left elsewhere: at how many interfaces, and
/// which ones have clsact from them.
pub(super) fn sweep(
    netlink: &mut Netlink,
    instance: &Instance,
    links: &Links,
    keep: &BTreeSet<u32>,
) -> (usize, Vec<u32>) {
    for (index, path) in pin::all() {
        if links.at(index).is_none() {
            // Its interface has gone, and it does nothing any more.
            let _ = std::fs::remove_file(path);
        }
    }
    let mut leftovers = Leftovers::default();
    let mut count = 0;
    for link in links.all_can().filter(|link| !keep.contains(&link.index)) {
        // What cannot be claimed is somebody's.
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
