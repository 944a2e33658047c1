//! Payloads that can be recognised again.

use crate::rng::Rng;
use frame::dlc::FD_MAX;

/// Generates payloads: a 16-bit number, big-endian, in the first two bytes (gateway-2011 §2.1
/// numbers its frames in this way), and seeded pseudo-random bytes after it. A payload of one byte
/// is a random byte.
///
/// The number counts all payloads of two bytes or more and wraps after 65536.
#[derive(Clone, Debug)]
pub struct PayloadMaker {
    number: u16,
    rng: Rng,
}

impl PayloadMaker {
    /// Creates a generator that starts with number 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            number: 0,
            rng: Rng::fork(seed, 0x7061_796C_6F61_6400),
        }
    }

    /// Fills `data` with the next payload.
    pub fn fill(&mut self, data: &mut [u8]) {
        for chunk in data.chunks_mut(8) {
            let random = self.rng.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
        if let Some(first) = data.first_chunk_mut::<2>() {
            *first = self.number.to_be_bytes();
            self.number = self.number.wrapping_add(1);
        }
    }

    /// Returns the next payload of `len` bytes; more than 64 count as 64.
    #[must_use]
    pub fn bytes(&mut self, len: usize) -> ([u8; FD_MAX], usize) {
        let mut data = [0; FD_MAX];
        let len = len.min(FD_MAX);
        self.fill(&mut data[..len]);
        (data, len)
    }
}

/// Returns the 16-bit big-endian number at `offset`, or `None` where the payload ends before it.
#[must_use]
pub fn number_in(data: &[u8], offset: usize) -> Option<u16> {
    let bytes = data.get(offset..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_from_two_bytes_on_and_wrapping() {
        let mut payload = PayloadMaker::new(1);
        payload.number = 0xFFFF;
        let mut one = [0; 1];
        payload.fill(&mut one);
        let (data, len) = payload.bytes(8);
        assert_eq!(number_in(&data[..len], 0), Some(0xFFFF));
        let (data, len) = payload.bytes(2);
        assert_eq!(number_in(&data[..len], 0), Some(0));
        assert_eq!(number_in(&one, 0), None);
        assert_eq!(number_in(&one, usize::MAX), None);
    }

    #[test]
    fn same_seed_same_bytes() {
        let (mut a, mut b, mut c) = (
            PayloadMaker::new(7),
            PayloadMaker::new(7),
            PayloadMaker::new(8),
        );
        assert_eq!(a.bytes(64), b.bytes(64));
        assert_ne!(a.bytes(64), c.bytes(64));
    }
}
