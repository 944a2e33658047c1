//! The frames of one message and day that wait to be decoded. A frame takes less memory than the
//! rows of its signals.

use frame::Nanos;

/// Frames that wait.
#[derive(Default)]
pub(crate) struct FrameBuffer {
    stamps: Vec<Nanos>,
    ports: Vec<u16>,
    payloads: Vec<u8>,
    /// The end of each payload in `payloads`.
    ends: Vec<usize>,
}

impl FrameBuffer {
    /// The bytes of memory that a frame takes in addition to its payload.
    const OVERHEAD: usize = size_of::<Nanos>() + size_of::<u16>() + size_of::<usize>();

    /// Adds a frame; returns the bytes of memory that it takes.
    pub(crate) fn push(&mut self, stamp: Nanos, port: u16, payload: &[u8]) -> usize {
        self.stamps.push(stamp);
        self.ports.push(port);
        self.payloads.extend_from_slice(payload);
        self.ends.push(self.payloads.len());
        Self::OVERHEAD + payload.len()
    }

    /// Returns the number of frames.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of memory that the frames take.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * Self::OVERHEAD + self.payloads.len()
    }

    /// Returns stamp, port and payload of each frame.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Nanos, u16, &[u8])> {
        let begins = std::iter::once(&0).chain(&self.ends);
        let payloads = begins
            .zip(&self.ends)
            .map(|(begin, end)| self.payloads.get(*begin..*end).unwrap_or_default());
        let heads = self.stamps.iter().zip(&self.ports);
        heads
            .zip(payloads)
            .map(|((stamp, port), payload)| (*stamp, *port, payload))
    }
}
