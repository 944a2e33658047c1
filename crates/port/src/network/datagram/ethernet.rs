//! Streams by IEEE 1722 directly on Ethernet.

use super::socket::{DatagramSocket, SendMark, SendSocket};
use super::tunnel::pack_words;
use crate::network::mac::MacAddress;
use frame::Nanos;
use linux::Errno;
use linux::packet::{FrameProtocol, PacketSocket, RxRing};
use linux::socket::take_error;
use net::ieee1722::{ENCAPSULATION, unpadded_len};
use rustix::net::{netdevice, sockopt};
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Length of a header: two addresses and the EtherType.
const HEADER: usize = 14;

/// The EtherType of a priority tag (IEEE 802.1Q).
const TAG: u16 = 0x8100;

/// Greatest length of a frame with a tag, bytes: an XL frame needs an interface with long frames.
const LONGEST: usize = HEADER + 4 + 2304;

/// Number of frames that can wait for the worker, each in 4096 bytes of memory: about as many short
/// ones as in the kernel's buffer of a socket.
const SLOTS: usize = 256;

/// Number of looks at an empty ring after which the kernel is asked for an error: it wakes the
/// worker until the error is read.
const EMPTY_LOOKS: u32 = 16;

/// Room for frames that the kernel has not passed to the interface, as of tunnels over UDP.
const SEND_BUFFER: usize = 4096;

/// The priority of urgent frames in the queues of this machine (`TC_PRIO_INTERACTIVE`).
const URGENT_PRIORITY: u32 = 6;

/// The ends of a connection on Ethernet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EthernetEnds {
    pub(crate) interface: String,
    pub(crate) peer: MacAddress,
    /// The priority (PCP) in a tag of urgent frames; others have 0. `None`: frames have no tag.
    pub(crate) priority: Option<u8>,
}

impl EthernetEnds {
    /// Returns the words of `cangate check`.
    pub(crate) fn words(&self, pack: Nanos) -> String {
        let (interface, peer) = (&self.interface, self.peer);
        let tag = self
            .priority
            .map(|priority| format!(", urgent frames with priority {priority}"));
        let tag = tag.unwrap_or_default();
        format!(
            "on Ethernet {interface}, to {peer}{tag}{}",
            pack_words(pack)
        )
    }
}

/// The receiving half's part of a packet socket: memory that the kernel fills, so that a frame
/// needs no system call.
pub(crate) struct EthernetReceiver {
    socket: Arc<EthernetSocket>,
    ring: RxRing,
    /// Number of looks at the empty ring since the last frame or the last question for an error.
    empty: u32,
    /// Number of frames for which the ring had no room, up to the last question.
    dropped: AtomicU64,
}

/// A packet socket for one port.
pub(crate) struct EthernetSocket {
    packet: PacketSocket,
    index: u32,
    own: MacAddress,
    ends: EthernetEnds,
    /// The priority of the next frame in this machine.
    queue: AtomicU8,
}

/// A step that failed, in words, with the system's error.
pub(crate) type OpenFailure = (String, io::Error);

impl EthernetSocket {
    /// Returns the header of a frame, and its length.
    fn header(&self, mark: SendMark) -> ([u8; HEADER + 4], usize) {
        let mut header = [0; HEADER + 4];
        header[..6].copy_from_slice(&self.ends.peer.0);
        header[6..12].copy_from_slice(&self.own.0);
        let protocol = (FrameProtocol::Avtp as u16).to_be_bytes();
        let Some(priority) = self.ends.priority else {
            header[12..HEADER].copy_from_slice(&protocol);
            return (header, HEADER);
        };
        let priority = if mark.urgent { priority } else { 0 };
        // No VLAN: only the priority counts.
        header[12..14].copy_from_slice(&TAG.to_be_bytes());
        header[14..16].copy_from_slice(&(u16::from(priority) << 13).to_be_bytes());
        header[16..].copy_from_slice(&protocol);
        (header, HEADER + 4)
    }
}

impl SendSocket for Arc<EthernetSocket> {
    /// Sends a datagram, without its first 4 bytes.
    fn send(&self, datagram: &[u8], _to: SocketAddr, mark: SendMark) -> io::Result<()> {
        let queue = u8::from(mark.urgent);
        if self.queue.load(Relaxed) != queue {
            let priority = if mark.urgent { URGENT_PRIORITY } else { 0 };
            linux::socket::set_priority(&self.packet, priority)?;
            self.queue.store(queue, Relaxed);
        }
        let (header, len) = self.header(mark);
        // Ethernet needs no encapsulation.
        let datagram = datagram.get(ENCAPSULATION..).unwrap_or_default();
        let parts = [IoSlice::new(&header[..len]), IoSlice::new(datagram)];
        rustix::io::writev(&self.packet, &parts)?;
        Ok(())
    }
}

