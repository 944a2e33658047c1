//! The class of Python for buses that share one time.

use crate::clock::SharedWorld;
use crate::gateway::{self, DefaultRates};
use crate::station::{BusStation, StationError};
use crate::timing::bit_rate;
use crate::world::{RESTART, StationSettings, WorldGateway, WorldState};
use bus::BusConfig;
use config::SourceText;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Buses that share one time.
#[pyclass(frozen, module = "cangate._core")]
pub(crate) struct BusWorld {
    shared: Arc<SharedWorld>,
}

#[pymethods]
impl BusWorld {
    #[new]
    fn new(real: bool) -> Self {
        Self {
            shared: Arc::new(SharedWorld::new(real)),
        }
    }

    /// Makes the buses of a gateway file, with the gateway between them; returns them and the
    /// warnings about the file.
    #[staticmethod]
    fn from_gateway(
        py: Python<'_>,
        name: &str,
        text: &str,
        folder: PathBuf,
        bitrate: i64,
        data_bitrate: Option<i64>,
        real: bool,
    ) -> PyResult<(Self, String)> {
        let rate = bit_rate(bitrate, data_bitrate)?;
        let made = Self::new(real);
        let source = SourceText::new(name, text);
        let rates = DefaultRates {
            nominal: rate.nominal(),
            data: rate.data(),
        };
        let build = |world: &mut WorldState| gateway::build(world, &source, &folder, rates);
        let warnings = made.shared.with(py, build);
        let wrong = |text: String| PyValueError::new_err(text.trim_end().to_owned());
        Ok((made, warnings.map_err(wrong)?))
    }

    /// Returns the ports of the gateway in the order of the file; none without a gateway.
    fn ports(&self, py: Python<'_>) -> Vec<String> {
        self.shared.with(py, |world| {
            let snapshot = world.gateway().map(WorldGateway::snapshot);
            let ports = snapshot.into_iter().flat_map(|snapshot| snapshot.ports);
            ports.map(|port| port.name).collect()
        })
    }

    /// Adds a bus.
    fn add_bus(
        &self,
        py: Python<'_>,
        name: String,
        bitrate: i64,
        data_bitrate: Option<i64>,
        acknowledges: bool,
    ) -> PyResult<()> {
        let rate = bit_rate(bitrate, data_bitrate)?;
        let config = BusConfig {
            data: rate.data(),
            ..BusConfig::classic(rate.nominal())
        };
        let words = format!("channel {name:?}");
        let add = |world: &mut WorldState| world.add_bus(vec![name], config, acknowledges);
        match self.shared.with(py, add) {
            Ok(_) => Ok(()),
            Err(error) => Err(PyValueError::new_err(format!("{words}: {error}"))),
        }
    }

    /// Returns the names of all buses.
    fn channels(&self, py: Python<'_>) -> Vec<String> {
        self.shared.with(py, |world| {
            let all = world.slots().iter().flat_map(|slot| slot.names.clone());
            all.collect()
        })
    }

    /// Returns the bit rates of a bus, and whether it acknowledges on its own.
    fn rates(&self, py: Python<'_>, channel: &str) -> Option<(u32, Option<u32>, bool)> {
        self.shared.with(py, |world| {
            let slot = world.slots().get(world.find(channel)?)?;
            let config = slot.bus.config();
            Some((config.nominal, config.data, slot.acknowledges))
        })
    }

    /// Adds a station.
    #[pyo3(signature = (channel, mailboxes, queue, listen_only, own, errors, depth))]
    #[allow(clippy::too_many_arguments, reason = "one for each setting")]
    fn attach(
        &self,
        py: Python<'_>,
        channel: &str,
        mailboxes: u8,
        queue: usize,
        listen_only: bool,
        own: bool,
        errors: bool,
        depth: usize,
    ) -> PyResult<BusStation> {
        let settings = StationSettings {
            mailboxes,
            queue,
            listen_only,
            own,
            errors,
            depth,
            restart: Some(RESTART),
        };
        let attached = self.shared.with(py, |world| {
            let slot = world.find(channel)?;
            world.attach(slot, settings)
        });
        match attached {
            Some(Ok(station)) => {
                let shared = Arc::clone(&self.shared);
                Ok(BusStation::new(shared, station, channel.to_owned()))
            }
            Some(Err(error)) => Err(PyValueError::new_err(format!(
                "channel {channel:?}: {error}"
            ))),
            None => Err(PyValueError::new_err(format!(
                "there is no channel {channel:?}: there are {}",
                self.channels(py).join(", ")
            ))),
        }
    }

    /// Returns how many open stations, periodic tasks and functions that change frames it keeps.
    fn sizes(&self, py: Python<'_>) -> (usize, usize, usize) {
        let (stations, tasks) = self.shared.with(py, |world| world.sizes());
        (stations, tasks, self.shared.callback_count())
    }

    /// Returns the fates of the frames that the gateway has received, by their keys; `None`
    /// without a gateway.
    fn gateway_fates<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let counted = self.shared.with(py, |world| {
            let snapshot = world.gateway()?.snapshot();
            let each = engine::Fate::ALL.map(|fate| (fate.key(), snapshot.frames(fate)));
            Some((each, snapshot.received(), snapshot.check()))
        });
        let Some((fates, received, sums)) = counted else {
            return Ok(None);
        };
        sums.map_err(|error| StationError::new_err(error.to_string()))?;
        let found = PyDict::new(py);
        found.set_item("received", received)?;
        for (key, frames) in fates {
            found.set_item(key, frames)?;
        }
        Ok(Some(found))
    }
}

/// Registers the class of this file.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BusWorld>()
}
