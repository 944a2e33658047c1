//! `[controllers.NAME]`: a controller on an embedded bus, and the host's own node there.

use super::registry::{MOST_FUNCTIONS, Place, registry};
use crate::embedded::{BusSettings, join, world};
use crate::kind::{PortKind, Settings};
use crate::{Halves, Opener, PortError};
use bus::NodeConfig;
use config::{Diagnostics, Table};
use std::sync::Arc;
use vcontroller::{Config, Controller};

/// Controllers that machines share.
#[derive(Clone, Copy, Debug)]
pub struct Controllers;

const KEYWORD: &str = "controller";

/// Frames that one machine can have waiting for the bus: as many as its transmit queue in QEMU has room for, so
/// that all of them take part in the order by priority.
const QUEUE: usize = 64;
/// Frames that wait until one machine takes them.
const FIFO: usize = 256;

impl PortKind for Controllers {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn parse(
        &self,
        port: &str,
        table: &mut Table<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn Settings> {
        Arc::new(ControllerSettings(BusSettings::parse(port, table, found)))
    }
}

/// A controller, by its bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControllerSettings(pub BusSettings);

impl Settings for ControllerSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn bus(&self) -> Option<String> {
        self.0.bus()
    }

    fn describe(&self) -> String {
        format!("controller that machines share, on {}", self.0.describe())
    }

    fn open(&self, port: &str, opener: &mut Opener) -> Result<Halves, PortError> {
        let world = world(opener);
        let fail = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let place = registry(opener).place(port);
        if place.get().is_some() {
            return Err(fail(
                "this controller is there with other settings already: start the gateway anew"
                    .to_owned(),
            ));
        }
        let halves = join(
            &world,
            port,
            &self.0.bus,
            self.0.config(),
            self.0.node(port),
        )?;
        let bus = world
            .find(&self.0.bus)
            .ok_or_else(|| fail("its bus is gone".to_owned()))?;
        let fd = self.0.data_bitrate.is_some();
        let controller = Controller::new(Config {
            functions: MOST_FUNCTIONS,
            queue: QUEUE,
            fifo: FIFO,
            fd,
        });
        let node = NodeConfig {
            fd,
            restart: self.0.node(port).restart,
            ..NodeConfig::new("shared controller")
        };
        let shared = world
            .share(bus, controller, node)
            .map_err(|error| fail(error.to_string()))?;
        // Nobody else fills it: a controller's name is a port's.
        let _ = place.set(Place { world, bus, shared });
        Ok(halves)
    }
}
