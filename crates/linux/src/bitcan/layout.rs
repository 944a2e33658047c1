//! The layout of the mapping, byte for byte (`kmod/bitcan/bitcan.h`).

use super::types::{BitcanEvent, BitcanStamp, TimedFrame};
use crate::can::layout::{CLASSIC_SIZE, FD_SIZE, decode, encode};
use crate::memory::WORD;
use frame::{Frame, Kind};

/// `BITCAN_VERSION`.
pub(super) const VERSION: u32 = 1;
/// Size of `struct bitcan_header` in bytes.
pub(super) const HEADER_SIZE: usize = 48;
/// Number of words of `struct bitcan_frame` and of `struct bitcan_stamp`.
pub(super) const ENTRY: usize = 11;
/// Size of both in bytes.
pub(super) const ENTRY_SIZE: usize = ENTRY * WORD;
/// Position of the frame in both.
const FRAME_AT: usize = 16;

const FRAME_FD: u8 = 1;
const STAMP_FRAME: u8 = 0;
const STAMP_FD: u8 = 1;
const STAMP_ERROR: u8 = 2;
const STAMP_OVERRUN: u8 = 3;
const STAMP_BUS_OFF: u8 = 4;

/// `struct bitcan_setup`, as the ioctl takes it.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct BitcanSetup {
    pub(super) version: u32,
    pub(super) frames: u32,
    pub(super) stamps: u32,
    pub(super) reserved: u32,
    pub(super) frames_at: u64,
    pub(super) stamps_at: u64,
    pub(super) size: u64,
}

/// `struct bitcan_start`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct BitcanStart {
    pub(super) mode: u32,
    pub(super) count: u32,
    pub(super) timeout: u64,
    pub(super) return_bus: u8,
    pub(super) reserved: [u8; 3],
    pub(super) stamp_every: u32,
}

/// `struct bitcan_napi`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct BitcanNapi {
    pub(super) socket: i32,
    pub(super) ifindex: u32,
}

/// The largest number of filters for which [`BitcanControl`] has room.
const FILTERS: usize = 16;
const LISTEN_ONLY: u32 = 1;
const ONE_SHOT: u32 = 2;
const FD: u32 = 4;

/// `struct bitcan_control`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct BitcanControl {
    version: u32,
    flags: u32,
    bitrate: u32,
    data_bitrate: u32,
    filters: u32,
    reserved: u32,
    filter: [[u32; 2]; FILTERS],
}

impl BitcanControl {
    /// Converts the settings; `None` where there are more filters than fit.
    pub(super) fn new(wanted: &MappedOptions<'_>) -> Option<Self> {
        let mut control = Self {
            version: wanted.version,
            bitrate: wanted.bitrate,
            data_bitrate: wanted.data_bitrate.unwrap_or(0),
            filters: u32::try_from(wanted.filters.len()).ok()?,
            ..Self::default()
        };
        let to = control.filter.get_mut(..wanted.filters.len())?;
        for (to, (id, mask)) in to.iter_mut().zip(wanted.filters) {
            *to = [*id, *mask];
        }
        for (set, flag) in [
            (wanted.listen_only, LISTEN_ONLY),
            (wanted.one_shot, ONE_SHOT),
            (wanted.data_bitrate.is_some(), FD),
        ] {
            control.flags |= if set { flag } else { 0 };
        }
        Some(control)
    }
}

impl BitcanSetup {
    /// Checks that the parts lie within the mapping, begin at words and do not overlap; returns the
    /// first violation.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let part = |at: u64, count: u32| {
            let end = u64::from(count)
                .checked_mul(ENTRY_SIZE as u64)
                .and_then(|len| at.checked_add(len));
            (at, end)
        };
        let (frames, frames_end) = part(self.frames_at, self.frames);
        let (stamps, stamps_end) = part(self.stamps_at, self.stamps);
        let inside = |end: Option<u64>| end.is_some_and(|end| end <= self.size);
        if !inside(frames_end) || !inside(stamps_end) || usize::try_from(self.size).is_err() {
            return Err("frames or stamps reach beyond the mapping");
        }
        let word = WORD as u64;
        if !frames.is_multiple_of(word) || !stamps.is_multiple_of(word) {
            return Err("frames or stamps do not begin at a word");
        }
        if frames < HEADER_SIZE as u64 || stamps < HEADER_SIZE as u64 {
            return Err("frames or stamps lie in the header");
        }
        let apart = frames_end.is_some_and(|end| end <= stamps)
            || stamps_end.is_some_and(|end| end <= frames);
        if !apart {
            return Err("frames and stamps lie in each other");
        }
        Ok(())
    }
}

