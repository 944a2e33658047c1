//! Random frames, close to the conditions of the rules.

use crate::rng::Rng;
use crate::rules::Shape;
use frame::{CanId, FrameRef, Header, Kind};

/// A frame with the properties that the kernel can report.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owned {
    fd: bool,
    raw: u32,
    len: usize,
    len8_dlc: u8,
    flags: u8,
    data: Vec<u8>,
}

impl Owned {
    pub(crate) fn of(frame: FrameRef<'_>) -> Self {
        let header = frame.header();
        Self {
            fd: header.kind() == Kind::Fd,
            raw: header.id().raw(),
            len: header.len(),
            len8_dlc: header.len8_dlc(),
            flags: header.flags(),
            data: frame.data().to_vec(),
        }
    }

    /// Formats the frame for cansend, with all flags in the ID's eight digits.
    pub(crate) fn for_cansend(&self) -> String {
        let data: String = self.data.iter().map(|b| format!("{b:02X}")).collect();
        if self.raw & CanId::RTR_FLAG == 0 {
            format!("{:08X}#{data}", self.raw)
        } else {
            format!("{:08X}#R{}", self.raw, self.len)
        }
    }

    /// Returns whether a raw socket can get it: such a socket gets only error frames of a class
    /// that it asked for, so none without a class (`can_rcv_filter` of net/can/af_can.c).
    pub(crate) fn is_seen(&self) -> bool {
        self.raw & CanId::ERR_FLAG == 0 || self.raw & CanId::EFF_MASK != 0
    }

    /// Returns whether this is an error frame by which a controller reports that its receive FIFO
    /// overflowed: `CAN_ERR_CRTL` and `CAN_ERR_CRTL_RX_OVERFLOW` of `uapi/linux/can/error.h`.
    pub(crate) fn reports_overflow(&self) -> bool {
        let detail = self.data.get(1).copied().unwrap_or(0);
        self.raw & CanId::ERR_FLAG != 0 && self.raw & 0x004 != 0 && detail & 0x01 != 0
    }

    pub(crate) fn view(&self) -> FrameRef<'_> {
        let kind = if self.fd { Kind::Fd } else { Kind::Classic };
        let header = Header::new(kind, CanId::from_raw(self.raw), self.len)
            .unwrap()
            .with_flags(self.flags)
            .with_len8_dlc(self.len8_dlc);
        FrameRef::new(header, &self.data).unwrap()
    }
}

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}{:08X} len {} dlc {} flags {:X} ",
            if self.fd { "FD " } else { "" },
            self.raw,
            self.len,
            self.len8_dlc,
            self.flags
        )?;
        self.data.iter().try_for_each(|b| write!(f, "{b:02X}"))
    }
}

pub(crate) fn frame(rng: &mut Rng, shape: Shape, ids: &[u32]) -> Owned {
    // Sometimes a frame of the kind that the rules do not take.
    let fd = shape.fd != rng.one_in(8);
    let mut raw = if ids.is_empty() || rng.one_in(4) {
        match rng.below(4) {
            0 => rng.word() & 0x7FF,
            1 => rng.word() & 0x1FFF_FFFF | CanId::EFF_FLAG,
            2 => rng.word() & 0xFF | CanId::ERR_FLAG,
            _ => rng.word(),
        }
    } else {
        let near = rng.pick(ids);
        match rng.below(3) {
            0 => near ^ (1 << rng.below(32)),
            1 => near ^ (1 << rng.below(12)),
            _ => near,
        }
    };
    if !rng.one_in(12) {
        raw &= !CanId::ERR_FLAG;
    }
    // CAN FD has no remote frames, and error frames are classic ones.
    if fd {
        raw &= !(CanId::RTR_FLAG | CanId::ERR_FLAG);
    }
    if shape.chain {
        raw &= !CanId::RTR_FLAG;
    }
    let most = if fd { 64 } else { 8 };
    let len = if shape.chain || rng.one_in(4) {
        most
    } else {
        rng.below(most + 1)
    };
    let remote = !fd && raw & CanId::RTR_FLAG != 0;
    Owned {
        fd,
        raw,
        len,
        // Error frames come from cansend, which supports raw DLCs only in later versions.
        len8_dlc: if !fd && len == 8 && raw & CanId::ERR_FLAG == 0 && rng.one_in(3) {
            9 + rng.below(7) as u8
        } else {
            0
        },
        flags: if fd { rng.byte() & 3 } else { 0 },
        data: if remote { Vec::new() } else { rng.bytes(len) },
    }
}
