//! One block of a TPACKET_V3 receive ring, byte for byte (`struct tpacket_block_desc`,
//! `tpacket3_hdr` and `sockaddr_ll` of `uapi/linux/if_packet.h`).
//!
//! The kernel writes the block, but its content is validated: an offset that leads out of the block
//! or backwards ends the walk, and the frames that were announced and not reached are counted.

use frame::Nanos;

/// Position of the status in `struct tpacket_hdr_v1`, in bytes from the start of the block.
pub(super) const STATUS_AT: usize = 8;
const COUNT_AT: usize = 12;
const FIRST_AT: usize = 16;
/// Size of the block's own header in bytes: no frame begins before its end.
const BLOCK_HEADER: usize = 48;
/// Size of `struct tpacket3_hdr` in bytes; `struct sockaddr_ll` follows it.
const HEADER: usize = 48;
/// `TP_STATUS_TS_RAW_HARDWARE`
const RAW_HARDWARE: u32 = 1 << 31;
/// `PACKET_OUTGOING`
const OUTGOING: u8 = 4;

/// A frame in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockFrame<'a> {
    /// The stamp: Unix time, ns; with `hardware` the controller's epoch.
    pub stamp: Nanos,
    /// Whether the controller stamped it.
    pub hardware: bool,
    /// The index of the interface.
    pub interface: u32,
    /// Whether the frame was seen on its way to the driver (`PACKET_OUTGOING`), not as received or
    /// echoed.
    pub outgoing: bool,
    /// The kernel's frame structure, for [`crate::can::layout::decode`].
    pub bytes: &'a [u8],
}

/// The counts of a block's walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockWalk {
    /// Frames that were handed over.
    pub frames: u32,
    /// Frames that were announced and could not be found or were cut off.
    pub malformed: u32,
}

/// Hands over the frames of a block in their order.
pub fn walk<'a>(block: &'a [u8], mut take: impl FnMut(BlockFrame<'a>)) -> BlockWalk {
    let mut done = BlockWalk::default();
    let (Some(count), Some(first)) = (word(block, COUNT_AT), word(block, FIRST_AT)) else {
        return done;
    };
    let mut at = first as usize;
    let mut least = BLOCK_HEADER;
    for number in 0..count {
        let frame = block.get(at..).filter(|_| at >= least);
        let Some((caught, next)) = frame.and_then(one) else {
            // Without this entry the positions of the others are unknown.
            done.malformed += count - number;
            break;
        };
        match caught {
            Some(caught) => {
                take(caught);
                done.frames += 1;
            }
            None => done.malformed += 1,
        }
        least = at + HEADER;
        // The offset is zero in the last entry.
        at = at.saturating_add(next);
    }
    done
}

/// Returns the frame that begins here, unless it is cut off, and the distance to the next one.
#[inline]
fn one(entry: &[u8]) -> Option<(Option<BlockFrame<'_>>, usize)> {
    let header: &[u8; HEADER + 12] = entry.first_chunk()?;
    let at = |from: usize| {
        u32::from_ne_bytes([
            header[from],
            header[from + 1],
            header[from + 2],
            header[from + 3],
        ])
    };
    let (seconds, nanos, there, whole, status) = (at(4), at(8), at(12), at(16), at(20));
    let data = usize::from(u16::from_ne_bytes([header[24], header[25]]));
    let bytes = entry
        .get(data..)
        .and_then(|rest| rest.get(..there as usize));
    let caught = bytes
        .filter(|_| there == whole && data >= HEADER)
        .map(|bytes| BlockFrame {
            stamp: u64::from(seconds) * 1_000_000_000 + u64::from(nanos),
            hardware: status & RAW_HARDWARE != 0,
            interface: at(HEADER + 4),
            outgoing: header[HEADER + 10] == OUTGOING,
            bytes,
        });
    Some((caught, at(0) as usize))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block as the kernel fills it (`prb_open_block`, `tpacket_rcv` of
    /// `net/packet/af_packet.c`).
    fn block(frames: &[(u32, u32, u32, Vec<u8>)]) -> Vec<u8> {
        let mut out = vec![0; BLOCK_HEADER];
        out[COUNT_AT..][..4].copy_from_slice(&(frames.len() as u32).to_ne_bytes());
        out[FIRST_AT..][..4].copy_from_slice(&(BLOCK_HEADER as u32).to_ne_bytes());
        for (number, (seconds, nanos, interface, bytes)) in frames.iter().enumerate() {
            let begin = out.len();
            let data = 96_usize;
            let size = (data + bytes.len()).next_multiple_of(16);
            let next = if number + 1 < frames.len() { size } else { 0 };
            let len = bytes.len() as u32;
            for value in [next as u32, *seconds, *nanos, len, len, 1] {
                out.extend(value.to_ne_bytes());
            }
            out.extend((data as u16).to_ne_bytes());
            out.extend((data as u16).to_ne_bytes());
            out.resize(begin + HEADER + 4, 0);
            out.extend(interface.to_ne_bytes());
            out.extend(280_u16.to_ne_bytes());
            out.push(1);
            out.resize(begin + data, 0);
            out.extend(bytes);
            out.resize(begin + size, 0);
        }
        out
    }

    proptest! {
        #[test]
        fn frames_are_found_in_order(
            frames in prop::collection::vec(
                (any::<u32>(), 0_u32..1_000_000_000, any::<u32>(),
                 prop::collection::vec(any::<u8>(), 0..80)), 0..20),
        ) {
            let bytes = block(&frames);
            let mut found = Vec::new();
            let done = walk(&bytes, |c| {
                found.push((c.stamp, c.interface, c.hardware, c.outgoing, c.bytes.to_vec()));
            });
            prop_assert_eq!(done, BlockWalk { frames: frames.len() as u32, malformed: 0 });
            let expected: Vec<_> = frames.into_iter().map(|(seconds, nanos, interface, bytes)| {
                (u64::from(seconds) * 1_000_000_000 + u64::from(nanos), interface, false, false, bytes)
            }).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn every_announced_frame_is_counted_once_whatever_the_bytes_are(
            mut bytes in prop::collection::vec(any::<u8>(), 24..400),
            count in 0_u32..20, first in 0_u32..120,
        ) {
            bytes[COUNT_AT..][..4].copy_from_slice(&count.to_ne_bytes());
            bytes[FIRST_AT..][..4].copy_from_slice(&first.to_ne_bytes());
            let mut taken = 0;
            let done = walk(&bytes, |_| taken += 1);
            prop_assert_eq!(done.frames, taken);
            prop_assert_eq!(done.frames + done.malformed, count);
        }
    }

    #[test]
    fn a_frame_that_was_cut_off_is_none_and_a_way_back_ends_the_walk() {
        let frame = |n| (n, 0, 1, vec![n as u8; 16]);
        let whole = block(&[frame(1), frame(2), frame(3)]);
        let mut cut = whole.clone();
        cut[BLOCK_HEADER + 16] = 72;
        let done = walk(&cut, |_| ());
        assert_eq!((done.frames, done.malformed), (2, 1));
        let mut back = whole;
        back[BLOCK_HEADER..][..4].copy_from_slice(&0_u32.to_ne_bytes());
        let done = walk(&back, |_| ());
        assert_eq!((done.frames, done.malformed), (1, 2));
    }
}
