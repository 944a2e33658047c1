//! The interfaces that a gateway under test connects.

use crate::choices::{HopChoice, VirtualKind};
use crate::settings::Experiment;

/// The gateway's interface on the incoming bus.
pub const INCOMING: &str = "gw0";
/// The gateway's interface on the outgoing bus.
pub const OUTGOING: &str = "gw1";
/// The virtual interfaces of hops: two ends each, which are one interface for vcan.
const VCAN: [[&str; 2]; 2] = [["vcan0", "vcan0"], ["vcan1", "vcan1"]];
const VXCAN: [[&str; 2]; 2] = [["vx0", "vx0p"], ["vx1", "vx1p"]];

/// Returns the interfaces to which the routes' ports correspond.
#[must_use]
pub fn interfaces(experiment: &Experiment) -> Vec<String> {
    let mut all = vec![INCOMING.to_owned(), OUTGOING.to_owned()];
    for ends in virtuals(experiment.hops) {
        all.extend(ends.map(str::to_owned));
    }
    all.dedup();
    all
}

/// Returns the two ends of each virtual interface that hops use.
#[must_use]
pub fn virtuals(hops: HopChoice) -> &'static [[&'static str; 2]] {
    let all = match hops.through {
        VirtualKind::Vcan => &VCAN,
        VirtualKind::Vxcan => &VXCAN,
    };
    let used = if hops.count == 0 { 0 } else { hops.interfaces };
    all.get(..usize::from(used)).unwrap_or(all)
}
