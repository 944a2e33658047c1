//! The controllers of a gateway, the bus or interface of each, and the machines of its functions.

use super::on_interface::{FRAMES, OnInterface, TICK};
use crate::embedded::{BusIndex, BusWorld, SharedController};
use crate::{PortError, PortOpener};
use bus::vcontroller::{FunctionCounters, VfNumber, VirtualController};
use frame::Nanos;
use linux::events::{EventTrigger, SetMember};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Maximum number of machines that share a controller.
pub(crate) const MAX_FUNCTIONS: u8 = 32;

/// Event: another machine's turn has produced frames or completions for this one.
const NEWS: u8 = TICK + 1;

/// The bus or interface of a controller.
pub(crate) enum ControllerPlace {
    /// On an embedded bus.
    Bus {
        world: BusWorld,
        bus: BusIndex,
        shared: SharedController,
    },
    /// On a Linux interface.
    Interface(Box<Mutex<OnInterface>>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ControllerPlace {
    /// Processes the due events of the bus, calls `work` with the controller, and then offers the
    /// highest-priority frame to the bus. `work` gets the time of the bus, ns. `came`: the events
    /// of the interface, [`FRAMES`] and [`TICK`] as bits.
    pub(crate) fn turn(
        &self,
        clock: Nanos,
        came: u32,
        work: impl FnOnce(&mut VirtualController, Nanos),
    ) {
        match self {
            Self::Bus { world, bus, shared } => {
                // The bus exists as long as its world.
                let _ = world.with_shared(*bus, shared, clock, work);
            }
            Self::Interface(interface) => lock(interface).turn(clock, came, work),
        }
    }

    /// Returns the latest time of the next turn, in the time of the clock.
    pub(crate) fn deadline(&self, clock: Nanos) -> Option<Nanos> {
        match self {
            Self::Bus { world, .. } => world.deadline(),
            Self::Interface(interface) => lock(interface).deadline(clock),
        }
    }

    /// Lets the interface wake a machine's device.
    pub(crate) fn watch(&self, device: &virtio::VirtioDevice) {
        if let Self::Interface(interface) = self {
            let interface = lock(interface);
            device.watch(interface.fd(), FRAMES, EventTrigger::Level);
            if let Some(timer) = interface.timer() {
                device.watch(timer, TICK, EventTrigger::Edge);
            }
        }
    }

    /// Returns the counters of a function's frames, and the number of frames that this process lost
    /// because the bus was too fast for it.
    pub(crate) fn counters(&self, vf: VfNumber) -> Option<(FunctionCounters, u32)> {
        match self {
            Self::Bus { shared, .. } => Some((lock(shared).controller.counters(vf).ok()?, 0)),
            Self::Interface(interface) => {
                let interface = lock(interface);
                Some((interface.controller.counters(vf).ok()?, interface.lost()))
            }
        }
    }
}

/// The events of the machines of a controller, by the number of their function.
type All = Arc<Mutex<Vec<Arc<SetMember>>>>;

/// A machine's part of a controller, which may be opened later than the machine's port.
pub(crate) struct MachineFunction {
    /// The name of the controller.
    pub(crate) name: String,
    pub(crate) place: Arc<OnceLock<ControllerPlace>>,
    pub(crate) vf: VfNumber,
    all: All,
}

impl MachineFunction {
    /// Wakes the other machines for which the controller has news.
    pub(crate) fn wake_others(&self, controller: &VirtualController) {
        for (number, events) in (0..).zip(lock(&self.all).iter()) {
            let vf = VfNumber(number);
            if vf != self.vf && controller.has_news(vf) {
                events.wake(NEWS);
            }
        }
    }
}

#[derive(Default)]
struct RegistryEntry {
    place: Arc<OnceLock<ControllerPlace>>,
    /// Names of the machines' ports, by the number of their function.
    machines: Vec<String>,
    events: All,
}

/// All controllers of a gateway. It lives as long as the gateway does.
#[derive(Default)]
pub(crate) struct ControllerRegistry(HashMap<String, RegistryEntry>);

/// Returns the gateway's registry.
pub(crate) fn registry(opener: &mut PortOpener) -> &mut ControllerRegistry {
    opener.shared(ControllerRegistry::default)
}

impl ControllerRegistry {
    /// Returns the place of the controller of this name, which its port fills when it is opened.
    pub(crate) fn place(&mut self, name: &str) -> Arc<OnceLock<ControllerPlace>> {
        Arc::clone(&self.0.entry(name.to_owned()).or_default().place)
    }

    /// Returns the function of a machine's port, whose device has these events. It keeps its number
    /// over reloads.
    pub(crate) fn function(
        &mut self,
        name: &str,
        port: &str,
        events: &Arc<SetMember>,
    ) -> Result<MachineFunction, PortError> {
        let fail = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let entry = self.0.entry(name.to_owned()).or_default();
        let known = entry.machines.iter().position(|machine| machine == port);
        let number = known.unwrap_or(entry.machines.len());
        let vf = u8::try_from(number).ok().filter(|vf| *vf < MAX_FUNCTIONS);
        let vf = vf.ok_or_else(|| {
            fail(format!(
                "{MAX_FUNCTIONS} machines, the maximum, share controller `{name}` already"
            ))
        })?;
        if known.is_none() {
            entry.machines.push(port.to_owned());
        }
        let mut all = lock(&entry.events);
        match all.get_mut(number) {
            Some(before) => *before = Arc::clone(events),
            None => all.push(Arc::clone(events)),
        }
        drop(all);
        Ok(MachineFunction {
            name: name.to_owned(),
            place: Arc::clone(&entry.place),
            vf: VfNumber(vf),
            all: Arc::clone(&entry.events),
        })
    }
}
