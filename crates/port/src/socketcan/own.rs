//! The interfaces that this gateway has set up itself, and may set up anew.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The number of the interface that the gateway has set up itself, for one interface name. Ports
/// that are opened for it one after the other share it.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnSetup(Arc<AtomicU32>);

impl OwnSetup {
    /// Notes that the gateway has set up the interface of this number.
    pub(super) fn note(&self, index: u32) {
        self.0.store(index, Relaxed);
    }

    /// Returns whether the gateway has set up the interface of this number. Another interface can
    /// have its name meanwhile.
    pub(super) fn is(&self, index: u32) -> bool {
        index != 0 && self.0.load(Relaxed) == index
    }
}

/// All interfaces that the gateway has set up, by their names.
#[derive(Debug, Default)]
pub(super) struct OwnSetups(HashMap<String, OwnSetup>);

impl OwnSetups {
    pub(super) fn find_or_add(&mut self, interface: &str) -> OwnSetup {
        self.0.entry(interface.to_owned()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_known_by_its_number() {
        let mut all = OwnSetups::default();
        assert!(!all.find_or_add("can0").is(0) && !all.find_or_add("can0").is(4));
        all.find_or_add("can0").note(4);
        assert!(all.find_or_add("can0").is(4));
        assert!(
            !all.find_or_add("can0").is(7),
            "it was unplugged, and is another one"
        );
        assert!(!all.find_or_add("can1").is(4));
    }
}
