//! CAN frames as link types have them (the list of tcpdump.org).

use super::Order;
use crate::bad::Fault;
use frame::text::Direction;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind, XlFields, dlc, flags};

/// How frames are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Link {
    /// LINKTYPE_CAN_SOCKETCAN
    SocketCan,
    /// LINKTYPE_LINUX_SLL
    Cooked,
    /// LINKTYPE_LINUX_SLL2
    Cooked2,
}

// Protocols of linux/if_ether.h.
const CAN: u16 = 0x000C;
const CAN_FD: u16 = 0x000D;
const CAN_XL: u16 = 0x000E;

/// Type of a cooked capture's packets that this machine sent.
const OUTGOING: u16 = 4;

/// Bytes before the payload of a classic or FD frame, and of an XL frame.
const HEADER: usize = 8;
const XL_HEADER: usize = 12;

impl Link {
    pub(crate) const fn of(number: u32) -> Option<Self> {
        match number {
            227 => Some(Self::SocketCan),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            _ => None,
        }
    }

    /// Reads a frame, and which way it went where this says so; `None` for what is no CAN frame.
    pub(crate) fn read(
        self,
        bytes: &[u8],
        frame: &mut FrameBuf,
    ) -> Result<Option<Option<Direction>>, Fault> {
        const CUT: Fault = Fault::Said("the frame's bytes were cut off (snapshot length)");
        let order = Order::Big;
        let (kind, protocol, skip) = match self {
            Self::SocketCan => {
                one(bytes, false, frame)?;
                return Ok(Some(None));
            }
            Self::Cooked => (order.u16(bytes, 0), order.u16(bytes, 14), 16),
            Self::Cooked2 => (
                bytes.get(10).copied().map(u16::from),
                order.u16(bytes, 0),
                20,
            ),
        };
        let (kind, protocol) = kind.zip(protocol).ok_or(CUT)?;
        if !matches!(protocol, CAN | CAN_FD | CAN_XL) {
            return Ok(None);
        }
        one(bytes.get(skip..).ok_or(CUT)?, protocol == CAN_FD, frame)?;
        let direction = if kind == OUTGOING {
            Direction::Sent
        } else {
            Direction::Received
        };
        Ok(Some(Some(direction)))
    }
}

/// A frame of LINKTYPE_CAN_SOCKETCAN: IDs are big-endian, the length and the acceptance field of
/// an XL frame little-endian.
fn one(bytes: &[u8], is_fd: bool, frame: &mut FrameBuf) -> Result<(), Fault> {
    const CUT: Fault = Fault::Said("the frame's bytes were cut off (snapshot length)");
    const LONG: Fault = Fault::Said("a length that no CAN frame has");
    let id = Order::Big.u32(bytes, 0).ok_or(CUT)?;
    let fifth = *bytes.get(4).ok_or(CUT)?;
    if fifth & flags::XL_XLF != 0 {
        let sdt = *bytes.get(5).ok_or(CUT)?;
        let len = Order::Little.u16(bytes, 6).ok_or(CUT)?;
        let af = Order::Little.u32(bytes, 8).ok_or(CUT)?;
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
    // Who does not write FDF tells FD frames by their size.
    let fd = is_fd || extra & flags::FDF != 0 || len > dlc::CLASSIC_MAX;
    let kind = if fd { Kind::Fd } else { Kind::Classic };
    let header = Header::new(kind, CanId::from_raw(id), len).map_err(|_| LONG)?;
    let header = header.with_flags(extra).with_len8_dlc(raw_dlc);
    let data = bytes.get(HEADER..).ok_or(CUT)?;
    frame.set(FrameRef::new(header, data).map_err(|_| CUT)?);
    Ok(())
}
