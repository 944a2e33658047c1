//! The gateway: the real engine, with a gate to a bus for each of its ports.

use super::gate::{GateReceiver, GateSender, PortGate};
use super::slot::BusSlot;
use bus::{ConfigError, NodeConfig};
use engine::{CounterSnapshot, Engine, Transmit};
use frame::Nanos;

/// The transmitting half of a gate, with its queue if it has rules.
pub(crate) type GateTransmitter = Box<dyn Transmit + Send>;

/// The place of a gate.
pub(crate) struct GateSpec {
    /// The index of the bus.
    pub(crate) slot: usize,
    /// The node.
    pub(crate) node: NodeConfig,
}

/// Makes a gate on its bus, and its two halves for the engine. `gate` is its index in the gateway.
pub(crate) fn make_gate(
    gate: usize,
    spec: GateSpec,
    bus: &mut BusSlot,
) -> Result<(PortGate, GateReceiver, GateSender), ConfigError> {
    let node = bus.join_gate(gate, spec.node.clone())?;
    Ok(PortGate::new(spec.slot, node, &spec.node))
}

/// The gateway between the buses of a world.
pub(crate) struct WorldGateway {
    engine: Engine<GateReceiver, GateTransmitter>,
    gates: Vec<PortGate>,
    deadline: Option<Nanos>,
}

impl WorldGateway {
    /// Creates the gateway; `gates` are those of the engine's ports, in their order.
    pub(crate) const fn new(
        engine: Engine<GateReceiver, GateTransmitter>,
        gates: Vec<PortGate>,
    ) -> Self {
        Self {
            engine,
            gates,
            deadline: None,
        }
    }

    /// Returns all counters.
    pub(crate) fn snapshot(&self) -> CounterSnapshot {
        self.engine.snapshot()
    }

    /// Returns the gates.
    pub(super) fn gates(&self) -> &[PortGate] {
        &self.gates
    }

    /// Returns the time of the next step that no event of a bus brings.
    pub(super) const fn deadline(&self) -> Option<Nanos> {
        self.deadline
    }

    /// Lets the engine take what has arrived, and hands what it sends to the buses, for now.
    pub(super) fn step(&mut self, now: Nanos, slots: &mut [BusSlot]) {
        loop {
            for gate in &self.gates {
                if let Some(slot) = slots.get(gate.slot) {
                    gate.note_room(&slot.bus);
                }
            }
            let step = self.engine.step(now);
            for gate in &self.gates {
                if let Some(slot) = slots.get_mut(gate.slot) {
                    gate.pass_on(&mut slot.bus, now);
                }
            }
            self.deadline = step.deadline.filter(|due| *due > now);
            if step.events {
                self.engine.events(|_| {});
            }
            if !step.more {
                break;
            }
        }
    }
}
