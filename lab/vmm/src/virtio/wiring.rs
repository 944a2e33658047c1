//! The work that KVM does without this process: a write to an event descriptor becomes an interrupt
//! (irqfd), a write to a port becomes an event on a descriptor (ioeventfd).

use super::{QUEUES, STEP, VECTORS};
use crate::end::EndNotice;
use crate::error::{VmmError, kvm, system};
use crate::interrupts::InterruptRoutes;
use crate::pci::{InterruptWires, MsixMessage};
use kvm_ioctls::{IoEventAddress, NoDatamatch, VmFd};
use linux::{Errno, PollSet};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// The receiver of a device's kicks.
pub(crate) trait KickSink {
    /// Makes KVM take kicks at the ports from this one on, and no longer at the previous ones. With
    /// `None`, KVM takes none.
    fn take_kicks(&mut self, base: Option<u16>);
    /// Signals changes of the configuration by this interrupt from now on.
    fn tell_changes_by(&mut self, vector: Option<usize>);
}

/// The event descriptors of a device.
pub(crate) struct DeviceEvents {
    /// Written by the side that raises an interrupt.
    pub(crate) calls: [EventFd; VECTORS],
    /// Written by a kick.
    pub(crate) kicks: [EventFd; QUEUES],
}

impl DeviceEvents {
    pub(crate) fn new() -> Result<Self, VmmError> {
        let event = || EventFd::new(EFD_NONBLOCK).map_err(system("make an event descriptor"));
        Ok(Self {
            calls: [event()?, event()?, event()?, event()?],
            kicks: [event()?, event()?, event()?],
        })
    }

    /// Returns copies of the same descriptors.
    pub(crate) fn again(&self) -> Result<Self, VmmError> {
        let copy = |event: &EventFd| event.try_clone().map_err(system("copy a descriptor"));
        let [a, b, c, d] = &self.calls;
        let [e, f, g] = &self.kicks;
        Ok(Self {
            calls: [copy(a)?, copy(b)?, copy(c)?, copy(d)?],
            kicks: [copy(e)?, copy(f)?, copy(g)?],
        })
    }
}

/// A device's wires to KVM.
pub(crate) struct KvmWiring {
    vm: Arc<VmFd>,
    interrupts: Arc<InterruptRoutes>,
    events: DeviceEvents,
    numbers: [u32; VECTORS],
    /// Whether each of them is connected.
    connected: [bool; VECTORS],
    /// The port at which KVM takes each queue's kicks.
    taken: [Option<IoEventAddress>; QUEUES],
    /// The interrupt of the configuration, or a number that does not exist.
    changes: Arc<AtomicUsize>,
    news: EndNotice,
}

impl KvmWiring {
    pub(crate) fn new(
        vm: &Arc<VmFd>,
        interrupts: &Arc<InterruptRoutes>,
        events: DeviceEvents,
        changes: Arc<AtomicUsize>,
        news: EndNotice,
    ) -> Self {
        changes.store(usize::MAX, Ordering::Relaxed);
        Self {
            vm: Arc::clone(vm),
            interrupts: Arc::clone(interrupts),
            events,
            numbers: std::array::from_fn(|_| interrupts.number()),
            connected: [false; VECTORS],
            taken: [const { None }; QUEUES],
            changes,
            news,
        }
    }

    fn try_connect(&mut self, vector: usize, message: Option<MsixMessage>) -> Result<(), VmmError> {
        let (call, number) = (&self.events.calls[vector], self.numbers[vector]);
        if message.is_some() {
            self.interrupts.route(number, message)?;
        }
        // While an interrupt is not connected, its events wait in the event descriptor; KVM checks
        // the descriptor when it is connected.
        if message.is_some() != self.connected[vector] {
            self.connected[vector] = message.is_some();
            let done = if message.is_some() {
                self.vm.register_irqfd(call, number)
            } else {
                self.vm.unregister_irqfd(call, number)
            };
            done.map_err(kvm("connect an interrupt"))?;
        }
        Ok(())
    }

    fn try_take_kicks(&mut self, base: Option<u16>) -> Result<(), VmmError> {
        for (queue, kick) in self.events.kicks.iter().enumerate() {
            if let Some(port) = self.taken[queue].take() {
                self.vm
                    .unregister_ioevent(kick, &port, NoDatamatch)
                    .map_err(kvm("give up a port"))?;
            }
            let Some(base) = base else { continue };
            let at = u64::from(base) + u64::from(STEP) * queue as u64;
            let taken = self
                .vm
                .register_ioevent(kick, &IoEventAddress::Pio(at), NoDatamatch);
            match taken {
                Ok(()) => self.taken[queue] = Some(IoEventAddress::Pio(at)),
                // The machine has moved one device onto another. Writes there go to the other
                // device, as long as it is there.
                Err(error) if error.errno() == Errno::EXIST.raw_os_error() => {}
                Err(error) => return Err(kvm("take a port")(error)),
            }
        }
        Ok(())
    }
}

impl InterruptWires for KvmWiring {
    fn connect(&mut self, vector: usize, message: Option<MsixMessage>) {
        if let Err(error) = self.try_connect(vector, message) {
            self.news.ended(Err(error));
        }
    }

    fn waits(&self, vector: usize) -> bool {
        let Some(call) = self.events.calls.get(vector) else {
            return false;
        };
        let mut poll = PollSet::with_capacity(1);
        poll.add_fd(call.as_raw_fd(), true, false);
        let now = Some(Duration::ZERO);
        !self.connected[vector] && poll.wait(now).is_ok_and(|ready| ready > 0)
    }
}

impl KickSink for KvmWiring {
    fn take_kicks(&mut self, base: Option<u16>) {
        if let Err(error) = self.try_take_kicks(base) {
            self.news.ended(Err(error));
        }
    }

    fn tell_changes_by(&mut self, vector: Option<usize>) {
        self.changes
            .store(vector.unwrap_or(usize::MAX), Ordering::Release);
    }
}