/// Converts a frame to send to the kernel's layout.
pub(super) fn frame_words(timed: &TimedFrame) -> Option<[u64; ENTRY]> {
    let mut bytes = [0; ENTRY_SIZE];
    bytes[..8].copy_from_slice(&timed.at.to_ne_bytes());
    bytes[8] = timed.bus;
    bytes[9] = if timed.frame.kind() == Kind::Fd {
        FRAME_FD
    } else {
        0
    };
    encode(timed.frame.view(), bytes.get_mut(FRAME_AT..)?)?;
    let mut words = [0; ENTRY];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(WORD)) {
        *word = u64::from_ne_bytes(*chunk.first_chunk()?);
    }
    Some(words)
}

/// Parses a stamp that the kernel wrote; `None` for a kind that this version does not know, and for
/// bytes that are not a valid frame.
pub(super) fn stamp(words: &[u64; ENTRY]) -> Option<BitcanStamp> {
    let mut bytes = [0; ENTRY_SIZE];
    for (chunk, word) in bytes.chunks_exact_mut(WORD).zip(words) {
        chunk.copy_from_slice(&word.to_ne_bytes());
    }
    let [.., kind, node_low, node_high] = *bytes.get(8..16)?.first_chunk::<8>()?;
    let frame = |size: usize| {
        let view = decode(bytes.get(FRAME_AT..FRAME_AT + size)?)?;
        Frame::from_view(view)
    };
    let event = match kind {
        STAMP_FRAME => BitcanEvent::Frame(frame(CLASSIC_SIZE)?),
        STAMP_FD => BitcanEvent::Frame(frame(FD_SIZE)?),
        STAMP_ERROR => BitcanEvent::ErrorFrame,
        STAMP_OVERRUN => BitcanEvent::Overrun,
        STAMP_BUS_OFF => BitcanEvent::BusOff,
        _ => return None,
    };
    Some(BitcanStamp {
        end: u64::from_ne_bytes(*bytes.first_chunk()?),
        duration: u32::from_ne_bytes(*bytes.get(8..12)?.first_chunk()?),
        bus: *bytes.get(12)?,
        node: u16::from_ne_bytes([node_low, node_high]),
        event,
    })
}

