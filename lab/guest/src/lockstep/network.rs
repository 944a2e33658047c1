//! The interfaces and addresses of the machines on the links.
//!
//! The networks are 198.18.LINK.0/24, of the block for benchmarks (RFC 2544), where LINK is the
//! number of the link in the plan; machines are numbered from 1 in the plan's order.

use super::plan::{LinkKind, LockstepPlan};
use crate::linked::{EthernetAddress, InterfaceKind, KnownHost, LinkedInterface, LinkedMachine};

fn address(link: usize, machine: usize) -> EthernetAddress {
    EthernetAddress {
        ip: format!("198.18.{link}.{}", machine + 1),
        // Locally administered.
        hardware: format!("02:00:00:00:{link:02x}:{:02x}", machine + 1),
    }
}

/// Returns what a machine's agent sets up.
pub(super) fn linked(plan: &LockstepPlan, machine: usize) -> LinkedMachine {
    let own = plan.links.iter().enumerate();
    let own = own.filter(|(_, link)| link.members.contains(&machine));
    let interfaces = own.map(|(number, link)| LinkedInterface {
        name: link.name.clone(),
        kind: match &link.kind {
            LinkKind::Can(can) => InterfaceKind::Can {
                bitrate: can.bitrate,
                data_bitrate: can.data_bitrate,
            },
            LinkKind::Ethernet(_) => InterfaceKind::Ethernet {
                own: address(number, machine),
                neighbours: link
                    .members
                    .iter()
                    .filter(|member| **member != machine)
                    .map(|member| address(number, *member))
                    .collect(),
            },
        },
    });
    let it = plan.machines.get(machine);
    LinkedMachine {
        name: it.map(|it| it.name.clone()).unwrap_or_default(),
        drift: it.map(|it| it.drift).unwrap_or_default(),
        interfaces: interfaces.collect(),
        hosts: hosts(plan, machine),
    }
}

/// Returns the machines that this one reaches. A machine's plain name is its address on the first
/// link that both are on; `MACHINE.LINK` is its address on a link.
fn hosts(plan: &LockstepPlan, machine: usize) -> Vec<KnownHost> {
    let mut known = Vec::new();
    let mut hosts = Vec::new();
    for (number, link) in plan.links.iter().enumerate() {
        if !matches!(link.kind, LinkKind::Ethernet(_)) || !link.members.contains(&machine) {
            continue;
        }
        for member in &link.members {
            let Some(it) = plan.machines.get(*member) else {
                continue;
            };
            let mut names = vec![format!("{}.{}", it.name, link.name)];
            if !known.contains(member) {
                known.push(*member);
                names.insert(0, it.name.clone());
            }
            let ip = address(number, *member).ip;
            hosts.push(KnownHost { ip, names });
        }
    }
    hosts
}
