//! CAN frames in the packets of each link type (the list of tcpdump.org).

use crate::bad::LogFault;
use crate::byte_order::ByteOrder;
use frame::text::Direction;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind, XlFields, dlc, flags};

/// The link type, which determines how frames are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameLink {
    /// LINKTYPE_CAN_SOCKETCAN
    SocketCan,
    /// LINKTYPE_LINUX_SLL
    Cooked,
    /// LINKTYPE_LINUX_SLL2
    Cooked2,
    /// LINKTYPE_WIRESHARK_UPPER_PDU: Wireshark and tshark write it for candump's and BUSMASTER's
    /// logs.
    UpperPdu,
}

/// Link types of other traffic that is often recorded together with CAN. Packets of these are
/// skipped; a packet of a link type that is not in the list is counted as bad, because it could
/// contain CAN frames.
const OTHERS: [u32; 28] = [
    0, 1, 6, 9, 10, 12, 14, 50, 51, 101, 104, 105, 108, 127, 163, 187, 189, 195, 201, 209, 210,
    211, 212, 220, 228, 229, 239, 253,
];

// Protocols of linux/if_ether.h.
const CAN: u16 = 0x000C;
const CAN_FD: u16 = 0x000D;
const CAN_XL: u16 = 0x000E;

/// Type of a cooked capture's packets that this machine sent.
const OUTGOING: u16 = 4;

/// Number of bytes before the payload of a classic or FD frame, and of an XL frame.
const HEADER: usize = 8;
const XL_HEADER: usize = 12;

/// Size of the kernel's FD frame (`CANFD_MTU`): packets of FD frames, and only these, have this
/// length, whatever their payload.
const FD_SIZE: usize = 72;

// Tags of LINKTYPE_WIRESHARK_UPPER_PDU: the end, and the name of the following data.
const TAG_END: u16 = 0;
const TAG_DISSECTOR: u16 = 12;

const CUT: LogFault = LogFault::Said("the frame's bytes were cut off (snapshot length)");

/// A packet as it is in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedPacket<'a> {
    /// The part of it that is in the file.
    pub(crate) bytes: &'a [u8],
    /// Its length in bytes before it was cut to the snapshot length.
    pub(crate) original: usize,
    /// The byte order of the file, which is that of the machine that wrote it.
    pub(crate) order: ByteOrder,
}

/// The information of a packet in addition to its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PacketDetails {
    pub(crate) direction: Option<Direction>,
    /// The index of the interface, where each packet has its own.
    pub(crate) index: Option<u32>,
}

/// The interpretation of the bytes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameForm {
    /// The frame itself indicates whether it is FD.
    Any,
    Fd,
}

impl FrameLink {
    pub(crate) const fn from_number(number: u32) -> Option<Self> {
        match number {
            227 => Some(Self::SocketCan),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            252 => Some(Self::UpperPdu),
            _ => None,
        }
    }

    /// Returns whether packets of this link type are known to contain no CAN frame.
    pub(crate) fn is_other(number: u32) -> bool {
        OTHERS.contains(&number)
    }

    /// Reads a packet; `None` where it does not contain a CAN frame.
    pub(crate) fn read(
        self,
        packet: &CapturedPacket<'_>,
        frame: &mut FrameBuf,
    ) -> Result<Option<PacketDetails>, LogFault> {
        let (bytes, big) = (packet.bytes, ByteOrder::Big);
        let (side, protocol, skip) = match self {
            Self::SocketCan => {
                one(
                    packet,
                    0,
                    ByteOrder::Big,
                    ByteOrder::Little,
                    FrameForm::Any,
                    frame,
                )?;
                return Ok(Some(PacketDetails::default()));
            }
            Self::UpperPdu => return upper(packet, frame),
            Self::Cooked => {
                let kind = big.u16(bytes, 0).ok_or(CUT)?;
                (PacketDetails::from_kind(kind), big.u16(bytes, 14), 16)
            }
            Self::Cooked2 => {
                let kind = *bytes.get(10).ok_or(CUT)?;
                let mut side = PacketDetails::from_kind(kind.into());
                side.index = big.u32(bytes, 4);
                (side, big.u16(bytes, 0), 20)
            }
        };
        let form = match protocol.ok_or(CUT)? {
            CAN | CAN_XL => FrameForm::Any,
            CAN_FD => FrameForm::Fd,
            _ => return Ok(None),
        };
        // Here libpcap leaves the whole header of the frame as the kernel stores it, in the byte
        // order of the machine that captured it. With LINKTYPE_CAN_SOCKETCAN it converts the ID.
        one(packet, skip, packet.order, packet.order, form, frame)?;
        Ok(Some(side))
    }
}

