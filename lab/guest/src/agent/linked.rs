//! A machine of several in one virtual time: its interfaces on the links, and the start of its job.

use super::bench::ip;
use super::error::AgentError;
use super::system::{interface_at, modprobe, wait_for};
use crate::devices::{address, linked_can_slots, linked_ethernet_slots};
use crate::linked::{EthernetAddress, InterfaceKind, LinkedInterface, LinkedMachine, START};
use crate::program;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Loads the drivers, and waits for the cards' interfaces. Names and addresses come later, so that
/// all machines with the same cards can start from one saved machine.
pub(super) fn load(can: u8, ethernet: u8) -> Result<(), AgentError> {
    if can > 0 {
        modprobe(&["can-raw", "kvaser_pci"])?;
    }
    if ethernet > 0 {
        modprobe(&["e1000"])?;
    }
    for slot in linked_can_slots(can).chain(linked_ethernet_slots(ethernet)) {
        interface_at(&address(slot))?;
    }
    Ok(())
}

/// Sets the machine up, and waits until the common start. `begin` is the time at which the machine
/// began to run together with the others.
pub(super) fn up(machine: &LinkedMachine, begin: Instant) -> Result<(), AgentError> {
    write("/proc/sys/kernel/hostname", &machine.name)?;
    let mut hosts = "127.0.0.1 localhost\n".to_owned();
    for host in &machine.hosts {
        // Writing to memory cannot fail.
        let _ = writeln!(hosts, "{} {}", host.ip, host.names.join(" "));
    }
    write("/etc/hosts", &hosts)?;
    if let Some(frequency) = machine.drift.frequency() {
        let adjusted = ["adjtimex", "-q", "-f", &frequency.to_string()];
        program::output(None, &[&["busybox"][..], &adjusted].concat())?;
    }
    let mut can = linked_can_slots(machine.can_cards());
    let mut ethernet = linked_ethernet_slots(machine.ethernet_cards());
    let mut found = Vec::new();
    for (number, interface) in machine.interfaces.iter().enumerate() {
        let slot = match interface.kind {
            InterfaceKind::Can { .. } => can.next(),
            InterfaceKind::Ethernet { .. } => ethernet.next(),
        };
        let slot = slot.ok_or(AgentError::NoCard)?;
        // By a temporary name that no card has, because the final name may still be another card's.
        let temporary = format!("new-{number}");
        let name = interface_at(&address(slot))?;
        ip(&format!("link set dev {name} name {temporary}"))?;
        found.push((interface, temporary));
    }
    for (interface, name) in found {
        set_up(interface, &name)?;
    }
    let late = begin.elapsed();
    match START.checked_sub(late) {
        Some(left) => std::thread::sleep(left),
        None => return Err(AgentError::LateStart { late, start: START }),
    }
    Ok(())
}

fn set_up(interface: &LinkedInterface, found: &str) -> Result<(), AgentError> {
    let name = &interface.name;
    ip(&format!("link set dev {found} name {name}"))?;
    match &interface.kind {
        InterfaceKind::Can { bitrate } => ip(&format!(
            "link set dev {name} up type can bitrate {bitrate}"
        )),
        InterfaceKind::Ethernet { own, neighbours } => ethernet(name, own, neighbours),
    }
}

fn ethernet(
    name: &str,
    own: &EthernetAddress,
    neighbours: &[EthernetAddress],
) -> Result<(), AgentError> {
    ip(&format!("link set dev {name} address {}", own.hardware))?;
    ip(&format!("address add {}/24 dev {name}", own.ip))?;
    ip(&format!("link set dev {name} up"))?;
    // Static neighbour entries, as on the benches: no address resolution during a measurement.
    for EthernetAddress { ip: to, hardware } in neighbours {
        ip(&format!(
            "neighbour add {to} lladdr {hardware} dev {name} nud permanent"
        ))?;
    }
    wait_for(&format!("the link of {name}"), || {
        let state = fs::read_to_string(format!("/sys/class/net/{name}/operstate")).ok()?;
        (state.trim() == "up").then_some(())
    })
}

fn write(path: &str, text: &str) -> Result<(), AgentError> {
    fs::write(path, text).map_err(AgentError::file("write", Path::new(path)))
}
