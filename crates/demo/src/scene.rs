//! The demo's world: buses and gateway ports as the gateway file specifies, and tester nodes as
//! they are needed.

use crate::error::Error;
use crate::tap::{PortTap, TapTape};
use bus::{BusConfig, NodeConfig, NodeId};
use engine::wrap::TappedHalf;
use engine::{Engine, NamedPort};
use frame::wire::BitRate;
use gateway::config::GatewayConfig;
use port::PortSettings as _;
use port::embedded::{BusIndex, BusSettings, BusWorld, TesterNode, WorldError};
use route::RoutingTable;
use std::collections::HashMap;
use std::sync::Arc;

/// The length of a tester's queue: more than any schedule should need, so that a bus that is too
/// slow for its traffic causes visible losses, which the demo does not hide.
const TESTER_QUEUE: usize = 1_000;

/// The tester that every bus has from the beginning, to acknowledge; no traffic uses this number.
const LISTENER: u16 = u16::MAX;

/// A bus of the scene.
pub(crate) struct SceneBus {
    pub(crate) name: String,
    pub(crate) index: BusIndex,
    pub(crate) rate: BitRate,
}

/// A gateway's port in the scene.
pub(crate) struct ScenePort {
    pub(crate) name: String,
    /// Index into [`DemoScene::buses`].
    pub(crate) bus: usize,
    pub(crate) node: NodeId,
}

/// The buses, the gateway between them, and the testers.
pub(crate) struct DemoScene {
    pub(crate) world: BusWorld,
    pub(crate) engine: Engine,
    pub(crate) table: Arc<RoutingTable>,
    pub(crate) buses: Vec<SceneBus>,
    pub(crate) ports: Vec<ScenePort>,
    pub(crate) tape: TapTape,
    testers: HashMap<(usize, u16), TesterNode>,
}

impl DemoScene {
    /// Builds everything but the testers.
    pub(crate) fn new(config: &GatewayConfig, seed: u64) -> Result<Self, Error> {
        let world = BusWorld::new();
        let tape = TapTape::default();
        let mut buses: Vec<SceneBus> = Vec::new();
        let mut ports = Vec::new();
        let mut named: Vec<NamedPort> = Vec::new();
        for (number, spec) in (0u16..).zip(&config.ports) {
            let Some(bus_spec) = spec.settings.downcast_ref::<BusSettings>() else {
                return Err(Error::NotABus {
                    port: spec.name.clone(),
                    kind: spec.settings.kind(),
                });
            };
            if spec.faults.is_some() {
                return Err(Error::Faults(spec.name.clone()));
            }
            let bus = match buses.iter().position(|b| b.name == bus_spec.bus) {
                Some(bus) => bus,
                None => {
                    let rate = BitRate::new(bus_spec.bitrate, bus_spec.data_bitrate)
                        .map_err(Error::scene)?;
                    let index = world
                        .bus(
                            &bus_spec.bus,
                            BusConfig {
                                data: bus_spec.data_bitrate,
                                seed,
                                ..BusConfig::classic(bus_spec.bitrate)
                            },
                        )
                        .map_err(Error::scene)?;
                    buses.push(SceneBus {
                        name: bus_spec.bus.clone(),
                        index,
                        rate,
                    });
                    buses.len() - 1
                }
            };
            let node = NodeConfig {
                mailboxes: bus_spec.mailboxes,
                queue: bus_spec.queue as usize,
                fd: bus_spec.data_bitrate.is_some(),
                ..NodeConfig::new(spec.name.clone())
            };
            let (rx, tx) = world.attach(buses[bus].index, node).map_err(Error::scene)?;
            let node = rx.node();
            ports.push(ScenePort {
                name: spec.name.clone(),
                bus,
                node,
            });
            let tap = PortTap {
                port: number,
                tape: tape.clone(),
            };
            let (rx, tx) = match (spec.queueing, bus_spec.transmit_queue()) {
                (Some(queueing), Some(size)) => {
                    let halves = (Box::new(rx) as _, Box::new(tx) as _);
                    queueing.in_front_of_watched(halves, size, tap.witness())
                }
                _ => (Box::new(rx) as _, Box::new(tx) as _),
            };
            named.push(NamedPort {
                name: spec.name.clone(),
                rx: Box::new(TappedHalf::new(rx, tap.clone())),
                tx: Box::new(TappedHalf::new(tx, tap)),
            });
        }
        let table =
            RoutingTable::compile(&config.routes, config.ports.len()).map_err(|errors| {
                Error::Routes(errors.first().map_or_else(String::new, ToString::to_string))
            })?;
        let table = Arc::new(table);
        let engine =
            Engine::new(named, Arc::clone(&table), &config.routes).map_err(Error::scene)?;
        let mut scene = Self {
            world,
            engine,
            table,
            buses,
            ports,
            tape,
            testers: HashMap::new(),
        };
        // A frame needs a node that acknowledges it, also where no tester sends.
        for bus in 0..scene.buses.len() {
            scene.tester(bus, LISTENER)?;
        }
        Ok(scene)
    }

    /// Returns the tester node with this number on a bus; it is attached at the first call.
    pub(crate) fn tester(&mut self, bus: usize, number: u16) -> Result<TesterNode, Error> {
        if let Some(&tester) = self.testers.get(&(bus, number)) {
            return Ok(tester);
        }
        let scene_bus = &self.buses[bus];
        let node = NodeConfig {
            queue: TESTER_QUEUE,
            fd: scene_bus.rate.data().is_some(),
            ..NodeConfig::new(if number == LISTENER {
                "listener".to_owned()
            } else {
                format!("tester {number}")
            })
        };
        let tester = self
            .world
            .tester(scene_bus.index, node)
            .map_err(Error::scene)?;
        self.testers.insert((bus, number), tester);
        Ok(tester)
    }

    /// Returns the number of frames that testers were given and have neither sent nor given up.
    pub(crate) fn waiting_in_testers(&self) -> Result<u64, WorldError> {
        let mut waiting = 0;
        for tester in self.testers.values() {
            let state = self
                .world
                .with_bus(tester.bus, |bus| bus.node_state(tester.node))?;
            waiting += state.map_or(0, |s| s.queued + s.mailboxes_used + s.scheduled) as u64;
        }
        Ok(waiting)
    }

    /// Returns the gateway port of a node, if it has one.
    pub(crate) fn port_of(&self, bus: BusIndex, node: NodeId) -> Option<u16> {
        let found = |p: &ScenePort| p.node == node && self.buses[p.bus].index == bus;
        self.ports.iter().position(found).map(|i| i as u16)
    }
}
