//! The interrupt numbers of a machine: KVM's table of routes, to the lines of the old controllers
//! and to messages (MSI).

use crate::error::{VmmError, kvm};
use crate::pci::MsixMessage;
use kvm_bindings::{
    KVM_IRQ_ROUTING_IRQCHIP, KVM_IRQ_ROUTING_MSI, KVM_IRQCHIP_IOAPIC, KVM_IRQCHIP_PIC_MASTER,
    KVM_IRQCHIP_PIC_SLAVE, KvmIrqRouting, kvm_irq_routing_entry,
    kvm_irq_routing_entry__bindgen_ty_1, kvm_irq_routing_irqchip, kvm_irq_routing_msi,
};
use kvm_ioctls::VmFd;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Pins of the board's interrupt controller. Numbers above them are for messages.
const PINS: u32 = 24;
/// Lines of both old interrupt controllers.
const OLD: u32 = 16;

/// The routes of a machine.
pub(crate) struct InterruptRoutes {
    vm: Arc<VmFd>,
    /// Numbers that were allocated, with their messages.
    messages: Mutex<BTreeMap<u32, Option<MsixMessage>>>,
}

impl InterruptRoutes {
    pub(crate) const fn new(vm: Arc<VmFd>) -> Self {
        Self {
            vm,
            messages: Mutex::new(BTreeMap::new()),
        }
    }

    /// Allocates a number for one interrupt by message.
    pub(crate) fn number(&self) -> u32 {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let number = PINS + messages.len() as u32;
        messages.insert(number, None);
        number
    }

    /// Routes this number to a message from now on.
    pub(crate) fn route(&self, number: u32, message: Option<MsixMessage>) -> Result<(), VmmError> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.insert(number, message);
        let routes = KvmIrqRouting::from_entries(&entries(&messages));
        let routes = routes.map_err(|_| VmmError::Kvm {
            what: "hold this number of interrupts",
            source: std::io::ErrorKind::InvalidInput.into(),
        })?;
        self.vm
            .set_gsi_routing(&routes)
            .map_err(kvm("route interrupts"))
    }
}

/// Returns all routes: first the lines as KVM connects them on its own, then messages.
fn entries(messages: &BTreeMap<u32, Option<MsixMessage>>) -> Vec<kvm_irq_routing_entry> {
    let line = |gsi, irqchip, pin| kvm_irq_routing_entry {
        gsi,
        type_: KVM_IRQ_ROUTING_IRQCHIP,
        u: kvm_irq_routing_entry__bindgen_ty_1 {
            irqchip: kvm_irq_routing_irqchip { irqchip, pin },
        },
        ..kvm_irq_routing_entry::default()
    };
    let mut all = Vec::new();
    for gsi in 0..PINS {
        if gsi < OLD / 2 {
            all.push(line(gsi, KVM_IRQCHIP_PIC_MASTER, gsi));
        } else if gsi < OLD {
            all.push(line(gsi, KVM_IRQCHIP_PIC_SLAVE, gsi - OLD / 2));
        }
        all.push(line(gsi, KVM_IRQCHIP_IOAPIC, gsi));
    }
    for (gsi, message) in messages {
        let Some(message) = message else { continue };
        let msi = kvm_irq_routing_msi {
            address_lo: message.address as u32,
            address_hi: (message.address >> 32) as u32,
            data: message.data,
            ..kvm_irq_routing_msi::default()
        };
        all.push(kvm_irq_routing_entry {
            gsi: *gsi,
            type_: KVM_IRQ_ROUTING_MSI,
            u: kvm_irq_routing_entry__bindgen_ty_1 { msi },
            ..kvm_irq_routing_entry::default()
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_before_messages() {
        let message = MsixMessage {
            address: 0xFEE0_1000,
            data: 0x41,
        };
        let all = entries(&BTreeMap::from([(24, None), (25, Some(message))]));
        // Each of sixteen lines has two controllers, eight more have one.
        assert_eq!(all.len(), 16 * 2 + 8 + 1);
        let last = all.last().unwrap();
        assert_eq!((last.gsi, last.type_), (25, KVM_IRQ_ROUTING_MSI));
    }
}
