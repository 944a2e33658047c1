//! Frames as Python passes them: a number, a set of flags, a length and bytes.

use frame::{CanId, Frame, FrameBuf, Kind, dlc, flags, text};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Flags of a frame between Python and this module; `python/python/cangate/_frames.py` has the
/// same.
pub(crate) mod bits {
    /// The ID has 29 bits.
    pub(crate) const EXTENDED: u8 = 1;
    /// Remote frame.
    pub(crate) const REMOTE: u8 = 2;
    /// FD frame.
    pub(crate) const FD: u8 = 4;
    /// FD frame with bit rate switch.
    pub(crate) const BRS: u8 = 8;
    /// FD frame of an error-passive sender.
    pub(crate) const ESI: u8 = 16;
    /// Error frame of the controller.
    pub(crate) const ERROR: u8 = 32;
    /// The frame of the bus object itself, which it has sent.
    pub(crate) const OWN: u8 = 64;
}

/// Makes a frame of its parts; `len` is the length of the payload, or the length that a remote
/// frame requests.
pub(crate) fn from_parts(id: u32, bits: u8, data: &[u8], len: usize) -> Result<Frame, String> {
    let has = |bit: u8| bits & bit != 0;
    if has(bits::ERROR) {
        return Err(
            "an error frame cannot be sent: a controller only reports it; send data or remote frames"
                .to_owned(),
        );
    }
    let number = if has(bits::EXTENDED) {
        CanId::eff(id)
    } else {
        CanId::sff(id)
    };
    let can_id = number.map_err(|_| {
        let (most, cure) = match has(bits::EXTENDED) {
            true => (CanId::EFF_MASK, "write an ID of 29 bits"),
            false => (
                CanId::SFF_MASK,
                "set is_extended_id=True for an ID of 29 bits",
            ),
        };
        format!("ID {id:#X} is above {most:#X}: {cure}")
    })?;
    if has(bits::FD) && has(bits::REMOTE) {
        return Err(format!(
            "ID {id:#X}: an FD frame cannot be remote: leave out is_fd or is_remote_frame"
        ));
    }
    if !has(bits::REMOTE) && data.len() != len {
        return Err(format!(
            "ID {id:#X}: a length of {len} and {} bytes of data: leave out dlc, or give as many bytes",
            data.len()
        ));
    }
    let made = if has(bits::FD) {
        let of = |bit, flag| if has(bit) { flag } else { 0 };
        let flags = of(bits::BRS, flags::BRS) | of(bits::ESI, flags::ESI);
        Frame::fd(can_id, flags, data)
    } else if has(bits::REMOTE) {
        Frame::remote(can_id, len)
    } else {
        Frame::classic(can_id, data)
    };
    made.map_err(|error| match has(bits::FD) {
        true => format!("ID {id:#X}: {error}"),
        false => format!(
            "ID {id:#X}: {error}; set is_fd=True for up to {} bytes",
            dlc::FD_MAX
        ),
    })
}

/// Returns the number, the flags, the length and the bytes of a frame.
pub(crate) fn to_parts(frame: &Frame) -> (u32, u8, usize, &[u8]) {
    let (id, header) = (frame.id(), frame.header());
    let of = |is: bool, bit| if is { bit } else { 0 };
    let bits = of(id.is_eff(), bits::EXTENDED)
        | of(header.is_rtr(), bits::REMOTE)
        | of(frame.kind() == Kind::Fd, bits::FD)
        | of(header.is_brs(), bits::BRS)
        | of(header.is_esi(), bits::ESI)
        | of(id.is_err(), bits::ERROR);
    let number = match id.is_err() {
        true => id.raw() & CanId::EFF_MASK,
        false => id.number(),
    };
    (number, bits, frame.len(), frame.data())
}

/// Reads a frame in candump's text.
pub(crate) fn from_text(text: &str) -> PyResult<Frame> {
    let mut buffer = FrameBuf::new();
    text::parse_frame(text.as_bytes(), &mut buffer)
        .map_err(|error| PyValueError::new_err(format!("frame {text:?}, {error}")))?;
    Frame::from_view(buffer.view()).ok_or_else(|| {
        PyValueError::new_err(format!(
            "frame {text:?} is an XL frame, which no bus of cangate carries: write a classic \
             (123#1122) or an FD frame (123##01122)"
        ))
    })
}
