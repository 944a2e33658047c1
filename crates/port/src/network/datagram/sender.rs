//! Datagrams that leave: how frames get into them, and what becomes of them.

use super::guard::LoopGuard;
use super::presentation::PresentationWriter;
use super::socket::{SendMark, SendSocket};
use super::stream_run::StreamRun;
use crate::network::remarks::LatestRemarks;
use crate::{Token, TxCounters};
use frame::{FrameRef, Nanos};
use net::{DatagramWriter, FrameTrail, NotWritten};
use std::io::ErrorKind;
use std::net::SocketAddr;

/// The room for a datagram, bytes. The longest one has a CAN XL frame in an ACF message: 16 bytes,
/// and up to 2047 bytes of messages.
const ROOM: usize = 2304;

/// A datagram and the number of frames in it.
pub(super) struct FrameDatagram {
    bytes: Vec<u8>,
    pub(super) frames: u64,
    /// Time of its first frame.
    pub(super) since: Nanos,
    /// The trail of its last frame, as [`LoopGuard::key`] distinguishes them.
    trail: Option<Token>,
    /// The earliest and the latest stamp of its frames, Unix time; `None` also where datagrams have
    /// no presentation times.
    stamps: Option<(Nanos, Nanos)>,
}

impl FrameDatagram {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(ROOM),
            frames: 0,
            since: 0,
            trail: None,
            stamps: None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.frames, self.trail, self.stamps) = (0, None, None);
    }

    /// Returns the earliest and the latest stamp with one more frame.
    fn stamps_with(&self, unix: Nanos) -> (Nanos, Nanos) {
        let (earliest, latest) = self.stamps.unwrap_or((unix, unix));
        (earliest.min(unix), latest.max(unix))
    }
}

/// Writes and sends the datagrams of a port.
pub(super) struct FrameSender<S: SendSocket> {
    pub(super) socket: S,
    to: SocketAddr,
    pub(super) writer: Box<dyn DatagramWriter>,
    pub(super) guard: LoopGuard,
    /// `None`: datagrams have no presentation times.
    pub(super) presentation: Option<PresentationWriter>,
    /// Room for the stations of a trail.
    stations: Vec<u8>,
    pub(super) counters: TxCounters,
    run: StreamRun,
    pub(super) remarks: LatestRemarks,
    /// The socket had no room for the last datagram.
    pub(super) blocked: bool,
    /// Urgent frames of this port wait.
    holds: bool,
}

impl<S: SendSocket> Drop for FrameSender<S> {
    fn drop(&mut self) {
        self.hold(false);
    }
}

impl<S: SendSocket> FrameSender<S> {
    pub(super) fn new(
        socket: S,
        to: SocketAddr,
        writer: Box<dyn DatagramWriter>,
        run: StreamRun,
        guard: LoopGuard,
    ) -> Self {
        Self {
            socket,
            to,
            writer,
            guard,
            presentation: None,
            stations: Vec::with_capacity(8 * FrameTrail::MAX_STATIONS),
            counters: TxCounters::default(),
            run,
            remarks: LatestRemarks::default(),
            blocked: false,
            holds: false,
        }
    }

    /// Records whether urgent frames of this port wait: meanwhile, other ports of the same socket
    /// send only urgent ones.
    pub(super) fn hold(&mut self, urgent_waits: bool) {
        if std::mem::replace(&mut self.holds, urgent_waits) != urgent_waits {
            self.socket.hold(urgent_waits);
        }
    }

    /// Adds a frame to a datagram, behind its trail.
    pub(super) fn push(
        &mut self,
        datagram: &mut FrameDatagram,
        frame: &FrameRef<'_>,
        token: Token,
        unix: Nanos,
    ) -> Result<(), NotWritten> {
        let stamps = match &self.presentation {
            Some(presentation) => {
                let stamps = datagram.stamps_with(unix);
                if !presentation.spans(stamps) {
                    return Err(NotWritten::Full);
                }
                Some(stamps)
            }
            None => None,
        };
        let before = (datagram.bytes.len(), datagram.trail);
        if let Some(key) = self.guard.key(token)
            && datagram.trail != Some(key)
        {
            self.guard.write_trail(key, &mut self.stations);
            let trail = FrameTrail::from_bytes(&self.stations).unwrap_or_default();
            self.writer.push_trail(trail, &mut datagram.bytes);
            datagram.trail = Some(key);
        }
        let pushed = self.writer.push(frame, unix, &mut datagram.bytes);
        match pushed {
            Ok(()) => {
                datagram.frames += 1;
                datagram.stamps = stamps;
            }
            Err(_) => {
                datagram.bytes.truncate(before.0);
                datagram.trail = before.1;
            }
        }
        pushed
    }

    /// Sends a datagram, and empties it; returns false, and leaves it as it is, if the socket has
    /// no room. It gets its number here, so another one can leave before it meanwhile.
    pub(super) fn send(&mut self, datagram: &mut FrameDatagram, mark: SendMark) -> bool {
        self.writer.finish(&mut datagram.bytes);
        if let (Some(presentation), Some((earliest, _))) = (&self.presentation, datagram.stamps) {
            let at = presentation.time(earliest);
            self.writer.present(at, &mut datagram.bytes);
        }
        match self.socket.send(&datagram.bytes, self.to, mark) {
            Ok(()) => {
                self.counters.sent += datagram.frames;
                self.counters.datagrams += 1;
                self.run.add(datagram.frames);
            }
            Err(error) => {
                self.writer.take_back();
                if error.kind() == ErrorKind::WouldBlock {
                    self.counters.stalled += 1;
                    self.blocked = true;
                    return false;
                }
                self.counters.lost += datagram.frames;
                self.remarks
                    .push(format!("{} cannot be reached: {error}", self.to));
            }
        }
        datagram.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::guard::LoopRules;
    use super::*;
    use crate::PortOpener;
    use frame::{CanId, Frame};
    use net::ieee1722::{AcfWriter, DEFAULT_STREAM, MessageVersion};
    use std::net::UdpSocket;
    use std::sync::Arc;

    /// The tests with two ports compare the times of datagrams with presentation times.
    #[test]
    fn without_presentation_times_no_stamps_are_kept() {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = socket.local_addr().unwrap();
        let mut sender = FrameSender::new(
            socket,
            to,
            Box::new(AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false)),
            StreamRun::default(),
            LoopGuard::new(&mut PortOpener::new(0, 0), "tunnel", LoopRules::default()),
        );
        let frame = Frame::classic(CanId::sff(0x123).unwrap(), &[1]).unwrap();
        let mut datagram = FrameDatagram::new();
        for unix in [5, 3] {
            let pushed = sender.push(&mut datagram, &frame.view(), Token::default(), unix);
            assert_eq!(pushed, Ok(()));
        }
        assert_eq!((datagram.frames, datagram.stamps), (2, None));
    }
}
