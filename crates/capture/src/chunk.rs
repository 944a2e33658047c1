//! The container of frames between the reader and the writer.

use frame::text::Direction;
use frame::{FrameRef, Nanos};

/// Number of bytes of memory of a full chunk.
pub(crate) const CHUNK: usize = 1 << 18;
/// Number of bytes before an entry's own: stamp, length, interface, kind, three unused.
const HEADER: usize = 16;

const FRAME: u8 = 0;
const SENT: u8 = 1;
const GAP: u8 = 2;
const RECEIVED: u8 = 3;

/// A frame that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedFrame<'a> {
    /// Unix time in ns; the controller's own epoch if hardware stamps were requested.
    pub stamp: Nanos,
    /// Its interface or device, as an index into [`crate::InterfaceNames`].
    pub interface: u16,
    /// Whether this machine sent or received it; `None` if the direction was not requested or is
    /// unknown.
    pub direction: Option<Direction>,
    /// The kernel's frame structure.
    pub bytes: &'a [u8],
}

impl<'a> RecordedFrame<'a> {
    /// Returns the frame; `None` if the bytes are not a frame.
    #[inline]
    #[must_use]
    pub fn frame(&self) -> Option<FrameRef<'a>> {
        linux::can::layout::decode(self.bytes)
    }
}

/// The place where frames were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossPlace {
    /// The kernel's ring was full; the kernel does not report to which interface they belonged.
    Ring,
    /// The queue to the writer was full.
    Queue,
    /// The file could not be written.
    File,
    /// The queue of a character device was full, or its controller's own FIFO.
    Device,
    /// Before the log was written that is now being converted.
    Log,
}

impl LossPlace {
    /// Returns the place in words, for a remark in a file.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ring => "the kernel's ring was full",
            Self::Queue => "the queue to the file was full",
            Self::File => "the file could not be written",
            Self::Device => "the device's queue was full",
            Self::Log => "reported by the recording that was converted",
        }
    }
}

/// Frames that are missing before the next entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameGap {
    /// The last stamp before the loss was noticed.
    pub stamp: Nanos,
    /// The interface of the frames; `None` if it is unknown.
    pub interface: Option<u16>,
    /// Number of frames.
    pub frames: u64,
    /// The place where they were lost.
    pub at: LossPlace,
}

/// An entry of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkEntry<'a> {
    /// A frame.
    Frame(RecordedFrame<'a>),
    /// A loss.
    Gap(FrameGap),
}

/// Some frames in their order, contiguous in memory. A chunk is reused, so that no memory is
/// allocated for a frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chunk {
    bytes: Vec<u8>,
    frames: u64,
}

impl Chunk {
    /// Returns an empty chunk with room for the entries of a full one.
    #[must_use]
    pub fn with_room() -> Self {
        Self {
            bytes: Vec::with_capacity(CHUNK),
            frames: 0,
        }
    }

    /// Returns the number of frames in it.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the number of bytes of memory that its entries take.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns whether it has room for one more frame of any kind.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.bytes.len() + HEADER + linux::can::layout::XL_SIZE <= CHUNK
    }

    /// Removes all entries; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames = 0;
    }

    /// Adds a frame.
    #[inline]
    pub fn push(&mut self, record: &RecordedFrame<'_>) {
        let kind = match record.direction {
            None => FRAME,
            Some(Direction::Sent) => SENT,
            Some(Direction::Received) => RECEIVED,
        };
        self.put(record.stamp, record.interface, kind, record.bytes);
        self.frames += 1;
    }

    /// Adds a loss.
    pub fn push_gap(&mut self, gap: &FrameGap) {
        let mut bytes = [0; 9];
        if let Some((count, at)) = bytes.split_first_chunk_mut::<8>() {
            *count = gap.frames.to_ne_bytes();
            at.fill(gap.at as u8);
        }
        let interface = gap.interface.unwrap_or(u16::MAX);
        self.put(gap.stamp, interface, GAP, &bytes);
    }

    /// Adds an entry of another chunk.
    pub fn push_entry(&mut self, entry: &ChunkEntry<'_>) {
        match entry {
            ChunkEntry::Frame(record) => self.push(record),
            ChunkEntry::Gap(gap) => self.push_gap(gap),
        }
    }

    #[inline]
    fn put(&mut self, stamp: Nanos, interface: u16, kind: u8, bytes: &[u8]) {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&stamp.to_ne_bytes());
        // No frame structure is longer than 2060 bytes.
        header[8..10].copy_from_slice(&(bytes.len() as u16).to_ne_bytes());
        header[10..12].copy_from_slice(&interface.to_ne_bytes());
        header[12] = kind;
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the entries, in the order in which they were added.
    #[must_use]
    pub fn entries(&self) -> ChunkEntries<'_> {
        ChunkEntries(&self.bytes)
    }
}

/// The entries of a [`Chunk`].
#[derive(Clone, Debug)]
pub struct ChunkEntries<'a>(&'a [u8]);

impl<'a> Iterator for ChunkEntries<'a> {
    type Item = ChunkEntry<'a>;

    #[inline]
    fn next(&mut self) -> Option<ChunkEntry<'a>> {
        let (header, rest) = self.0.split_first_chunk::<HEADER>()?;
        let [t0, t1, t2, t3, t4, t5, t6, t7, l0, l1, i0, i1, kind, ..] = *header;
        let stamp = u64::from_ne_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let len = usize::from(u16::from_ne_bytes([l0, l1]));
        let interface = u16::from_ne_bytes([i0, i1]);
        let (bytes, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        if kind != GAP {
            return Some(ChunkEntry::Frame(RecordedFrame {
                stamp,
                interface,
                direction: match kind {
                    SENT => Some(Direction::Sent),
                    RECEIVED => Some(Direction::Received),
                    _ => None,
                },
                bytes,
            }));
        }
        let (count, at) = bytes.split_first_chunk::<8>()?;
        Some(ChunkEntry::Gap(FrameGap {
            stamp,
            interface: (interface != u16::MAX).then_some(interface),
            frames: u64::from_ne_bytes(*count),
            at: match at {
                [0] => LossPlace::Ring,
                [1] => LossPlace::Queue,
                [3] => LossPlace::Device,
                [4] => LossPlace::Log,
                _ => LossPlace::File,
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let mut chunk = Chunk::with_room();
        let bytes = [7; 72];
        let gap = |interface, at| {
            ChunkEntry::Gap(FrameGap {
                stamp: 5,
                interface,
                frames: 1 << 40,
                at,
            })
        };
        let frame = |stamp, direction, len| {
            ChunkEntry::Frame(RecordedFrame {
                stamp,
                interface: 3,
                direction,
                bytes: &bytes[..len],
            })
        };
        let all = [
            frame(u64::MAX, Some(Direction::Received), 16),
            gap(None, LossPlace::Ring),
            gap(Some(0), LossPlace::Queue),
            frame(1, Some(Direction::Sent), 72),
            gap(Some(9), LossPlace::File),
            gap(Some(1), LossPlace::Device),
            gap(None, LossPlace::Log),
        ];
        all.iter().for_each(|entry| chunk.push_entry(entry));
        assert_eq!(chunk.entries().collect::<Vec<_>>(), all);
        assert_eq!(chunk.frames(), 2);
        let room = chunk.bytes.capacity();
        while chunk.has_room() {
            chunk.push_entry(&frame(1, Some(Direction::Sent), 72));
        }
        assert_eq!(chunk.bytes.capacity(), room, "nothing was allocated");
        chunk.clear();
        assert!(chunk.is_empty() && chunk.entries().next().is_none());
    }
}