impl PacketDetails {
    fn from_kind(kind: u16) -> Self {
        let direction = if kind == OUTGOING {
            Direction::Sent
        } else {
            Direction::Received
        };
        Self {
            direction: Some(direction),
            index: None,
        }
    }
}

/// Reads a packet of LINKTYPE_WIRESHARK_UPPER_PDU: tags, one of which names the dissector, then the
/// frame.
fn upper(
    packet: &CapturedPacket<'_>,
    frame: &mut FrameBuf,
) -> Result<Option<PacketDetails>, LogFault> {
    let (mut at, mut name) = (0, &[][..]);
    loop {
        let tag = ByteOrder::Big.u16(packet.bytes, at).ok_or(CUT)?;
        let len = usize::from(ByteOrder::Big.u16(packet.bytes, at + 2).ok_or(CUT)?);
        let value = packet.bytes.get(at + 4..at + 4 + len).ok_or(CUT)?;
        at += 4 + len;
        match tag {
            TAG_END => break,
            TAG_DISSECTOR => name = value,
            _ => {}
        }
    }
    let end = name.iter().position(|byte| *byte == 0);
    let own = packet.order;
    let (id, rest, form) = match name.get(..end.unwrap_or(name.len())).unwrap_or_default() {
        b"can-hostendian" | b"can" => (own, own, FrameForm::Any),
        b"canfd" => (own, own, FrameForm::Fd),
        b"canxl" => (own, own, FrameForm::Any),
        b"can-bigendian" => (ByteOrder::Big, ByteOrder::Little, FrameForm::Any),
        _ => return Ok(None),
    };
    one(packet, at, id, rest, form, frame)?;
    Ok(Some(PacketDetails::default()))
}

/// Reads the frame that begins at `at`, in the kernel's layout. `id` is the byte order of the ID,
/// `rest` that of an XL frame's length and acceptance field.
fn one(
    packet: &CapturedPacket<'_>,
    at: usize,
    id: ByteOrder,
    rest: ByteOrder,
    form: FrameForm,
    frame: &mut FrameBuf,
) -> Result<(), LogFault> {
    const LONG: LogFault = LogFault::Said("a length that no CAN frame has");
    let bytes = packet.bytes.get(at..).ok_or(CUT)?;
    let id = id.u32(bytes, 0).ok_or(CUT)?;
    let fifth = *bytes.get(4).ok_or(CUT)?;
    if fifth & flags::XL_XLF != 0 {
        let sdt = *bytes.get(5).ok_or(CUT)?;
        let len = rest.u16(bytes, 6).ok_or(CUT)?;
        let af = rest.u32(bytes, 8).ok_or(CUT)?;
        let id_only = CanId::from_raw(id & CanId::SFF_MASK);
        let header = Header::new(Kind::Xl, id_only, usize::from(len)).map_err(|_| LONG)?;
        let vcid = (id >> 16) as u8;
        let header = header.with_flags(fifth).with_xl(XlFields { vcid, sdt, af });
        let data = bytes.get(XL_HEADER..).ok_or(CUT)?;
        frame.set(FrameRef::new(header, data).map_err(|_| CUT)?);
        return Ok(());
    }
    let (extra, raw_dlc) = (
        bytes.get(5).copied().unwrap_or(0),
        bytes.get(7).copied().unwrap_or(0),
    );
    let len = usize::from(fifth);
    // Older libpcap does not write FDF: then the size of the packet identifies FD frames.
    let size = packet.original.max(packet.bytes.len()).saturating_sub(at);
    let fd = form == FrameForm::Fd
        || extra & flags::FDF != 0
        || len > dlc::CLASSIC_MAX
        || size == FD_SIZE;
    let kind = if fd { Kind::Fd } else { Kind::Classic };
    let header = Header::new(kind, CanId::from_raw(id), len).map_err(|_| LONG)?;
    let header = header.with_flags(extra).with_len8_dlc(raw_dlc);
    // A remote frame has no payload; its length is the requested one.
    let data = bytes.get(HEADER..).ok_or(CUT)?;
    frame.set(FrameRef::new(header, data).map_err(|_| CUT)?);
    Ok(())
}
