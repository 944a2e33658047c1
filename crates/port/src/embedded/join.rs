//! Attachment of a gateway's port to a bus, which ports share by its name.

use super::halves::classic_only;
use super::index::BusIndex;
use super::world::{BusWorld, WorldError};
use crate::{Halves, PortError};
use bus::{Bus, BusConfig, NodeConfig};

/// Attaches a port's node to the bus of this name, and makes the bus if there is none yet. `fd`:
/// the port passes FD frames, if the bus carries them.
pub(crate) fn join(
    world: &BusWorld,
    port: &str,
    name: &str,
    config: BusConfig,
    node: NodeConfig,
    fd: bool,
) -> Result<Halves, PortError> {
    let wrong = |what: String| PortError {
        port: port.to_owned(),
        what,
        source: None,
    };
    let refused = |e: WorldError| wrong(e.to_string());
    let bus = match world.find(name) {
        Some(bus) => {
            let rates = |bus: &Bus| (bus.config().nominal, bus.config().data);
            let runs_at = world.with_bus(bus, rates).map_err(refused)?;
            let wanted = (config.nominal, config.data);
            if runs_at != wanted {
                return Err(wrong(format!(
                    "bus \"{name}\" runs at {} already, not {}: give it another name, or the same \
                     bit rates and a restart",
                    words(runs_at),
                    words(wanted)
                )));
            }
            bus
        }
        None => new_bus(world, name, config).map_err(refused)?,
    };
    let mut halves = world.attach(bus, node).map_err(refused)?;
    if !fd {
        halves = classic_only(halves);
    }
    let (rx, tx) = halves;
    Ok((Box::new(rx), Box::new(tx)))
}

/// Makes a new bus, with a node that acknowledges: otherwise, a port that is alone on its bus would
/// repeat its first frame for ever.
fn new_bus(world: &BusWorld, name: &str, config: BusConfig) -> Result<BusIndex, WorldError> {
    let bus = world.bus(name, config)?;
    world.tester(bus, NodeConfig::new("acknowledger"))?;
    Ok(bus)
}

fn words((nominal, data): (u32, Option<u32>)) -> String {
    match data {
        Some(data) => format!("{nominal} and {data} bit/s"),
        None => format!("{nominal} bit/s"),
    }
}
