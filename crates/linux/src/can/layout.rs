//! The kernel's frames, byte for byte (`struct can_frame`, `canfd_frame` and `canxl_frame` of
//! `uapi/linux/can.h`).

use frame::{CanId, FrameRef, Header, Kind, XlFields, flags};

/// Size of `struct can_frame` in bytes, and the MTU of an interface for classic frames.
pub const CLASSIC_SIZE: usize = 16;
/// Size of `struct canfd_frame` in bytes, and the MTU of an interface for FD frames.
pub const FD_SIZE: usize = 72;
/// Size of `struct canxl_frame` with its full payload, in bytes.
pub const XL_SIZE: usize = XL_HEADER + 2048;
/// The lowest MTU of an interface for XL frames (`CANXL_MIN_MTU`).
pub const XL_MTU: usize = XL_HEADER + 64;
/// Number of bytes before an XL frame's payload (`CANXL_HDR_SIZE`).
const XL_HEADER: usize = 12;
/// Number of bytes before the payload of the other frames.
const HEADER: usize = 8;
/// Position of the VCID in an XL frame's priority word (`CANXL_VCID_OFFSET`).
const VCID_SHIFT: u32 = 16;

/// Returns the frame in the bytes of one datagram, or `None` where they are not a frame.
///
/// Byte 4 distinguishes XL from the others: in an XL frame it contains flags with XLF set, in the
/// others a length of at most 64. FD and classic frames differ in size only.
#[inline]
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<FrameRef<'_>> {
    let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let (id, fifth) = (word(0)?, *bytes.get(4)?);
    if fifth & flags::XL_XLF != 0 {
        let (sdt, len) = (*bytes.get(5)?, bytes.get(6..)?.first_chunk()?);
        let len = usize::from(u16::from_ne_bytes(*len));
        let xl = XlFields {
            vcid: (id >> VCID_SHIFT) as u8,
            sdt,
            af: word(8)?,
        };
        let header = Header::new(Kind::Xl, CanId::from_raw(id & CanId::SFF_MASK), len).ok()?;
        let header = header.with_flags(fifth).with_xl(xl);
        return FrameRef::new(header, bytes.get(XL_HEADER..)?).ok();
    }
    let (kind, extra, last) = (bytes.len(), *bytes.get(5)?, *bytes.get(7)?);
    let kind = match kind {
        CLASSIC_SIZE => Kind::Classic,
        FD_SIZE => Kind::Fd,
        _ => return None,
    };
    let header = Header::new(kind, CanId::from_raw(id), usize::from(fifth)).ok()?;
    let header = header.with_flags(extra).with_len8_dlc(last);
    FrameRef::new(header, bytes.get(HEADER..)?).ok()
}

/// Writes a frame in the kernel's layout; returns the number of bytes, or `None` where `into` is
/// too short.
#[inline]
pub fn encode(frame: FrameRef<'_>, into: &mut [u8]) -> Option<usize> {
    let header = frame.header();
    let (size, at) = match header.kind() {
        Kind::Classic => (CLASSIC_SIZE, HEADER),
        Kind::Fd => (FD_SIZE, HEADER),
        Kind::Xl => (XL_HEADER + header.len(), XL_HEADER),
    };
    let into = into.get_mut(..size)?;
    into.fill(0);
    let id = if header.kind() == Kind::Xl {
        let xl = header.xl();
        into[4] = header.flags() | flags::XL_XLF;
        into[5] = xl.sdt;
        into[6..8].copy_from_slice(&(header.len() as u16).to_ne_bytes());
        into[8..12].copy_from_slice(&xl.af.to_ne_bytes());
        header.id().number() | u32::from(xl.vcid) << VCID_SHIFT
    } else {
        into[4] = header.len() as u8;
        if header.kind() == Kind::Fd {
            into[5] = header.flags() | flags::FDF;
        } else {
            into[7] = header.len8_dlc();
        }
        header.id().raw()
    };
    into[..4].copy_from_slice(&id.to_ne_bytes());
    into[at..at + frame.data().len()].copy_from_slice(frame.data());
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_the_kernels() {
        assert_eq!(CLASSIC_SIZE, size_of::<libc::can_frame>());
        assert_eq!(FD_SIZE, size_of::<libc::canfd_frame>());
        assert_eq!(XL_SIZE, size_of::<libc::canxl_frame>());
        assert_eq!(XL_MTU, libc::CANXL_MIN_MTU);
    }

    #[test]
    fn a_classic_frame_byte_for_byte() {
        let header = Header::new(Kind::Classic, CanId::from_raw(0x8000_0123), 3).unwrap();
        let frame = FrameRef::new(header, &[1, 2, 3]).unwrap();
        let mut bytes = [0xEE; 16];
        assert_eq!(encode(frame, &mut bytes), Some(16));
        let mut expected = [0; 16];
        expected[..4].copy_from_slice(&0x8000_0123u32.to_ne_bytes());
        expected[4] = 3;
        expected[8..11].copy_from_slice(&[1, 2, 3]);
        assert_eq!(bytes, expected);
        assert_eq!(encode(frame, &mut bytes[..15]), None);
    }

    #[test]
    fn an_xl_frame_of_a_classic_frames_size_is_xl() {
        let header = Header::new(Kind::Xl, CanId::from_raw(0x7FF), 4).unwrap();
        let frame = FrameRef::new(header, &[1, 2, 3, 4]).unwrap();
        let mut bytes = [0; XL_SIZE];
        assert_eq!(encode(frame, &mut bytes), Some(CLASSIC_SIZE));
        assert_eq!(decode(&bytes[..CLASSIC_SIZE]), Some(frame));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            kind in prop_oneof![Just(Kind::Classic), Just(Kind::Fd), Just(Kind::Xl)],
            id in any::<u32>(), f in any::<u8>(), dlc in any::<u8>(), vcid in any::<u8>(),
            sdt in any::<u8>(), af in any::<u32>(), len in 0usize..2049,
            data in prop::collection::vec(any::<u8>(), 2048),
        ) {
            let len = len % (kind.max_len() + 1);
            let len = if kind == Kind::Xl { len.max(1) } else { len };
            let id = if kind == Kind::Xl { id & CanId::SFF_MASK } else { id };
            let header = Header::new(kind, CanId::from_raw(id), len).unwrap()
                .with_flags(f).with_len8_dlc(dlc).with_xl(XlFields { vcid, sdt, af });
            let frame = FrameRef::new(header, &data).unwrap();
            let mut bytes = vec![0xEE; XL_SIZE];
            let n = encode(frame, &mut bytes).unwrap();
            prop_assert_eq!(decode(&bytes[..n]), Some(frame));
        }

        #[test]
        fn any_bytes_are_a_frame_or_none(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(frame) = decode(&bytes) {
                prop_assert!(frame.len() <= frame.kind().max_len());
            }
        }
    }
}
