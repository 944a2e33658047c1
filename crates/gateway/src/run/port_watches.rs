//! The clients of the control socket that watch ports.

use crate::watching::WatchChannel;
use std::sync::Arc;

/// A client that watches ports.
pub(super) struct PortWatch {
    pub(super) channel: Arc<WatchChannel>,
    /// Whether it watches all ports, also those that a reload adds.
    pub(super) all: bool,
    /// The ports that it watches, or wants to.
    pub(super) ports: Vec<String>,
}

/// The clients that watch ports.
#[derive(Default)]
pub(super) struct PortWatches(pub(super) Vec<PortWatch>);
