//! Bit stuffing, one bit at a time.

/// The last bit sent and the number of equal bits, 1 to 4: after five, the stuff bit follows at
/// once and starts a new run (ISO 11898-1, frame coding).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BitRun(u8);

impl BitRun {
    /// Number of states.
    pub(super) const COUNT: usize = 8;
    /// A single recessive bit: an idle bus before the start of frame, which is dominant.
    pub(super) const IDLE: Self = Self::new(true, 1);

    const fn new(last: bool, length: u8) -> Self {
        Self((last as u8) << 2 | (length - 1))
    }

    /// Returns the state as a number from 0.
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the state of a number.
    pub(super) const fn from_index(index: usize) -> Self {
        Self(index as u8 & 7)
    }

    /// Returns the state after one further bit, and whether a stuff bit follows it.
    pub(super) const fn push(self, bit: bool) -> (Self, bool) {
        let last = self.0 & 4 != 0;
        let length = if bit == last { (self.0 & 3) + 2 } else { 1 };
        if length == 5 {
            (Self::new(!bit, 1), true)
        } else {
            (Self::new(bit, length), false)
        }
    }
}
