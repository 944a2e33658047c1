//! A machine of several in one virtual time: its interfaces on the links, and the start of its job.

use super::bench::{ip, load_ctucanfd};
use super::error::AgentError;
use super::system::{interface_at, interfaces_at, modprobe, wait_for};
use crate::devices::{CTU_CONTROLLERS, LinkedCards, address};
use crate::linked::{
    EthernetAddress, InterfaceKind, LinkedInterface, LinkedMachine, RESERVED, START,
};
use crate::program;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Loads the drivers, and waits for the cards' interfaces. Names and addresses come later, so that
/// all machines with the same cards can start from one saved machine.
pub(super) fn load(cards: LinkedCards) -> Result<(), AgentError> {
    if cards.classic > 0 {
        modprobe(&["can-raw", "kvaser_pci"])?;
    }
    if cards.fd > 0 {
        load_ctucanfd()?;
    }
    if cards.ethernet > 0 {
        modprobe(&["e1000"])?;
    }
    for card in cards.classic_cards().chain(cards.ethernet_cards()) {
        interface_at(&address(card.slot))?;
    }
    for card in cards.fd_cards() {
        interfaces_at(&address(card.slot), CTU_CONTROLLERS)?;
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
    let cards = machine.cards();
    let (mut classic, mut fd) = (cards.classic_cards(), cards.fd_cards());
    let mut ethernet = cards.ethernet_cards();
    let mut found = Vec::new();
    for (number, interface) in machine.interfaces.iter().enumerate() {
        let (card, count) = match interface.kind {
            InterfaceKind::Can {
                data_bitrate: None, ..
            } => (classic.next(), 1),
            InterfaceKind::Can { .. } => (fd.next(), CTU_CONTROLLERS),
            InterfaceKind::Ethernet { .. } => (ethernet.next(), 1),
        };
        let card = card.ok_or(AgentError::NoCard)?;
        // By names that no card and no link has: the final name may still be another card's. The
        // second controller of a card is on no link and keeps such a name.
        let names = RESERVED.map(|prefix| format!("{prefix}{number}"));
        for (name, new) in interfaces_at(&address(card.slot), count)?
            .iter()
            .zip(&names)
        {
            ip(&format!("link set dev {name} name {new}"))?;
        }
        let [temporary, _] = names;
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
        InterfaceKind::Can {
            bitrate,
            data_bitrate,
        } => {
            let data = data_bitrate.map(|rate| format!(" dbitrate {rate} fd on"));
            ip(&format!(
                "link set dev {name} up type can bitrate {bitrate}{}",
                data.unwrap_or_default()
            ))
        }
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
