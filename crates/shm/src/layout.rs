//! The layout of the shared memory, and the format of frames in it. All words are little-endian.
//!
//! | byte | |
//! |---|---|
//! | 0 | block of the first side |
//! | 512 | block of the second side |
//! | 4096 | ring of the first side, with the frames that it sends |
//! | half of the memory | ring of the second side |
//!
//! A block ([`at`]) is written only by its side. A ring has slots of [`SLOT`] bytes. Their number
//! is the greatest power of two that fits into half of the memory less the first page.

use frame::{CanId, Frame, FrameRef, Kind, dlc, flags};

/// Value of [`at::VERSION`]: `cangate` and a version.
pub const VERSION: u64 = u64::from_le_bytes(*b"cangate\x01");

/// Size of a slot, bytes.
pub const SLOT: usize = 80;
/// Size of a slot, words.
pub const WORDS: usize = SLOT / 8;
/// Offset of the first ring.
const RINGS: usize = 4096;
/// The smallest memory: a ring of 256 frames each way.
pub const LEAST: usize = 64 << 10;

/// One of the two sides that share the memory; for ivshmem, the peer with this number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShmSide {
    /// Peer 0.
    First,
    /// Peer 1.
    Second,
}

impl ShmSide {
    /// Returns the side with a peer's number; there are two.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::First),
            1 => Some(Self::Second),
            _ => None,
        }
    }

    /// Returns the peer's number.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }

    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// Returns the offset of its block.
    #[must_use]
    pub const fn block(self) -> usize {
        self.number() as usize * 512
    }

    /// Returns the offset of the ring that it writes, in memory of `memory` bytes.
    #[must_use]
    pub const fn ring(self, memory: usize) -> usize {
        match self {
            Self::First => RINGS,
            Self::Second => (memory / 2) & !7,
        }
    }
}

/// Offsets of the words of a block, in bytes from its beginning.
pub mod at {
    /// [`super::VERSION`], as soon as the side is set up.
    pub const VERSION: usize = 0;
    /// The side's life in the lower 32 bits; 0 while it is not there.
    pub const LIFE: usize = 8;
    /// Changes at least every [`crate::BEAT`].
    pub const BEAT: usize = 64;
    /// Session (upper 32 bits) and number of frames that the side has written in it (lower).
    pub const HEAD: usize = 128;
    /// Session, and number of frames of the other side that the side has read in it.
    pub const TAIL: usize = 192;
    /// Events for which the side wants its doorbell to be rung.
    pub const WANTS: usize = 256;
}

/// [`at::WANTS`]: a frame was written.
pub const WANTS_FRAMES: u64 = 1;
/// [`at::WANTS`]: frames were read, so that there is room.
pub const WANTS_ROOM: u64 = 2;

/// Returns the number of slots of a ring in memory of `memory` bytes: a power of two, or 0.
#[must_use]
pub const fn slots(memory: usize) -> u32 {
    let Some(room) = (memory / 2).checked_sub(RINGS) else {
        return 0;
    };
    let fit = room / SLOT;
    let fit = if fit > 1 << 20 { 1 << 20 } else { fit as u32 };
    if fit == 0 { 0 } else { 1 << fit.ilog2() }
}

/// Returns the smallest memory whose rings hold this many frames, up to 2^20: a power of two, as
/// the size of a PCI device's region is.
#[must_use]
pub const fn memory_for(frames: u32) -> usize {
    let mut memory = LEAST;
    while slots(memory) < frames && slots(memory) < 1 << 20 {
        memory *= 2;
    }
    memory
}

/// Returns the session of two lives: it differs whenever one of them changes.
#[must_use]
pub const fn session(first: u32, second: u32) -> u32 {
    first.rotate_left(16) ^ second
}

const KIND_FD: u8 = 1;

/// Returns the words of a slot for a frame, and how many of them are used; `None` for frames that
/// cannot be stored: CAN XL, and error frames, which concern only their own controller.
///
/// Word 0 is the header: identifier with the flags of SocketCAN (bits 0 to 31), length in bytes (32
/// to 39), the FD flags BRS 1 and ESI 2 (40 to 47), the DLC of a classic frame of 8 bytes if it is
/// above 8 (48 to 55), 1 for CAN FD (56 to 63). The data follow, from word 1 on.
#[must_use]
pub fn encode(frame: &FrameRef<'_>) -> Option<([u64; WORDS], usize)> {
    let header = frame.header();
    let (kind, set) = match frame.kind() {
        Kind::Classic => (0, 0),
        Kind::Fd => (KIND_FD, header.flags() & (flags::BRS | flags::ESI)),
        Kind::Xl => return None,
    };
    if frame.id().is_err() {
        return None;
    }
    let mut words = [0; WORDS];
    let mut first = [0; 8];
    first[..4].copy_from_slice(&frame.id().raw().to_le_bytes());
    first[4] = u8::try_from(frame.len()).ok()?;
    first[5] = set;
    first[6] = header.len8_dlc();
    first[7] = kind;
    let data = frame.data();
    let chunks = std::iter::once(first).chain(data.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        word
    }));
    let mut used = 0;
    for (to, from) in words.iter_mut().zip(chunks) {
        *to = u64::from_le_bytes(from);
        used += 1;
    }
    Some((words, used))
}

