//! Sets of frames, described by bits: the unit in which searches over routes distinguish frames.

use alloc::vec::Vec;

/// Frames whose bits under the mask equal those of the value. The bits are SocketCAN's 32 bits of
/// the ID; a search can have bits of its own above them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct FrameBlock {
    pub(crate) mask: u64,
    pub(crate) value: u64,
}

impl FrameBlock {
    /// Returns the frames that are in both blocks, if there are any.
    pub(crate) fn and(self, other: Self) -> Option<Self> {
        let differs = (self.value ^ other.value) & self.mask & other.mask;
        (differs == 0).then_some(Self {
            mask: self.mask | other.mask,
            value: self.value | other.value,
        })
    }

    /// Adds to `rest` the frames of this block that are not in the other.
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

    /// Returns whether this block contains all frames of the other.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.mask & !other.mask == 0 && (self.value ^ other.value) & self.mask == 0
    }
}
