//! The engine and its parts, with halves that the worker can wait for.

use port::{BoxedReceiver as Rx, BoxedTransmitter as Tx};

pub(crate) use port::PollEngine as Engine;

/// A port whose halves return the descriptors to wait for.
pub type Port = engine::NamedPort<Rx, Tx>;

pub(crate) type Change = engine::LayoutChange<Rx, Tx>;
pub(crate) type PortChange = engine::PortChange<Rx, Tx>;
pub(crate) type Removed = engine::ChangeLeftover<Rx, Tx>;
pub(crate) type Unapplied = engine::Unapplied<Rx, Tx>;
pub(crate) type Leaving = engine::LeavingPort<Rx, Tx>;
