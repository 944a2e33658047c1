//! `[controllers.NAME]`: a controller on an embedded bus or on an interface, and the host's own
//! node there.

use super::on_interface::OnInterface;
use super::registry::{ControllerPlace, MAX_FUNCTIONS, registry};
use crate::embedded::{BusSettings, join, world};
use crate::kind::{FramePassage, PortSettings, port_kind};
use crate::socketcan::{self, SocketCanSettings};
use crate::{Halves, PortError, PortOpener};
use bus::NodeConfig;
use bus::vcontroller::{ControllerConfig, VirtualController};
use config::{Diagnostics, KeySpec, TomlTable};
use frame::Kind;
use std::sync::Mutex;

port_kind! {
    /// The kind of controllers that machines share.
    SharedControllers = "controller", keys(), ControllerSettings::parse;

    fn table(&self) -> &'static str {
        "controllers"
    }
}

/// Number of frames that one machine can have waiting for the bus: the capacity of its transmit
/// queue in QEMU, so that all of them take part in the order by priority.
const QUEUE: usize = 64;
/// Number of frames that can wait until one machine takes them.
const FIFO: usize = 256;

/// With `interface`, the keys of an interface; else those of a bus.
fn keys() -> Vec<KeySpec> {
    let mut keys = socketcan::keys();
    let known: Vec<_> = keys.iter().map(|key| key.name).collect();
    let bus = BusSettings::key_specs();
    keys.extend(bus.into_iter().filter(|key| !known.contains(&key.name)));
    keys
}

/// The settings of a controller, by the medium that it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControllerSettings {
    /// An embedded bus.
    Bus(BusSettings),
    /// A Linux CAN interface.
    Interface(SocketCanSettings),
}

impl ControllerSettings {
    fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        if table.has("interface") {
            Self::Interface(SocketCanSettings::parse(port, table, found))
        } else {
            Self::Bus(BusSettings::parse(port, table, found))
        }
    }
}

fn controller(fd: bool) -> VirtualController {
    VirtualController::new(ControllerConfig {
        functions: MAX_FUNCTIONS,
        queue: QUEUE,
        fifo: FIFO,
        fd,
    })
}

fn on_bus(
    settings: &BusSettings,
    port: &str,
    opener: &mut PortOpener,
) -> Result<(Halves, ControllerPlace), String> {
    let world = world(opener);
    let node = settings.node(port);
    let (fd, restart) = (node.fd, node.restart);
    let halves = join(&world, port, &settings.bus, settings.config(), node, true)
        .map_err(|error| error.what)?;
    let bus = world.find(&settings.bus).ok_or("its bus is gone")?;
    let node = NodeConfig {
        fd,
        restart,
        ..NodeConfig::new("shared controller")
    };
    let shared = world
        .share(bus, controller(fd), node)
        .map_err(|error| error.to_string())?;
    Ok((halves, ControllerPlace::Bus { world, bus, shared }))
}

impl PortSettings for ControllerSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn bus(&self) -> Option<String> {
        match self {
            Self::Bus(settings) => settings.bus(),
            Self::Interface(settings) => settings.bus(),
        }
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        match self {
            Self::Bus(settings) => settings.passes(kind),
            Self::Interface(settings) => settings.passes(kind),
        }
    }

    fn describe(&self) -> String {
        let on = match self {
            Self::Bus(settings) => settings.describe(),
            Self::Interface(settings) => settings.describe(),
        };
        format!("controller that machines share, on {on}")
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let fail = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let place = registry(opener).place(port);
        if place.get().is_some() {
            return Err(fail(
                "this controller runs with other settings already: restart the gateway".to_owned(),
            ));
        }
        let (halves, made) = match self {
            Self::Bus(settings) => on_bus(settings, port, opener).map_err(fail)?,
            Self::Interface(settings) => {
                let halves = settings.open(port, opener)?;
                let name = &settings.interface;
                let made = OnInterface::open(name, settings.fd, controller)
                    .map_err(|error| fail(error.to_string()))?;
                (
                    halves,
                    ControllerPlace::Interface(Box::new(Mutex::new(made))),
                )
            }
        };
        // No other code fills it: a controller's name is the name of one port.
        let _ = place.set(made);
        Ok(halves)
    }
}