/// The settings with which a mapped controller takes part in its bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MappedOptions<'a> {
    /// The version of the registers that the caller knows.
    pub version: u32,
    /// Bit rate, bit/s.
    pub bitrate: u32,
    /// Bit rate of the data phase, bit/s; `None`: classic frames only.
    pub data_bitrate: Option<u32>,
    /// Whether to send nothing, not even acknowledgements.
    pub listen_only: bool,
    /// Whether to try each frame only once.
    pub one_shot: bool,
    /// ID and mask of each acceptance filter, as `struct can_filter`; an empty list: all frames. At
    /// most 16.
    pub filters: &'a [(u32, u32)],
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, flags};
    use proptest::prelude::*;

    #[test]
    fn sizes_are_the_headers() {
        assert_eq!(size_of::<BitcanSetup>(), 40);
        assert_eq!(size_of::<BitcanStart>(), 24);
        assert_eq!(size_of::<BitcanControl>(), 24 + 16 * 8);
        assert_eq!(ENTRY_SIZE, 8 + 1 + 1 + 6 + size_of::<libc::canfd_frame>());
        assert_eq!(
            ENTRY_SIZE,
            8 + 4 + 1 + 1 + 2 + size_of::<libc::canfd_frame>()
        );
    }

    fn bytes_of(words: &[u64; ENTRY]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_ne_bytes()).collect()
    }

    #[test]
    fn a_frame_byte_for_byte() {
        let frame = Frame::fd(CanId::from_raw(0x123), flags::BRS, &[1, 2, 3]).unwrap();
        let timed = TimedFrame {
            at: 0x0102_0304_0506_0708,
            bus: 5,
            frame,
        };
        let bytes = bytes_of(&frame_words(&timed).unwrap());
        assert_eq!(bytes[..8], 0x0102_0304_0506_0708u64.to_ne_bytes());
        assert_eq!(bytes[8..16], [5, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..20], 0x123u32.to_ne_bytes());
        assert_eq!(bytes[20..24], [3, flags::BRS | flags::FDF, 0, 0]);
        assert_eq!(bytes[24..28], [1, 2, 3, 0]);
    }

    fn raw_stamp(kind: u8, frame: &Frame) -> [u64; ENTRY] {
        let mut bytes = [0; ENTRY_SIZE];
        bytes[..8].copy_from_slice(&77u64.to_ne_bytes());
        bytes[8..12].copy_from_slice(&65_000u32.to_ne_bytes());
        bytes[12..14].copy_from_slice(&[3, kind]);
        bytes[14..16].copy_from_slice(&9u16.to_ne_bytes());
        encode(frame.view(), &mut bytes[16..]).unwrap();
        std::array::from_fn(|i| u64::from_ne_bytes(*bytes[i * 8..].first_chunk().unwrap()))
    }

    #[test]
    fn a_stamp_byte_for_byte() {
        let frame = Frame::classic(CanId::from_raw(0x7FF), &[9, 8]).unwrap();
        let read = stamp(&raw_stamp(STAMP_FRAME, &frame)).unwrap();
        let expected = BitcanStamp {
            end: 77,
            duration: 65_000,
            bus: 3,
            node: 9,
            event: BitcanEvent::Frame(frame),
        };
        assert_eq!(read, expected);
        let event = |kind| stamp(&raw_stamp(kind, &frame)).map(|s| s.event);
        assert_eq!(event(STAMP_ERROR), Some(BitcanEvent::ErrorFrame));
        assert_eq!(event(STAMP_OVERRUN), Some(BitcanEvent::Overrun));
        assert_eq!(event(STAMP_BUS_OFF), Some(BitcanEvent::BusOff));
        assert_eq!(event(5), None);
    }

    fn setup() -> BitcanSetup {
        BitcanSetup {
            version: VERSION,
            frames: 10,
            stamps: 20,
            frames_at: 48,
            stamps_at: 48 + 880,
            size: 4096,
            ..BitcanSetup::default()
        }
    }

    #[test]
    fn a_layout_that_lies_is_refused() {
        assert_eq!(setup().check(), Ok(()));
        let with = |change: fn(&mut BitcanSetup)| {
            let mut setup = setup();
            change(&mut setup);
            setup.check()
        };
        assert!(with(|s| s.size = 48 + 880 + 20 * 88 - 1).is_err());
        assert!(with(|s| s.size = 48 + 880 + 20 * 88).is_ok());
        assert!(with(|s| s.stamps_at = u64::MAX - 8).is_err());
        assert!(with(|s| s.frames = u32::MAX).is_err());
        assert!(with(|s| s.stamps_at = 48 + 879).is_err());
        assert!(with(|s| s.stamps_at = 48 + 872).is_err());
        assert!(with(|s| s.frames_at = 40).is_err());
    }

    proptest! {
        #[test]
        fn any_words_are_a_stamp_or_none(words in prop::array::uniform11(any::<u64>())) {
            if let Some(BitcanStamp { event: BitcanEvent::Frame(frame), .. }) = stamp(&words) {
                prop_assert!(frame.len() <= 64);
            }
        }

        #[test]
        fn what_is_checked_is_inside(
            frames in 0u32..100, stamps in 0u32..100,
            frames_at in 0u64..10_000, stamps_at in 0u64..10_000, size in 0u64..20_000,
        ) {
            let setup = BitcanSetup { version: 1, frames, stamps, reserved: 0, frames_at, stamps_at, size };
            if setup.check().is_ok() {
                prop_assert!(frames_at + u64::from(frames) * 88 <= size);
                prop_assert!(stamps_at + u64::from(stamps) * 88 <= size);
            }
        }
    }
}
