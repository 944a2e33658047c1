//! The clients that watch ports.

use std::sync::Arc;
use worker::watching::{TapChange, WatchChannel};

/// A client that watches ports.
pub(super) struct PortWatch {
    pub(super) channel: Arc<WatchChannel>,
    /// The ports that it watches, or wants to; none: all ports, also those that a reload adds.
    pub(super) ports: Vec<String>,
}

impl PortWatch {
    /// Returns whether it watches a port of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.ports.is_empty() || self.ports.iter().any(|port| port == name)
    }
}

/// The clients that watch ports.
#[derive(Default)]
pub(super) struct PortWatches(pub(super) Vec<PortWatch>);

/// Returns the changes by which a client begins to watch ports.
pub(super) fn begin(watch: &PortWatch, ports: &[String]) -> Vec<TapChange> {
    let change = |port: &String| {
        let index = watch.channel.port(port)?;
        let channel = Arc::clone(&watch.channel);
        Some(TapChange::begin(port.clone(), channel, index))
    };
    ports.iter().filter_map(change).collect()
}
