//! Sets of frames by bits: what searches over routes tell apart.

use alloc::vec::Vec;

/// Frames whose bits under the mask are the value's. The bits are SocketCAN's 32 bits of the ID; a
/// search can have bits of its own above them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Block {
    pub(crate) mask: u64,
    pub(crate) value: u64,
}

impl Block {
    /// Returns the frames of both, if there are any.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        let differs = (self.value ^ other.value) & self.mask & other.mask;
        (differs == 0).then_some(Self {
            mask: self.mask | other.mask,
            value: self.value | other.value,
        })
    }

    /// Adds its frames without those of the other.
    pub(crate) fn without(self, other: Self, rest: &mut Vec<Self>) {
        if self.and(other).is_none() {
            rest.push(self);
            return;
        }
        let mut common = self;
        let mut open = other.mask & !self.mask;
        while open != 0 {
            let bit = open & open.wrapping_neg();
            open &= !bit;
            rest.push(Self {
                mask: common.mask | bit,
                value: common.value | (!other.value & bit),
            });
            common.mask |= bit;
            common.value |= other.value & bit;
        }
    }

    /// Returns whether it has all frames of the other.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.mask & !other.mask == 0 && (self.value ^ other.value) & self.mask == 0
    }
}