impl AsRawFd for EthernetSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.packet.as_raw_fd()
    }
}

impl EthernetReceiver {
    /// Opens the socket and its ring.
    ///
    /// # Errors
    /// There is no such interface, the process lacks CAP_NET_RAW, or the kernel has too little
    /// memory.
    pub(crate) fn open(ends: EthernetEnds) -> Result<Self, OpenFailure> {
        let name = &ends.interface;
        let fail = |what: String| move |error: Errno| (what, io::Error::from(error));
        let privilege = "cannot open a packet socket, which needs the capability CAP_NET_RAW (`setcap \
                         cap_net_raw+ep`, or `AmbientCapabilities=CAP_NET_RAW` in a service)";
        let packet = PacketSocket::open().map_err(fail(privilege.to_owned()))?;
        let absent = || format!("there is no interface {name} (`ip link` lists them)");
        let index = netdevice::name_to_index(&packet, name).map_err(fail(absent()))?;
        let cannot = || format!("cannot use the interface {name}");
        let no_memory = "the kernel has no memory for the frames that wait (1 MiB)";
        let ring = RxRing::new(&packet, SLOTS, LONGEST).map_err(fail(no_memory.to_owned()))?;
        packet.ignore_outgoing().map_err(fail(cannot()))?;
        packet
            .attach(index, FrameProtocol::Avtp)
            .map_err(fail(cannot()))?;
        let no_address =
            || format!("the interface {name} has no hardware address: it is not Ethernet");
        let own = packet.hardware_address().map_err(fail(no_address()))?;
        sockopt::set_socket_send_buffer_size(&packet, SEND_BUFFER).map_err(fail(cannot()))?;
        let socket = Arc::new(EthernetSocket {
            packet,
            index,
            own: MacAddress(own),
            ends,
            queue: AtomicU8::new(0),
        });
        Ok(Self {
            socket,
            ring,
            empty: 0,
            dropped: AtomicU64::new(0),
        })
    }

    /// Returns the address by which the other side is known.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.socket.ends.peer.as_link_local(self.socket.index)
    }

    /// Returns the sending half's part.
    pub(crate) fn sender(&self) -> Arc<EthernetSocket> {
        Arc::clone(&self.socket)
    }
}

impl AsRawFd for EthernetReceiver {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl SendSocket for EthernetReceiver {
    fn send(&self, datagram: &[u8], to: SocketAddr, mark: SendMark) -> io::Result<()> {
        self.socket.send(datagram, to, mark)
    }
}

impl DatagramSocket for EthernetReceiver {
    /// The datagram gets 4 bytes of zeros in place of the sequence number that it has over UDP.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut taken = Err(ErrorKind::WouldBlock.into());
        let index = self.socket.index;
        let frames = self.ring.receive(1, &mut |slot| {
            taken = read_frame(slot.bytes, index, buffer);
        });
        if frames > 0 {
            self.empty = 0;
            return taken;
        }
        self.empty += 1;
        if self.empty >= EMPTY_LOOKS {
            self.empty = 0;
            take_error(&self.socket.packet)?;
        }
        taken
    }

    fn dropped(&self) -> u64 {
        let new = self
            .socket
            .packet
            .take_statistics()
            .map_or(0, |new| new.dropped);
        self.dropped.fetch_add(new.into(), Relaxed) + u64::from(new)
    }

    fn is_quiet(&self) -> bool {
        self.ring.is_empty()
    }
}

/// Writes the datagram of an Ethernet frame to the buffer.
fn read_frame(frame: &[u8], index: u32, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    let invalid = || io::Error::from(ErrorKind::InvalidData);
    let from = frame.get(6..12).and_then(<[u8]>::first_chunk);
    let from = MacAddress(*from.ok_or_else(invalid)?).as_link_local(index);
    let datagram = frame.get(HEADER..).ok_or_else(invalid)?;
    let datagram = &datagram[..unpadded_len(datagram)];
    let len = ENCAPSULATION + datagram.len();
    let room = buffer.get_mut(..len).ok_or_else(invalid)?;
    let (number, rest) = room.split_at_mut(ENCAPSULATION);
    number.fill(0);
    rest.copy_from_slice(datagram);
    Ok((len, from))
}
