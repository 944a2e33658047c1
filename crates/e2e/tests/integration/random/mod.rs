//! Random numbers that are the same in each run.

/// A generator: xorshift64* by Vigna, 2016.
pub(crate) struct RandomSource(u64);

impl RandomSource {
    /// Creates a generator. Each seed except 0 is possible.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub(crate) fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// Returns a number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u16) -> u16 {
        (self.word() % u64::from(end)) as u16
    }
}
