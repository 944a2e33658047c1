//! The newest frame of each ID that was handed over.

use super::waiting::SenderOrder;
use frame::{FrameRef, Kind};
use std::collections::HashMap;

/// Number of IDs that are remembered.
const MAX_IDS: usize = 8192;

/// The place of the newest frame of each ID in the order of the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct NewestFrames {
    of: HashMap<u64, SenderOrder>,
    /// The place before which nothing is known: a frame from there may be behind one of its ID.
    known_from: SenderOrder,
}

/// Returns a number for the ID of a frame, with the virtual network of an XL frame. Remote and data
/// frames have the same ID.
fn number(frame: &FrameRef<'_>) -> u64 {
    let id = frame.id();
    let network = match frame.kind() {
        Kind::Xl => 0x100 | u64::from(frame.header().xl().vcid),
        Kind::Classic | Kind::Fd => 0,
    };
    network << 32 | u64::from(id.is_eff()) << 31 | u64::from(id.number())
}

impl NewestFrames {
    /// Returns whether no later frame of the same ID was handed over, and remembers this one.
    pub(super) fn pass(&mut self, frame: &FrameRef<'_>, order: SenderOrder) -> bool {
        let id = number(frame);
        if let Some(newest) = self.of.get_mut(&id) {
            if order < *newest {
                return false;
            }
            *newest = order;
            return true;
        }
        if order < self.known_from {
            return false;
        }
        if self.of.len() == MAX_IDS {
            let newest = self.of.values().copied().max();
            self.known_from = self.known_from.max(newest.unwrap_or_default());
            self.of.clear();
        }
        self.of.insert(id, order);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};

    #[test]
    fn an_id_is_known_by_its_newest_frame() {
        let frame = |id| Frame::classic(id, &[]).unwrap();
        let standard = frame(CanId::sff(7).unwrap());
        let extended = frame(CanId::eff(7).unwrap());
        let mut newest = NewestFrames::default();
        assert!(newest.pass(&standard.view(), (5, 0)));
        assert!(!newest.pass(&standard.view(), (4, 9)));
        assert!(newest.pass(&extended.view(), (4, 9)));
        assert!(newest.pass(&standard.view(), (5, 1)));
    }

    /// With more IDs than are remembered, a frame that may be behind is left out.
    #[test]
    fn the_memory_has_a_limit() {
        let mut newest = NewestFrames::default();
        let frame = |id| Frame::classic(CanId::eff(id).unwrap(), &[]).unwrap();
        for id in 0..3 * MAX_IDS as u32 {
            assert!(newest.pass(&frame(id).view(), (id.into(), 0)));
            assert!(newest.of.len() <= MAX_IDS);
        }
        assert!(!newest.pass(&frame(0).view(), (1, 0)));
        assert!(newest.pass(&frame(0).view(), (1 << 20, 0)));
    }
}
