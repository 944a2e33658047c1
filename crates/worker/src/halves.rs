//! The engine and its parts, with halves that the worker can wait for.

use port::{PollReceive, PollTransmit};

type Rx = Box<dyn PollReceive>;
type Tx = Box<dyn PollTransmit>;

/// A port whose halves return the descriptors to wait for.
pub type Port = engine::NamedPort<Rx, Tx>;

/// The engine of the worker.
pub type Engine = engine::Engine<Rx, Tx>;
/// A change of its table and ports.
pub type LayoutChange = engine::LayoutChange<Rx, Tx>;
/// A port in such a change.
pub type PortChange = engine::PortChange<Rx, Tx>;
/// A port that a change has removed.
pub type LeavingPort = engine::LeavingPort<Rx, Tx>;
/// The parts that a change leaves to be freed, or the change itself if it was not applied.
pub type ChangeResult = Result<engine::ChangeLeftover<Rx, Tx>, engine::Unapplied<Rx, Tx>>;
