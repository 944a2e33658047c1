//! Which controllers there are, and whose functions they have.

use crate::embedded::{BusIndex, SharedController, World};
use crate::{Opener, PortError};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use vcontroller::Vf;

/// The most machines that share a controller.
pub(crate) const MOST_FUNCTIONS: u8 = 32;

/// A controller on its bus.
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) bus: BusIndex,
    pub(crate) shared: SharedController,
}

/// A machine's part of a controller, which may be opened later than the machine's port.
pub(crate) struct Function {
    /// The controller's name.
    pub(crate) name: String,
    pub(crate) place: Arc<OnceLock<Place>>,
    pub(crate) vf: Vf,
}

#[derive(Default)]
struct Entry {
    place: Arc<OnceLock<Place>>,
    /// The machines' ports, by the number of their function.
    machines: Vec<String>,
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
        let entry = self.0.entry(name.to_owned()).or_default();
        let known = entry.machines.iter().position(|machine| machine == port);
        let number = known.unwrap_or(entry.machines.len());
        let vf = u8::try_from(number).ok().filter(|vf| *vf < MOST_FUNCTIONS);
        let vf = vf.ok_or_else(|| PortError {
            port: port.to_owned(),
            what: format!("{MOST_FUNCTIONS} machines share controller `{name}`, which is the most"),
            source: None,
        })?;
        if known.is_none() {
            entry.machines.push(port.to_owned());
        }
        Ok(Function {
            name: name.to_owned(),
            place: Arc::clone(&entry.place),
            vf: Vf(vf),
        })
    }
}
