//! Datagrams.

use super::carries;
use super::entry::{EntryRead, LONGEST, read, size, write};
use crate::{
    DatagramFault, DatagramFrame, DatagramNumber, DatagramReader, DatagramWriter, NotWritten,
};
use frame::{FrameRef, Nanos};

/// Length of a datagram without frames, bytes.
pub const HEADER: usize = 5;

/// Greatest length of a datagram that is written, bytes: what an IPv6 packet of 1500 bytes holds.
/// cannelloni reads up to 1500.
pub const MAX_DATAGRAM: usize = 1452;

const VERSION: u8 = 2;
const DATA: u8 = 0;

/// Reads cannelloni's datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct CannelloniReader;

impl DatagramReader for CannelloniReader {
    fn check(&mut self, datagram: &[u8]) -> Result<Option<DatagramNumber>, DatagramFault> {
        let fault = |at, what| Err(DatagramFault { at, what });
        let Some((&[version, operation, sequence, high, low], mut rest)) =
            datagram.split_first_chunk::<HEADER>()
        else {
            return fault(datagram.len(), "the header ends early");
        };
        if version != VERSION {
            return fault(0, "the version is not 2");
        }
        if operation != DATA {
            return fault(1, "the operation is not data");
        }
        for _ in 0..u16::from_be_bytes([high, low]) {
            let at = datagram.len() - rest.len();
            match read(rest) {
                EntryRead::Frame(_, used) => rest = &rest[used..],
                EntryRead::Short => {
                    return fault(datagram.len(), "it has fewer frames than it counts");
                }
                EntryRead::Wrong(what) => return fault(at, what),
            }
        }
        if rest.is_empty() {
            Ok(Some(sequence.into()))
        } else {
            fault(datagram.len() - rest.len(), "bytes follow the last frame")
        }
    }

    fn next<'d>(&'d mut self, datagram: &'d [u8], at: &mut usize) -> Option<DatagramFrame<'d>> {
        *at = (*at).max(HEADER);
        match read(datagram.get(*at..)?) {
            EntryRead::Frame(frame, used) => {
                *at += used;
                Some(frame.into())
            }
            EntryRead::Short | EntryRead::Wrong(_) => None,
        }
    }
}

/// Writes cannelloni's datagrams, with sequence numbers from 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct CannelloniWriter {
    sequence: u8,
}

impl DatagramWriter for CannelloniWriter {
    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        carries(frame)
    }

    fn push(
        &mut self,
        frame: &FrameRef<'_>,
        _unix: Nanos,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        if !carries(frame) {
            return Err(NotWritten::Unsupported);
        }
        if out.is_empty() {
            out.extend([VERSION, DATA, 0, 0, 0]);
        }
        if out.len() + size(frame) > MAX_DATAGRAM {
            return Err(NotWritten::Full);
        }
        write(frame, out);
        if let Some([_, _, _, count @ ..]) = out.first_chunk_mut::<HEADER>() {
            *count = (u16::from_be_bytes(*count) + 1).to_be_bytes();
        }
        Ok(())
    }

    fn room(&self, out: &[u8]) -> usize {
        (MAX_DATAGRAM - out.len().max(HEADER)) / LONGEST
    }

    fn finish(&mut self, out: &mut [u8]) {
        if let Some(sequence) = out.get_mut(2) {
            *sequence = self.sequence;
        }
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn take_back(&mut self) {
        self.sequence = self.sequence.wrapping_sub(1);
    }
}
