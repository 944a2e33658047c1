//! A frame as a map.

use super::MAX_DATAGRAM;
use super::msgpack::{MsgpackInput, Value, put_bytes, put_flag, put_float, put_number, put_text};
use crate::{
    DatagramFault, DatagramFrame, DatagramNumber, DatagramReader, DatagramWriter, NotWritten,
};
use frame::{CanId, Frame, FrameRef, Kind, Nanos, dlc, flags};

/// Returns whether a message can express the frame: classic, FD and error frames.
#[must_use]
pub fn carries(frame: &FrameRef<'_>) -> bool {
    match frame.kind() {
        Kind::Classic => !(frame.id().is_err() && frame.id().is_rtr()),
        Kind::Fd => !frame.id().is_rtr() && !frame.id().is_err(),
        Kind::Xl => false,
    }
}

/// The arguments of `can.Message`, with its defaults.
#[derive(Clone, Copy)]
struct Arguments<'a> {
    id: i128,
    extended: bool,
    remote: bool,
    error: bool,
    dlc: Option<i128>,
    data: &'a [u8],
    fd: bool,
    brs: bool,
    esi: bool,
}

const NAMES: [&str; 12] = [
    "timestamp",
    "arbitration_id",
    "is_extended_id",
    "is_remote_frame",
    "is_error_frame",
    "channel",
    "dlc",
    "data",
    "is_fd",
    "bitrate_switch",
    "error_state_indicator",
    "is_rx",
];

/// Reads a datagram.
fn read(datagram: &[u8]) -> Result<Frame, DatagramFault> {
    let fault = |at, what| Err(DatagramFault { at, what });
    let mut arguments = Arguments {
        id: 0,
        extended: true,
        remote: false,
        error: false,
        dlc: None,
        data: &[],
        fd: false,
        brs: false,
        esi: false,
    };
    let mut input = MsgpackInput::new(datagram);
    let mut seen = 0_u16;
    for _ in 0..input.map()? {
        let at = input.at();
        let name = input.value()?;
        let known = NAMES
            .iter()
            .position(|known| name == Value::Text(known.as_bytes()));
        let Some(place) = known else {
            return fault(at, "a key that messages do not have");
        };
        if seen & 1 << place != 0 {
            return fault(at, "a key for the second time");
        }
        seen |= 1 << place;
        let at = input.at();
        match (NAMES[place], input.value()?) {
            ("timestamp", Value::Float | Value::Integer(_))
            | ("channel", Value::Nil | Value::Text(_) | Value::Integer(_))
            | ("is_rx", Value::Flag(_))
            | ("data" | "dlc", Value::Nil) => {}
            ("arbitration_id", Value::Integer(id)) => arguments.id = id,
            ("is_extended_id", Value::Flag(flag)) => arguments.extended = flag,
            ("is_remote_frame", Value::Flag(flag)) => arguments.remote = flag,
            ("is_error_frame", Value::Flag(flag)) => arguments.error = flag,
            ("dlc", Value::Integer(dlc)) => arguments.dlc = Some(dlc),
            ("data", Value::Bytes(bytes)) => arguments.data = bytes,
            ("is_fd", Value::Flag(flag)) => arguments.fd = flag,
            ("bitrate_switch", Value::Flag(flag)) => arguments.brs = flag,
            ("error_state_indicator", Value::Flag(flag)) => arguments.esi = flag,
            _ => return fault(at, "a value of the wrong type"),
        }
    }
    if !input.is_at_end() {
        return fault(input.at(), "bytes follow the map");
    }
    arguments.frame().map_or_else(|what| fault(0, what), Ok)
}

