//! The gateway's end: a port that speaks IEEE 1722 over UDP.

use cangate_fleet::unix_now;
use frame::{CanId, Frame, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion};
use net::{DatagramReader as _, DatagramWriter as _};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// A frame that came from the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedFrame {
    /// The identifier.
    pub(crate) id: u32,
    /// The number that [`GatewayPeer::send`] wrote into the frame.
    pub(crate) number: u64,
    /// The time between its stamp and its arrival, ns.
    pub(crate) age: Nanos,
}

/// The port. A thread reads it all the time, because the kernel keeps little.
pub(crate) struct GatewayPeer {
    socket: UdpSocket,
    writer: AcfWriter,
    came: Receiver<ReceivedFrame>,
    /// Frames that were sent.
    pub(crate) sent: u64,
}

impl GatewayPeer {
    /// Returns a port, and the addresses for the program: its own, and the gateway's.
    pub(crate) fn new() -> (Self, SocketAddr, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let here = socket.local_addr().unwrap();
        let there = UdpSocket::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        socket.connect(there).unwrap();
        let (give, came) = mpsc::channel();
        let reading = socket.try_clone().unwrap();
        std::thread::spawn(move || read(&reading, &give));
        let peer = Self {
            socket,
            writer: AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false),
            came,
            sent: 0,
        };
        (peer, there, here)
    }

    /// Sends one datagram with frames of these identifiers, which have the next numbers.
    pub(crate) fn send(&mut self, ids: &[u32]) {
        let mut datagram = Vec::new();
        for id in ids {
            let data = self.sent.to_be_bytes();
            let frame = Frame::classic(CanId::sff(*id).unwrap(), &data).unwrap();
            self.writer
                .push(&frame.view(), unix_now(), &mut datagram)
                .unwrap();
            self.sent += 1;
        }
        self.writer.finish(&mut datagram);
        self.socket.send(&datagram).unwrap();
    }

    /// Sends a datagram that is not valid.
    pub(crate) fn send_rubbish(&self) {
        self.socket.send(b"rubbish").unwrap();
    }

    /// Returns the frames that came, until none has come for a time.
    pub(crate) fn receive(&mut self, silence: Duration) -> Vec<ReceivedFrame> {
        std::iter::from_fn(|| self.came.recv_timeout(silence).ok()).collect()
    }
}

fn read(socket: &UdpSocket, give: &Sender<ReceivedFrame>) {
    let mut reader = AcfReader::new(DEFAULT_STREAM, Some(0));
    let mut datagram = [0; 2048];
    loop {
        // Before the program listens, the kernel refuses what was sent to it.
        let Ok(len) = socket.recv(&mut datagram) else {
            continue;
        };
        let datagram = &datagram[..len];
        assert!(reader.check(datagram).unwrap().is_some());
        let mut at = 0;
        while let Some(frame) = reader.next(datagram, &mut at) {
            let came = ReceivedFrame {
                id: frame.frame.id().number(),
                number: u64::from_be_bytes(frame.frame.data().try_into().unwrap()),
                age: unix_now().saturating_sub(frame.stamp.unwrap()),
            };
            if give.send(came).is_err() {
                return;
            }
        }
    }
}