/// Returns how many words of a slot with this header must be read.
#[must_use]
pub fn words_of(header: u64) -> usize {
    let [.., len, _, _, _] = header.to_le_bytes();
    let rtr = header as u32 & CanId::RTR_FLAG != 0;
    let data = if rtr { 0 } else { usize::from(len).div_ceil(8) };
    (1 + data).min(WORDS)
}

/// Returns the frame in a slot; `None` if the words are not a valid frame.
#[must_use]
pub fn decode(words: &[u64; WORDS]) -> Option<Frame> {
    let mut bytes = [0; SLOT];
    for (to, from) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *to = from.to_le_bytes();
    }
    let (first, data) = bytes.split_at(8);
    let &[a, b, c, d, len, set, len8_dlc, kind] = first else {
        return None;
    };
    let raw = u32::from_le_bytes([a, b, c, d]);
    let number = raw & CanId::EFF_MASK;
    let id = CanId::from_raw(raw);
    if id.is_err() || (!id.is_eff() && number > CanId::SFF_MASK) {
        return None;
    }
    let len = usize::from(len);
    match kind {
        0 if set == 0 => {
            let frame = if id.is_rtr() {
                Frame::remote(id, len).ok()?
            } else {
                Frame::classic(id, data.get(..len)?).ok()?
            };
            match len8_dlc {
                0 => Some(frame),
                9..=15 if len == dlc::CLASSIC_MAX => Some(frame.with_len8_dlc(len8_dlc)),
                _ => None,
            }
        }
        KIND_FD if set & !(flags::BRS | flags::ESI) == 0 && len8_dlc == 0 => {
            if id.is_rtr() || dlc::fd_padded(len) != len {
                return None;
            }
            Frame::fd(id, set, data.get(..len)?).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let id = prop_oneof![
            (0..=CanId::SFF_MASK).prop_map(|n| CanId::sff(n).unwrap()),
            (0..=CanId::EFF_MASK).prop_map(|n| CanId::eff(n).unwrap()),
        ];
        let data = proptest::collection::vec(any::<u8>(), 0..=64);
        (id, data, 0..3u8, 0..4u8, 9..=15u8).prop_map(|(id, mut data, what, set, dlc)| match what {
            0 => {
                data.resize(dlc::fd_padded(data.len()), 0);
                Frame::fd(id, set, &data).unwrap()
            }
            1 => Frame::remote(id, data.len() % 9).unwrap(),
            _ => {
                data.truncate(8);
                let frame = Frame::classic(id, &data).unwrap();
                if data.len() == 8 && set == 3 {
                    frame.with_len8_dlc(dlc)
                } else {
                    frame
                }
            }
        })
    }

    proptest! {
        #[test]
        fn frames_come_back(frame in frames()) {
            let (words, used) = encode(&frame.view()).unwrap();
            prop_assert_eq!(words_of(words[0]), used);
            prop_assert_eq!(decode(&words), Some(frame));
        }

        /// Any words that are decoded are a frame that is encoded as the same words, apart from
        /// unused words.
        #[test]
        fn nothing_but_frames_is_decoded(words in any::<[u64; WORDS]>(), id in any::<u32>(), rest in 0..0x0200_0F40_u64) {
            let mut words = words;
            words[0] = rest << 32 | u64::from(id);
            if let Some(frame) = decode(&words) {
                let (again, used) = encode(&frame.view()).unwrap();
                prop_assert_eq!(words_of(words[0]), used);
                prop_assert_eq!(decode(&again), Some(frame));
                prop_assert_eq!(again[0], words[0]);
            }
        }
    }

    #[test]
    fn places() {
        assert_eq!(VERSION.to_le_bytes(), *b"cangate\x01");
        assert_eq!(slots(LEAST), 256);
        assert_eq!((memory_for(0), memory_for(256)), (LEAST, LEAST));
        assert_eq!(memory_for(257), 2 * LEAST);
        assert_eq!(slots(memory_for(1 << 20)), 1 << 20);
        assert_eq!(memory_for(u32::MAX), memory_for(1 << 20));
        assert_eq!((slots(0), slots(8192), slots(8192 + 2 * SLOT)), (0, 0, 1));
        for memory in [LEAST, 1 << 20, LEAST + 24] {
            let bytes = slots(memory) as usize * SLOT;
            assert!(ShmSide::First.ring(memory) + bytes <= ShmSide::Second.ring(memory));
            assert!(ShmSide::Second.ring(memory) + bytes <= memory);
        }
        let xl = Frame::classic(CanId::from_raw(CanId::ERR_FLAG | 4), &[0; 8]).unwrap();
        assert_eq!(encode(&xl.view()), None, "an error frame");
    }

    #[test]
    fn sessions_differ_when_a_life_does() {
        assert_ne!(session(1, 2), session(1, 3));
        assert_ne!(session(1, 2), session(4, 2));
        assert_ne!(session(1, 2), session(2, 1));
    }
}