impl Arguments<'_> {
    /// Returns the frame, if the arguments are those of one: `can.Message` checks the same.
    fn frame(&self) -> Result<Frame, &'static str> {
        const LENGTH: &str = "a length that the frame cannot have";
        let number = u32::try_from(self.id).map_err(|_| "an identifier that is too large")?;
        let id = match (self.error, self.extended) {
            (true, _) if number <= CanId::EFF_MASK => Ok(CanId::from_raw(CanId::ERR_FLAG | number)),
            (_, true) => CanId::eff(number),
            (_, false) => CanId::sff(number),
        };
        let id = id.map_err(|_| "an identifier that is too large")?;
        let len = match self.dlc {
            Some(dlc) => usize::try_from(dlc).map_err(|_| LENGTH)?,
            None => self.data.len(),
        };
        if self.remote {
            if self.fd || self.error || !self.data.is_empty() {
                return Err("a remote frame with data, or of another kind as well");
            }
            return Frame::remote(id, len).map_err(|_| LENGTH);
        }
        if len != self.data.len() {
            return Err("`dlc` is not the length of `data`");
        }
        if !self.fd {
            if self.brs || self.esi {
                return Err("a classic frame with flags of FD");
            }
            return Frame::classic(id, self.data).map_err(|_| LENGTH);
        }
        if self.error {
            return Err("an error frame that is FD");
        }
        let bits = if self.brs { flags::BRS } else { 0 } | if self.esi { flags::ESI } else { 0 };
        // python-can takes any length up to 64; on the wire, it is padded.
        let frame = Frame::fd(id, bits, self.data).map_err(|_| LENGTH)?;
        Ok(frame.padded())
    }
}

/// Reads python-can's datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct MulticastReader {
    frame: Option<Frame>,
}

impl DatagramReader for MulticastReader {
    fn check(&mut self, datagram: &[u8]) -> Result<Option<DatagramNumber>, DatagramFault> {
        if datagram.len() > MAX_DATAGRAM {
            let what = "it is longer than python-can reads";
            return Err(DatagramFault {
                at: MAX_DATAGRAM,
                what,
            });
        }
        self.frame = Some(read(datagram)?);
        Ok(None)
    }

    fn next<'d>(&'d mut self, _datagram: &'d [u8], at: &mut usize) -> Option<DatagramFrame<'d>> {
        if *at > 0 {
            return None;
        }
        *at = 1;
        Some(self.frame.as_ref()?.view().into())
    }
}

/// Writes python-can's datagrams, one for each frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct MulticastWriter;

impl DatagramWriter for MulticastWriter {
    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        carries(frame)
    }

    fn push(
        &mut self,
        frame: &FrameRef<'_>,
        unix: Nanos,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        if !carries(frame) {
            return Err(NotWritten::Unsupported);
        }
        if !out.is_empty() {
            return Err(NotWritten::Full);
        }
        let (id, header) = (frame.id(), frame.header());
        let number = if id.is_err() {
            id.raw() & CanId::EFF_MASK
        } else {
            id.number()
        };
        let fd = frame.kind() == Kind::Fd;
        // A length that no DLC represents is padded, as on the wire.
        let len = if fd {
            dlc::fd_padded(frame.len())
        } else {
            frame.len()
        };
        let mut data = [0; dlc::FD_MAX];
        data[..frame.data().len()].copy_from_slice(frame.data());
        let data = if header.is_rtr() {
            &[][..]
        } else {
            &data[..len]
        };
        out.push(0x8B);
        let mut name = NAMES.iter();
        let mut key = |out: &mut Vec<u8>| put_text(out, name.next().unwrap_or(&""));
        key(out);
        put_float(out, unix as f64 / 1e9);
        key(out);
        put_number(out, number);
        key(out);
        put_flag(out, id.is_eff() || id.is_err() && number > CanId::SFF_MASK);
        key(out);
        put_flag(out, header.is_rtr());
        key(out);
        put_flag(out, id.is_err());
        key(out);
        out.push(0xC0);
        key(out);
        put_number(out, len as u32);
        key(out);
        put_bytes(out, data);
        for flag in [fd, header.is_brs(), header.is_esi()] {
            key(out);
            put_flag(out, flag);
        }
        Ok(())
    }

    fn room(&self, out: &[u8]) -> usize {
        usize::from(out.is_empty())
    }

    fn finish(&mut self, _out: &mut [u8]) {}
}
