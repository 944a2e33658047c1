//! Which controllers there are, where they are, and whose functions they have.

use super::on_interface::OnInterface;
use crate::embedded::{BusIndex, SharedController, World};
use crate::{Opener, PortError};
use frame::Nanos;
use linux::events::{Member, Trigger};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use vcontroller::{Controller, Counters, Vf};
use virtio::FIRST_OTHER;

/// The most machines that share a controller.
pub(crate) const MOST_FUNCTIONS: u8 = 32;

/// What a machine's device brings its function besides what is the device's.
///
/// The interface has brought a frame, or an error.
pub(crate) const FRAMES: u8 = FIRST_OTHER;
/// It is time to look how the interface is.
pub(crate) const TICK: u8 = FRAMES + 1;
/// Another machine's turn has brought something for this one.
const NEWS: u8 = TICK + 1;

/// Where a controller is.
pub(crate) enum Place {
    /// On an embedded bus.
    Bus {
        world: World,
        bus: BusIndex,
        shared: SharedController,
    },
    /// On a Linux interface.
    Interface(Box<Mutex<OnInterface>>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// Lets the bus do what is due, somebody work with the controller, and the bus have what is
    /// best then. `work` gets the time of the bus, ns. `came`: what the interface has brought,
    /// [`FRAMES`] and [`TICK`] as bits.
    pub(crate) fn turn(&self, clock: Nanos, came: u32, work: impl FnOnce(&mut Controller, Nanos)) {
        match self {
            Self::Bus { world, bus, shared } => {
                // The bus is there as long as its world.
                let _ = world.with_shared(*bus, shared, clock, work);
            }
            Self::Interface(interface) => lock(interface).turn(clock, came, work),
        }
    }

    /// When the next turn is to be at the latest, in the time of the clock.
    pub(crate) fn deadline(&self, clock: Nanos) -> Option<Nanos> {
        match self {
            Self::Bus { world, .. } => world.deadline(),
            Self::Interface(interface) => lock(interface).deadline(clock),
        }
    }

    /// Lets a machine's device be woken by the interface.
    pub(crate) fn watch(&self, device: &virtio::Device) {
        if let Self::Interface(interface) = self {
            let interface = lock(interface);
            device.watch(interface.fd(), FRAMES, Trigger::Level);
            if let Some(timer) = interface.timer() {
                device.watch(timer, TICK, Trigger::Edge);
            }
        }
    }

    /// What became of a function's frames, and how many frames the bus brought too fast for this
    /// process.
    pub(crate) fn counters(&self, vf: Vf) -> Option<(Counters, u32)> {
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
type All = Arc<Mutex<Vec<Arc<Member>>>>;

/// A machine's part of a controller, which may be opened later than the machine's port.
pub(crate) struct Function {
    /// The controller's name.
    pub(crate) name: String,
    pub(crate) place: Arc<OnceLock<Place>>,
    pub(crate) vf: Vf,
    all: All,
}

impl Function {
    /// Wakes the other machines that something has come for.
    pub(crate) fn wake_others(&self, controller: &Controller) {
        for (number, events) in (0..).zip(lock(&self.all).iter()) {
            let vf = Vf(number);
            if vf != self.vf && controller.has_news(vf) {
                events.stir(NEWS);
            }
        }
    }
}

#[derive(Default)]
struct Entry {
    place: Arc<OnceLock<Place>>,
    /// The machines' ports, by the number of their function.
    machines: Vec<String>,
    events: All,
}

/// All of a gateway. It lives as long as the gateway does.
#[derive(Default)]
pub(crate) struct Registry(HashMap<String, Entry>);

/// The gateway's.
pub(crate) fn registry(opener: &mut Opener) -> &mut Registry {
    opener.shared(Registry::default)
}

impl Registry {
    /// Where a controller of this name is to be.
    pub(crate) fn place(&mut self, name: &str) -> Arc<OnceLock<Place>> {
        Arc::clone(&self.0.entry(name.to_owned()).or_default().place)
    }

    /// The function of a machine's port, whose device has these events. It keeps its number over
    /// reloads.
    pub(crate) fn function(
        &mut self,
        name: &str,
        port: &str,
        events: &Arc<Member>,
    ) -> Result<Function, PortError> {
        let fail = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let entry = self.0.entry(name.to_owned()).or_default();
        let known = entry.machines.iter().position(|machine| machine == port);
        let number = known.unwrap_or(entry.machines.len());
        let vf = u8::try_from(number).ok().filter(|vf| *vf < MOST_FUNCTIONS);
        let vf = vf.ok_or_else(|| {
            fail(format!(
                "{MOST_FUNCTIONS} machines share controller `{name}`, which is the most"
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
        Ok(Function {
            name: name.to_owned(),
            place: Arc::clone(&entry.place),
            vf: Vf(vf),
            all: Arc::clone(&entry.events),
        })
    }
}
