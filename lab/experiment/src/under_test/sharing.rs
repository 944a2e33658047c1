//! The configuration in `gateway.toml` that shares the controller of the hypervisor's interface
//! among machines.

use super::files::SOCKET;
use super::interfaces::INCOMING;
use crate::choices::{MachineOrder, Machines, Nesting};

/// The identifiers that the machine that asks receives, where others send at the same time: the
/// answers are among them.
pub(crate) const ANSWERS: &str = "7E0:7F0";

/// The identifier that the other machines receive. In most experiments no node sends it: each frame
/// of a flood that they received would wake all of them.
pub(crate) const CALL: &str = "7D0";

/// Returns the name of the port of a machine other than the one that asks, numbered from 0.
#[must_use]
pub(crate) fn port(beside: u8) -> String {
    format!("other{beside}")
}

/// Returns the socket of a machine's virtio CAN device: of the one that asks, or of another one.
#[must_use]
pub(crate) fn virtio(beside: Option<u8>) -> String {
    match beside {
        None => "/run/vm.sock".to_owned(),
        Some(number) => format!("/run/{}.sock", port(number)),
    }
}

/// Returns the PCI slot of the memory that the driver VM shares with a machine: after its virtual
/// function, first that of the machine that asks.
fn memory(beside: Option<u8>) -> String {
    let place = beside.map_or(0, |number| number + 1);
    format!("0000:00:{:02x}.0", 0x11 + place)
}

/// Returns the queue settings of a bus in a gateway that routes: no frame is dropped, and senders
/// wait.
fn waiting(order: MachineOrder) -> String {
    format!("queue = 16\norder = \"{order}\"\nwhen_full = \"wait\"\n")
}

/// Returns the gateway's file; empty where no software shares the controller.
pub(super) fn file(nesting: Nesting, machines: Machines) -> String {
    let fifo = machines.order == MachineOrder::Fifo;
    match nesting {
        Nesting::Native | Nesting::Function | Nesting::Card | Nesting::Trap => String::new(),
        Nesting::Driver => {
            let mut text = head();
            text.push_str("[ports.bus]\nkind = \"socketcan\"\ninterface = \"bus\"\n");
            if machines.count > 1 {
                text.push_str(&waiting(machines.order));
            }
            for beside in each(machines) {
                let name = name(beside);
                let device = memory(beside);
                text.push_str(&format!(
                    "\n[ports.{name}]\nkind = \"shm\"\ndevice = \"{device}\"\n"
                ));
            }
            text.push_str(&routes(machines));
            text
        }
        Nesting::Host | Nesting::Own if fifo => {
            let mut text = head();
            text.push_str(&format!(
                "[ports.bus]\nkind = \"socketcan\"\ninterface = \"{INCOMING}\"\n{}",
                waiting(machines.order)
            ));
            for beside in each(machines) {
                let (name, socket) = (name(beside), virtio(beside));
                text.push_str(&format!(
                    "\n[ports.{name}]\nkind = \"virtio\"\nsocket = \"{socket}\"\n"
                ));
            }
            text.push_str(&routes(machines));
            text
        }
        Nesting::Host | Nesting::Own => {
            let mut text = head();
            text.push_str(&format!("[controllers.can]\ninterface = \"{INCOMING}\"\n"));
            for beside in each(machines) {
                let (name, socket) = (name(beside), virtio(beside));
                text.push_str(&format!(
                    "\n[ports.{name}]\nkind = \"virtio\"\nsocket = \"{socket}\"\ncontroller = \"can\"\n"
                ));
                match beside {
                    _ if machines.count == 1 => {}
                    None => text.push_str(&format!("receive = [\"{ANSWERS}\"]\n")),
                    Some(_) => text.push_str(&format!("receive = [\"{CALL}\"]\n")),
                }
                if beside.is_some() && machines.budget > 0 {
                    text.push_str(&format!("budget = \"{}/s\"\n", machines.budget));
                }
            }
            text
        }
    }
}

fn head() -> String {
    format!("[gateway]\ncontrol = \"{SOCKET}\"\nrealtime = 90\nlock_memory = true\n\n")
}

/// Iterates over the machine that asks, and the others.
fn each(machines: Machines) -> impl Iterator<Item = Option<u8>> {
    std::iter::once(None).chain((0..machines.beside()).map(Some))
}

fn name(beside: Option<u8>) -> String {
    beside.map_or_else(|| "vm".to_owned(), port)
}

/// Returns the routes between the bus and each machine; those that only send receive nothing.
fn routes(machines: Machines) -> String {
    let mut text = "\n[[routes]]\nfrom = \"bus\"\nto = \"vm\"\n".to_owned();
    if machines.count > 1 {
        text.push_str(&format!("id = \"{ANSWERS}\"\n"));
    }
    for beside in each(machines) {
        let name = name(beside);
        text.push_str(&format!("\n[[routes]]\nfrom = \"{name}\"\nto = \"bus\"\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Incident, OtherTraffic};
    use crate::settings::Experiment;

    fn several(order: MachineOrder, budget: u32) -> Machines {
        Machines {
            count: 3,
            others: OtherTraffic::Flood,
            order,
            budget,
            incident: Incident::None,
        }
    }

    #[test]
    fn one_machine_has_the_bus_for_itself() {
        let host = file(Nesting::Host, Experiment::default().sharing());
        assert!(!host.contains("receive"), "{host}");
        let driver = file(Nesting::Driver, Experiment::default().sharing());
        assert!(!driver.contains("order"), "{driver}");
        assert_eq!(driver.matches("[[routes]]").count(), 2, "{driver}");
        assert!(driver.contains("0000:00:11.0"), "{driver}");
    }

    #[test]
    fn those_beside_only_send() {
        let host = file(Nesting::Host, several(MachineOrder::Priority, 200));
        assert_eq!(host.matches("receive = [\"7D0\"]").count(), 2, "{host}");
        assert_eq!(host.matches("budget = \"200/s\"").count(), 2, "{host}");
        assert!(host.contains("/run/other1.sock"), "{host}");
        for nesting in [Nesting::Host, Nesting::Driver] {
            let fifo = file(nesting, several(MachineOrder::Fifo, 0));
            assert!(fifo.contains("order = \"fifo\""), "{fifo}");
            assert_eq!(fifo.matches("to = \"bus\"").count(), 3, "{fifo}");
            assert_eq!(fifo.matches("from = \"bus\"").count(), 1, "{fifo}");
        }
        let driver = file(Nesting::Driver, several(MachineOrder::Priority, 0));
        assert!(driver.contains("order = \"priority\""), "{driver}");
        assert!(driver.contains("0000:00:13.0"), "{driver}");
    }
}
