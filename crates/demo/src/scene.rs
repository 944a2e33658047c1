//! The demo's world: buses and gateway ports as the gateway file specifies, and tester nodes as
//! they are needed.

use crate::error::Error;
use crate::tap::{PortTap, TapTape};
use bus::{BusConfig, NodeConfig, NodeId};
use engine::wrap::TappedHalf;
use engine::{Engine, NamedPort, StepResult};
use frame::Nanos;
use frame::wire::BitRate;
use gateway::config::GatewayConfig;
use port::embedded::{
    BusIndex, BusSettings, BusWorld, TESTER_QUEUE, TesterNode, WorldError, classic_only,
};
use port::{PortOpener, PortSettings as _, PortSpec};
use route::RoutingTable;
use std::collections::HashMap;
use std::sync::Arc;

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
    /// Its node; `None` for a port that is on no bus: a log that is written, messages that are
    /// made.
    pub(crate) place: Option<NodePlace>,
}

/// A gateway's node.
#[derive(Clone, Copy)]
pub(crate) struct NodePlace {
    /// Index into [`DemoScene::buses`].
    pub(crate) bus: usize,
    pub(crate) node: NodeId,
    /// Whether FD frames pass the port.
    pub(crate) fd: bool,
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
    /// Whether ports are on no bus.
    pub(crate) has_ports_beside: bool,
    /// The result of the engine's last step.
    pub(crate) step: StepResult,
}

impl DemoScene {
    /// Builds everything but the testers.
    pub(crate) fn new(config: &GatewayConfig, seed: u64) -> Result<Self, Error> {
        let world = BusWorld::new();
        let tape = TapTape::default();
        let mut buses: Vec<SceneBus> = Vec::new();
        let mut ports = Vec::new();
        let mut named: Vec<NamedPort> = Vec::new();
        let mut opener = PortOpener::new(0, 0);
        for (number, spec) in (0u16..).zip(&config.ports) {
            if spec.faults.is_some() {
                return Err(Error::Faults(spec.name.clone()));
            }
            let tap = PortTap {
                port: number,
                tape: tape.clone(),
            };
            let Some(settings) = spec.settings.downcast_ref::<BusSettings>() else {
                named.push(beside(spec, &mut opener, tap)?);
                ports.push(ScenePort {
                    name: spec.name.clone(),
                    place: None,
                });
                continue;
            };
            let bus = match buses.iter().position(|b| b.name == settings.bus) {
                Some(bus) => bus,
                None => {
                    let rate = BitRate::new(settings.bitrate, settings.data_bitrate);
                    let config = BusConfig {
                        seed,
                        ..settings.config()
                    };
                    buses.push(SceneBus {
                        name: settings.bus.clone(),
                        index: world.bus(&settings.bus, config).map_err(Error::scene)?,
                        rate: rate.map_err(Error::scene)?,
                    });
                    buses.len() - 1
                }
            };
            let node = settings.node(&spec.name);
            let mut halves = world.attach(buses[bus].index, node).map_err(Error::scene)?;
            if !settings.fd {
                halves = classic_only(halves);
            }
            let (rx, tx) = halves;
            let place = NodePlace {
                bus,
                node: rx.node(),
                fd: settings.fd,
            };
            ports.push(ScenePort {
                name: spec.name.clone(),
                place: Some(place),
            });
            let (rx, tx) = match (spec.queueing, settings.transmit_queue()) {
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
        if let Err(errors) = opener.start()
            && let Some(error) = errors.into_iter().next()
        {
            return Err(Error::Port(error));
        }
        let table =
            RoutingTable::compile(&config.routes, config.ports.len()).map_err(|errors| {
                Error::Routes(errors.first().map_or_else(String::new, ToString::to_string))
            })?;
        let table = Arc::new(table);
        let engine =
            Engine::new(named, Arc::clone(&table), &config.routes).map_err(Error::scene)?;
        let has_ports_beside = ports.iter().any(|port| port.place.is_none());
        let mut scene = Self {
            world,
            engine,
            table,
            buses,
            ports,
            tape,
            has_ports_beside,
            testers: HashMap::new(),
            step: StepResult::default(),
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

    /// Returns the time of the next event, on a bus or at a port that is on none. After the last
    /// frame of the testers (`is_over`), a port that makes messages by time is no reason to go on.
    pub(crate) fn next_event(&self, is_over: bool) -> Option<Nanos> {
        let on_buses = self.world.next();
        if !self.has_ports_beside || is_over && on_buses.is_none() {
            return on_buses;
        }
        let beside = self.step.deadline.filter(|at| *at > self.world.now());
        on_buses.into_iter().chain(beside).min()
    }

    /// Returns whether a port is on a bus; otherwise, it writes a log or makes messages.
    pub(crate) fn is_on_bus(&self, port: u16) -> bool {
        let port = self.ports.get(usize::from(port));
        port.is_some_and(|port| port.place.is_some())
    }

    /// Returns the gateway port of a node, if it has one.
    pub(crate) fn port_of(&self, bus: BusIndex, node: NodeId) -> Option<u16> {
        let found = |port: &ScenePort| {
            let place = port.place.filter(|place| place.node == node);
            place.is_some_and(|place| self.buses[place.bus].index == bus)
        };
        self.ports.iter().position(found).map(|i| i as u16)
    }
}

/// Opens a port that is on no bus: a log that is written, or messages that are made.
fn beside(spec: &PortSpec, opener: &mut PortOpener, tap: PortTap) -> Result<NamedPort, Error> {
    if spec.settings.input_ends() {
        return Err(Error::RealTime {
            port: spec.name.clone(),
            kind: spec.settings.kind(),
        });
    }
    let (rx, tx) = spec.open(opener).map_err(Error::Port)?;
    Ok(NamedPort {
        name: spec.name.clone(),
        rx: Box::new(TappedHalf::new(rx, tap.clone())),
        tx: Box::new(TappedHalf::new(tx, tap)),
    })
}
