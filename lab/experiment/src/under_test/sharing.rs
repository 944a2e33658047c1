//! What shares the controller of the hypervisor's interface among machines, in `gateway.toml`.

use super::files::SOCKET;
use super::interfaces::INCOMING;
use crate::choices::{Machines, Nesting, Order};

/// The identifiers that the machine that asks receives, where others send at once: the answers are
/// among them.
pub(crate) const ANSWERS: &str = "7E0:7F0";

/// The identifier that the other machines receive. In most experiments nobody sends it: each frame
/// of a flood that they received would wake them all.
pub(crate) const CALL: &str = "7D0";

/// The name of the port of a machine beside the one that asks, from 0 on.
#[must_use]
pub(crate) fn port(beside: u8) -> String {
    format!("other{beside}")
}

/// The socket of a machine's virtio CAN device: of the one that asks, or of one beside it.
#[must_use]
pub(crate) fn virtio(beside: Option<u8>) -> String {
    match beside {
        None => "/run/vm.sock".to_owned(),
        Some(number) => format!("/run/{}.sock", port(number)),
    }
}

/// The PCI slot of the driver VM's memory that it shares with a machine: behind its virtual
/// function, first with the one that asks.
fn memory(beside: Option<u8>) -> String {
    let place = beside.map_or(0, |number| number + 1);
    format!("0000:00:{:02x}.0", 0x11 + place)
}

/// How a bus's frames wait in a gateway that routes: nothing is dropped, whoever sends waits.
fn waiting(order: Order) -> String {
    format!("queue = 16\norder = \"{order}\"\nwhen_full = \"wait\"\n")
}

/// The gateway's file; empty where no software shares the controller.
pub(super) fn file(nesting: Nesting, machines: Machines) -> String {
    let fifo = machines.order == Order::Fifo;
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

/// The one that asks, and those beside it.
fn each(machines: Machines) -> impl Iterator<Item = Option<u8>> {
    std::iter::once(None).chain((0..machines.beside()).map(Some))
}

fn name(beside: Option<u8>) -> String {
    beside.map_or_else(|| "vm".to_owned(), port)
}

/// Routes between the bus and each machine; those that only send receive nothing.
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
    use crate::choices::{Incident, Others};

    fn several(order: Order, budget: u32) -> Machines {
        Machines {
            count: 3,
            others: Others::Flood,
            order,
            budget,
            incident: Incident::None,
        }
    }

    #[test]
    fn one_machine_has_the_bus_for_itself() {
        let host = file(Nesting::Host, Machines::ONE);
        assert!(!host.contains("receive"), "{host}");
        let driver = file(Nesting::Driver, Machines::ONE);
        assert!(!driver.contains("order"), "{driver}");
        assert_eq!(driver.matches("[[routes]]").count(), 2, "{driver}");
        assert!(driver.contains("0000:00:11.0"), "{driver}");
    }

    #[test]
    fn those_beside_only_send() {
        let host = file(Nesting::Host, several(Order::Priority, 200));
        assert_eq!(host.matches("receive = [\"7D0\"]").count(), 2, "{host}");
        assert_eq!(host.matches("budget = \"200/s\"").count(), 2, "{host}");
        assert!(host.contains("/run/other1.sock"), "{host}");
        for nesting in [Nesting::Host, Nesting::Driver] {
            let fifo = file(nesting, several(Order::Fifo, 0));
            assert!(fifo.contains("order = \"fifo\""), "{fifo}");
            assert_eq!(fifo.matches("to = \"bus\"").count(), 3, "{fifo}");
            assert_eq!(fifo.matches("from = \"bus\"").count(), 1, "{fifo}");
        }
        let driver = file(Nesting::Driver, several(Order::Priority, 0));
        assert!(driver.contains("order = \"priority\""), "{driver}");
        assert!(driver.contains("0000:00:13.0"), "{driver}");
    }
}
