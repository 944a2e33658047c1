//! The engine and its parts, with halves that the worker can wait for.

use port::{PollReceive, PollTransmit};

type Rx = Box<dyn PollReceive>;
type Tx = Box<dyn PollTransmit>;

/// A port whose halves return the descriptors to wait for.
pub type Port = engine::NamedPort<Rx, Tx>;

pub(crate) type Engine = engine::Engine<Rx, Tx>;
pub(crate) type Change = engine::LayoutChange<Rx, Tx>;
pub(crate) type PortChange = engine::PortChange<Rx, Tx>;
pub(crate) type Removed = engine::ChangeLeftover<Rx, Tx>;
pub(crate) type Unapplied = engine::Unapplied<Rx, Tx>;
pub(crate) type Leaving = engine::LeavingPort<Rx, Tx>;
