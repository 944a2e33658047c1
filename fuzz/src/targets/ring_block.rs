//! A block of a packet socket's ring, as the kernel fills it: whatever its offsets are, each frame
//! that it announces is counted once, and a frame that is found can be a frame of a chunk and a
//! line of a log.

use crate::Target;
use capture::{Chunk, ChunkEntry, RecordedFrame};
use linux::packet::block::walk;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "ring_block",
    run,
    words: &[
        "\u{1}\0\0\0",
        "\u{30}\0\0\0",
        "\u{60}\0\u{60}\0",
        "\u{10}\0\0\0\u{10}\0\0\0",
    ],
};

/// The offset of the number of frames in the block.
const COUNT_AT: usize = 12;

fn run(input: &[u8]) {
    let mut chunk = Chunk::with_room();
    let mut stamps = Vec::new();
    let done = walk(input, |caught| {
        assert!(caught.bytes.len() <= input.len());
        // No valid frame is longer; a chunk has space for that many bytes only.
        if caught.bytes.len() > 2060 || !chunk.has_room() {
            return;
        }
        stamps.push((caught.stamp, caught.bytes));
        chunk.push(&RecordedFrame {
            stamp: caught.stamp,
            interface: 0,
            direction: caught.outgoing.then_some(frame::text::Direction::Sent),
            bytes: caught.bytes,
        });
    });
    let count = input.get(COUNT_AT..).and_then(<[u8]>::first_chunk);
    let announced = count.map_or(0, |count| u32::from_ne_bytes(*count));
    if input.len() >= 20 {
        assert_eq!(done.frames.checked_add(done.malformed), Some(announced));
    }
    let found: Vec<_> = chunk
        .entries()
        .map(|entry| match entry {
            ChunkEntry::Frame(record) => {
                let _ = record.frame();
                (record.stamp, record.bytes)
            }
            ChunkEntry::Gap(gap) => panic!("an unexpected gap: {gap:?}"),
        })
        .collect();
    assert_eq!(found, stamps);
}
