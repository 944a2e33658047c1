//! Which controllers there are, where they are, and whose functions they have.

use super::on_interface::OnInterface;
use crate::embedded::{BusIndex, SharedController, World};
use crate::{Opener, PortError};
use frame::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::HashMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use vcontroller::{Controller, Counters, Vf};

/// The most machines that share a controller.
pub(crate) const MOST_FUNCTIONS: u8 = 32;

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
    /// Lets the bus do what is due, somebody work with the controller, and the bus have what is best then. `work`
    /// gets the time of the bus, ns. `came`: an interface may have brought something.
    pub(crate) fn turn(&self, clock: Nanos, came: bool, work: impl FnOnce(&mut Controller, Nanos)) {
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
            Self::Interface(interface) => Some(lock(interface).deadline(clock)),
        }
    }

    /// Lets a machine's device be woken by the interface.
    pub(crate) fn watch(&self, device: &virtio::Device) {
        if let Self::Interface(interface) = self {
            device.watch(lock(interface).fd());
        }
    }

    /// What became of a function's frames, and how many frames the bus brought too fast for this process.
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

/// What wakes the machines of a controller, by the number of their function.
type Wakes = Arc<Mutex<Vec<Arc<OwnedFd>>>>;

/// A machine's part of a controller, which may be opened later than the machine's port.
pub(crate) struct Function {
    /// The controller's name.
    pub(crate) name: String,
    pub(crate) place: Arc<OnceLock<Place>>,
    pub(crate) vf: Vf,
    /// Readable when there is something for this machine that another one's turn has brought.
    pub(crate) wake: Arc<OwnedFd>,
    all: Wakes,
}

impl Function {
    /// Wakes the other machines that something has come for.
    pub(crate) fn wake_others(&self, controller: &Controller) {
        for (number, wake) in (0..).zip(lock(&self.all).iter()) {
            let vf = Vf(number);
            if vf != self.vf && controller.has_news(vf) {
                // A counter that is full wakes, too.
                let _ = rustix::io::write(wake.as_fd(), &1_u64.to_ne_bytes());
            }
        }
    }
}

#[derive(Default)]
struct Entry {
    place: Arc<OnceLock<Place>>,
    /// The machines' ports, by the number of their function.
    machines: Vec<String>,
    wakes: Wakes,
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

    /// The function of a machine's port. It keeps its number over reloads.
    pub(crate) fn function(&mut self, name: &str, port: &str) -> Result<Function, PortError> {
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
        let mut wakes = lock(&entry.wakes);
        if known.is_none() {
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            let wake =
                wake.map_err(|error| fail(format!("the system has no more descriptors: {error}")))?;
            wakes.push(Arc::new(wake));
            entry.machines.push(port.to_owned());
        }
        let wake = wakes.get(number).map(Arc::clone);
        drop(wakes);
        Ok(Function {
            name: name.to_owned(),
            place: Arc::clone(&entry.place),
            vf: Vf(vf),
            wake: wake.ok_or_else(|| fail("its function is gone".to_owned()))?,
            all: Arc::clone(&entry.wakes),
        })
    }
}
